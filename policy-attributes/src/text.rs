//! Reads the policy of a small app from its text, for the playground: functions with attributes, as
//! the macros read them. Their bodies are ignored, and so is everything else.

use policy_core::{Rule, Severity};
use policy_manifest::{Manifest, Sources};
use proc_macro2::{
    Delimiter, Group, Span, TokenStream, TokenTree, extra::invalidate_current_thread_spans,
};
use quote::ToTokens;
use syn::{Attribute, Meta, spanned::Spanned};

use crate::{
    collect::CollectedAttributes,
    diagnostics::Diagnostics,
    directive::{Directive, ParsedAttribute},
    endpoint::Endpoint,
    item::Handler,
};

/// The most tokens of a function before its body. Parsers recurse, so that it bounds their stack.
const LONGEST_HEAD: usize = 512;

/// An error or a warning about a text, as the compiler shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Whether it compiles all the same.
    pub severity: Severity,
    /// The code of the rule; `None` for what only this reader does not accept.
    pub code: Option<&'static str>,
    /// The message, and lines with help.
    pub text: String,
    /// The line, from 1, and the column, from 0 in characters, where the tokens at fault begin.
    pub start: (usize, usize),
    /// Where they end.
    pub end: (usize, usize),
}

/// Adds the routes of the functions of a text to a manifest, whose facts about the app are known, and
/// says where their policies are written. Returns all errors and warnings. The policy of a function
/// with errors is left out.
///
/// A parser recurses: call it on a thread with a stack of several megabytes.
///
/// ```
/// use policy_manifest::{Manifest, Sources};
///
/// let mut manifest = Manifest::new();
/// let text = "#[get(\"/hello\")] #[auth(public)] async fn hello() { Ok(()) }";
/// assert!(policy_attributes::read(text, &mut manifest, &mut Sources::default()).is_empty());
/// assert_eq!(manifest.routes[0].path, "/hello");
///
/// let reports = policy_attributes::read("#[auth(public)] fn f() {}", &mut manifest, &mut Sources::default());
/// assert_eq!(reports[0].code, Some("syntax.route-attribute-missing"));
/// ```
pub fn read(text: &str, manifest: &mut Manifest, sources: &mut Sources) -> Vec<Report> {
    let mut reports = Vec::new();
    match text.parse::<TokenStream>() {
        Ok(tokens) => {
            for item in items(tokens) {
                read_item(item, manifest, sources, &mut reports);
            }
        }
        Err(error) => reports.push(Report::plain("this is not Rust", error.span())),
    }
    reports.sort_by_key(|report| report.start);
    // Until here, the texts of all spans are kept.
    invalidate_current_thread_spans();
    reports
}

impl Report {
    /// An error that has no rule.
    fn plain(text: &str, span: Span) -> Self {
        Self::at(span, Severity::Error, None, text.to_owned())
    }

    fn at(span: Span, severity: Severity, code: Option<&'static str>, text: String) -> Self {
        let place = |at: proc_macro2::LineColumn| (at.line, at.column);
        Self { severity, code, text, start: place(span.start()), end: place(span.end()) }
    }
}

/// The items of a text: a body or a semicolon ends one. Bodies are left out.
fn items(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let (mut items, mut item) = (Vec::new(), Vec::new());
    for token in tokens {
        let is_end = match &token {
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            TokenTree::Punct(mark) => mark.as_char() == ';',
            _ => false,
        };
        item.push(if is_end { without_body(token) } else { token });
        if is_end {
            items.push(std::mem::take(&mut item));
        }
    }
    items.push(item);
    items
}

fn without_body(token: TokenTree) -> TokenTree {
    let TokenTree::Group(group) = token else { return token };
    let mut empty = Group::new(group.delimiter(), TokenStream::new());
    empty.set_span(group.span());
    TokenTree::Group(empty)
}

/// Whether there are too many tokens for the stack of a parser. It does not recurse itself.
fn is_too_long(item: &[TokenTree]) -> bool {
    let (mut open, mut count) = (vec![TokenStream::from_iter(item.iter().cloned()).into_iter()], 0);
    while let Some(tokens) = open.last_mut() {
        match tokens.next() {
            Some(token) => {
                count += 1;
                if count > LONGEST_HEAD {
                    return true;
                }
                if let TokenTree::Group(group) = token {
                    open.push(group.stream().into_iter());
                }
            }
            None => drop(open.pop()),
        }
    }
    false
}

fn read_item(
    item: Vec<TokenTree>,
    manifest: &mut Manifest,
    sources: &mut Sources,
    reports: &mut Vec<Report>,
) {
    let Some(first) = item.first().map(TokenTree::span) else { return };
    if is_too_long(&item) {
        let text = format!(
            "over {LONGEST_HEAD} tokens before a body\nhelp: the playground reads shorter functions"
        );
        reports.push(Report::plain(&text, first));
        return;
    }
    let item = match Handler::read(TokenStream::from_iter(item)) {
        Ok(item) => item,
        Err(error) => {
            let mut diagnostics = Diagnostics::default();
            diagnostics.syntax(error);
            report(diagnostics, first, reports);
            return;
        }
    };
    let of_policy = |attr: &Attribute| Directive::from_path(attr.path());
    let Some(stated) = item.attrs.iter().find(|attr| of_policy(attr).is_some()) else { return };
    let at = stated.path().span();
    let mut diagnostics = Diagnostics::default();
    read_function(item, &mut diagnostics, |endpoint, is_sound| {
        if is_sound {
            for unseen in endpoint.declare(manifest, sources) {
                let text = "the playground reads literals\nhelp: write the values here";
                reports.push(Report::plain(text, unseen.span()));
            }
        }
    });
    report(diagnostics, at, reports);
}

/// Calls a function with the handler, and whether it has no error.
fn read_function(
    Handler { mut attrs, function, .. }: Handler,
    diagnostics: &mut Diagnostics,
    found: impl FnOnce(&Endpoint<'_>, bool),
) {
    let directive = |attr: &Attribute| Directive::from_path(attr.path());
    let is_route = |attr: &Attribute| directive(attr).is_some_and(Directive::is_route);
    let Some(position) = attrs.iter().position(is_route) else {
        if let Some(policy) = attrs.iter().find(|attr| directive(attr).is_some()) {
            let name = policy.path().to_token_stream().to_string();
            diagnostics.rule(policy.path(), Rule::RouteAttributeMissing, &format!("#[{name}]"));
        }
        return;
    };
    let route = attrs.remove(position);
    let Some(directive) = directive(&route) else { return };
    let tokens = route.path().to_token_stream();
    let Ok(function) = function else {
        let name = format!("#[{}]", directive.name());
        diagnostics.rule(&tokens, Rule::HandlerFunction, &name);
        return;
    };
    let args = match route.meta {
        Meta::List(list) => list.tokens,
        Meta::Path(_) | Meta::NameValue(_) => TokenStream::new(),
    };
    let first = ParsedAttribute { directive, tokens, args };
    let mut collected = CollectedAttributes::take(first, attrs, diagnostics);
    let endpoint = Endpoint::read(&mut collected, &function, diagnostics);
    found(&endpoint, diagnostics.error_count() == 0);
}

/// Reports what was found; a finding without tokens is reported at the attribute.
fn report(diagnostics: Diagnostics, attribute: Span, reports: &mut Vec<Report>) {
    reports.extend(diagnostics.into_findings().map(|(rule, text, span)| {
        let span = if span.byte_range().is_empty() { attribute } else { span };
        Report::at(span, rule.severity(), Some(rule.code()), text)
    }));
}

#[cfg(test)]
mod tests {
    use policy_manifest::{Auth, Csrf};

    use super::*;

    fn read_all(text: &str) -> (Manifest, Sources, Vec<Report>) {
        let (mut manifest, mut sources) = (Manifest::new(), Sources::default());
        let reports = read(text, &mut manifest, &mut sources);
        (manifest, sources, reports)
    }

    #[test]
    fn each_function_is_a_route_and_its_body_is_no_matter() {
        let (manifest, sources, reports) = read_all(
            r#"use policy_server::prelude::*;
/// What a user has ordered.
#[get("/orders/{id}")]
#[cors(origins = ["https://app.example"], credentials)]
#[auth(session, roles = ["clerk"])]
#[object(none = "clerks read every order")]
async fn order(id: u64) -> Json<Order> { what is this? }
struct Other { a: u8 }
#[auth(token)] #[post("/orders")] async fn add() {}
"#,
        );
        assert_eq!(reports, []);
        let [order, add] = &manifest.routes[..] else { panic!("{:?}", manifest.routes) };
        assert_eq!((&*order.path, &order.methods[..]), ("/orders/{id}", &["GET".to_owned()][..]));
        assert!(order.cors.as_ref().is_some_and(|cors| cors.credentials));
        let Auth::Required(requirement) = &order.auth else { panic!("{:?}", order.auth) };
        assert!(requirement.session && requirement.roles == ["clerk"]);
        assert_eq!((&add.csrf, add.auth.to_string()), (&Csrf::Token, "token".to_owned()));
        let line = |facet| sources.get("GET", "/orders/{id}", facet).map(|source| source.line);
        assert_eq!((line("cors"), line("auth"), line("csrf")), (Some(4), Some(5), None));
    }

    #[test]
    fn a_text_that_is_no_rust_has_no_routes() {
        let (manifest, _, reports) = read_all("#[get(\"/a\")] #[auth(public)] async fn a() { [ }");
        assert_eq!((manifest.routes, reports.len()), (Vec::new(), 1));
        assert_eq!((reports[0].code, &*reports[0].text), (None, "this is not Rust"));
    }

    #[test]
    fn errors_are_those_of_the_macros_at_their_tokens() {
        let (manifest, _, reports) = read_all(
            "#[get(\"/a\")]\n#[cors(origins = [\"*\"], credentials)]\n#[auth(session)]\nasync fn a() {}\n\
             #[auth(public)] async fn é() {}\n#[get(\"/b\")] #[auth(public, rols = [])] fn b() {}",
        );
        assert_eq!(manifest.routes, []);
        let found: Vec<_> =
            reports.iter().map(|it| (it.code.unwrap_or_default(), it.start, it.end)).collect();
        let expected = [
            ("cors.any-origin-with-credentials", (2, 18), (2, 21)),
            ("syntax.route-attribute-missing", (5, 2), (5, 6)),
            ("syntax.unknown-argument", (6, 28), (6, 32)),
            ("handler.not-async", (6, 40), (6, 42)),
        ];
        assert_eq!(found, expected);
        assert!(reports[0].text.contains("\nhelp: "), "{}", reports[0].text);
    }

    #[test]
    fn what_is_no_literal_is_named() {
        for (attribute, column) in [
            ("#[cors(SHARED)]", 7),
            ("#[cors(origins = LIST)]", 17),
            ("#[cors(origins = config(\"a\"))]", 17),
            ("#[cors(extend, headers = [\"a\"])]", 2),
            ("#[cache(KEPT)]", 8),
            ("#[headers(MINE)]", 10),
            ("#[limit(LIMITS)]", 8),
            ("#[jsonp(SCRIPTS)]", 8),
        ] {
            let text = format!("{attribute}\n#[auth(public)] #[get(\"/\")] async fn f() {{}}");
            let (_, _, reports) = read_all(&text);
            assert_eq!(reports.len(), 1, "{attribute}: {reports:?}");
            assert_eq!((reports[0].code, reports[0].start), (None, (1, column)), "{attribute}");
            assert!(reports[0].text.contains("reads literals"), "{}", reports[0].text);
        }
        for requirement in ["scheme = Keys", "group", "token, scopes = SCOPES"] {
            let text = format!("#[auth({requirement})] #[get(\"/\")] async fn f() {{}}");
            let (_, _, reports) = read_all(&text);
            assert_eq!(reports.len(), 1, "{requirement}: {reports:?}");
            assert!(reports[0].text.contains("reads literals"), "{reports:?}");
        }
    }

    /// Each of these overflows a stack if it is parsed as it is.
    #[test]
    fn deep_texts_end() {
        let many = |text: &str| text.repeat(16 * 1024 / text.len());
        for deep in [
            many("{"),
            format!("{}{}", "{".repeat(8000), "}".repeat(8000)),
            format!("#[get({}\"/\")] async fn f() {{}}", many("-")),
            format!("#[get({})] async fn f() {{}}", many("return ")),
            format!("#[a = {}1]", many("!")),
            format!("#[get(\"/\")] #[auth(public)] async fn f(a: {}) {{}}", many("A<")),
            format!("#[cors(origins = {}{})]", "[".repeat(8000), "]".repeat(8000)),
            many("#![a]"),
        ] {
            let (manifest, _, reports) = read_all(&deep);
            assert_eq!(manifest.routes, [], "{deep:.40}");
            drop(reports);
        }
    }
}
