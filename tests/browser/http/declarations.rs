//! Routes with cache declarations, and what a private cache does with the responses of each.

use std::time::{Duration, SystemTime};

use axum::response::Redirect;
use policy_core::secret::SecretKey;
use policy_server::tokens::IssuedTokens;

use super::*;

/// The age of the responses to `?age=100`: more than any `max_age` here.
pub(crate) const AGE: u64 = 100;

/// The result of a second request for the same URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Second {
    /// The stored response is used without a request.
    Kept,
    /// The stored response is used, and revalidated in the background.
    Behind,
    /// The stored response is revalidated: 304.
    Asked,
    /// The server sends the whole response again.
    Fetched,
}

use Second::{Asked, Behind, Fetched, Kept};

/// A route, and the result of a second request: immediately after the first, and where the first
/// response was already [`AGE`] seconds old.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declaration {
    pub(crate) path: &'static str,
    pub(crate) browser: [Second; 2],
    /// The same for `cachecontrol`, which differs where a comment says why.
    pub(crate) client: [Second; 2],
    pub(crate) method: &'static str,
    /// The `Accept` of the two requests.
    pub(crate) accepts: [&'static str; 2],
}

const fn declare(path: &'static str, at_once: Second, aged: Second) -> Declaration {
    let both = [at_once, aged];
    Declaration { path, browser: both, client: both, method: "GET", accepts: ["*/*"; 2] }
}

impl Declaration {
    const fn client(self, at_once: Second, aged: Second) -> Self {
        Self { client: [at_once, aged], ..self }
    }

    const fn accepting(self, first: &'static str, second: &'static str) -> Self {
        Self { accepts: [first, second], ..self }
    }

    const fn method(self, method: &'static str) -> Self {
        Self { method, ..self }
    }
}

pub(crate) const DECLARATIONS: &[Declaration] = &[
    // Nothing declared: no lifetime, and no heuristic one, since there is only a tag.
    declare("/nothing", Asked, Asked),
    // RFC 9111 4.2.2: a tenth of the time since the last change. `cachecontrol` has no heuristic
    // lifetimes, and does not store the response.
    declare("/guessed", Kept, Kept).client(Fetched, Fetched),
    declare("/max-age", Kept, Asked),
    declare("/public-max-age", Kept, Asked),
    declare("/private-max-age", Kept, Asked),
    declare("/max-age-0", Asked, Asked),
    declare("/no-cache", Asked, Asked),
    // `cachecontrol` reads `no-cache` in requests only, so that `max-age` counts.
    declare("/no-cache-max-age", Asked, Asked).client(Kept, Asked),
    declare("/no-store", Fetched, Fetched),
    declare("/private", Asked, Asked),
    declare("/public", Asked, Asked),
    declare("/immutable", Kept, Asked),
    declare("/must-revalidate", Kept, Asked),
    // `cachecontrol` does not implement RFC 5861.
    declare("/stale-while-revalidate", Kept, Behind).client(Kept, Asked),
    declare("/stale-for-too-long", Kept, Asked),
    declare("/stale-if-error", Kept, Asked),
    // `s-maxage` is for shared caches only.
    declare("/s-maxage", Asked, Asked),
    declare("/s-maxage-max-age", Kept, Asked),
    declare("/vary", Kept, Asked).accepting("text/plain", "text/plain"),
    // Another `Accept` needs another response. A browser revalidates with the tag that it has.
    declare("/vary-other", Asked, Asked)
        .accepting("text/plain", "text/html")
        .client(Fetched, Fetched),
    declare("/without-vary", Kept, Asked).accepting("text/plain", "text/html"),
    declare("/no-tag", Kept, Fetched),
    declare("/no-tag-no-cache", Fetched, Fetched),
    // A declaration applies to successful responses only.
    declare("/not-found", Fetched, Fetched),
    declare("/failed", Fetched, Fetched),
    declare("/found-elsewhere", Fetched, Fetched),
    // `cachecontrol` uses a permanent redirect whatever its age.
    declare("/moved", Kept, Fetched).client(Kept, Kept),
    // What the handler writes can only make the policy stricter.
    declare("/handler-forbids", Fetched, Fetched),
    declare("/handler-shortens", Asked, Asked),
    declare("/handler-lengthens", Kept, Asked),
    // The nearest level decides.
    declare("/group/default", Kept, Asked),
    declare("/group/none", Asked, Asked),
    declare("/mount", Kept, Asked),
    // Responses for an authenticated caller.
    declare("/session", Asked, Asked),
    declare("/session/max-age", Kept, Asked),
    declare("/session/written", Fetched, Fetched),
    declare("/token", Asked, Asked),
    declare("/token/max-age", Kept, Asked),
    // With other policies that add to `Vary`.
    declare("/shared", Kept, Asked),
    declare("/limited", Kept, Asked),
    declare("/prices", Kept, Asked),
    // A private cache stores no responses to these methods.
    declare("/post", Fetched, Fetched).method("POST"),
    declare("/put", Fetched, Fetched).method("PUT"),
];

/// The query of a request.
#[derive(serde::Deserialize)]
struct Aged {
    /// The age of the response in seconds, by its `Date`.
    #[serde(default)]
    age: u64,
}

impl Aged {
    fn date(&self) -> [(&'static str, String); 1] {
        let date = SystemTime::now() - Duration::from_secs(self.age);
        [("date", httpdate::fmt_http_date(date))]
    }

    fn response(&self) -> impl IntoResponse + use<> {
        (ETag::version(1), self.date(), "a response that is worth keeping")
    }
}

/// Routes with these cache attributes, and the common response.
macro_rules! declared {
    ($auth:ident: $($name:ident $path:literal $(#[$($attribute:tt)*])*;)*) => {$(
        #[get($path)]
        $(#[$($attribute)*])*
        #[auth($auth)]
        async fn $name(Query(aged): Query<Aged>) -> impl IntoResponse {
            aged.response()
        }
    )*};
}

declared! {
    public:
    nothing "/nothing";
    max_age "/max-age" #[cache(max_age = 60)];
    public_max_age "/public-max-age" #[cache(public, max_age = 60)];
    private_max_age "/private-max-age" #[cache(private, max_age = 60)];
    max_age_0 "/max-age-0" #[cache(public, max_age = 0)];
    asked_first "/no-cache" #[cache(no_cache)];
    asked_first_with_age "/no-cache-max-age" #[cache(public, no_cache, max_age = 60)];
    no_store "/no-store" #[cache(no_store)];
    private "/private" #[cache(private)];
    public "/public" #[cache(public)];
    immutable "/immutable" #[cache(public, max_age = 60, immutable)];
    must_revalidate "/must-revalidate" #[cache(max_age = 60, must_revalidate)];
    stale "/stale-while-revalidate" #[cache(public, max_age = 60, stale_while_revalidate = 600)];
    too_stale "/stale-for-too-long" #[cache(public, max_age = 60, stale_while_revalidate = 10)];
    stale_if_error "/stale-if-error" #[cache(max_age = 60, stale_if_error = 600)];
    s_maxage "/s-maxage" #[cache(public, s_maxage = 60)];
    both_ages "/s-maxage-max-age" #[cache(public, s_maxage = 600, max_age = 60)];
    vary "/vary" #[cache(public, max_age = 60, vary = ["accept"])];
    vary_other "/vary-other" #[cache(public, max_age = 60, vary = ["accept"])];
    without_vary "/without-vary" #[cache(public, max_age = 60)];
    in_group "/default";
    not_in_group "/none" #[cache(none)];
    shared "/shared" #[cors(origins = ["https://a.example"])] #[isolation(same_site)]
        #[cache(public, max_age = 60)];
    limited "/limited" #[limit(rate = "100/min", concurrency = 8)] #[cache(max_age = 60)];
}

declared! {
    session:
    of_session "/session";
    of_session_kept "/session/max-age" #[cache(private, max_age = 60)];
}

declared! {
    token:
    of_token "/token";
    of_token_kept "/token/max-age" #[cache(private, max_age = 60)];
}

#[get("/guessed")]
#[auth(public)]
async fn guessed(Query(aged): Query<Aged>) -> impl IntoResponse {
    let changed = SystemTime::now() - Duration::from_secs(10 * 86_400);
    (LastModified::from(changed), aged.date(), "unchanged for ten days")
}

#[get("/no-tag")]
#[cache(max_age = 60)]
#[auth(public)]
async fn no_tag(Query(aged): Query<Aged>) -> impl IntoResponse {
    (aged.date(), "without a tag")
}

#[get("/no-tag-no-cache")]
#[cache(no_cache)]
#[auth(public)]
async fn no_tag_no_cache(Query(aged): Query<Aged>) -> impl IntoResponse {
    (aged.date(), "without a tag")
}

#[get("/not-found")]
#[cache(public, max_age = 60)]
#[auth(public)]
async fn not_found() -> Problem {
    Problem::not_found()
}

#[get("/failed")]
#[cache(public, max_age = 60)]
#[auth(public)]
async fn failed(Query(aged): Query<Aged>) -> impl IntoResponse {
    (StatusCode::BAD_GATEWAY, aged.response())
}

#[get("/found-elsewhere")]
#[cache(public, max_age = 60)]
#[auth(public)]
async fn found_elsewhere() -> impl IntoResponse {
    (StatusCode::FOUND, [("location", "/no-store?found")])
}

#[get("/moved")]
#[cache(public, max_age = 60)]
#[auth(public)]
async fn moved(Query(aged): Query<Aged>) -> impl IntoResponse {
    (aged.date(), Redirect::permanent("/no-store?moved"))
}

/// The handler forbids storing this one response.
#[get("/handler-forbids")]
#[cache(public, max_age = 60)]
#[auth(public)]
async fn handler_forbids(Query(aged): Query<Aged>) -> impl IntoResponse {
    ([("cache-control", "no-store")], aged.response())
}

#[get("/handler-shortens")]
#[cache(public, max_age = 60)]
#[auth(public)]
async fn handler_shortens(Query(aged): Query<Aged>) -> impl IntoResponse {
    ([("cache-control", "max-age=0")], aged.response())
}

#[get("/handler-lengthens")]
#[cache(public, max_age = 60)]
#[auth(public)]
async fn handler_lengthens(Query(aged): Query<Aged>) -> impl IntoResponse {
    (
        [("cache-control", "public, max-age=86400"), ("expires", "Sun, 01 Jan 2090 00:00:00 GMT")],
        aged.response(),
    )
}

/// The response to a login sets a cookie: it is never stored, whatever is declared.
#[get("/session/written")]
#[cache(private, max_age = 60)]
#[auth(session)]
async fn of_session_written(
    session: Session,
    Query(aged): Query<Aged>,
) -> Result<impl IntoResponse, Problem> {
    session.elevate()?;
    Ok(aged.response())
}

#[get("/prices")]
#[jsonp(callback = "callback")]
#[cache(public, max_age = 60)]
#[auth(public)]
async fn prices(Query(aged): Query<Aged>) -> impl IntoResponse {
    (aged.date(), Json([1, 2]).etag())
}

#[post("/post")]
#[cache(public, max_age = 60)]
#[auth(public)]
async fn post_kept(Query(aged): Query<Aged>) -> impl IntoResponse {
    ([("content-location", "/post")], aged.response())
}

#[put("/put")]
#[auth(public)]
async fn put_answered(Query(aged): Query<Aged>) -> impl IntoResponse {
    aged.response()
}

/// Logs in with a session, and issues a token.
#[post("/login")]
#[auth(public)]
async fn login(sessions: Sessions, tokens: Tokens) -> Result<IssuedTokens, CredentialError> {
    sessions.login("ada").await?;
    tokens.login("ada").await
}

#[get("/")]
#[auth(public)]
async fn page() -> axum::response::Html<&'static str> {
    axum::response::Html("<!doctype html><title>page</title>")
}

/// The app with all of them.
pub(crate) fn app() -> App<()> {
    let key = SecretKey::from_bytes([7; 32]);
    let minute = CachePolicy::public().max_age(60).build();
    let mounted = tower::service_fn(async |request: policy_server::Request| {
        let aged = axum::extract::Query::<Aged>::try_from_uri(request.uri()).expect("an age");
        Ok::<_, std::convert::Infallible>(aged.response().into_response())
    });
    App::new(())
        .sessions(Sessions::memory())
        .tokens(Tokens::hs256(key).expect("a key").issuer("https://id.example").audience("api"))
        .routes(routes![nothing, max_age, public_max_age, private_max_age, max_age_0])
        .routes(routes![asked_first, asked_first_with_age, no_store, private, public, immutable])
        .routes(routes![must_revalidate, stale, too_stale, stale_if_error, s_maxage, both_ages])
        .routes(routes![vary, vary_other, without_vary, shared, limited, guessed, no_tag])
        .routes(routes![no_tag_no_cache, not_found, failed, found_elsewhere, moved])
        .routes(routes![handler_forbids, handler_shortens, handler_lengthens])
        .routes(routes![of_session, of_session_kept, of_session_written, of_token, of_token_kept])
        .routes(routes![prices, post_kept, put_answered, login, page])
        .group(
            "/group",
            Group::new()
                .policies(Policies::new().cache(minute))
                .routes(routes![in_group, not_in_group]),
        )
        .mount("/mount", Mount::new(mounted).public().policies(Policies::new().cache(minute)))
}
