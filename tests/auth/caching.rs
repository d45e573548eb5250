//! What caches may store depends on whom the response is for.

use policy_server::{AuthError, Scheme, SchemeRequest, http::HeaderMap};
use policy_tests::handlers::asked_for;

use super::*;

/// A scheme of the app with a cookie of its own.
struct Legacy;

impl Scheme for Legacy {
    const AMBIENT: bool = true;

    async fn authenticate(
        &self,
        request: &mut SchemeRequest<'_>,
    ) -> Result<Option<Identity>, AuthError> {
        Ok(request.headers().get("cookie").map(|_| Identity::new("ada")))
    }
}

#[get("/session")]
#[cors(origins = ["https://spa.example"], credentials)]
#[auth(session)]
async fn session(headers: HeaderMap) -> HeaderMap {
    asked_for(&headers)
}

#[get("/not-modified")]
#[auth(session)]
async fn not_modified() -> StatusCode {
    StatusCode::NOT_MODIFIED
}

#[get("/token")]
#[auth(token)]
async fn token(headers: HeaderMap) -> HeaderMap {
    asked_for(&headers)
}

#[get("/optional")]
#[auth(session | token, optional)]
async fn optional(headers: HeaderMap) -> HeaderMap {
    asked_for(&headers)
}

#[get("/optional/logout")]
#[auth(session | token, optional)]
async fn optional_logout(session: Session, headers: HeaderMap) -> HeaderMap {
    session.logout();
    asked_for(&headers)
}

#[get("/public")]
#[auth(public)]
async fn public(headers: HeaderMap) -> HeaderMap {
    asked_for(&headers)
}

#[get("/public/session")]
#[auth(public)]
async fn public_session(_session: Session, headers: HeaderMap) -> HeaderMap {
    asked_for(&headers)
}

#[get("/public/error")]
#[auth(public)]
async fn public_error(_session: Session) -> Problem {
    Problem::not_found()
}

#[get("/form")]
#[auth(session)]
async fn form(csrf: CsrfToken, headers: HeaderMap) -> (HeaderMap, String) {
    (asked_for(&headers), csrf.field())
}

#[post("/issue")]
#[auth(public)]
async fn issue(tokens: Tokens, headers: HeaderMap) -> Result<(HeaderMap, String), Problem> {
    Ok((asked_for(&headers), tokens.issue(&Identity::new("ada"))?.access_token))
}

#[get("/legacy")]
#[auth(scheme = Legacy)]
async fn legacy(headers: HeaderMap) -> HeaderMap {
    asked_for(&headers)
}

async fn scenario() -> Scenario {
    let routes = routes![
        session,
        not_modified,
        token,
        optional,
        optional_logout,
        public,
        public_session,
        public_error,
        form,
        issue,
        legacy,
    ];
    Scenario::with(routes, |app| app.scheme(Legacy)).await
}

fn control(response: &TestResponse) -> String {
    response.header_all("cache-control").join(" AND ")
}

fn varies_by_cookie(response: &TestResponse) -> bool {
    response.header_all("vary").iter().any(|line| line.split(", ").any(|name| name == "cookie"))
}

/// The cases of `caching` that a server decides; what a macro refuses comes from a handler here.
#[tokio::test]
async fn every_case_is_cached_as_it_says() {
    let scenario = scenario().await;
    for case in section("caching", 10) {
        let (input, expect) = (&case["input"], &case["expect"]);
        let ada = scenario.login("ada").await;
        let declared = input["declared"].as_str().map(|value| format!("cache-control: {value}"));
        let answered = |request: TestRequest| match &declared {
            Some(declared) => request.header("x-response", declared).send(),
            None => request.send(),
        };
        let by_token = scenario.client.get("/token").header("authorization", bearer(&good_token()));
        let stale = format!("__Host-sid={}", "A".repeat(43));
        let response = match case["id"].as_str().unwrap() {
            "CAC-002" | "CAC-003" => answered(ada.get("/session")).await,
            "CAC-004" => answered(ada.post("/login/ada")).await,
            "CAC-006" => {
                let logout = scenario.client.get("/optional/logout").header("cookie", stale);
                answered(logout).await
            }
            "CAC-007" | "CAC-008" => answered(by_token).await,
            "CAC-009" => answered(scenario.client.get("/session")).await,
            "CAC-010" => answered(ada.bare("/set/a/1").origin(EVIL)).await,
            "CAC-011" => answered(scenario.client.post("/issue")).await,
            "CAC-012" => answered(ada.post("/logout")).await,
            other => panic!("{other}"),
        };
        let expected = match expect["cache_control"].as_str() {
            Some(control) => control,
            None => {
                assert_eq!(expect["compile_error"], true);
                "private, no-cache"
            }
        };
        assert_eq!(control(&response), expected, "{case}");
        if let Some(varies) = expect["vary_has_cookie"].as_bool() {
            assert_eq!(varies_by_cookie(&response), varies, "{case}");
        }
        if expect["vary_has_authorization"] == false {
            assert!(response.header("vary").is_none(), "{case}");
        }
    }
}

#[tokio::test]
async fn a_handler_may_be_stricter_and_never_laxer() {
    let scenario = scenario().await;
    let ada = scenario.login("ada").await;
    for (declared, control_of_session) in [
        ("no-store", "no-store"),
        ("private, max-age=60", "private, max-age=60"),
        ("public, max-age=60", "private, no-cache"),
        ("max-age=60", "private, no-cache"),
        ("private", "private, no-cache"),
        ("private, max-age=60, s-maxage=60", "private, max-age=60"),
        ("private=\"x-a\", max-age=60", "private, no-cache"),
        ("no-cache=\"set-cookie\"", "private, no-cache"),
        ("PUBLIC, S-MAXAGE=9", "private, no-cache"),
    ] {
        let fields = format!(
            "cache-control: {declared}|cdn-cache-control: max-age=60|surrogate-control: max-age=9"
        );
        let by_token = scenario.client.get("/token").header("authorization", bearer(&good_token()));
        for (request, expected) in [
            (ada.get("/session"), control_of_session),
            (by_token, control_of_session),
            (ada.get("/public/session"), control_of_session),
            (ada.get("/optional"), control_of_session),
            (ada.get("/form"), "no-store"),
            (ada.get("/legacy"), control_of_session),
            (scenario.client.post("/issue"), "no-store"),
            (scenario.client.get("/public/session"), control_of_session),
        ] {
            let response = request.header("x-response", &fields).send().await;
            assert_eq!(control(&response), expected, "{declared} {response:?}");
            assert!(response.header("cdn-cache-control").is_none(), "{response:?}");
            assert!(response.header("surrogate-control").is_none(), "{response:?}");
        }
        // On a public route the handler's `Cache-Control` is kept.
        let open = scenario.client.get("/public").header("x-response", &fields).send().await;
        assert_eq!(open.headers()["cache-control"], declared.as_bytes());
        assert_eq!(open.header("cdn-cache-control"), Some("max-age=60"));
        assert!(open.header("vary").is_none());
    }
}

#[tokio::test]
async fn responses_that_read_the_session_vary_by_cookie_for_all_callers() {
    let scenario = scenario().await;
    let ada = scenario.login("ada").await;
    for path in ["/public/session", "/public/error", "/optional"] {
        for request in [scenario.client.get(path), ada.get(path)] {
            let response = request.send().await;
            assert_eq!(control(&response), "private, no-cache", "{path} {response:?}");
            assert!(varies_by_cookie(&response), "{path} {response:?}");
        }
    }
    let not_modified = ada.get("/not-modified").send().await;
    assert_eq!(
        (not_modified.status().as_u16(), &*control(&not_modified)),
        (304, "private, no-cache")
    );
    assert!(varies_by_cookie(&not_modified));
    let head = scenario.client.head("/session").header("cookie", &ada.cookie).send().await;
    assert_eq!(control(&head), "private, no-cache");
    // In addition to what CORS and the handler set.
    let response =
        ada.get("/session").origin(SPA).header("x-response", "vary: accept").send().await;
    let mut vary: Vec<_> =
        response.header_all("vary").iter().flat_map(|line| line.split(", ")).collect();
    vary.sort_unstable_by_key(|name| name.to_lowercase());
    assert_eq!(vary.join(" ").to_lowercase(), "accept cookie origin");
    // The scheme's own cookie counts too.
    assert!(varies_by_cookie(&ada.get("/legacy").send().await));
}
