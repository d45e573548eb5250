//! No authentication runs before a preflight is answered, or before isolation refuses.

use std::cell::Cell;

use http::Method;
use policy_server::{AuthError, Scheme, SchemeRequest, http, prelude::*, testing::FaultyStore};
use proptest::{prelude::*, sample::select};

use super::test_server::{Request, TestServer, login, login_by_token, token_settings};
use crate::law::{Precondition, holds};

const APP: &str = "https://app.shop.example";
const POLICY: CorsPolicy =
    CorsPolicy::origins(&["https://app.shop.example"]).headers(&["x-key"]).credentials().build();

thread_local! {
    /// How often the scheme was asked by the test of this thread.
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

/// Counts how often it was asked.
struct Keys;

impl Scheme for Keys {
    const AMBIENT: bool = false;

    async fn authenticate(
        &self,
        request: &mut SchemeRequest<'_>,
    ) -> Result<Option<Identity>, AuthError> {
        ASKED.set(ASKED.get() + 1);
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

fn server() -> (TestServer, FaultyStore) {
    let store = FaultyStore::default();
    let sessions = Sessions::store(store.clone());
    let app = App::new(()).sessions(sessions).tokens(token_settings()).scheme(Keys);
    let app = app.routes(routes![by_session, by_token, by_key, own_options, guarded]);
    (TestServer::new(app.routes(routes![login, login_by_token])), store)
}

/// A credential of any kind, valid or not.
fn credential(server: &TestServer) -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let id = server.send(Request::post("/login").body("ada")).set_id().expect("an id");
    let token = server.send(Request::post("/tokens/login").body("ada;s")).text("access_token");
    let cookie = |id: &str| ("cookie", format!("__Host-sid={id}"));
    let bearer = |token: &str| ("authorization", format!("Bearer {token}"));
    select(vec![
        vec![],
        vec![cookie(&id)],
        vec![cookie(&"A".repeat(43))],
        vec![bearer(&token)],
        vec![bearer("a.b.c")],
        vec![cookie(""), bearer("a b")],
        vec![bearer(&token), bearer(&token)],
        vec![("x-key", "1".to_owned())],
        vec![cookie(&id), bearer(&token), ("x-key", "1".to_owned())],
    ])
}

#[put("/guarded")]
#[auth(session | token)]
#[isolation(same_origin)]
async fn guarded(_me: Principal) {}

/// T9, nothing is asked. The response to a preflight is the same with and without credentials,
/// valid or not. No store, scheme, CSRF check or rate limit is asked for it.
#[test]
fn t09_a_preflight_is_not_authenticated() {
    let (server, store) = server();
    let metadata = vec!["cross-site", "same-site", "none", "nonsense"];
    let cases = (
        select(&["/session", "/token", "/key", "/own"][..]),
        credential(&server),
        select(metadata),
        select(&[APP, "https://evil.test"][..]),
    );
    holds("T9, callers", 40, cases, |(path, credential, metadata, origin)| {
        let preflight = Request::new(Method::OPTIONS, path)
            .with("origin", origin)
            .with("access-control-request-method", "PUT")
            .with("access-control-request-headers", "x-key");
        let plain = server.send(preflight.clone());
        let request =
            credential.iter().fold(preflight, |request, (name, value)| request.with(name, value));
        store.take_calls();
        let before = ASKED.get();
        let reply = server.send(request.with("sec-fetch-site", metadata).body("content"));
        prop_assert!(store.take_calls().is_empty());
        prop_assert_eq!(ASKED.get(), before);
        prop_assert_eq!(&reply, &plain);
        prop_assert_eq!(reply.status == 204, origin == APP, "{:?}", reply);
        Ok(Precondition::met_if(origin == APP && !credential.is_empty()))
    });
}

/// T19, before authentication. A refusal by isolation is the same whatever credentials the request
/// carries, and these are not checked.
#[test]
fn t19_isolation_refuses_before_authentication() {
    let (server, store) = server();
    let fields = |name: &'static str, values: &[&'static str]| {
        select(values.iter().map(|value| (name, *value)).collect::<Vec<_>>())
    };
    let metadata = (
        fields("sec-fetch-site", &["cross-site", "same-site", "nonsense", "same-origin"]),
        fields("sec-fetch-mode", &["cors", "no-cors", "navigate"]),
        fields("sec-fetch-dest", &["empty", "document", "image"]),
    );
    let cases = (select(&["/guarded", "/key"][..]), credential(&server), metadata);
    holds("T19, callers", 60, cases, |(path, credential, (site, mode, dest))| {
        let request = Request::new(Method::PUT, path).with("origin", "https://evil.test");
        let request = [site, mode, dest]
            .into_iter()
            .fold(request, |request, (name, value)| request.with(name, value));
        let plain = server.send(request.clone());
        let request =
            credential.iter().fold(request, |request, (name, value)| request.with(name, value));
        store.take_calls();
        let before = ASKED.get();
        let reply = server.send(request);
        let is_refused = site.1 != "same-origin";
        prop_assert_eq!(reply.body.contains("isolation.cross-site"), is_refused, "{:?}", reply);
        if is_refused {
            prop_assert!(store.take_calls().is_empty());
            prop_assert_eq!(ASKED.get(), before);
            prop_assert_eq!(&reply, &plain);
        }
        Ok(Precondition::met_if(is_refused && !credential.is_empty()))
    });
}
