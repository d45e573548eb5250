//! The attributes. The macros are in `policy-macros`; they are documented here, where links to this
//! crate work and examples run.

// The policies that they state, for constants and for the other levels.
pub use policy_core::{
    cache::CachePolicy,
    cors::CorsPolicy,
    headers::HeadersPolicy,
    isolation::Isolation,
    limits::{Limits, Rate},
};

/// Binds a handler to GET requests of a path.
///
/// # Grammar
///
/// ```text
/// #[get("/path")]
/// #[get("/path", crate = path::to::policy_server)]
/// ```
///
/// A path has fixed segments, parameters `{name}`, and at its end at most one `{*name}`, which
/// matches the rest. Every parameter is an argument of the handler with the same name, in any
/// position; its type implements [`FromParam`]. All other arguments are extractors, and the last of
/// them may read the body. `crate` is needed if `policy_server` is renamed.
///
/// A handler can have several route attributes if their paths have the same parameters in the same
/// order. It needs an [`auth`](macro@auth), and can have a [`cors`](macro@cors) and a
/// [`csrf`](macro@csrf).
///
/// ```
/// use policy_server::prelude::*;
///
/// #[get("/users/{id}")]
/// #[get("/people/{id}")]
/// #[auth(public)]
/// async fn user(State(greeting): State<String>, id: u64) -> String {
///     format!("{greeting} {id}")
/// }
///
/// let app = App::new("hello".to_owned()).routes(routes![user]);
/// ```
///
/// # Compile errors
///
/// - a path that no request can have: without a leading `/`, with a query, `//`, `..` or
///   percent-encoding
/// - a parameter without an argument:
///   ```compile_fail
///   # use policy_server::prelude::*;
///   #[get("/users/{id}")]
///   #[auth(public)]
///   async fn user() {}
///   ```
/// - a handler that is not `async`, or is generic, `unsafe` or a method
/// - arguments that are borrowed, more than 8 path parameters, more than 12 other arguments
/// - axum's `Path`, `RawPathParams`, `MatchedPath` and `NestedPath`, which compile but are empty
///   outside axum's own router
/// - a handler without `#[auth]`
///
/// [`FromParam`]: crate::FromParam
pub use policy_macros::get;

macro_rules! methods {
    ($($name:ident $method:literal $path:literal;)*) => {$(
        #[doc = concat!("Binds a handler to ", $method, " requests of a path.")]
        ///
        /// Grammar, arguments and compile errors are those of [`get`](macro@get).
        ///
        /// ```
        /// use policy_server::prelude::*;
        ///
        #[doc = concat!("#[", stringify!($name), "(\"", $path, "\")]")]
        /// #[auth(public)]
        /// async fn handler() -> StatusCode {
        ///     StatusCode::NO_CONTENT
        /// }
        /// ```
        pub use policy_macros::$name;
    )*};
}

methods! {
    post "POST" "/orders";
    put "PUT" "/orders/latest";
    patch "PATCH" "/orders/latest";
    delete "DELETE" "/orders/latest";
    head "HEAD" "/orders";
    options "OPTIONS" "/orders";
}

/// Binds a handler to all methods of a path: GET, and HEAD with it, POST, PUT, PATCH, DELETE and
/// QUERY.
///
/// Its policies apply to each method: requests that change something get the CSRF check, and the
/// responses to preflights and to OPTIONS list all of these methods. An unknown method gets 501;
/// methods of other standards are bound by [`route`](macro@route). Grammar, arguments and compile
/// errors are those of [`get`](macro@get), for each method: `ticket` in [`auth`](macro@auth) is for
/// GET alone, for example.
///
/// ```
/// use policy_server::{http::Method, prelude::*};
///
/// #[any("/echo")]
/// #[auth(public)]
/// async fn echo(method: Method) -> String {
///     method.to_string()
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(()).routes(routes![echo]).test();
/// assert_eq!(client.put("/echo").send().await.text(), "PUT");
/// # });
/// ```
///
/// # Compile errors
///
/// ```compile_fail
/// # use policy_server::prelude::*;
/// #[any("/echo")]
/// #[get("/echo")]
/// #[auth(public)]
/// async fn echo() {}
/// ```
pub use policy_macros::any;

/// Binds a handler to QUERY requests of a path (RFC 10008): a request that changes nothing, like GET,
/// and has its query in its content, like POST.
///
/// Grammar, arguments and compile errors are those of [`get`](macro@get). In source files that
/// import another `query`, such as that of sqlx, write `#[policy_server::query("/path")]`.
///
/// ```
/// use policy_server::prelude::*;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Deserialize, Serialize)]
/// struct Filter {
///     words: Vec<String>,
/// }
///
/// #[query("/lamps")]
/// #[auth(public)]
/// async fn find(Json(filter): Json<Filter>) -> String {
///     filter.words.join("+")
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(()).routes(routes![find]).test();
/// let filter = Filter { words: vec!["red".to_owned(), "desk".to_owned()] };
/// let response = client.query("/lamps").json(&filter).send().await;
/// assert_eq!(response.text(), "red+desk");
/// assert_eq!(response.header("cache-control"), Some("no-store"));
///
/// let response = client.query("/lamps").body("red").send().await;
/// assert_eq!(response.status(), 415);
/// # });
/// ```
///
/// - It is **safe and idempotent**: it needs no CSRF token, may arrive in TLS early data on a route
///   without a caller, and is repeated by a [`ReverseProxy`](crate::ReverseProxy) like GET as long as it has no
///   content.
/// - **Pages of other origins** always need a preflight for it, and [`cors`](macro@cors) allows them
///   `Content-Type`. `fetch` sends the method as it is written: `query` is another method. No form
///   sends it.
/// - The content needs a **`Content-Type`** (RFC 10008 2.1): a request without one gets 415
///   `request.media-type`, as does one with a type that [`Json`](crate::extract::Json) or
///   [`Form`](crate::extract::Form) does not read. `Accept-Query` names the type that they do, in
///   these responses and in those to OPTIONS.
/// - **Caches store nothing** of it: every response has `Cache-Control: no-store`, since a cache that
///   does not know the method could respond to one query with the result of another. To use caches,
///   respond with 303 and the address of a GET route (RFC 10008 2.5), or name it in `Location` (2.4).
///
/// # Compile errors
///
/// ```compile_fail
/// # use policy_server::prelude::*;
/// #[query("/lamps")]
/// #[cache(public, max_age = 60)]
/// #[auth(public)]
/// async fn find(words: String) -> String {
///     words
/// }
/// ```
pub use policy_macros::query;

/// Binds a handler to any method, or to several.
///
/// # Grammar
///
/// ```text
/// #[route(METHOD, .., "/path")]
/// ```
///
/// A method is an upper-case word, standard or not. One that is not an identifier, or not upper
/// case, is written as a string: methods are case-sensitive (RFC 9110 9.1). Everything else is as
/// in [`get`](macro@get).
///
/// ```
/// use policy_server::prelude::*;
///
/// #[route(PURGE, "M-SEARCH", "/cache")]
/// #[auth(public)]
/// async fn cache() {}
/// ```
///
/// # Compile errors
///
/// The errors of `get`; CONNECT and TRACE, which the server handles itself; and the same method and
/// path twice on one handler.
///
/// ```compile_fail
/// # use policy_server::prelude::*;
/// #[route(TRACE, "/cache")]
/// #[auth(public)]
/// async fn cache() {}
/// ```
pub use policy_macros::route;

/// Sets which origins may read the responses of a route (Fetch, CORS protocol).
///
/// It replaces the policies of the group and the app; nothing is merged. Without it, they apply. The
/// exception is `extend`, which adds header names to the nearest of them.
///
/// # Grammar
///
/// ```text
/// #[cors(part, ..)]       a policy of this route
/// #[cors(PARTNERS)]       a constant of type CorsPolicy, shared between routes
/// #[cors(none)]           not shared, whatever the group and the app allow
/// #[cors(extend, ..)]     the policy of the group or the app, with more `headers` and `expose`
/// ```
///
/// | part | meaning |
/// |---|---|
/// | `origins = ["https://a.example", ..]` | the origins that may read; also `https://*.a.example`, `https://shop-*-acme.example` (a part of the first label, before a `-` and a fixed end), `http://localhost:*`, or `*` alone |
/// | `origins = config("name", within = [..])` | a list that the app provides, within a bound |
/// | `origins = config("name", by = "tenant", within = [..])` | the list for the value of `{tenant}` in the path, as set by [`SharedOrigins::replace_for`](crate::SharedOrigins::replace_for); a value without a list grants no origin |
/// | `credentials` | requests may carry cookies |
/// | `headers = ["x-request-id", ..]` | request headers beyond those that follow from the route |
/// | `expose = ["etag", ..]` | response headers that the page may read |
/// | `methods = ["PUT", ..]` | methods, in place of those that the router serves at the path |
/// | `max_age = 600` | seconds for which a browser may cache a preflight; `0` and `-1`: not at all |
/// | `dangerous_configured_bound` | takes the bound of `config("name")` from the configuration: [`OriginList::within`](crate::OriginList::within) |
/// | `dangerous_insecure_origins` | permits `credentials` for origins whose pages are sent without TLS (`http` except on loopback), or whose scheme is unknown |
/// | `dangerous_public_suffix` | permits `credentials` for every name under a public suffix |
///
/// Only `origins` is required. With `extend`, only `headers` and `expose` are permitted, without
/// `*`. Each list, and `max_age`, can also be a constant expression.
///
/// A browser caches the result of a preflight per URL, for all methods. If another route of the
/// path is unsafe and has other `origins`, `credentials`, `headers` or `methods`, or no `cors` at
/// all, caching is therefore disabled, whatever `max_age` is set.
///
/// With `credentials`, browsers send a session cookie from pages of the app's own site only, unless
/// the cookie has `SameSite=None`: see [`cross_site`](crate::guide::cross_site).
///
/// ```
/// use policy_server::prelude::*;
///
/// const PARTNERS: CorsPolicy =
///     CorsPolicy::origins(&["https://*.partner.example"]).credentials().build();
/// const APPS: &[&str] = &["https://app.shop.example", "https://admin.shop.example"];
///
/// #[get("/orders")]
/// #[cors(origins = APPS, credentials, expose = ["etag"], max_age = 600)]
/// #[auth(public)]
/// async fn orders() {}
///
/// #[get("/catalogue")]
/// #[cors(origins = config("shops", within = ["https://*.shop.example"]))]
/// #[auth(public)]
/// async fn catalogue() {}
///
/// #[get("/invoices")]
/// #[cors(PARTNERS)]
/// #[auth(public)]
/// async fn invoices() {}
/// ```
///
/// # Compile errors
///
/// Every rule of `policy_core::Rule` whose code begins with `cors.`. The most common:
///
/// - `*` for anything together with `credentials`:
///   ```compile_fail
///   # use policy_server::prelude::*;
///   #[get("/orders")]
///   #[cors(origins = ["*"], credentials)]
///   #[auth(public)]
///   async fn orders() {}
///   ```
/// - `null`, and origins that no browser sends: with a path, a trailing slash, upper case or a
///   default port
/// - with `credentials`, origins whose pages are sent without TLS or whose scheme is unknown, and
///   wildcards over a public suffix
/// - methods and headers that browsers never let a page send or read
/// - a second `#[cors]`, and one on a function without a route
///
/// At start, an origin of another site is refused on a route that accepts only a session
/// (`session.same-site`).
pub use policy_macros::cors;

/// Sets who may call a route. It is required on every route, so that none is public by accident.
///
/// # Grammar
///
/// ```text
/// #[auth(public)]                                 everyone, without authentication
/// #[auth(group)]                                  whom the handler's group admits, else the app
/// #[auth(session | token, part, ..)]              a caller with one of these credentials
/// #[auth(scheme = ApiKeys, part, ..)]             a caller that your scheme recognises
/// ```
///
/// | word | credential |
/// |---|---|
/// | `session` | a session cookie |
/// | `token` | a bearer token; if one is sent, it alone decides |
/// | `ticket` | a single-use ticket in the query, for WebSockets and event sources of pages that use tokens; on `#[get]` only, and it does not count with HEAD |
/// | `scheme = path::to::Type` | a type that implements [`Scheme`] |
///
/// | part | meaning |
/// |---|---|
/// | `optional` | requests without a credential are accepted as anonymous; the rest applies to those with one |
/// | `issuers = ["https://id.example", ..]` | the issuers whose tokens are accepted, in place of this app's: those that `TokenSettings::accept` names, and `own` for the app |
/// | `scopes = ["orders:read", ..]` | all of them are required |
/// | `roles = ["admin", ..]` | one of them is required |
/// | `fresh = "10m"` | the user must have authenticated within this time; in `s`, `m`, `h` or `d` |
///
/// Credentials can be in any order, joined by `|`, and so can the parts. Each list can also be a
/// constant expression.
///
/// `group` takes the requirement that [`Group::auth`](crate::Group::auth) states, or else
/// [`App::auth`](crate::App::auth), so that the role of an area is written once. An app in which
/// neither states one does not start (`auth.group-missing`), and a handler that states less than its
/// group is reported at start (`auth.laxer-than-group`).
///
/// ```
/// use policy_server::prelude::*;
///
/// #[get("/health")]
/// #[auth(public)]
/// async fn health() {}
///
/// #[get("/orders")]
/// #[auth(session | token, scopes = ["orders:read"])]
/// async fn orders() {}
///
/// #[delete("/account")]
/// #[auth(session, fresh = "10m")]
/// async fn close_account() {}
///
/// #[get("/users")]
/// #[auth(group)]
/// async fn users() {}
///
/// let admins = AuthRequirement::session().roles(&["admin"]);
/// let admin = Group::new().auth(admins).routes(routes![users]);
/// # let app = App::new(()).sessions(Sessions::memory()).tokens(
/// #     Tokens::hs256([("k", policy_server::tokens::SecretKey::from_bytes([7; 32]))]).unwrap(),
/// # );
/// # assert!(app.routes(routes![health, orders, close_account]).group("/admin", admin).check().is_ok());
/// ```
///
/// # Compile errors
///
/// Every rule of `policy_core::Rule` whose code begins with `auth.`. The most common:
///
/// - `public` with anything else, and a scheme together with other credentials
/// - invalid scopes, empty lists, times without a unit
/// - sharing by [`cors`](macro@cors) without `credentials` where a session is the only credential:
///   no page could use it
///   ```compile_fail
///   # use policy_server::prelude::*;
///   #[get("/account")]
///   #[cors(origins = ["https://app.example"])]
///   #[auth(session)]
///   async fn account() {}
///   ```
/// - an argument `Principal` on a `public` or `optional` route, which may have none
/// - a second `#[auth]`, and one on a function without a route
///
/// [`Scheme`]: crate::Scheme
pub use policy_macros::auth;

/// Sets how a route is protected from CSRF.
///
/// CSRF needs a credential that browsers attach automatically: a session, or a scheme that declares
/// itself ambient. Without the attribute, the protection is that of the group, else of the app
/// ([`App::csrf`](crate::App::csrf)), else `token`. The list of routes at start shows the level
/// that decided, if one did.
///
/// # Grammar
///
/// ```text
/// #[csrf(token)]              from an origin of ours, with the token of the session; the default
/// #[csrf(origin_else_token)]  from an origin of ours, or from no page and with the token
/// #[csrf(origin)]             from an origin of ours
/// #[csrf(exempt = "why")]     neither
/// ```
///
/// | the request comes from | `token` | `origin_else_token` | `origin` |
/// |---|---|---|---|
/// | a page of ours | token | passes | passes |
/// | a page of others, or contradicts itself | 403 `csrf.origin` | 403 `csrf.origin` | 403 `csrf.origin` |
/// | no page that it states | token | token | 403 `csrf.origin` |
/// | no page that it states, and has no session yet | 403 `csrf.origin` | 403 `csrf.origin` | 403 `csrf.origin` |
///
/// Ours are the public origin and those that [`cors`](macro@cors) grants with `credentials`. A
/// request states its page by `Origin`, `Sec-Fetch-Site` or `Referer`; all current browsers do, with
/// every request that changes something. A program has no page: it sends `Origin` with the public
/// origin of the service, as the `detail` of the 403 explains, or the token where the table has it.
///
/// ```
/// use policy_server::prelude::*;
///
/// #[post("/drafts")]
/// #[auth(session)]
/// #[csrf(origin)]
/// async fn save_draft() {}
/// ```
///
/// # Compile errors
///
/// An exemption without a reason, and any protection on a route whose credentials are not ambient
/// (on a public route it is a warning):
///
/// ```compile_fail
/// # use policy_server::prelude::*;
/// #[post("/drafts")]
/// #[auth(token)]
/// #[csrf(token)]
/// async fn save_draft() {}
/// ```
pub use policy_macros::csrf;

/// Sets which caches may store the responses of a route, and for how long (RFC 9111).
///
/// It replaces the policies of the group and the app; nothing is merged. Without it, every route
/// inherits `no_store`, and public reads any other policy; otherwise a response that depends on the
/// caller is `private, no-cache`, and caching is left to the handler. A `Cache-Control` of the
/// handler can only make it stricter, and a response that is personal, has a nonce or contains a
/// secret is never stored by a shared cache, whatever is declared.
///
/// # Grammar
///
/// ```text
/// #[cache(part, ..)]      a policy of this route
/// #[cache(LISTS)]         a constant of type CachePolicy, shared between routes
/// #[cache(none)]          none, whatever the group and the app say
/// ```
///
/// | part | meaning |
/// |---|---|
/// | `no_store` | no cache stores a response; used alone or with `vary` |
/// | `private` | only the cache of one user stores it |
/// | `public` | shared caches store it too |
/// | `max_age = 60` | seconds for which it is fresh |
/// | `s_maxage = 60` | the same in shared caches |
/// | `no_cache` | a cache revalidates it before each use |
/// | `must_revalidate` | a cache never uses it stale, even if it cannot revalidate it |
/// | `immutable` | it does not change while fresh, so that a reload does not revalidate it |
/// | `stale_while_revalidate = 30` | seconds for which it may be used stale while a cache revalidates it |
/// | `stale_if_error = 600` | seconds for which it may be used stale if revalidation fails |
/// | `vary = ["accept", ..]` | the request headers that the response depends on |
///
/// It applies to cacheable responses with the statuses 200, 203, 204, 206, 300, 301, 304 and 308.
/// Other responses are not stored, unless the handler sets a `max-age` for them. `vary` is on every
/// response. Responses to POST and PATCH are stored only if the handler sets a `Content-Location`
/// (RFC 9110 9.3.3).
///
/// ```
/// use policy_server::prelude::*;
///
/// const ASSETS: CachePolicy = CachePolicy::public().max_age(31_536_000).immutable().build();
///
/// #[get("/catalogue")]
/// #[cache(public, max_age = 60, stale_while_revalidate = 30, vary = ["accept"])]
/// #[auth(public)]
/// async fn catalogue() {}
///
/// #[get("/assets/{*file}")]
/// #[cache(ASSETS)]
/// #[auth(public)]
/// async fn asset(file: String) {}
///
/// #[get("/account")]
/// #[cache(private, max_age = 10)]
/// #[auth(session)]
/// async fn account() {}
/// ```
///
/// # Compile errors
///
/// Every rule of `policy_core::Rule` whose code begins with `cache.`. The most common:
///
/// - `public`, `s_maxage` and `must_revalidate` where the response depends on the caller: they let
///   shared caches store it (RFC 9111 3.5)
///   ```compile_fail
///   # use policy_server::prelude::*;
///   #[get("/account")]
///   #[cache(public, max_age = 60)]
///   #[auth(session)]
///   async fn account() {}
///   ```
/// - methods whose responses no cache stores, such as DELETE, unless it is `no_store`; POST and
///   PATCH without an age
/// - `private` with `public` or `s_maxage`, `no_store` with anything else, `immutable` or stale use
///   without an age
/// - `*` in `vary`, and invalid header names
/// - a second `#[cache]`, and one on a function without a route
pub use policy_macros::cache;

/// Responds with a script if the query names a function to call (JSONP), for pages of partners that
/// do not support CORS.
///
/// `/prices?callback=show` gets `/**/typeof show==='function'&&show({..});` in place of the JSON
/// that the handler returns; without the parameter, the JSON itself. An invalid or repeated name is
/// refused with 400 and never written to a response. Every page can read such a response, so
/// cookies and tokens of the request are ignored. Errors are not wrapped: a page detects them by
/// the `error` event of its script element. For a script, layers of the route and of its group read
/// `Accept-Encoding: identity`, since encoded JSON cannot be wrapped; a layer around the app may
/// compress the script.
///
/// A script of another origin has full control over the page that loads it, and a Content Security
/// Policy that allows a host allows all scripts of that host. Serve such partners from a separate
/// host, and use [`cors`](macro@cors) for new ones.
///
/// # Grammar
///
/// ```text
/// #[jsonp(callback = "callback")]             the parameter of the query
/// #[jsonp(callback = "callback", dotted)]     names such as `app.prices.show` can be called, too
/// #[jsonp(PARTNERS)]                          a constant of type JsonpPolicy, shared between routes
/// ```
///
/// A function name has at most 64 characters of `A-Z a-z 0-9 _ $`; with `dotted`, up to three names
/// joined by dots, which can also reach functions that were not meant as callbacks.
///
/// ```
/// use policy_server::{policy::{Grammar, JsonpPolicy}, prelude::*};
///
/// #[get("/prices")]
/// #[auth(public)]
/// #[jsonp(callback = "callback")]
/// async fn prices() -> Json<[u32; 2]> {
///     Json([12, 15])
/// }
///
/// const PARTNERS: JsonpPolicy = JsonpPolicy::callback("cb").grammar(Grammar::Dotted).build();
///
/// #[get("/shops")]
/// #[auth(public)]
/// #[jsonp(PARTNERS)]
/// async fn shops() -> Json<[&'static str; 1]> {
///     Json(["north"])
/// }
/// ```
///
/// # Compile errors
///
/// Every rule of `policy_core::Rule` whose code begins with `jsonp.`:
///
/// - a route that is not `public`, or whose handler takes a session: any page could read the script
///   ```compile_fail
///   # use policy_server::prelude::*;
///   #[get("/account")]
///   #[auth(session)]
///   #[jsonp(callback = "callback")]
///   async fn account() {}
///   ```
/// - a method other than GET and HEAD, which no script element sends, and `#[csrf]`
/// - a parameter without a name, or with one that would have to be percent-encoded
/// - a second `#[jsonp]`, and one on a function without a route
pub use policy_macros::jsonp;

/// Limits the requests of a route: size, time, rate and concurrency.
///
/// Each limit is set separately: a limit that the route does not set is inherited from the group or
/// the app. Preflights are not counted. A request over a limit gets a response with the route's
/// CORS headers, so that a page can read the reason.
///
/// # Grammar
///
/// ```text
/// #[limit(part = value, ..)]      limits of this route
/// #[limit(UPLOADS)]               a constant of type Limits, shared between routes
/// ```
///
/// | part | meaning | over it |
/// |---|---|---|
/// | `body = "1 MiB"` | the maximum size of a body, also after layers that make it longer, in `B`, `kB`, `MB`, `GB` (thousands), `KiB`, `MiB` or `GiB` | 413 |
/// | `timeout = "5s"` | the maximum time until a response is ready, in `ms`, `s` or `m` | 503 |
/// | `rate = "100/min"` | the maximum number of requests of one client address within any `s`, `min`, `h` or `d` | 429 |
/// | `rate = "100/min per principal"` | the same for each principal, from any address | 429 |
/// | `concurrency = 64` | the maximum number of concurrent requests; a WebSocket is one until it ends | 503 |
/// | `message = "64 KiB"` | the maximum size of a WebSocket message of a client, all fragments together; 256 KiB | closed with 1009 |
/// | `silence = "5m"` | how long a WebSocket client may send nothing, not even a pong; one minute | closed with 1001 |
/// | `sockets = 1000` | the maximum number of open WebSockets; 4,096 | 503 |
/// | `sockets_per_caller = 10` | the maximum number per principal, or else per client address; 100 | 429 |
/// | `misses = "20/min"` | how often a principal, or else a client address, may get `object.not-found` within any `s`, `min`, `h` or `d` | 429 |
///
/// Over `misses`, a caller gets no [`object`](mod@crate::object) at all, whether there is one or not, and
/// nothing is loaded: otherwise they could go on and try identifiers. What they are denied is no miss,
/// since they may know that it exists. Each instance counts its own misses.
///
/// The limits of WebSockets apply whether a handler, a mounted service or a proxy opens them. A
/// client is sent a ping after half of `silence`, and its pong does not reach the handler. Each
/// instance counts its own WebSockets.
///
/// An IPv6 address counts by its first 64 bits, and a network of 48 bits is served a limited number
/// of clients ([`App::rate_capacity`](crate::App::rate_capacity)). A rate is also the burst size: all
/// of its requests may come at once, and then none for the rest of the period. A rate by a key that
/// only the handler knows, such as the account of a login, needs a
/// [`RateLimiter`](crate::RateLimiter).
///
/// ```
/// use policy_server::prelude::*;
///
/// const SEARCHES: Limits = Limits::NONE.rate(Rate::per_second(5)).concurrency(8);
///
/// #[post("/orders")]
/// #[auth(session)]
/// #[limit(body = "64 KiB", timeout = "5s", rate = "100/min per principal")]
/// async fn order() {}
///
/// #[get("/search")]
/// #[auth(public)]
/// #[limit(SEARCHES)]
/// async fn search() {}
/// ```
///
/// # Compile errors
///
/// Every rule of `policy_core::Rule` whose code begins with `limit.`:
///
/// - numbers without a unit, unknown units, an empty list
///   ```compile_fail
///   # use policy_server::prelude::*;
///   #[post("/orders")]
///   #[auth(session)]
///   #[limit(body = "1 mb")]
///   async fn order() {}
///   ```
/// - zero, times of more than a day, and numbers that are too large to count
/// - a rate `per principal` on a `public` route, which has no principal, and `misses` per anything
/// - a second `#[limit]`, and one on a function without a route
pub use policy_macros::limit;

/// Sets the security headers of a route's responses: what a page may load, who may frame it, and
/// what it reveals to other sites.
///
/// It replaces the policies of the group and the app; nothing is merged. Parts that it does not set
/// are as in `HeadersPolicy::DEFAULT`, and every response has `X-Content-Type-Options: nosniff`,
/// unless the policy is `none`. A header that the handler sets itself is kept.
///
/// # Grammar
///
/// ```text
/// #[headers(part, ..)]       a policy of this route
/// #[headers(PAGES)]          a constant of type HeadersPolicy, shared between routes
/// #[headers(none)]           no fields, whatever the group and the app say; not even `nosniff`
/// ```
///
/// | part | meaning |
/// |---|---|
/// | `csp = "script-src 'self' 'nonce'; .."` | what a page may load and run; `'nonce'` differs for each response |
/// | `frame = none` | no page may frame it; also `same_origin`, `any`, or a list of origins |
/// | `referrer = "no-referrer"` | what `Referer` reveals to other sites |
/// | `permissions = ["camera=()", ..]` | the browser features that the page may use |
/// | `coop = "same-origin"` | `Cross-Origin-Opener-Policy` |
/// | `coep = "require-corp"` | `Cross-Origin-Embedder-Policy` |
/// | `corp = "same-origin"` | `Cross-Origin-Resource-Policy`, on every response |
/// | `hsts = 31536000` | seconds of `Strict-Transport-Security`, on every response over TLS of a service with a public origin |
/// | `include_subdomains`, `preload` | the options of `hsts`, which is a year unless it is written |
/// | `every_response` | sends the headers of pages with other responses too |
///
/// Pages are responses of HTML and XML, in which browsers run scripts.
///
/// ```
/// use policy_server::prelude::*;
///
/// #[get("/orders")]
/// #[auth(session)]
/// #[headers(
///     csp = "default-src 'self'; script-src 'self' 'nonce'; img-src 'self' https://cdn.example",
///     frame = none,
///     permissions = ["camera=()", "geolocation=(self)"],
/// )]
/// async fn orders() {}
/// ```
///
/// # Compile errors
///
/// Every rule of `policy_core::Rule` whose code begins with `headers.`. The most common:
///
/// - a keyword without quotes, which browsers read as a host name:
///   ```compile_fail
///   # use policy_server::prelude::*;
///   #[get("/orders")]
///   #[auth(public)]
///   #[headers(csp = "default-src self")]
///   async fn orders() {}
///   ```
/// - a directive, feature or header twice; `frame` together with `frame-ancestors`
/// - a constant nonce, and `'strict-dynamic'` without a nonce
/// - a `corp` that blocks the scripts of [`jsonp`](macro@jsonp)
/// - `preload` without the options that browsers require for it
pub use policy_macros::headers;

/// Sets which other sites may load a route (W3C Fetch Metadata).
///
/// Browsers state which site a request comes from and what it is for. Requests of sites that are
/// not admitted get 403 before the handler runs: they cannot load a response as an image, script or
/// frame, nor infer its content from its timing or size. Always admitted are requests that
/// [`cors`](macro@cors) grants or [`jsonp`](macro@jsonp) serves, top-level navigations, and
/// requests without Fetch Metadata, as programs and old browsers send them.
///
/// It replaces the policies of the group and the app. Without it, they apply.
///
/// # Grammar
///
/// ```text
/// #[isolation(same_origin)]      pages of the same origin
/// #[isolation(same_site)]        those of the same site, too, such as of subdomains
/// #[isolation(none)]             pages of every site
/// ```
///
/// ```
/// use policy_server::prelude::*;
///
/// #[get("/account")]
/// #[auth(session)]
/// #[isolation(same_origin)]
/// async fn account() {}
/// ```
///
/// # Compile errors
///
/// Anything except one of these words:
///
/// ```compile_fail
/// # use policy_server::prelude::*;
/// #[get("/account")]
/// #[auth(public)]
/// #[isolation(same_origin, same_site)]
/// async fn account() {}
/// ```
pub use policy_macros::isolation;

/// Wraps a handler in `tower` layers, such as compression, tracing or a further limit.
///
/// # Grammar
///
/// ```text
/// #[layer(expression, ..)]     each makes a layer; the first is the outermost
/// ```
///
/// They run behind the gates of the route and inside its protections, like those of a
/// [group](crate::Group::layer), which wrap them. The expressions are evaluated once for each time
/// that the route is added to an app.
///
/// If a response has a `Content-Encoding` when it leaves a layer or a service, a strong `ETag` becomes
/// weak, since it may have been stated for the unencoded bytes (RFC 9110 8.8.3.3): `If-None-Match`
/// still gets 304, `If-Range` the whole response, and `If-Match` fails, since it compares strongly.
/// That is so for a response that the handler encodes, too, whatever the layer does. Do not compress
/// a response whose tag clients send back in `If-Match`, or state the version in its body too.
///
/// ```
/// use policy_server::{Request, http, prelude::*};
/// use tower::util::{MapRequestLayer, MapResponseLayer};
///
/// fn stamp(mut response: Response) -> Response {
///     response.headers_mut().insert("x-stamp", http::HeaderValue::from_static("layer"));
///     response
/// }
///
/// #[get("/stamped")]
/// #[auth(public)]
/// #[layer(MapResponseLayer::new(stamp), MapRequestLayer::new(|request: Request| request))]
/// async fn stamped() {}
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(()).routes(routes![stamped]).test();
/// assert_eq!(client.get("/stamped").send().await.header("x-stamp"), Some("layer"));
/// # });
/// ```
///
/// # Compile errors
///
/// An expression that is no layer for a handler.
///
/// ```compile_fail
/// # use policy_server::prelude::*;
/// #[get("/stamped")]
/// #[auth(public)]
/// #[layer("gzip")]
/// async fn stamped() {}
/// ```
pub use policy_macros::layer;

/// Lists handlers for an app or a group, as a `Vec<Route<S>>` for the state `S` of the app.
///
/// # Grammar
///
/// ```text
/// routes![handler, module::handler, ..]
/// routes![crate = path::to::policy_server, handler, ..]
/// ```
///
/// Nothing registers itself: linking code opens no endpoint. A handler that no list names gets the
/// compiler's unused warning, unless a library exports it, since another crate might list it.
/// Handlers of a library should be `pub(crate)`.
///
/// ```
/// use policy_server::prelude::*;
///
/// mod orders {
///     use policy_server::prelude::*;
///
///     #[get("/orders")]
///     #[auth(public)]
///     pub async fn list() {}
/// }
///
/// let app = App::new(()).routes(routes![orders::list]);
/// ```
///
/// # Compile errors
///
/// Everything that is not the name of a function with a route attribute, and handlers with an
/// argument that cannot be extracted with the app's state. The list refers to a type that the route
/// attribute creates beside the function, so the compiler reports the following errors:
///
/// | message of the compiler | cause |
/// |---|---|
/// | "expected struct, variant or union type, found function `plain`" | `plain` has no route attribute |
/// | "cannot find struct, variant or union type `price` in this scope" | there is no `price`, or it is not imported |
/// | "struct `all` is private" | `all` is in another module, and not `pub` |
/// | "struct `naked` is never constructed", at a function (a warning) | no list names the handler `naked`; where other code calls it, that is without its policy |
///
/// ```compile_fail
/// # use policy_server::prelude::*;
/// async fn plain() {}
/// let app = App::new(()).routes(routes![plain]);
/// ```
pub use policy_macros::routes;

/// States why the parameters of a path are taken without an object, and how often objects of streams are
/// checked.
///
/// A route that may know its caller, and takes a parameter of its path as it is, does not compile: nothing
/// would check whether this caller may have what the parameter names (OWASP API1, broken object level
/// authorization). It takes an [`Allowed`](crate::object::Allowed) in place of the parameter, or it states
/// here why that is not needed. The reason is part of the manifest, and a lock file accepts it by name.
///
/// Routes with `#[auth(public)]` do not know their callers. Those with `optional` do, and so may those with
/// `group`.
///
/// # Grammar
///
/// ```text
/// #[object(none = "every member of the company may read every board")]
/// #[object(recheck = "10s")]
/// ```
///
/// While a stream or a WebSocket is open, the [objects](mod@crate::object) of its path are loaded and checked
/// again every minute, or as often as `recheck` says: in `ms`, `s` or `m`, at most a day. A longer time lets
/// callers read on for longer after they lost the right; a shorter one costs a load for each stream.
///
/// ```
/// use policy_server::prelude::*;
///
/// #[get("/boards/{id}")]
/// #[auth(session)]
/// #[object(none = "every member of the company may read every board")]
/// async fn board(id: u64) -> String {
///     format!("board {id}")
/// }
/// ```
///
/// # Compile errors
///
/// - a parameter without an object and without a reason
///   ```compile_fail
///   # use policy_server::prelude::*;
///   #[get("/orders/{id}")]
///   #[auth(session)]
///   async fn order(id: u64) {}
///   ```
/// - an empty reason, and one that no parameter needs
/// - `recheck` of zero or more than a day, and on a route without an object in its path
/// - a second `#[object]`, and one on a function without a route
pub use policy_macros::object;

/// Makes a struct an object with rules, which handlers take as [`Allowed`](crate::object::Allowed).
///
/// It implements [`Object`](trait@crate::object::Object), and [`Permits`](crate::object::Permits) for each
/// action with a rule. How an object is loaded says [`Load`](crate::object::Load).
///
/// # Grammar
///
/// ```text
/// #[rule(View = owner | same(tenant))]
/// #[rule(Edit = owner | same(tenant) & role("lead"))]
/// #[object(name = "Order", parent = Board, sample = function)]
/// ```
///
/// A rule has an action, which is a type ([`Action`](crate::object::Action)), and a condition. Conditions
/// are joined by `&`, `|`, `!` and parentheses:
///
/// | condition | true if |
/// |---|---|
/// | `owner`, `owner(field)` | the field names the caller |
/// | `same(tenant)`, `same(field)` | the field names the [tenant](crate::Identity) of the caller |
/// | `member(field)` | the users in the field include the caller |
/// | the name of a flag | the flag is set |
/// | `role("..")`, `scope("..")` | the caller has the role, or the scope |
/// | `authenticated`, `anyone` | there is a caller; always |
/// | `with(function)` | a function `fn(&Self, &Principal) -> bool` says so. No tool sees what it allows |
/// | `engine` | the [`ObjectEngine`](crate::object::ObjectEngine) of the app says so. No tool sees what it allows, but the manifest has the digest of its policies. The key implements [`Display`](std::fmt::Display) |
///
/// Without a caller, on a public or `optional` route, all of them are false but `anyone` and flags. The rule
/// for `View` decides whether a caller learns that the object exists.
///
/// Fields are marked:
///
/// | mark | field |
/// |---|---|
/// | `#[object(key)]` | the key, which paths name; exactly one |
/// | `#[object(owner)]` | a user, by the [subject](crate::Principal::subject) of their identity; an `Option` may be empty |
/// | `#[object(tenant)]` | a tenant |
/// | `#[object(members)]` | a list of users; for lists in SQL with `table = "..", object = "..", user = ".."`: the table, its column with the key, and its column with the user |
/// | `#[object(flag)]` | a `bool` |
/// | `#[object(version)]` | a number that each change increments, for `If-Match` |
///
/// `column = ".."` names the column of a field, or is an expression of SQL; without it, the column has the
/// name of the field.
///
/// For `policy_tests!`, samples are derived: fields without a mark have their default values. Where one
/// has none, `sample = function` names a `fn() -> Self`.
///
/// # Compile errors
///
/// Every rule of `policy_core::Rule` whose code begins with `object.`.
///
/// ```compile_fail
/// # use policy_server::prelude::*;
/// #[derive(Object)]
/// #[rule(View = owner)] // no field is `#[object(owner)]`
/// struct Order { #[object(key)] id: u64 }
/// ```
pub use policy_macros::Object;

/// Makes an enum the errors of an app: each variant states as which [`Problem`](crate::Problem) it is sent.
///
/// It implements `From` of the enum for [`Problem`](crate::Problem), so that `?` converts it and
/// `Result<T, OrderError>` is a response, and the trait [`Problems`](trait@crate::Problems), which
/// lists the problems for documentation.
///
/// # Grammar
///
/// ```text
/// #[problem(404)]
/// #[problem(409, code = "orders.closed", title = "The order is closed", from)]
/// #[problem(internal, from)]
/// #[problem(transparent, from)]
/// ```
///
/// Each variant has one of these:
///
/// | words | the response |
/// |---|---|
/// | a status from 400 to 599 | this status, with `code` and `title`. Without a title it has the reason phrase of the status |
/// | `internal` | 500, and the error, the one field of the variant, is logged like that of [`Problem::internal`](crate::Problem::internal) |
/// | `transparent` | what the error, the one field of the variant, is itself sent as. Its type has to declare its problems, too: another enum with this derive, or [`Invalid`](crate::Invalid) |
///
/// With `from`, `?` converts the one field of the variant to it. Leave it out if another derive does
/// so, such as `#[from]` of thiserror.
///
/// A code is an area, a dot, and words with hyphens, as those of the framework are, whose own codes
/// are not free. Within an enum, and those that it sends, a code has one status and one title.
///
/// Clients see no field of a variant, unless the field is a member of the problem (RFC 9457 3.2):
/// `#[problem(member)]` has the name of the field, `#[problem(member = "name")]` another. Its type
/// implements `Serialize`. Doc comments are for developers, and not sent either.
///
/// ```
/// use std::io;
/// use policy_server::prelude::*;
///
/// #[derive(Problems)]
/// enum OrderError {
///     #[problem(404)]
///     Missing,
///     #[problem(409, code = "orders.closed", title = "The order is closed")]
///     Closed {
///         #[problem(member)]
///         order: u64,
///     },
///     #[problem(internal, from)]
///     Storage(io::Error),
/// }
///
/// fn close(order: u64) -> io::Result<bool> {
///     if order == 3 { Err(io::Error::other("disk 3 is gone")) } else { Ok(order == 2) }
/// }
///
/// #[post("/orders/{id}/close")]
/// #[auth(public)]
/// async fn closed(id: u64) -> Result<StatusCode, OrderError> {
///     match id {
///         0 => Err(OrderError::Missing),
///         order if close(order)? => Err(OrderError::Closed { order }),
///         _ => Ok(StatusCode::NO_CONTENT),
///     }
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(()).routes(routes![closed]).test();
/// let response = client.post("/orders/2/close").send().await;
/// assert_eq!(
///     response.text(),
///     r#"{"type":"about:blank","title":"The order is closed","status":409,"code":"orders.closed","order":2}"#
/// );
/// let response = client.post("/orders/3/close").send().await;
/// assert_eq!(response.status(), 500);
/// assert!(!response.text().contains("disk"));
/// # });
/// ```
///
/// `#[problem(crate = path::to::policy_server)]` on the enum is needed if `policy_server` is renamed.
///
/// # Compile errors
///
/// - a variant without a status, or with one that is not the status of an error:
///
///   ```compile_fail
///   # use policy_server::prelude::*;
///   #[derive(Problems)]
///   enum OrderError {
///       #[problem(200)]
///       Missing,
///   }
///   ```
/// - a code in another form, or with two meanings; a member with the name of another one
/// - `internal`, `transparent` or `from` on a variant that has not exactly one field, and more than
///   `from` beside the first two
pub use policy_macros::Problems;
