//! The verdict of the public-suffix list on names.

use policy_core::{
    Rule,
    cookie::{CookieError, CookieSpec},
    cors::{Cors, CorsConfig, PolicyError},
};

/// Names, and whether the public can register names below them.
const NAMES: [(&str, bool); 24] = [
    // Rules of one label and of two.
    ("com", true),
    ("example.com", false),
    ("shop.example.com", false),
    ("uk", true),
    ("co.uk", true),
    ("example.co.uk", false),
    // Each state of a country, and the schools in it.
    ("ca.us", true),
    ("k12.ca.us", true),
    ("example.k12.ca.us", false),
    // A wildcard, and the exception to it.
    ("any.ck", true),
    ("shop.any.ck", false),
    ("www.ck", false),
    ("any.kobe.jp", true),
    ("shop.any.kobe.jp", false),
    ("city.kobe.jp", false),
    ("www.city.kobe.jp", false),
    // Names below which a company lets its customers register.
    ("github.io", true),
    ("octocat.github.io", false),
    ("uk.com", true),
    ("example.uk.com", false),
    // A name beyond ASCII.
    ("xn--p1ai", true),
    ("example.xn--p1ai", false),
    // A name that is in no rule.
    ("unlisted", true),
    ("example.unlisted", false),
];

#[test]
fn a_wildcard_of_a_public_suffix_has_no_credentials() {
    for (name, is_suffix) in NAMES {
        assert_eq!(is_refused(name), is_suffix, "{name}");
    }
}

/// The list has `*.kobe.jp` and not `kobe.jp`, so that this name can have cookies for itself.
#[test]
fn a_wildcard_over_a_wildcard_of_the_list_has_no_credentials() {
    for name in ["kobe.jp", "firenet.ch", "code.run", "elb.amazonaws.com", "user.fm"] {
        assert!(is_refused(name), "{name}");
        assert_eq!(CookieSpec::new("a").domain(name).check(), Ok(()), "{name}");
    }
}

/// The list has `*.firenet.ch` and `*.svc.firenet.ch`.
#[test]
fn a_name_between_two_wildcards_is_a_public_suffix() {
    for name in ["svc.firenet.ch", "other.firenet.ch", "a.svc.firenet.ch"] {
        assert!(is_refused(name), "{name}");
    }
    assert!(!is_refused("a.other.firenet.ch"));
}

#[test]
fn a_public_suffix_is_rejected_as_a_cookie_domain() {
    for (name, is_suffix) in NAMES {
        let outcome = CookieSpec::new("a").domain(name).check();
        let expected = if is_suffix { Err(CookieError::Domain) } else { Ok(()) };
        assert_eq!(outcome, expected, "{name}");
    }
}

fn is_refused(name: &str) -> bool {
    let mut config = CorsConfig::new([format!("https://*.{name}")]);
    config.credentials = true;
    let rules: Vec<_> = match Cors::from_config("the case", &config) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.errors().iter().map(PolicyError::rule).collect(),
    };
    assert!(rules.iter().all(|rule| *rule == Rule::PublicSuffixWithCredentials), "{rules:?}");
    !rules.is_empty()
}
