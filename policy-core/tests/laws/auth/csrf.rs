//! The requests that a CSRF verdict allows.

use http::HeaderValue;
use policy_core::{
    Refusal,
    csrf::{CsrfPolicy, OriginFacts, OriginVerdict, Provenance, TokenVerdict, origin_verdict},
    head::Single,
};

const OWN: &str = "https://app.example";
const TRUSTED: &str = "https://spa.example";

fn single(field: &Option<(HeaderValue, bool)>) -> Single<'_> {
    match field {
        None => Single::Absent,
        Some((_, true)) => Single::Repeated,
        Some((value, false)) => Single::One(value),
    }
}

/// The page that the headers of a request state, by the rows of the table of `#[csrf]`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum StatedPage {
    Ours,
    Others,
    None,
}

/// The possible effect of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Effect {
    None,
    Socket,
    Change,
}

/// One field: absent, repeated, or a value.
type Field = Option<Result<&'static str, ()>>;

fn stated_page([origin, site, mode, referer]: [Field; 4]) -> StatedPage {
    let is_ours = match (origin, site) {
        (None, None) => match referer {
            None => return StatedPage::None,
            Some(referer) => [
                "https://app.example/a",
                "https://app.example/a?b",
                "https://spa.example",
                "https://spa.example/",
            ]
            .iter()
            .any(|url| referer == Ok(url)),
        },
        (Some(Err(())), _) | (_, Some(Err(()))) => false,
        (Some(Ok(OWN)), site) => site != Some(Ok("cross-site")),
        (Some(Ok(TRUSTED)), _) => true,
        (None, Some(Ok(site))) => ["same-origin", "none"].contains(&site),
        (Some(Ok("null")), Some(Ok(site))) => {
            let may_be_cors = matches!(mode, Some(Err(()) | Ok("cors")));
            ["same-origin", "none"].contains(&site) && !may_be_cors
        }
        (Some(Ok(_)), _) => false,
    };
    if is_ours { StatedPage::Ours } else { StatedPage::Others }
}

fn effect(method: &str, is_upgrade: bool) -> Effect {
    match (method, is_upgrade) {
        ("GET" | "CONNECT", true) => Effect::Socket,
        ("GET" | "HEAD" | "QUERY" | "OPTIONS", false) => Effect::None,
        _ => Effect::Change,
    }
}

/// The table in the documentation of `#[csrf]`.
fn decided(
    policy: CsrfPolicy,
    effect: Effect,
    page: StatedPage,
    token: Option<TokenVerdict>,
) -> Result<(), Refusal> {
    let by_origin = if page == StatedPage::Ours { Ok(()) } else { Err(Refusal::CsrfOrigin) };
    let by_token = match token {
        Some(TokenVerdict::Valid) => Ok(()),
        Some(_) => Err(Refusal::CsrfToken),
        None => by_origin,
    };
    match (effect, page, policy) {
        (Effect::None, ..) | (.., CsrfPolicy::Exempt(_)) => Ok(()),
        (_, StatedPage::Others, _) => Err(Refusal::CsrfOrigin),
        (Effect::Socket, ..) | (.., CsrfPolicy::Origin) => by_origin,
        (Effect::Change, StatedPage::Ours, CsrfPolicy::OriginElseToken) => Ok(()),
        (Effect::Change, StatedPage::None, CsrfPolicy::OriginElseToken)
        | (Effect::Change, _, CsrfPolicy::Token) => by_token,
    }
}

/// Every request that makes a difference to the decision, exhaustively. A protection between two
/// others admits the requests that either of them admits, and only a token makes it admit more than
/// the origin alone.
#[test]
fn every_request_is_decided_as_the_table_says() {
    let origins = [
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
    let sites = ["same-origin", "same-site", "cross-site", "none", "Same-Origin", "", "x"];
    let modes = ["cors", "navigate", "no-cors", "same-origin", "websocket"];
    let referers = [
        "https://app.example/a",
        "https://app.example/a?b",
        "https://spa.example",
        "https://spa.example/",
        "https://app.example@evil.test/",
        "https://app.example.evil.test/https://app.example/",
        "https://app.example\\.evil.test/",
        "http://app.example/",
        "//app.example/",
        "https://evil.test/",
        "",
    ];
    let methods =
        ["GET", "HEAD", "QUERY", "OPTIONS", "POST", "PUT", "DELETE", "TRACE", "CONNECT", "PURGE"];
    let tokens = [
        None,
        Some(TokenVerdict::Valid),
        Some(TokenVerdict::Invalid),
        Some(TokenVerdict::Malformed),
    ];
    let (mut all, mut by_token_alone) = (0, 0);
    for (origin, site, mode, referer) in fields(&origins)
        .flat_map(|origin| fields(&sites).map(move |site| (origin, site)))
        .flat_map(|(origin, site)| fields(&modes).map(move |mode| (origin, site, mode)))
        .flat_map(|(origin, site, mode)| fields(&referers).map(move |it| (origin, site, mode, it)))
    {
        let page = stated_page([origin, site, mode, referer]);
        let values = [origin, site, mode, referer].map(|field| {
            field.map(|value| (HeaderValue::from_static(value.unwrap_or("x")), value.is_err()))
        });
        let [origin, site, mode, referer] = &values;
        for (method, is_upgrade) in methods.iter().flat_map(|name| [(name, false), (name, true)]) {
            let facts = OriginFacts {
                method: &method.parse().expect("a method"),
                is_upgrade,
                origin: single(origin),
                sec_fetch_site: single(site),
                sec_fetch_mode: single(mode),
                referer: single(referer),
            };
            let is = |known: &'static str| move |origin: &[u8]| origin == known.as_bytes();
            let effect = effect(method, is_upgrade);
            let verdict = match (effect, page) {
                (Effect::None, _) | (_, StatedPage::Ours) => OriginVerdict::Passed,
                (_, StatedPage::None) => OriginVerdict::Undecided,
                (_, StatedPage::Others) => OriginVerdict::Refused,
            };
            assert_eq!(origin_verdict(&facts, is(OWN), is(TRUSTED)), verdict, "{facts:?}");
            let provenance = Provenance::judge(&facts, is(OWN), is(TRUSTED));
            for token in tokens {
                let admit = |policy| provenance.admit(policy, || token);
                let of = |policy| decided(policy, effect, page, token);
                let [strict, between, loose, exempt] = [
                    CsrfPolicy::Token,
                    CsrfPolicy::OriginElseToken,
                    CsrfPolicy::Origin,
                    CsrfPolicy::Exempt("signed"),
                ]
                .map(|policy| {
                    let found = admit(policy);
                    assert_eq!(found, of(policy), "{policy} {facts:?} {token:?}");
                    found.is_ok()
                });
                assert!(exempt && (between || !strict) && (between || !loose), "{facts:?}");
                if between && !loose {
                    assert_eq!((page, token), (StatedPage::None, Some(TokenVerdict::Valid)));
                    by_token_alone += 1;
                }
                all += 4;
            }
        }
    }
    assert_eq!(all, 13 * 9 * 7 * 13 * 20 * 4 * 4);
    assert!(by_token_alone > 0);
}

/// The forms of one field.
fn fields(values: &[&'static str]) -> impl Iterator<Item = Field> {
    values.iter().copied().map(|value| Some(Ok(value))).chain([None, Some(Err(()))])
}
