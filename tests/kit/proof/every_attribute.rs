//! An app that uses every attribute.

use policy_server::{
    AuthError, Body, CsrfPolicy, Scheme, SchemeRequest, SharedOrigins, http,
    prelude::*,
    tokens::{Issuer, SecretKey},
};

/// An API key in a header of its own.
pub(super) struct ApiKeys;

impl Scheme for ApiKeys {
    const AMBIENT: bool = false;

    async fn authenticate(
        &self,
        _request: &mut SchemeRequest<'_>,
    ) -> Result<Option<Identity>, AuthError> {
        panic!("schemes do not run in proofs")
    }
}

const SHOP: CorsPolicy =
    CorsPolicy::origins(&["https://app.shop.example", "https://*.partner.example"])
        .credentials()
        .expose(&["x-total"])
        .headers(&["x-request-id"])
        .build();
const EVERYBODY: CorsPolicy = CorsPolicy::origins(&["*"]).build();
const CACHED: CachePolicy = CachePolicy::public().max_age(60).build();

#[get("/")]
#[cors(origins = ["*"])]
#[auth(public)]
#[cache(public, max_age = 60)]
async fn index() -> &'static str {
    panic!("handlers do not run in proofs")
}

#[get("/orders/{id}")]
#[cors(SHOP)]
#[auth(session | token, scopes = ["orders:read", "orders:list"])]
#[cache(private, max_age = 30)]
#[object(none = "a test of something else")]
async fn order(id: u64, _who: Principal) -> String {
    panic!("handlers do not run in proofs: {id}")
}

#[put("/orders/{id}")]
#[cors(SHOP)]
#[auth(session | token, scopes = ["orders:write"], fresh = "10m")]
#[object(none = "a test of something else")]
async fn change(id: u64) -> String {
    panic!("handlers do not run in proofs: {id}")
}

#[post("/orders")]
#[cors(origins = ["https://app.shop.example"], credentials, max_age = 600)]
#[auth(session, roles = ["buyer", "admin"])]
#[limit(body = "64KiB", rate = "10/min")]
async fn buy() {}

#[query("/orders")]
#[cors(origins = ["https://app.shop.example"], credentials, max_age = 600)]
#[auth(session)]
async fn find() {}

#[post("/login")]
#[cors(origins = ["https://app.shop.example"], credentials)]
#[auth(public)]
async fn login(_sessions: Sessions) {}

#[post("/preferences")]
#[auth(session, optional, roles = ["buyer"])]
#[csrf(origin)]
async fn prefer() {}

/// Guests read with a token; their pages are not trusted with the sessions of users.
#[allow(deprecated, reason = "a warning of the attributes: sessions are not for those pages")]
#[get("/quotes")]
#[post("/quotes")]
#[cors(origins = ["https://guest.shop.example"])]
#[auth(session | token)]
#[csrf(origin)]
async fn quote() {}

#[options("/orders")]
#[cors(origins = ["https://app.shop.example"], credentials, max_age = 600)]
#[auth(public)]
async fn describe() {}

#[post("/hook")]
#[cors(none)]
#[auth(session)]
#[csrf(exempt = "signed by its sender")]
async fn hook() {}

#[delete("/keys/{id}")]
#[cors(none)]
#[auth(scheme = ApiKeys, scopes = ["keys"])]
#[headers(csp = "default-src 'none'")]
#[object(none = "a test of something else")]
async fn revoke(id: u64) -> String {
    panic!("handlers do not run in proofs: {id}")
}

#[get("/prices")]
#[cors(origins = config("partners", within = ["https://*.partner.example"]), headers = ["*"])]
#[auth(public)]
#[isolation(same_origin)]
async fn prices() -> &'static str {
    panic!("handlers do not run in proofs")
}

#[get("/feed")]
#[auth(public)]
#[jsonp(callback = "cb")]
async fn feed() -> Json<u8> {
    panic!("handlers do not run in proofs")
}

#[get("/report")]
#[cors(origins = ["https://app.shop.example"], headers = ["*"])]
#[auth(token)]
async fn report() {}

#[get("/events")]
#[auth(token | ticket)]
async fn events() {}

/// For users of a partner; not for those of this app.
#[get("/stock")]
#[auth(token | ticket, issuers = ["https://id.partner.example"], scopes = ["stock:read"])]
async fn stock(_caller: Caller) {}

#[get("/deliveries")]
#[auth(session | ticket, optional, issuers = ["own", "https://id.partner.example"])]
async fn deliveries(_caller: Option<Caller>) {}

pub(crate) fn app() -> App<()> {
    let secret = SecretKey::from_bytes(*b"\x8f0123456789abcdef0123456789abcde");
    let partner = Issuer::new("https://id.partner.example").jwks("https://id.partner.example/keys");
    let partners = SharedOrigins::new();
    assert!(partners.replace(&["https://one.partner.example"]).is_ok());
    let files = tower::service_fn(async |request: http::Request<Body>| {
        drop(request);
        Err::<http::Response<Body>, std::io::Error>(std::io::Error::other(
            "no mount runs in proofs",
        ))
    });
    App::new(())
        .request_ids()
        .public_origin("https://api.shop.example")
        .sessions(Sessions::memory().login_page("/login"))
        .tokens(Tokens::hs256([("k1", secret)]).expect("a key").accept(partner))
        .scheme(ApiKeys)
        .origins("partners", &partners)
        .policies(Policies::new().cors(EVERYBODY))
        .routes(routes![
            index, order, change, buy, find, quote, describe, login, prefer, hook, revoke, prices,
            feed, report, events, stock, deliveries
        ])
        .group(
            "/scripts",
            Group::new().csrf(CsrfPolicy::OriginElseToken).routes(routes![order, buy]),
        )
        .group(
            "/internal",
            Group::new()
                .policies(Policies::new().no_cors().cache(CACHED))
                .routes(routes![index, login]),
        )
        .mount("/files", Mount::new(files).public().policies(Policies::new().cors(SHOP)))
        .fallback(
            Fallback::handler(async |_: policy_server::Request| -> StatusCode {
                panic!("no fallback runs in proofs")
            })
            .public(),
        )
}
