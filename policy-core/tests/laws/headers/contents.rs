//! A browser reads a content security policy as it was written.

use http::{
    HeaderMap, HeaderValue,
    header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE},
};
use policy_core::{
    headers::{
        HeadersPolicy, HeadersSpec, Nonce, SecurityHeaders,
        csp::{self, Directive, Name, Source},
    },
    route::FromSpec as _,
};
use proptest::{collection::vec, prelude::*, sample::select};

use policy_core_tests::law::{Precondition, holds};

/// A policy as a browser reads it (Content Security Policy 3, 2.2.1): split at `;` and at white
/// space.
type Read = Vec<(String, Vec<String>)>;

fn read(policy: &str) -> Read {
    let words = |directive: &str| directive.split_ascii_whitespace().map(str::to_owned).collect();
    let directives = policy.split(';').map(words).filter(|words: &Vec<_>| !words.is_empty());
    directives.map(|mut words| (words.remove(0), words)).collect()
}

fn header(directives: &'static [Directive<'static>], nonce: Option<&Nonce>) -> Option<String> {
    let spec = HeadersSpec { csp: Some(directives), ..HeadersSpec::NOTHING };
    let policy = HeadersPolicy::from_spec(spec).ok()?;
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
    SecurityHeaders::new(&policy).apply(&mut headers, nonce);
    assert_eq!(headers.get_all(CONTENT_SECURITY_POLICY).iter().count(), 1);
    Some(headers[CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned())
}

/// Directives that a policy omits get a default: `default-src` covers plug-ins.
fn add_defaults(read: &mut Read) {
    for (name, source, says_it) in [
        ("base-uri", "'self'", "base-uri"),
        ("object-src", "'none'", "default-src"),
        ("frame-ancestors", "'self'", "frame-ancestors"),
    ] {
        if !read.iter().any(|(other, _)| other == name || other == says_it) {
            read.push((name.to_owned(), vec![source.to_owned()]));
        }
    }
}

fn words() -> impl Strategy<Value = String> {
    let good = select(vec![
        "'none'",
        "'self'",
        "*",
        "'nonce'",
        "'strict-dynamic'",
        "'unsafe-inline'",
        "data:",
        "https:",
        "https://cdn.example",
        "*.shop.example:8443",
        "wss://a.example:*/socket",
        "'sha256-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='",
        "allow-forms",
    ]);
    prop_oneof![
        12 => good.prop_map(str::to_owned),
        1 => "[a-z:/.*'\"; ,\\-\r\n%é]{0,12}",
    ]
}

/// A browser reads every accepted policy word by word as it was written, with the defaults that it
/// does not cover and no other directive.
#[test]
fn the_header_contains_only_the_written_policy_and_defaults() {
    let kinds = select(vec![0, 1, 2, 3]);
    let sources = vec((kinds, words()), 0..3);
    let directives = vec((select(Name::ALL.to_vec()), sources), 1..3);
    holds("typed policy for contents", 15, directives, |directives| {
        let typed = |(kind, word): (u8, String)| {
            let word: &'static str = word.leak();
            let quoted = word.strip_prefix('\'').and_then(|word| word.strip_suffix('\''));
            match (word, kind) {
                ("'none'", _) => Source::None,
                ("'self'", _) => Source::SelfOrigin,
                ("*", _) => Source::Any,
                ("'nonce'", _) => Source::Nonce,
                ("'strict-dynamic'", _) => Source::StrictDynamic,
                ("'unsafe-inline'", _) => Source::DangerousUnsafeInline,
                ("allow-forms", _) => Source::Word(word),
                _ if word.ends_with(':') => Source::Scheme(word),
                (_, 0..=2) => quoted.map_or(Source::Host(word), Source::Hash),
                _ => Source::Word(word),
            }
        };
        let typed: Vec<_> = directives
            .into_iter()
            .map(|(name, sources)| {
                let sources: Vec<_> = sources.into_iter().map(typed).collect();
                Directive(name, sources.leak())
            })
            .collect();
        let typed: &'static [Directive<'static>] = typed.leak();
        let Some(header) = header(typed, Some(&Nonce::from_bytes([0; 16]))) else {
            return Ok(Precondition::Unmet);
        };
        let mut due: Read = typed
            .iter()
            .map(|Directive(name, sources)| {
                let text = |source: &Source<'_>| match source {
                    Source::Nonce => "'nonce-AAAAAAAAAAAAAAAAAAAAAA'".to_owned(),
                    Source::Hash(hash) => format!("'{hash}'"),
                    source => source.text().to_owned(),
                };
                (name.text().to_owned(), sources.iter().map(text).collect())
            })
            .collect();
        add_defaults(&mut due);
        prop_assert_eq!(read(&header), due);
        Ok(Precondition::Met)
    });
}

/// An accepted text is emitted unchanged, apart from white space, the nonce and the defaults.
#[test]
fn a_text_comes_out_as_it_went_in() {
    let blank = || select(vec![" ", "  ", "\t"]);
    let names = prop_oneof![
        12 => select(Name::ALL.to_vec()).prop_map(|name| name.text().to_owned()),
        1 => "[a-z\\-]{1,12}",
    ];
    let directive = (names, vec((blank(), words()), 0..3));
    let texts = vec((directive, select(vec![";", "; ", " ;;"])), 1..4).prop_map(|directives| {
        let mut text = String::new();
        for ((name, words), end) in directives {
            text += &name;
            words.iter().for_each(|(blank, word)| text += &format!("{blank}{word}"));
            text += end;
        }
        text
    });
    holds("policy for contents as text", 15, texts, |text| {
        let text: &'static str = text.leak();
        let parsed = csp::parse(text);
        if !parsed.violations.is_empty() {
            return Ok(Precondition::Unmet);
        }
        let borrowed = Box::leak(Box::new(parsed)).borrowed();
        let Some(header) = header(borrowed.leak(), Some(&Nonce::from_bytes([0; 16]))) else {
            return Ok(Precondition::Unmet);
        };
        let mut due = read(&text.replace("'nonce'", "'nonce-AAAAAAAAAAAAAAAAAAAAAA'"));
        add_defaults(&mut due);
        prop_assert_eq!(read(&header), due);
        Ok(Precondition::Met)
    });
}

/// A nonce is one source of its list and adds no other.
#[test]
fn a_nonce_is_one_source() {
    const POLICY: &[Directive<'static>] =
        &[Directive(Name::ScriptSrc, &[Source::SelfOrigin, Source::Nonce])];
    holds("nonce", 100, any::<[u8; 16]>(), |random| {
        let nonce = Nonce::from_bytes(random);
        let header = header(POLICY, Some(&nonce)).unwrap();
        let sources = read(&header).remove(0).1;
        prop_assert_eq!(&sources, &["'self'".to_owned(), format!("'nonce-{nonce}'")]);
        let is_base64url = |char: char| char.is_ascii_alphanumeric() || "-_".contains(char);
        prop_assert!(nonce.as_str().chars().all(is_base64url));
        Ok(Precondition::Met)
    });
}
