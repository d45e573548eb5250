//! What the attributes refuse, in which words and on which token.
//!
//! `TRYBUILD=overwrite cargo test -p policy-ui --test ui` writes the `.stderr` files anew; a change in them is
//! a change in what users read.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::Path};

use policy_core::Rule;

const REFUSED: &str = "tests/ui";
/// A link to `policy-cli/codes/bad`: trybuild hides the lines of files outside of its package.
const BAD: &str = "tests/codes";
/// What people write in their first week, one function a mistake.
const MISTAKES: &str = "tests/mistakes";
const FILES_REFUSED: usize = 59;

#[test]
fn attributes_refuse() {
    // A glob that matches nothing passes, so the files are counted.
    assert_eq!(files(REFUSED, "rs").len(), FILES_REFUSED);
    let cases = trybuild::TestCases::new();
    cases.compile_fail(format!("{REFUSED}/*.rs"));
    cases.compile_fail(format!("{BAD}/*.rs"));
    cases.compile_fail(format!("{MISTAKES}/*.rs"));
    let mistakes = files(MISTAKES, "stderr");
    let mistakes: usize = mistakes.iter().map(|(_, text)| located(text).len()).sum();
    assert!((80..1_000).contains(&mistakes), "{mistakes} mistakes");
}

/// The bad examples on the pages of codes: each module has the name of a code, and is refused for
/// it and for nothing else.
#[test]
fn every_bad_example_is_refused_for_its_code() {
    let mut examples = 0;
    for ((area, text), (_, messages)) in files(BAD, "rs").iter().zip(files(BAD, "stderr")) {
        let errors = located(&messages);
        for (name, first, last) in modules(text) {
            examples += 1;
            let code = format!("{area}.{}", name.replace('_', "-"));
            let found = errors.iter().filter(|(_, line)| (first..=last).contains(line));
            let found: Vec<_> = found.map(|(code, _)| code.as_str()).collect();
            assert!(found.contains(&&*code), "{code} accepts its bad example: {found:?}");
            // A public route with CSRF protection is odd without JSONP, too.
            let is_expected = |other| other == code || other == "csrf.without-session";
            assert!(found.into_iter().all(is_expected), "{code} is not alone");
        }
    }
    assert!(examples > 150, "{examples} examples");
}

/// The modules of a file, each with its first and its last line.
fn modules(text: &str) -> Vec<(&str, usize, usize)> {
    let mut modules = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        if let Some(name) = text.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(" {")) {
            modules.push((name.trim_start_matches("r#"), line, line));
        } else if let (Some((.., last)), "}") = (modules.last_mut(), text) {
            *last = line;
        }
    }
    modules
}

/// The code of each error, and the line that it is about.
fn located(messages: &str) -> Vec<(String, usize)> {
    let (mut located, mut code) = (Vec::new(), None);
    for line in messages.lines() {
        if line.starts_with("error") {
            let words = line.strip_suffix(')').and_then(|line| line.rsplit_once('('));
            code = Some(words.map_or(line, |(_, code)| code).to_owned());
        } else if let Some(place) = line.trim_start().strip_prefix("--> ") {
            let number = place.split(':').nth(1).and_then(|number| number.parse().ok());
            located.extend(code.take().zip(number));
        }
    }
    located
}

#[test]
fn every_rule_of_attributes_has_a_failing_case() {
    // Only lists that come at run time, scopes, layers and whole apps can break these.
    let elsewhere = [
        Rule::AnyOriginAtRunTime,
        Rule::OriginOutsideBound,
        Rule::OriginListMissing,
        Rule::OriginListUnused,
        Rule::OriginListKey,
        Rule::OriginListBy,
        Rule::ExtensionOfNothing,
        Rule::BoundUnset,
        Rule::BoundUnused,
        Rule::BoundConfigured,
        Rule::StoredListWithoutStore,
        Rule::LimitStoreMissing,
        Rule::RateOfLayer,
        Rule::CsrfTokenOfLayer,
        Rule::PathPrefix,
        Rule::GuardedBelow,
        Rule::MountCallersMissing,
        Rule::ExemptByDefault,
        Rule::SessionsMissing,
        Rule::TokensMissing,
        Rule::SchemeMissing,
        Rule::GroupCallersMissing,
        Rule::LaxerThanGroup,
        Rule::IssuerNotAccepted,
        Rule::IssuersMissing,
        Rule::IssuerUnused,
        Rule::HeadersNonceShared,
        Rule::LoopbackShared,
        Rule::RealmInvalid,
    ];
    let files = [files(REFUSED, "stderr"), files(MISTAKES, "stderr")].concat();
    let messages: String = files.iter().map(|(_, text)| text.as_str()).collect();
    for rule in Rule::ALL {
        let groups = [
            "auth.", "cache.", "cors.", "csrf.", "handler.", "headers.", "jsonp.", "limit.",
            "problem.", "route.", "syntax.",
        ];
        let of_attribute = groups.iter().any(|group| rule.code().starts_with(group));
        if of_attribute {
            let has_case = messages.contains(&format!("({})", rule.code()));
            assert_eq!(has_case, !elsewhere.contains(rule), "{}", rule.code());
        }
    }
}

/// Messages about attributes, constants, and types that do not implement a trait of ours end in a
/// code of the catalogue. The rest are the compiler's own words about Rust.
#[test]
fn every_error_of_ours_ends_in_a_code() {
    let of_the_compiler = [
        "error: expected `fn`",
        "error: function `forgotten` is never used",
        "error: future cannot be sent between threads safely",
        "error: struct `exported` is never constructed",
        "error: struct `forgotten` is never constructed",
        "error: struct `naked` is never constructed",
        "error[E0015]: cannot call non-const function `load` in constants",
        "error[E0061]: this function takes 1 argument but 2 arguments were supplied",
        "error[E0080]: evaluation panicked: two actions of one object have the same name, or one is no name of small letters",
        "error[E0119]: conflicting implementations of trait `Permits<policy_server::prelude::View>` for type `SameAction`",
        "error[E0119]: conflicting implementations of trait `PermitsByData<policy_server::prelude::View>` for type `SameAction`",
        "error[E0277]: `&str` is not a list of names",
        "error[E0277]: `?` couldn't convert the error to `ShopError`",
        "error[E0277]: `?` couldn't convert the error: `std::io::Error: policy_server::codegen::ErrorForClients` is not satisfied",
        "error[E0277]: `Loose`: nothing says how this object is loaded",
        "error[E0277]: `Opaque` doesn't implement `std::fmt::Display`",
        "error[E0277]: `Subject<'_>` doesn't implement `std::fmt::Display`",
        "error[E0277]: `own::Allowed<Order>`: this is not an object that is loaded and checked",
        "error[E0277]: the trait bound `Db: FromRef<__PolicyState>` is not satisfied",
        "error[E0277]: the trait bound `NotClone: Clone` is not satisfied",
        "error[E0277]: the trait bound `NotOne: serde::Deserialize<'de>` is not satisfied",
        "error[E0277]: the trait bound `Option<policy_server::prelude::Json<NotOne>>: FromRequest<__PolicyState>` is not satisfied",
        "error[E0277]: the trait bound `Page: serde::Serialize` is not satisfied",
        "error[E0277]: the trait bound `Silent: Into<Box<(dyn std::error::Error + Send + Sync + 'static)>>` is not satisfied",
        "error[E0277]: the trait bound `Silent: serde::Serialize` is not satisfied",
        "error[E0277]: the trait bound `Subject<'_>: Into<policy_server::Identity>` is not satisfied",
        "error[E0277]: the trait bound `Subject<'_>: ToString` is not satisfied",
        "error[E0277]: the trait bound `policy_server::prelude::Allowed<Order>: From<Order>` is not satisfied",
        "error[E0277]: the trait bound `u64: TryFrom<String>` is not satisfied",
        "error[E0308]: mismatched types",
        "error[E0422]: cannot find struct, variant or union type `frist` in module `orders`",
        "error[E0422]: cannot find struct, variant or union type `missing` in this scope",
        "error[E0422]: cannot find struct, variant or union type `price` in this scope",
        "error[E0423]: cannot initialize a tuple struct which contains private fields",
        "error[E0425]: cannot find function `missing` in this scope",
        "error[E0425]: cannot find type `Publish` in this scope",
        "error[E0425]: cannot find value `MISSING` in this scope",
        "error[E0432]: unresolved import `policy_server::store::EmbeddedStore`",
        "error[E0574]: expected struct, variant or union type, found function `plain`",
        "error[E0574]: expected struct, variant or union type, found function `stocks`",
        "error[E0599]: no method named `iter` found for struct `Opaque` in the current scope",
        "error[E0603]: struct `all` is private",
    ];
    let codes: Vec<_> = Rule::ALL.iter().map(|rule| format!(" ({})", rule.code())).collect();
    let mut ours = 0;
    for (name, text) in files(REFUSED, "stderr") {
        for line in text.lines().filter(|line| line.starts_with("error")) {
            let is_ours = codes.iter().any(|code| line.ends_with(code));
            assert_ne!(is_ours, of_the_compiler.contains(&line), "{name}: {line}");
            ours += usize::from(is_ours);
        }
    }
    assert!(ours > 400, "{ours} errors");
}

#[test]
fn a_mistake_in_an_attribute_has_no_second_error() {
    // These are about what the compiler says of types and constants.
    let of_compiler = [
        "auth_constants",
        "cache_constants",
        "cors_constants",
        "cors_types",
        "embedded_off",
        "extractors",
        "foreign_errors",
        "jsonp_constants",
        "layer_types",
        "limit_constants",
        "headers_constants",
        "object_forged",
        "object_lists",
        "object_types",
        "objects",
        "own_errors",
        "parameter_types",
        "principals",
        "problem_types",
        "responses",
        "routes_names",
        "routes_unknown",
        "state",
        "subjects",
        "testing_off",
        "unchecked_policies",
    ];
    let files = files(REFUSED, "stderr");
    assert_eq!(files.len(), FILES_REFUSED);
    for (name, text) in files {
        assert!(!text.contains("panicked at"), "{name}");
        assert_eq!(text.contains("error[E"), of_compiler.contains(&name.as_str()), "{name}");
    }
}

/// Names and contents of the files of a folder that have this extension.
fn files(folder: &str, extension: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.collect();
    paths.sort();
    paths
        .into_iter()
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(&path).unwrap())
        })
        .collect()
}
