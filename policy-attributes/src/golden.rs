//! Compares expansions with files: `tests/expand/<case>.rs` is the code of a user, and
//! `<case>.expanded.rs` is its expansion. `UPDATE_GOLDEN=1` rewrites the latter.

use std::{fs, path::Path};

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Item, Meta, parse2};

use crate::{
    collect::is_use_marker, directive::Directive, expand, item::AnnotatedItem, objects, problems,
    routes,
};

/// Expands the attributes of Policy as the compiler does, from top to bottom, until none is left;
/// use markers stay visible.
fn expand_all(source: TokenStream) -> Vec<Item> {
    let file: syn::File = parse2(source).unwrap();
    file.items.into_iter().flat_map(|item| expand_item(&item.into_token_stream())).collect()
}

fn expand_item(item: &TokenStream) -> Vec<Item> {
    let mut annotated: AnnotatedItem = parse2(item.clone()).unwrap();
    let rest = annotated.rest.clone();
    // Attributes after a derive belong to the derive.
    let is_derived = annotated.attrs.iter().any(|attr| attr.path().is_ident("derive"));
    let first = annotated.attrs.iter().enumerate().find_map(|(position, attr)| {
        let directive = Directive::from_path(attr.path())?;
        let args = match &attr.meta {
            Meta::List(list) => list.tokens.clone(),
            _ => TokenStream::new(),
        };
        (!is_use_marker(&args, &rest)).then_some((position, directive, args))
    });
    match first.filter(|_| !is_derived) {
        None => {
            let macros: [(_, fn(_) -> _); 2] =
                [("Problems", problems::expand), ("Object", objects::expand)];
            let derived = macros
                .into_iter()
                .filter(|(name, _)| annotated.attrs.iter().any(|attr| derives(attr, name)));
            let derived = derived.flat_map(|(_, expand)| expand_all(expand(item.clone())));
            [vec![parse2(item.clone()).unwrap()], derived.collect()].concat()
        }
        Some((position, directive, args)) => {
            annotated.attrs.remove(position);
            expand_all(expand::attribute(directive, args, annotated.into_token_stream()))
        }
    }
}

fn derives(attr: &syn::Attribute, name: &str) -> bool {
    attr.path().is_ident("derive") && attr.to_token_stream().to_string().contains(name)
}

fn pretty(items: Vec<Item>) -> String {
    prettyplease::unparse(&syn::File { shebang: None, frontmatter: None, attrs: vec![], items })
}

fn expand_str(source: &str) -> String {
    pretty(expand_all(source.parse().unwrap()))
}

#[test]
fn expansions_are_the_golden_ones() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expand");
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.ends_with(".expanded.rs") {
            continue;
        }
        count += 1;
        let golden = path.with_extension("expanded.rs");
        let found = expand_str(&fs::read_to_string(&path).unwrap());
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&golden, &found).unwrap();
        }
        let wanted = fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(found, wanted, "{name}: `UPDATE_GOLDEN=1 cargo test` writes it anew");
    }
    assert_eq!(count, 19);
}

/// Removes the use markers, which depend on the position of an attribute.
fn essence(source: &str) -> String {
    let mut items = expand_all(source.parse().unwrap());
    items.retain(|item| !item.to_token_stream().to_string().contains("__policy_consumed"));
    pretty(items)
}

#[test]
fn attributes_mean_the_same_in_any_order() {
    let attributes = [
        "#[get(\"/orders/{id}\")]",
        "#[cors(origins = [\"https://app.example\"])]",
        "#[auth(public)]",
    ];
    let of = |order: [usize; 3]| {
        let [a, b, c] = order.map(|index| attributes[index]);
        essence(&format!("{a} {b} #[inline] {c} async fn order(id: u64) {{}}"))
    };
    let first = of([0, 1, 2]);
    assert!(first.contains("https://app.example") && !first.contains("compile_error"), "{first}");
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        assert_eq!(of(order), first, "{order:?}");
    }
}

#[test]
fn a_parameter_that_nothing_checks_does_not_compile() {
    let is_refused = |auth: &str, none: &str, arguments: &str| {
        let source =
            format!("#[get(\"/{{a}}/{{b}}\")] #[auth({auth})] {none} async fn f({arguments}) {{}}");
        expand_str(&source).contains(policy_core::Rule::ObjectUnchecked.code())
    };
    for auth in
        ["session", "token, optional", "optional, session | token", "scheme = Keys", "group"]
    {
        for (arguments, expected) in [
            ("a: u64, b: Allowed<Order>", true),
            ("b: u64, a: Locked<Order, Edit>", true),
            ("order: Allowed<Order>, _b: String", true),
            ("a: u64, b: u64", true),
            ("a: Allowed<Team>, b: policy_server::object::Allowed<Order, Edit>", false),
            ("order: Allowed<Order>, team: Allowed<Team>", false),
        ] {
            assert_eq!(is_refused(auth, "", arguments), expected, "{auth}: {arguments}");
            assert!(
                !is_refused(auth, "#[object(none = \"why\")]", arguments),
                "{auth}: {arguments}"
            );
        }
    }
    assert!(!is_refused("public", "", "a: u64, b: u64"));
}

#[test]
fn a_number_without_a_parameter_is_named_before_the_rest_of_the_path() {
    let source = |path: &str| {
        format!("#[get(\"{path}\")] #[auth(public)] async fn f(rest: String, page: u32) {{}}")
    };
    let found = expand_str(&source("/files/{*rest}"));
    assert!(found.contains("such as `/files/{page}/{*rest}`"), "{found}");
    let found = expand_str(&source("/files/{rest}"));
    assert!(found.contains("such as `/files/{rest}/{page}`"), "{found}");
}

#[test]
fn another_crate_path_is_used_everywhere() {
    let source = "#[get(\"/{a}\", crate = my::server)] #[auth(public)] \
         #[cors(origins = LIST, headers = [\"x-a\"])] async fn f(a: u8, m: Method) {}";
    let found = expand_str(source);
    assert!(!found.contains("policy_server"), "{found}");
    let list = routes::expand(quote!(crate = my::server, f)).to_string();
    assert!(!list.contains("policy_server"), "{list}");
}

#[test]
fn fragments_of_macro_rules_are_seen_through() {
    let group = |tokens: TokenStream| {
        TokenTree::Group(proc_macro2::Group::new(proc_macro2::Delimiter::None, tokens))
    };
    let (path, origin) = (group(quote!("/{id}")), group(quote!("https://a.example")));
    let (origins, seconds) = (group(quote!([#origin, "null"])), group(quote!(-1)));
    let item = quote! {
        #[cors(origins = #origins, max_age = #seconds)]
        #[auth(public)]
        async fn f(id: u64) {}
    };
    let found = expand::attribute(Directive::Get, quote!(#path), item).to_string();
    assert!(found.contains("`null`: ") && found.matches("compile_error").count() == 1, "{found}");
}

#[test]
fn nothing_makes_a_function_disappear() {
    for directive in [Directive::Get, Directive::Auth] {
        let marker = quote!(__policy_consumed);
        let found = expand::attribute(
            directive,
            marker,
            quote!(
                async fn f() {}
            ),
        )
        .to_string();
        assert!(found.contains("async fn f") && found.contains("compile_error"), "{found}");
    }
}
