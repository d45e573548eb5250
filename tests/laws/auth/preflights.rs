//! What is not asked before an answer to a preflight.

use std::sync::atomic::{AtomicUsize, Ordering};

use http::Method;
use policy_server::{AuthError, Scheme, SchemeRequest, http, prelude::*};
use proptest::{prelude::*, sample::select};

use super::house::{House, Request, login, login_by_token, token_settings};
use crate::{
    law::{Premise, holds},
    store::Store,
};

const APP: &str = "https://app.shop.example";
const POLICY: CorsPolicy =
    CorsPolicy::origins(&["https://app.shop.example"]).headers(&["x-key"]).credentials().build();

static ASKED: AtomicUsize = AtomicUsize::new(0);

/// Counts whom it was asked about.
struct Keys;

impl Scheme for Keys {
    const AMBIENT: bool = false;

    async fn authenticate(
        &self,
        request: &mut SchemeRequest<'_>,
    ) -> Result<Option<Identity>, AuthError> {
        ASKED.fetch_add(1, Ordering::Relaxed);
        let is_there = request.headers().contains_key("x-key");
        Ok(is_there.then(|| Identity::new("ada")))
    }
}

#[put("/session")]
#[cors(POLICY)]
#[auth(session)]
#[limit(rate = "1/min")]
async fn by_session(_me: Principal) {}

#[put("/token")]
#[cors(POLICY)]
#[auth(session | token, scopes = ["s"])]
async fn by_token(_me: Principal) {}

#[put("/key")]
#[cors(POLICY)]
#[auth(scheme = Keys)]
#[isolation(same_origin)]
async fn by_key(_me: Principal) {}

#[options("/own")]
#[put("/own")]
#[cors(POLICY)]
#[auth(session)]
async fn own_options(_me: Principal) {}

/// T9, nobody is asked. The answer to a preflight is the same with and without credentials, good
/// ones and bad ones; and for it no store is asked, no scheme, no anti-forgery check and no rate.
#[test]
fn t09_a_preflight_asks_nobody_who_sent_it() {
    let store = Store::default();
    let sessions = Sessions::store(store.clone());
    let app = App::new(()).sessions(sessions).tokens(token_settings()).scheme(Keys);
    let app = app.routes(routes![by_session, by_token, by_key, own_options, login, login_by_token]);
    let house = House::new(app);
    let id = house.send(Request::post("/login").body("ada")).set_id();
    let token = house.send(Request::post("/tokens/login").body("ada;s")).text("access_token");
    let shown =
        ["nothing", "a session", "no session", "a token", "no token", "a key", "two tokens"];
    let metadata = ["cross-site", "same-site", "none", "nonsense"];
    let cases = (
        select(&["/session", "/token", "/key", "/own"][..]),
        select(shown.to_vec()),
        select(metadata.to_vec()),
        select(&[APP, "https://evil.test"][..]),
    );
    holds("T9, callers", 40, cases, |(path, shown, metadata, origin)| {
        let preflight = Request::new(Method::OPTIONS, path)
            .with("origin", origin)
            .with("access-control-request-method", "PUT")
            .with("access-control-request-headers", "x-key");
        let plain = house.send(preflight.clone());
        let bearer = |request: Request, token: &str| request.bearer(token);
        let request = match shown {
            "a session" => preflight.cookie(id.as_deref()),
            "no session" => preflight.cookie(Some(&"A".repeat(43))),
            "a token" => bearer(preflight, &token),
            "no token" => bearer(preflight, "a.b.c"),
            "two tokens" => bearer(bearer(preflight, &token), &token),
            "a key" => preflight.with("x-key", "1"),
            _ => preflight,
        };
        let before = (store.calls(), ASKED.load(Ordering::Relaxed));
        let reply = house.send(request.with("sec-fetch-site", metadata).body("content"));
        prop_assert_eq!((store.calls(), ASKED.load(Ordering::Relaxed)), before);
        prop_assert_eq!(&reply, &plain);
        prop_assert_eq!(reply.status == 204, origin == APP, "{:?}", reply);
        Ok(Premise::met_if(origin == APP && shown != "nothing"))
    });
}
