//! Handlers run for admitted callers only, and refusals are alike.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use policy_server::{Body, ReverseProxy, http::Extensions, testing::every_exchange, tokens};

use super::*;

#[get("/lists")]
#[auth(session | token)]
async fn lists() {}

#[get("/offers")]
#[auth(session, optional)]
async fn offers() {}

#[test]
fn a_handler_runs_for_nobody() {
    let app = replaying(
        with_tokens().routes(routes![reports]),
        |sent, status| sent.headers.contains_key("authorization") && status == 200,
        |sent| !sent.headers.contains_key("authorization"),
    );
    let text = prove(app).refutation(Law::AuthBeforeHandler);
    assert!(text.contains("the handler does not run for nobody"), "{text}");
}

/// What a layer writes is no credential.
#[test]
fn a_layer_that_writes_a_token_lets_nobody_in() {
    let app = requesting(with_tokens().routes(routes![reports]), |request| {
        if !request.headers().contains_key("authorization") {
            request.headers_mut().insert("authorization", token_of("user-1"));
        }
    });
    assert_eq!(prove(app).refutation(Law::AuthBeforeHandler), "");
}

/// Each request gets the extensions of the first one, which state what the gates decided.
#[test]
fn a_handler_runs_for_another_user() {
    let first: Arc<Mutex<Option<Extensions>>> = Arc::default();
    let swap = MapRequestLayer::new(move |request: Request| {
        let (mut head, body) = request.into_parts();
        let mut first = first.lock().expect("no panic");
        head.extensions = first.get_or_insert(head.extensions).clone();
        Request::<Body>::from_parts(head, body)
    });
    let app = with_tokens().sessions(Sessions::memory());
    let app = app.group("/v1", Group::new().layer(swap).routes(routes![lists]));
    let text = prove(app).refutation(Law::AuthBeforeHandler);
    assert!(text.contains("seen      it ran for 7001"), "{text}");
}

#[test]
fn a_handler_runs_without_the_user() {
    let app = replaying(
        with_sessions().routes(routes![offers]),
        |sent, status| !sent.headers.contains_key("cookie") && status == 200,
        |sent| sent.headers.contains_key("cookie"),
    );
    let text = prove(app).refutation(Law::AuthBeforeHandler);
    assert!(text.contains("seen      it ran for nobody"), "{text}");
}

/// Asserts that the law about refusals finds an edit of them, in these words.
fn assert_broken(app: App<()>, edit: fn(&Parts, &mut Response), words: &str) {
    breaks(responding(app, edit), &[Law::UniformRefusal], words);
}

#[test]
fn a_wrong_cookie_has_another_status_than_none() {
    let edit = |sent: &Parts, response: &mut Response| {
        if response.status() == 401 && sent.headers.contains_key("cookie") {
            *response.status_mut() = StatusCode::FORBIDDEN;
        }
    };
    assert_broken(with_sessions().routes(routes![orders]), edit, "seen      status 403");
}

#[test]
fn a_wrong_cookie_has_another_field_than_none() {
    let edit = |sent: &Parts, response: &mut Response| {
        if response.status() == 401 && sent.headers.contains_key("cookie") {
            set(response.headers_mut(), "x-reason", "no such session");
        }
    };
    assert_broken(with_sessions().routes(routes![orders]), edit, "x-reason: no such session");
}

#[test]
fn an_expired_token_has_another_field_than_an_unknown_one() {
    let edit = |sent: &Parts, response: &mut Response| {
        let is_long = text(&sent.headers, "authorization").len() > 20;
        if response.status() == 401 && is_long {
            set(response.headers_mut(), "x-reason", "expired");
        }
    };
    assert_broken(with_tokens().routes(routes![reports]), edit, "x-reason: expired");
}

#[test]
fn a_malformed_authorization_has_the_status_of_a_wrong_token() {
    let edit = |_: &Parts, response: &mut Response| {
        if response.status() == 400 {
            *response.status_mut() = StatusCode::UNAUTHORIZED;
        }
    };
    assert_broken(with_tokens().routes(routes![reports]), edit, "expected  status 400");
}

/// A service may know the cookies of a WebSocket, so the grant of its page has to have credentials. A
/// handler needs no such grant, since it has only the session of the app.
#[test]
fn a_mount_is_asked_as_a_service() {
    let shared = Policies::new().cors(CorsPolicy::origins(&["https://app.shop.example"]).build());
    let callers = AuthRequirement::session().optional();
    let live = Mount::new(axum::Router::new()).auth(callers).policies(shared);
    breaks_none(with_sessions().mount("/live", live));
}

#[test]
fn services_run_for_admitted_callers() {
    let app = || {
        let callers = || AuthRequirement::session().or_token().scopes(&["files:read"]);
        let files = Mount::new(axum::Router::new()).auth(callers());
        let proxy = ReverseProxy::new("/old", "http://127.0.0.1:9").auth(callers());
        let page = Fallback::handler(async |_: Request| StatusCode::NOT_FOUND).auth(callers());
        let app = with_tokens().sessions(Sessions::memory());
        app.mount("/files", files).proxy(proxy).fallback(page)
    };
    breaks_none(app());
    let mut ran = BTreeSet::new();
    every_exchange(app(), |exchange| {
        if exchange.handler_ran() {
            ran.insert((exchange.path().to_owned(), exchange.caller().to_owned()));
        }
    });
    let users =
        ["a token", "somebody logged in", "somebody logged in, with the token of the session"];
    let paths = ["/files", "/old", "/policy-probe-no-such-path"];
    let each = paths.map(|path| users.map(|user| (path.to_owned(), user.to_owned())));
    assert_eq!(ran, each.into_iter().flatten().collect::<BTreeSet<_>>());
}

const PARTNER: &str = "https://id.partner.example";

#[get("/stock")]
#[auth(token, issuers = ["https://id.partner.example"], scopes = ["stock:read"])]
async fn stock(_caller: Caller) {}

#[get("/prices")]
#[auth(token, issuers = ["https://id.partner.example"], scopes = ["prices:read"])]
async fn prices(_caller: Caller) {}

/// An issuer that may grant one of two scopes, under another name.
fn partner() -> tokens::Issuer {
    let issuer = tokens::Issuer::new(PARTNER).jwks("https://id.partner.example/keys");
    issuer.scope_as("Stock.Read", "stock:read")
}

#[test]
fn tokens_of_other_issuers_run_only_on_their_routes_within_their_rights() {
    let settings = Tokens::hs256([("k1", secret())]).expect("a key").accept(partner());
    let app = app().tokens(settings).routes(routes![stock, prices, reports]);
    let (mut tried, mut ran) = (Vec::new(), Vec::new());
    every_exchange(app, |exchange| {
        if exchange.caller() == format!("a token of a user of `{PARTNER}`") {
            tried.push(exchange.path().to_owned());
            ran.extend(exchange.handler_ran().then(|| exchange.path().to_owned()));
        }
    });
    for paths in [&mut tried, &mut ran] {
        paths.sort_unstable();
        paths.dedup();
    }
    assert_eq!(tried, ["/prices", "/reports", "/stock"]);
    assert_eq!(ran, ["/stock"]);
}

#[test]
fn an_app_that_signs_no_tokens_is_put_to_the_test() {
    let app = app().tokens(Tokens::accepting(partner())).routes(routes![stock]);
    let proof = prove(app);
    for law in Law::ALL {
        proof.check(law);
    }
}
