//! Schemes of the app: API keys, webhooks with signed bodies, and Basic.

use std::sync::atomic::AtomicBool;

use hmac::{Hmac, KeyInit, Mac};
use policy_server::{
    AuthError, Scheme, SchemeRequest,
    http::{HeaderValue, header::AUTHORIZATION},
    store::StoreError,
};
use sha2::Sha256;

use super::*;

struct ApiKeys(Arc<AtomicBool>);

impl Scheme for ApiKeys {
    const AMBIENT: bool = false;

    async fn authenticate(
        &self,
        request: &mut SchemeRequest<'_>,
    ) -> Result<Option<Identity>, AuthError> {
        let mut keys = request.headers().get_all("x-api-key").iter();
        match (keys.next(), keys.next()) {
            (None, _) => Ok(None),
            _ if self.0.load(Ordering::Relaxed) => {
                Err(AuthError::Unavailable(StoreError::new("no route to host\nforged line")))
            }
            (Some(key), None) if key == "k-7f3a" => {
                Ok(Some(Identity::new("partner-7").scopes(["prices"])))
            }
            _ => Err(AuthError::Invalid),
        }
    }
}

struct Webhook;

const HOOK_KEY: &[u8] = b"a key of the hook, 32 bytes long";

impl Scheme for Webhook {
    const AMBIENT: bool = false;

    async fn authenticate(
        &self,
        request: &mut SchemeRequest<'_>,
    ) -> Result<Option<Identity>, AuthError> {
        let Some(signature) = request.headers().get("x-signature").cloned() else {
            return Ok(None);
        };
        let target = request.sent_target().path_and_query().map(ToString::to_string);
        let body = request.body().await?;
        match signature == signed(&target.unwrap_or_default(), &body) {
            true => Ok(Some(Identity::new("hook"))),
            false => Err(AuthError::Invalid),
        }
    }
}

/// The signature over a target as it is sent, and a body.
fn signed(target: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(HOOK_KEY).unwrap();
    mac.update(target.as_bytes());
    mac.update(body);
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Basic;

impl Scheme for Basic {
    const AMBIENT: bool = true;

    fn challenge(&self) -> Option<HeaderValue> {
        Some(HeaderValue::from_static("Basic realm=\"orders\", charset=\"UTF-8\""))
    }

    async fn authenticate(
        &self,
        request: &mut SchemeRequest<'_>,
    ) -> Result<Option<Identity>, AuthError> {
        match request.headers().get(AUTHORIZATION) {
            None => Ok(None),
            // `ada:secret` in base64.
            Some(value) if value == "Basic YWRhOnNlY3JldA==" => Ok(Some(Identity::new("ada"))),
            Some(_) => Err(AuthError::Invalid),
        }
    }
}

#[get("/prices")]
#[cors(origins = ["https://spa.example"])]
#[auth(scheme = ApiKeys, scopes = ["prices"])]
async fn prices(me: Principal) -> String {
    format!("{} by {:?}", me.subject(), me.scheme())
}

#[post("/prices")]
#[auth(scheme = ApiKeys, roles = ["editor"])]
async fn change_prices() {}

#[get("/maybe")]
#[auth(scheme = ApiKeys, optional)]
async fn maybe(me: Option<Principal>) -> String {
    me.map_or("nobody".to_owned(), |me| me.subject().to_owned())
}

#[post("/hook")]
#[auth(scheme = Webhook)]
async fn hook(me: Principal, State(shared): State<All>, body: String) -> String {
    shared.count_call();
    format!("{} sent {body}", me.subject())
}

#[get("/orders")]
#[auth(scheme = Basic)]
async fn orders(me: Principal) -> String {
    me.subject().to_owned()
}

#[post("/orders")]
#[cors(origins = ["https://spa.example"], credentials)]
#[auth(scheme = Basic)]
async fn order(me: Principal, State(shared): State<All>) -> String {
    shared.count_call();
    me.subject().to_owned()
}

async fn scenario() -> (Scenario, Arc<AtomicBool>) {
    let fails = Arc::new(AtomicBool::new(false));
    let routes = routes![prices, change_prices, maybe, hook, orders, order];
    let schemes = |app: App<All>| {
        app.scheme(ApiKeys(Arc::clone(&fails)))
            .scheme(Webhook)
            .scheme(Basic)
            .policies(Policies::new().limits(Limits::NONE.body(100_000)))
    };
    (Scenario::with(routes, schemes).await, fails)
}

#[tokio::test]
async fn an_api_key_is_a_credential_like_any_other() {
    let (scenario, fails) = scenario().await;
    let get = |path: &str| scenario.client.get(path).origin(SPA);
    let known = get("/prices").header("x-api-key", "k-7f3a").send().await;
    assert_eq!(known.text(), "partner-7 by Own(\"ApiKeys\")");
    assert_eq!(known.header("cache-control"), Some("private, no-cache"));

    let unknown = get("/prices").send().await;
    assert_problem(&unknown, 401, "auth.credentials-missing");
    let wrong = get("/prices").header("x-api-key", "k").send().await;
    assert_problem(&wrong, 401, "auth.credential-invalid");
    let twice = get("/prices").header("x-api-key", "k-7f3a").header("x-api-key", "k-7f3a");
    assert_problem(&twice.send().await, 401, "auth.credential-invalid");
    fails.store(true, Ordering::Relaxed);
    let (log, _guard) = policy_tests::log::Log::start("policy_server");
    let unchecked = get("/prices").header("x-api-key", "k-7f3a").send().await;
    let failed = log.with_code("auth.scheme-failed");
    assert!(failed.len() == 1 && !failed[0].contains('\n'), "{failed:?}");
    assert_problem(&unchecked, 503, "auth.credentials-unchecked");
    assert_eq!(unchecked.header("retry-after"), Some("1"));
    fails.store(false, Ordering::Relaxed);
    for refused in [unknown, wrong, unchecked] {
        assert_eq!(refused.header("cache-control"), Some("no-store"));
        assert_eq!(refused.header("access-control-allow-origin"), Some(SPA));
        assert!(refused.header("www-authenticate").is_none(), "it has no challenge: {refused:?}");
    }

    let poor = scenario.client.post("/prices").header("x-api-key", "k-7f3a").send().await;
    assert_problem(&poor, 403, "auth.rights-missing");
    assert_eq!(get("/maybe").send().await.text(), "nobody");
    assert_eq!(get("/maybe").header("x-api-key", "k-7f3a").send().await.text(), "partner-7");
    assert_eq!(get("/maybe").header("x-api-key", "k").send().await.status(), 401);
    // A session or a token does not replace it.
    let ada = scenario.login("ada").await;
    let other = ada.get("/prices").header("authorization", bearer(&good_token())).send().await;
    assert_problem(&other, 401, "auth.credentials-missing");
}

#[tokio::test]
async fn a_webhook_signs_target_and_body_and_the_handler_gets_the_body() {
    let (scenario, _) = scenario().await;
    let post_to = |target: &str, body: &str, signature: &str| {
        let request = scenario.client.post(target).header("x-signature", signature);
        // The origin does not matter, since no browser sends the signature automatically.
        request.header("origin", EVIL).body(body.to_owned()).send()
    };
    let post = |body: &str, signature: &str| post_to("/hook", body, signature);
    let signed_body = |body: &[u8]| signed("/hook", body);
    for body in ["", "{\"paid\":1}", &"x".repeat(90_000)] {
        let response = post(body, &signed_body(body.as_bytes())).await;
        assert_eq!(response.text(), format!("hook sent {body}"));
    }
    assert_eq!(scenario.shared.calls(), 3);
    // The normal form of the path selects the route, and the signature covers the path as sent.
    let (sent, normal) = ("/h%6Fok?a=%62", "/hook?a=%62");
    assert_eq!(post_to(sent, "a", &signed(sent, b"a")).await.text(), "hook sent a");
    let other = post_to(sent, "a", &signed(normal, b"a")).await;
    assert_problem(&other, 401, "auth.credential-invalid");
    assert_eq!(post_to(normal, "a", &signed(normal, b"a")).await.text(), "hook sent a");
    assert_problem(&post("a", &signed_body(b"b")).await, 401, "auth.credential-invalid");
    assert_problem(&post("", "").await, 401, "auth.credential-invalid");
    let none = scenario.client.post("/hook").body("a").send().await;
    assert_problem(&none, 401, "auth.credentials-missing");
    // Nothing reads a form before the scheme.
    let signature = signed_body(b"csrf_token=a&b=c");
    let form = scenario.client.post("/hook").header("x-signature", signature);
    let form = form.form(&[("csrf_token", "a"), ("b", "c")]).send().await;
    assert_eq!(form.text(), "hook sent csrf_token=a&b=c");
    let long = "x".repeat(100_001);
    assert_problem(
        &post(&long, &signed_body(long.as_bytes())).await,
        413,
        "request.body-too-large",
    );
    assert_eq!(scenario.shared.calls(), 6);
}

/// A browser that knows the password sends it automatically.
#[tokio::test]
async fn basic_is_protected_as_a_session_is() {
    let (scenario, _) = scenario().await;
    let basic = "Basic YWRhOnNlY3JldA==";
    let get = scenario.client.get("/orders").header("authorization", basic).send().await;
    assert_eq!(get.text(), "ada");
    let control = get.header("cache-control").unwrap();
    assert_eq!(control, "private, no-cache");
    for (request, code) in [
        (scenario.client.get("/orders"), "auth.credentials-missing"),
        (
            scenario.client.get("/orders").header("authorization", "Basic x"),
            "auth.credential-invalid",
        ),
    ] {
        let response = request.send().await;
        assert_problem(&response, 401, code);
        let challenge = "Basic realm=\"orders\", charset=\"UTF-8\"";
        assert_eq!(response.header_all("www-authenticate"), [challenge]);
    }

    let post = || scenario.client.post("/orders").header("authorization", basic);
    for (request, passes) in [
        (post().origin(OWN), true),
        (post().origin(SPA), true),
        (post().header("sec-fetch-site", "same-origin"), true),
        (post().origin(EVIL), false),
        (post().origin("null"), false),
        (post().header("sec-fetch-site", "cross-site"), false),
        (post().header("referer", "https://evil.example/"), false),
        // A request without an origin: no CSRF token exists that could replace it.
        (post(), false),
        (post().header("x-csrf-token", "x"), false),
    ] {
        let before = scenario.shared.calls();
        let response = request.send().await;
        if passes {
            assert_eq!(response.text(), "ada");
        } else {
            assert_problem(&response, 403, "csrf.origin");
            assert!(response.header("www-authenticate").is_none());
        }
        assert_eq!(scenario.shared.calls() - before, usize::from(passes));
    }
}
