//! What a CSRF verdict allows.

use http::{HeaderValue, Method};
use policy_core::{
    csrf::{OriginFacts, OriginVerdict, origin_verdict},
    gate::Single,
};
use proptest::{option, prelude::*, sample::select};

use policy_core_tests::law::{Precondition, holds};

const OWN: &str = "https://app.example";
const TRUSTED: &str = "https://spa.example";

/// A change is allowed only if its origin is trusted, or if Fetch Metadata says that it comes from
/// this origin or the user and no origin contradicts that.
#[test]
fn no_origin_outside_of_the_trusted_set_passes() {
    let origins = vec![
        OWN,
        TRUSTED,
        "null",
        "",
        "http://app.example",
        "https://app.example:8443",
        "https://APP.example",
        "https://app.example.evil.test",
        "https://app.example/",
        "https://app.example https://evil.test",
        "https://evil.test",
    ];
    let referers = vec![
        "https://app.example/a?b",
        "https://spa.example",
        "https://app.example@evil.test/",
        "https://app.example.evil.test/https://app.example/",
        "https://app.example\\.evil.test/",
        "http://app.example/",
        "//app.example/",
        "",
    ];
    let sites = vec!["same-origin", "none", "same-site", "cross-site", "Same-Origin", "", "x"];
    let field = |values: Vec<&'static str>| {
        option::weighted(0.6, (select(values), prop::bool::weighted(0.05)))
    };
    let methods = vec![Method::POST, Method::PUT, Method::DELETE, Method::TRACE, Method::GET];
    let modes = vec!["cors", "navigate", "no-cors", "same-origin", "websocket"];
    let cases = (field(origins), field(sites), field(modes), field(referers), select(methods));
    holds("verdict", 17, cases, |(origin, site, mode, referer, method)| {
        let value = |field: Option<(&'static str, bool)>| {
            field.map(|(text, repeated)| (HeaderValue::from_static(text), repeated))
        };
        let (origin_value, site_value, mode_value, referer_value) =
            (value(origin), value(site), value(mode), value(referer));
        let facts = OriginFacts {
            // A GET matters if it opens a WebSocket.
            is_upgrade: method == Method::GET,
            method: &method,
            origin: single(&origin_value),
            sec_fetch_site: single(&site_value),
            sec_fetch_mode: single(&mode_value),
            referer: single(&referer_value),
        };
        let verdict = origin_verdict(
            &facts,
            |origin| origin == OWN.as_bytes(),
            |origin| origin == TRUSTED.as_bytes(),
        );
        let once = |field: Option<(&'static str, bool)>| field.filter(|(_, twice)| !twice);
        let said = |field: Option<(&'static str, bool)>| once(field).map(|(text, _)| text);
        let is_listed = matches!(said(origin), Some(OWN | TRUSTED));
        let may_be_cors = matches!(mode, Some((_, true)) | Some(("cors", _)));
        let is_null = matches!(origin, Some(("null", false))) && !may_be_cors;
        let says_here =
            matches!(said(site), Some("same-origin" | "none")) && (origin.is_none() || is_null);
        let came_from =
            matches!(said(referer), Some("https://app.example/a?b" | "https://spa.example"))
                && origin.is_none()
                && site.is_none();
        let is_contradiction = said(origin) == Some(OWN) && said(site) == Some("cross-site");
        let is_repeated = [origin, site].into_iter().flatten().any(|(_, twice)| twice);
        let may_pass = (is_listed || says_here || came_from) && !is_contradiction && !is_repeated;
        let says_nothing = origin.is_none() && site.is_none() && referer.is_none();
        prop_assert_eq!(verdict == OriginVerdict::Passed, may_pass);
        prop_assert_eq!(verdict == OriginVerdict::Undecided, says_nothing);
        Ok(Precondition::met_if(may_pass))
    });
}

fn single(field: &Option<(HeaderValue, bool)>) -> Single<'_> {
    match field {
        None => Single::Absent,
        Some((_, true)) => Single::Repeated,
        Some((value, false)) => Single::One(value),
    }
}
