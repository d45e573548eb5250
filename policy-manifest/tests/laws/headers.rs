//! A change of a security header that allows something counts as one that opens. The oracle asks each
//! value about single loads, scripts and referrers, as the standards do.

use policy_core_tests::law::{Precondition, holds};
use policy_manifest::{Auth, Headers, Manifest, ManifestRoute, changes};
use proptest::{
    collection::vec,
    prelude::*,
    sample::{select, subsequence},
};

fn with(name: &str, value: &str) -> Manifest {
    let mut manifest = Manifest::new();
    let mut route = ManifestRoute::handler("/", ["GET"], Auth::Public);
    let every = [(name.to_owned(), value.to_owned())].into();
    let headers = Headers { every, ..Headers::default() };
    manifest.headers.insert("a".to_owned(), headers);
    route.headers = Some("a".to_owned());
    manifest.routes.push(route);
    manifest
}

/// Whether the change opens, and whether it narrows.
fn effects(name: &str, old: &str, new: &str) -> (bool, bool) {
    crate::effects(&with(name, old), &with(name, new))
}

const DIRECTIVES: &str =
    "default-src script-src script-src-elem script-src-attr style-src img-src child-src frame-src
     worker-src frame-ancestors form-action sandbox require-trusted-types-for";

const SOURCES: &str =
    "'none' 'self' * https: http: data: https://cdn.example cdn.example 'nonce' 'unsafe-inline'
     'strict-dynamic' 'unsafe-eval' 'wasm-unsafe-eval' 'report-sample'";

fn words(text: &'static str) -> Vec<&'static str> {
    text.split_ascii_whitespace().collect()
}

/// A policy: its directives, each with its sources.
type Policy = Vec<(&'static str, Vec<&'static str>)>;

fn policy() -> impl Strategy<Value = Policy> {
    let directive = select(words(DIRECTIVES)).prop_flat_map(|name| {
        let sources = match name {
            "sandbox" => subsequence(&["allow-scripts", "allow-forms"][..], 0..=2).boxed(),
            "require-trusted-types-for" => subsequence(&["'script'"][..], 0..=1).boxed(),
            _ => subsequence(words(SOURCES), 0..=4).boxed(),
        };
        (Just(name), sources)
    });
    vec(directive, 0..5)
}

/// The policy with only the sources that are kept.
fn reduced(policy: &Policy, mut keeps: impl FnMut(&str) -> bool) -> Policy {
    let reduce = |(name, sources): &(&'static str, Vec<&'static str>)| match *name {
        "require-trusted-types-for" => (*name, sources.clone()),
        _ => (*name, sources.iter().copied().filter(|source| keeps(source)).collect()),
    };
    policy.iter().map(reduce).collect()
}

/// Two policies: unlike ones, or one that has fewer sources than the other.
fn pair() -> impl Strategy<Value = (Policy, Policy)> {
    let alike = (policy(), vec(any::<bool>(), 8), any::<bool>());
    let alike = alike.prop_map(|(more, kept, is_swapped)| {
        let mut kept = kept.into_iter().cycle();
        let fewer = reduced(&more, |_| kept.next() == Some(true));
        if is_swapped { (fewer, more) } else { (more, fewer) }
    });
    prop_oneof![(policy(), policy()), alike]
}

fn text(policy: &Policy) -> String {
    let directives = policy.iter().map(|(name, sources)| format!("{name} {}", sources.join(" ")));
    directives.collect::<Vec<_>>().join("; ")
}

/// Something that a policy may allow: the directives that decide, in order, and what is asked.
struct Question(&'static [&'static str], Asked);

#[derive(Clone, Copy)]
enum Asked {
    /// A load of this URL by a page of `https://own.example`, with the nonce or without.
    Load {
        url: &'static str,
        nonce: bool,
    },
    /// A script that an allowed script adds.
    Added,
    /// An inline script or style, with the nonce or without.
    Inline {
        nonce: bool,
    },
    Eval,
    Wasm,
    /// A flag of a sandbox.
    Flag(&'static str),
    /// What the presence of the directive forbids.
    Unprotected,
}

fn questions() -> Vec<Question> {
    let mut questions = vec![
        Question(&["script-src", "default-src"], Asked::Eval),
        Question(&["script-src", "default-src"], Asked::Wasm),
        Question(&["script-src-elem", "script-src", "default-src"], Asked::Added),
        Question(&["script-src-attr", "script-src", "default-src"], Asked::Inline { nonce: false }),
        Question(&["sandbox"], Asked::Flag("allow-scripts")),
        Question(&["sandbox"], Asked::Flag("allow-forms")),
        Question(&["require-trusted-types-for"], Asked::Unprotected),
    ];
    for nonce in [false, true] {
        let names: [&[_]; 2] =
            [&["script-src-elem", "script-src", "default-src"], &["style-src", "default-src"]];
        questions.extend(names.map(|names| Question(names, Asked::Inline { nonce })));
    }
    let loads: [&[&str]; 7] = [
        &["script-src-elem", "script-src", "default-src"],
        &["style-src", "default-src"],
        &["img-src", "default-src"],
        &["frame-src", "child-src", "default-src"],
        &["worker-src", "child-src", "script-src", "default-src"],
        &["frame-ancestors"],
        &["form-action"],
    ];
    let urls = [
        "https://own.example/",
        "https://cdn.example/",
        "http://cdn.example/",
        "https://other.example/",
        "http://other.example/",
        "data:,x",
    ];
    for names in loads {
        for url in urls {
            let is_of = |kind| names.first().is_some_and(|name| name.starts_with(kind));
            let takes_nonce = is_of("script") || is_of("style");
            questions.push(Question(names, Asked::Load { url, nonce: false }));
            if takes_nonce {
                questions.push(Question(names, Asked::Load { url, nonce: true }));
            }
        }
    }
    questions
}

/// Whether a policy allows it.
fn allows(policy: &Policy, Question(names, request): &Question) -> bool {
    let of = |name: &&&str| policy.iter().find(|(directive, _)| *directive == **name);
    let Some((_, sources)) = names.iter().find_map(|name| of(&name)) else { return true };
    let has = |source: &str| sources.contains(&source);
    // Workers and scripts know nonces and `'strict-dynamic'`.
    let is_script = names.contains(&"script-src");
    let is_dynamic = is_script && has("'strict-dynamic'");
    match *request {
        Asked::Unprotected => !has("'script'"),
        Asked::Flag(flag) => has(flag),
        Asked::Eval => has("'unsafe-eval'"),
        Asked::Wasm => has("'unsafe-eval'") || has("'wasm-unsafe-eval'"),
        Asked::Added => has("'strict-dynamic'"),
        Asked::Inline { nonce } => {
            (nonce && has("'nonce'")) || (has("'unsafe-inline'") && !has("'nonce'") && !is_dynamic)
        }
        Asked::Load { nonce: true, .. } if has("'nonce'") => true,
        Asked::Load { .. } if is_dynamic => false,
        Asked::Load { url, .. } => sources.iter().any(|source| match *source {
            "'self'" => url.starts_with("https://own.example"),
            "*" => !url.starts_with("data:"),
            "https:" => url.starts_with("https:"),
            "http:" => url.starts_with("http:") || url.starts_with("https:"),
            "data:" => url.starts_with("data:"),
            "https://cdn.example" => url.starts_with("https://cdn.example"),
            // A host without a scheme is loaded over that of the page, which is HTTPS.
            "cdn.example" => url.starts_with("https://cdn.example"),
            _ => false,
        }),
    }
}

/// A policy that allows more opens, and one that allows less narrows.
#[test]
fn a_content_security_policy_that_allows_more_opens() {
    holds("CSP, more is open", 70, pair(), |(old, new)| {
        let (opens, narrows) = effects("content-security-policy", &text(&old), &text(&new));
        let (mut more, mut less) = (false, false);
        for question in questions() {
            let (before, after) = (allows(&old, &question), allows(&new, &question));
            more |= after && !before;
            less |= before && !after;
        }
        prop_assert!(!more || opens, "{} to {}", text(&old), text(&new));
        prop_assert!(!less || narrows, "{} to {}", text(&old), text(&new));
        Ok(Precondition::met_if(more || less))
    });
}

/// A policy with fewer sources in the lists that it has does not open, except for sources beside
/// which others are ignored.
#[test]
fn a_content_security_policy_that_loses_sources_does_not_open() {
    let ignoring = ["'nonce'", "'strict-dynamic'"];
    let cases = (policy(), vec(any::<bool>(), 8));
    holds("CSP, fewer sources", 62, cases, |(old, kept)| {
        let mut kept = kept.into_iter().cycle();
        let new = reduced(&old, |source| kept.next() == Some(true) || ignoring.contains(&source));
        let (opens, _) = effects("content-security-policy", &text(&old), &text(&new));
        prop_assert!(!opens, "{} to {}", text(&old), text(&new));
        Ok(Precondition::met_if(old != new))
    });
}

/// The share of a page's address that requests send: to the same origin, another one, and from HTTPS
/// to HTTP (Referrer Policy 8.3).
fn referrer(policy: &str, is_same: bool, is_downgrade: bool) -> u8 {
    match policy {
        "no-referrer" => 0,
        "origin" => 1,
        "unsafe-url" => 2,
        "strict-origin" => u8::from(!is_downgrade),
        "no-referrer-when-downgrade" => 2 * u8::from(!is_downgrade),
        "same-origin" => 2 * u8::from(is_same),
        "origin-when-cross-origin" => 1 + u8::from(is_same),
        _ if is_same => 2,
        _ => u8::from(!is_downgrade),
    }
}

#[test]
fn a_referrer_policy_that_sends_more_opens() {
    const POLICIES: [&str; 8] = [
        "no-referrer",
        "origin",
        "unsafe-url",
        "strict-origin",
        "no-referrer-when-downgrade",
        "same-origin",
        "origin-when-cross-origin",
        "strict-origin-when-cross-origin",
    ];
    let mut changed = 0;
    for (old, new) in POLICIES.iter().flat_map(|old| POLICIES.map(|new| (*old, new))) {
        let cases = [(true, false), (false, false), (false, true)];
        let [before, after] = [old, new].map(|policy| cases.map(|(a, b)| referrer(policy, a, b)));
        let pairs = || before.iter().zip(&after);
        let expected = (pairs().any(|(old, new)| new > old), pairs().any(|(old, new)| new < old));
        assert_eq!(effects("referrer-policy", old, new), expected, "{old} to {new}");
        changed += u32::from(expected.0 || expected.1);
    }
    assert_eq!(changed, 56);
}

/// Browsers have a default for each of them.
#[test]
fn a_new_header_that_allows_more_than_none_opens() {
    for (name, value, opens) in [
        ("referrer-policy", "unsafe-url", true),
        ("referrer-policy", "no-referrer-when-downgrade", true),
        ("referrer-policy", "strict-origin-when-cross-origin", false),
        ("permissions-policy", "camera=*", true),
        ("permissions-policy", "camera=(self), usb=()", false),
        ("cross-origin-resource-policy", "cross-origin", true),
        ("cross-origin-resource-policy", "same-origin", false),
        ("cross-origin-opener-policy", "unsafe-none", false),
        ("content-security-policy", "default-src *", false),
        ("x-own", "1", false),
    ] {
        let old = with("x-content-type-options", "nosniff");
        let mut new = old.clone();
        let headers = new.headers.get_mut("a").expect("the set");
        headers.every.insert(name.to_owned(), value.to_owned());
        assert_eq!(crate::effects(&old, &new), (opens, true), "{name}: {value}");
    }
}

#[test]
fn what_has_no_order_opens_and_says_so() {
    let (old, new) = (with("x-own", "1"), with("x-own", "2"));
    let changes = changes(&old, &new).expect("two policies");
    let words =
        "opens: GET /: headers: `x-own` was `1`, is `2`, which cannot be shown to be as strict";
    assert_eq!(changes.iter().map(ToString::to_string).collect::<Vec<_>>(), [words]);
}
