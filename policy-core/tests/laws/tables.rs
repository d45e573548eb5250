//! The tables of the engine, entry by entry, against the lists of the standards, which are written
//! here a second time: a table that loses an entry, or gets a wrong one, fails here.

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use policy_core::{
    Rule,
    cache::is_cacheable_by_default,
    conditional::not_modified,
    cors::{Cors, CorsConfig},
    head::Single,
    jsonp::{Callback, Grammar},
};
use policy_core_tests::caching::CACHEABLE_BY_DEFAULT;

/// Fetch 2.2.2, forbidden request-header.
const FORBIDDEN_REQUEST_HEADERS: &str = "Accept-Charset Accept-Encoding \
    Access-Control-Request-Headers Access-Control-Request-Method Connection Content-Length Cookie \
    Cookie2 Date DNT Expect Host Keep-Alive Origin Referer Set-Cookie TE Trailer Transfer-Encoding \
    Upgrade Via Proxy-Connection Sec-Fetch-Site Sec- Proxy-";

/// Fetch 3.3.3.
const CORS_RESPONSE_HEADERS: &str = "Access-Control-Allow-Origin Access-Control-Allow-Credentials \
    Access-Control-Allow-Methods Access-Control-Allow-Headers Access-Control-Max-Age \
    Access-Control-Expose-Headers";

/// ECMA-262 12.7.2: reserved words and literals, the words that strict mode and modules reserve, and
/// the two names that strict mode does not bind (13.1.1).
pub(crate) const RESERVED_WORDS: &str = "await break case catch class const continue debugger \
    default delete do else enum export extends false finally for function if import in instanceof \
    new null return super switch this throw true try typeof var void while with yield let static \
    implements interface package private protected public arguments eval";

fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split_whitespace()
}

fn config() -> CorsConfig {
    CorsConfig::new(["https://a.example"])
}

fn rules(config: &CorsConfig) -> Vec<Rule> {
    match Cors::from_config("the table", config) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.errors().iter().map(policy_core::cors::PolicyError::rule).collect(),
    }
}

/// Each name as the standard writes it, and in both cases.
fn cases(name: &str) -> [String; 3] {
    [name.to_owned(), name.to_lowercase(), name.to_uppercase()]
}

fn with_method(name: &str) -> CorsConfig {
    let mut config = config();
    config.methods = Some(vec![name.to_owned()]);
    config
}

fn with_header(name: &str) -> CorsConfig {
    let mut config = config();
    config.headers = vec![name.to_owned()];
    config
}

fn with_exposed(name: &str) -> CorsConfig {
    let mut config = config();
    config.expose = vec![name.to_owned()];
    config
}

/// The methods that a preflight names for a path with these methods.
fn allowed_methods(config: &CorsConfig, served: &[Method]) -> String {
    let cors = Cors::from_config("the table", config).expect("a policy");
    let origin = HeaderValue::from_static("https://a.example");
    let method = HeaderValue::from_static("PUT");
    let preflight = cors.preflight(served, &[]);
    let granted = preflight.answer(&cors, Single::One(&origin), Single::One(&method));
    let (_, headers) = granted.expect("a granted preflight");
    headers["access-control-allow-methods"].to_str().expect("text").to_owned()
}

/// Fetch 2.2.1.
#[test]
fn methods_that_no_script_sends_are_refused() {
    for name in ["CONNECT", "TRACE", "TRACK"].iter().flat_map(|name| cases(name)) {
        assert_eq!(rules(&with_method(&name)), [Rule::MethodForbidden], "{name}");
    }
    for name in ["GET", "PATCH", "QUERY", "CONNECTED", "TRAC"].iter().flat_map(|name| cases(name)) {
        assert_eq!(rules(&with_method(&name)), [], "{name}");
    }
}

/// Fetch 2.2.1: browsers send six methods in upper case, and every other one as it was written.
#[test]
fn methods_are_normalised_as_browsers_do() {
    let allowed = |name: &str| allowed_methods(&with_method(name), &[]);
    for name in ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"] {
        for written in cases(name) {
            assert_eq!(allowed(&written), name, "{written}");
        }
    }
    for written in ["patch", "Patch", "PATCH", "query", "purge", "puts"] {
        assert_eq!(allowed(written), written);
    }
}

#[test]
fn request_headers_that_no_script_sets_are_refused() {
    for name in words(FORBIDDEN_REQUEST_HEADERS).flat_map(cases) {
        assert_eq!(rules(&with_header(&name)), [Rule::HeaderForbidden], "{name}");
    }
    for name in words(CORS_RESPONSE_HEADERS).flat_map(cases) {
        assert_eq!(rules(&with_header(&name)), [Rule::HeaderOfResponse], "{name}");
    }
    for name in
        ["X-A", "Authorization", "User-Agent", "Secret", "Proxy", "Sec", "If-Match", "Range"]
    {
        assert!(cases(name).iter().all(|name| rules(&with_header(name)).is_empty()), "{name}");
    }
}

#[test]
fn response_headers_that_no_script_reads_are_refused() {
    for name in words("Set-Cookie Set-Cookie2").flat_map(cases) {
        assert_eq!(rules(&with_exposed(&name)), [Rule::ExposeForbidden], "{name}");
    }
    let of_requests = "Origin Access-Control-Request-Method Access-Control-Request-Headers \
        Access-Control-Allow-Methods Access-Control-Allow-Headers Access-Control-Max-Age";
    for name in words(of_requests).flat_map(cases) {
        assert_eq!(rules(&with_exposed(&name)), [Rule::ExposeOfRequest], "{name}");
    }
    for name in ["ETag", "X-Total", "Access-Control-Allow-Origin", "Location"] {
        assert!(cases(name).iter().all(|name| rules(&with_exposed(name)).is_empty()), "{name}");
    }
}

/// Headers that need no permission get a notice: Fetch 2.2.2, CORS-safelisted response-header name
/// and request-header.
#[test]
fn headers_that_need_no_permission_are_noticed() {
    let notices = |config: &CorsConfig| -> Vec<Rule> {
        let cors = Cors::from_config("the table", config).expect("a policy");
        cors.notices().iter().map(policy_core::cors::PolicyError::rule).collect()
    };
    let exposed = |name: &str| notices(&with_exposed(name));
    let allowed = |name: &str| notices(&with_header(name));
    let safelisted = "Cache-Control Content-Language Content-Length Content-Type Expires \
        Last-Modified Pragma";
    for name in words(safelisted).flat_map(cases) {
        assert_eq!(exposed(&name), [Rule::ExposeSafelisted], "{name}");
    }
    for name in words("Accept Accept-Language Content-Language").flat_map(cases) {
        assert_eq!(allowed(&name), [Rule::HeaderSafelisted], "{name}");
    }
    assert!(["ETag", "Date", "X-A"].iter().all(|name| exposed(name).is_empty()));
    assert!(["Content-Type", "Range", "X-A"].iter().all(|name| allowed(name).is_empty()));
}

#[test]
fn reserved_words_are_no_function() {
    let parse = |name: &str| Callback::parse(name, Grammar::Dotted);
    for word in words(RESERVED_WORDS) {
        for name in [word.to_owned(), format!("a.{word}"), format!("{word}.a")] {
            assert_eq!(parse(&name), None, "{name}");
        }
        for name in [format!("{word}1"), format!("_{word}"), word.to_uppercase()] {
            assert!(parse(&name).is_some(), "{name}");
        }
    }
}

/// RFC 9110 15.4.5; digests by RFC 9530 and its predecessors (RFC 3230, RFC 1864).
#[test]
fn a_304_has_no_header_about_content() {
    let of_content = "content-encoding content-language content-length content-range content-type \
        content-digest content-md5 digest repr-digest trailer transfer-encoding";
    for name in words(of_content) {
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::try_from(name).expect("a name"), HeaderValue::from_static("x"));
        not_modified(&mut headers);
        assert!(headers.is_empty(), "{name}");
    }
}

#[test]
fn statuses_are_cacheable_by_default_as_the_standard_says() {
    let found: Vec<u16> = (100..1000).filter(|status| is_cacheable_by_default(*status)).collect();
    assert_eq!(found, CACHEABLE_BY_DEFAULT);
}

/// RFC 1035 2.3.4: 63 bytes in a label and 253 in a name, of which `*.` takes two.
#[test]
fn labels_and_names_have_their_longest_lengths() {
    let name = |len: usize| {
        let label = "l".repeat(63);
        let mut name = format!("{label}.{label}.{label}.");
        name.push_str(&"m".repeat(len - name.len()));
        name
    };
    let is_fine = |origin: String| Cors::from_config("", &CorsConfig::new([origin])).is_ok();
    for (len, fits) in [(1, true), (62, true), (63, true), (64, false), (65, false)] {
        assert_eq!(is_fine(format!("https://{}.example", "l".repeat(len))), fits, "{len}");
        assert_eq!(is_fine(format!("https://a.{}", "l".repeat(len))), fits, "{len}");
    }
    for (len, fits) in [(252, true), (253, true), (254, false), (255, false)] {
        assert_eq!(is_fine(format!("https://{}", name(len))), fits, "{len}");
    }
    for (len, fits) in [(250, true), (251, true), (252, false), (253, false)] {
        assert_eq!(is_fine(format!("https://*.{}", name(len))), fits, "{len}");
    }
}

/// A served method is what a preflight names, save for those that no script sends.
#[test]
fn no_preflight_names_a_forbidden_method() {
    let served =
        [Method::PUT, Method::CONNECT, Method::TRACE, Method::from_bytes(b"TRACK").unwrap()];
    assert_eq!(allowed_methods(&config(), &served), "PUT");
}
