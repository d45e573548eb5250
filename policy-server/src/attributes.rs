//! The attributes. The macros are in `policy-macros`; their documentation is here, where it can
//! name what it is about, and where its examples run.

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
/// takes the rest. Every parameter is an argument of the handler, of the same name, in any
/// position; its type implements [`FromParam`]. All other arguments are extractors, and the last
/// one of them may read the body. `crate` is needed where `policy_server` goes by another name.
///
/// A handler can have several route attributes, as long as their paths have the same parameters
/// in the same order. It needs an [`auth`](macro@auth), and can have a [`cors`](macro@cors) and a
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
/// # What it refuses
///
/// - a path that no request has: without `/` in front, with a query, `//`, `..` or percent codes
/// - a parameter without an argument:
///   ```compile_fail
///   # use policy_server::prelude::*;
///   #[get("/users/{id}")]
///   #[auth(public)]
///   async fn user() {}
///   ```
/// - a handler that is not `async`, or is generic, `unsafe` or a method
/// - arguments that are borrowed, more than 8 path parameters, more than 12 other arguments
/// - axum's `Path`, `RawPathParams`, `MatchedPath` and `NestedPath`, which compile and are empty
///   outside of axum's own router
/// - a handler without `#[auth]`
///
/// [`FromParam`]: crate::FromParam
pub use policy_macros::get;

macro_rules! methods {
    ($($name:ident $method:literal $path:literal;)*) => {$(
        #[doc = concat!("Binds a handler to ", $method, " requests of a path.")]
        ///
        /// Grammar, arguments and refusals are those of [`get`](macro@get).
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

/// Binds a handler to any method, or to several.
///
/// # Grammar
///
/// ```text
/// #[route(METHOD, .., "/path")]
/// ```
///
/// A method is an upper-case word, of the standard or one's own. One that is no word, or is not
/// upper case, is written as a string: methods are case-sensitive (RFC 9110 9.1). Everything
/// else is as in [`get`](macro@get).
///
/// ```
/// use policy_server::prelude::*;
///
/// #[route(PURGE, "M-SEARCH", "/cache")]
/// #[auth(public)]
/// async fn cache() {}
/// ```
///
/// # What it refuses
///
/// Next to what `get` refuses: CONNECT and TRACE, which are the server's own, and the same method
/// and path twice on one handler.
///
/// ```compile_fail
/// # use policy_server::prelude::*;
/// #[route(TRACE, "/cache")]
/// #[auth(public)]
/// async fn cache() {}
/// ```
pub use policy_macros::route;

/// States which pages of other origins may read the answers of a route (Fetch, CORS protocol).
///
/// It replaces whatever the group and the app say; nothing is merged. Without it, they decide.
///
/// # Grammar
///
/// ```text
/// #[cors(part, ..)]       a policy of this route
/// #[cors(PARTNERS)]       a constant of type CorsPolicy, shared between routes
/// #[cors(none)]           shared with nobody, whatever the group and the app say
/// ```
///
/// | part | says |
/// |---|---|
/// | `origins = ["https://a.example", ..]` | who may read; also `https://*.a.example`, `http://localhost:*`, or `*` alone |
/// | `origins = config("name", within = [..])` | a list given to the app, inside of a bound |
/// | `credentials` | cookies may come along |
/// | `headers = ["x-request-id", ..]` | request headers beyond those that follow from the route |
/// | `expose = ["etag", ..]` | response headers that the page may read |
/// | `methods = ["PUT", ..]` | methods, in place of those that the router serves at the path |
/// | `max_age = 600` | seconds for which a browser may keep a preflight; `0` and `-1`: not at all |
/// | `dangerous_insecure_origins` | accepts `credentials` for origins that are not `https` |
/// | `dangerous_public_suffix` | accepts `credentials` for every name under a public suffix |
///
/// Only `origins` is needed. Each list can also be a constant expression, and so can `max_age`.
///
/// A browser keeps what a preflight allows for all methods of an address. So it is told not to
/// keep it, whatever `max_age` says, where another route of the path changes something and has
/// other `origins`, `credentials`, `headers` or `methods`, or no `cors` at all.
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
/// # What it refuses
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
/// - with `credentials`, origins that are not `https` and wildcards over a public suffix
/// - methods and headers that no browser lets a page send or read
/// - a second `#[cors]`, and one on a function without a route
pub use policy_macros::cors;

/// States who may call a route. Every route has to say it, so that none is open by accident.
///
/// # Grammar
///
/// ```text
/// #[auth(public)]                                 anybody, and nobody is asked who they are
/// #[auth(session | token, part, ..)]              whoever has one of these credentials
/// #[auth(scheme = ApiKeys, part, ..)]             whoever a scheme of your own lets in
/// ```
///
/// | word | is |
/// |---|---|
/// | `session` | the cookie of a session |
/// | `token` | a bearer token; where one is sent, it alone decides |
/// | `ticket` | a single-use ticket in the query, for WebSockets of pages that have tokens |
/// | `scheme = path::to::Type` | a type that implements [`Scheme`] |
///
/// | part | says |
/// |---|---|
/// | `optional` | who has no credential is let in as nobody; the rest holds for who has one |
/// | `scopes = ["orders:read", ..]` | all of them are needed |
/// | `roles = ["admin", ..]` | one of them is needed |
/// | `fresh = "10m"` | the user proved who they are within this time; in `s`, `m`, `h` or `d` |
///
/// The credentials stand in any order, joined by `|`, and so do the parts. Each list can also be a
/// constant expression.
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
/// ```
///
/// # What it refuses
///
/// Every rule of `policy_core::Rule` whose code begins with `auth.`. The most common:
///
/// - `public` next to anything else, and an own scheme next to other credentials
/// - scopes that no token can carry, empty lists, times without a unit
/// - sharing by [`cors`](macro@cors) without `credentials` where a session is the only way in:
///   no page could use it
///   ```compile_fail
///   # use policy_server::prelude::*;
///   #[get("/account")]
///   #[cors(origins = ["https://app.example"])]
///   #[auth(session)]
///   async fn account() {}
///   ```
/// - an argument `Principal` where there need not be any: on a `public` or `optional` route
/// - a second `#[auth]`, and one on a function without a route
///
/// [`Scheme`]: crate::Scheme
pub use policy_macros::auth;

/// States how a route is protected against requests that pages of others forge.
///
/// Only what browsers send by themselves can be abused so: a session, or an own scheme that says
/// it is ambient. Without the attribute, each request of such a caller that may change something
/// needs `token`.
///
/// # Grammar
///
/// ```text
/// #[csrf(token)]              from an origin of ours, with the token of the session; the default
/// #[csrf(origin)]             from an origin of ours
/// #[csrf(exempt = "why")]     neither
/// ```
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
/// # What it refuses
///
/// An exemption without a reason, and any protection where nothing can be forged:
///
/// ```compile_fail
/// # use policy_server::prelude::*;
/// #[post("/drafts")]
/// #[auth(token)]
/// #[csrf(token)]
/// async fn save_draft() {}
/// ```
pub use policy_macros::csrf;

/// States who may keep the answers of a route, and for how long (RFC 9111).
///
/// It replaces whatever the group and the app say; nothing is merged. What the handler writes into
/// `Cache-Control` makes it stricter only, and what belongs to one person or has a secret in it
/// goes into no shared cache, whatever anybody says.
///
/// # Grammar
///
/// ```text
/// #[cache(part, ..)]      a policy of this route
/// #[cache(LISTS)]         a constant of type CachePolicy, shared between routes
/// #[cache(none)]          none, whatever the group and the app say
/// ```
///
/// | part | says |
/// |---|---|
/// | `no_store` | nobody keeps an answer; stands alone, or with `vary` |
/// | `private` | the cache of one user keeps it |
/// | `public` | caches that serve many users keep it, too |
/// | `max_age = 60` | for so many seconds it is fresh |
/// | `s_maxage = 60` | the same in caches that serve many users |
/// | `no_cache` | before each use a cache asks whether it still holds |
/// | `must_revalidate` | once it is stale, a cache asks, also when it cannot |
/// | `immutable` | while it is fresh it does not change, so no reload asks |
/// | `stale_while_revalidate = 30` | for so many seconds a stale answer serves while a cache asks |
/// | `stale_if_error = 600` | for so many seconds a stale answer serves where there is no other |
/// | `vary = ["accept", ..]` | the request fields that the answer depends on |
///
/// All of it holds for the good answers that caches keep: 200, 203, 204, 206, 300, 301, 304 and
/// 308. Other answers are stored by nobody, unless the handler writes a `max-age` for them.
/// `vary` is on every answer. Those to POST and PATCH are kept only where the handler writes a
/// `Content-Location` (RFC 9110 9.3.3).
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
/// # What it refuses
///
/// Every rule of `policy_core::Rule` whose code begins with `cache.`. The most common:
///
/// - `public`, `s_maxage` and `must_revalidate` where the answers depend on who asks: they let
///   shared caches keep them (RFC 9111 3.5)
///   ```compile_fail
///   # use policy_server::prelude::*;
///   #[get("/account")]
///   #[cache(public, max_age = 60)]
///   #[auth(session)]
///   async fn account() {}
///   ```
/// - methods that no cache keeps answers to, such as DELETE, unless it is `no_store`; POST and PATCH
///   without an age
/// - `private` with `public` or `s_maxage`, `no_store` with anything, `immutable` or stale answers
///   without an age
/// - `*` in `vary`, and what is no header name
/// - a second `#[cache]`, and one on a function without a route
pub use policy_macros::cache;

/// Answers with a script where the query names a function to call (JSONP), for pages of partners
/// that are too old for CORS.
///
/// `/prices?callback=show` is answered by `/**/typeof show==='function'&&show({..});` in place of
/// the JSON that the handler gives; without the parameter, by the JSON. A name that is no
/// function's, or stands there twice, is refused with 400 and written nowhere. Every page can read
/// such an answer, so no cookie and no token is looked at where one is made. Errors are not
/// wrapped: a page learns of them by the `error` event of its script element.
///
/// A script of another origin can do on a page what it likes, which is why a Content Security
/// Policy that allows one host allows all that it serves: old partners are best served from a
/// host of their own. New ones use [`cors`](macro@cors).
///
/// # Grammar
///
/// ```text
/// #[jsonp(callback = "callback")]             the parameter of the query
/// #[jsonp(callback = "callback", dotted)]     names such as `app.prices.show` can be called, too
/// #[jsonp(PARTNERS)]                          a constant of type JsonpPolicy, shared between routes
/// ```
///
/// A function has a name of at most 64 characters of `A-Z a-z 0-9 _ $`; with `dotted`, of at most
/// three of them with dots between, which reaches functions that were not made to be called so.
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
/// const PARTNERS: JsonpPolicy = JsonpPolicy::new("cb").grammar(Grammar::Dotted);
///
/// #[get("/shops")]
/// #[auth(public)]
/// #[jsonp(PARTNERS)]
/// async fn shops() -> Json<[&'static str; 1]> {
///     Json(["north"])
/// }
/// ```
///
/// # What it refuses
///
/// Every rule of `policy_core::Rule` whose code begins with `jsonp.`:
///
/// - a route that is not `public`, or whose handler takes a session: what is in the script would
///   be anybody's
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

/// Limits the requests of a route: how large, how long, how often, how many at once.
///
/// Each limit is a facet of its own: what a route does not limit, the group and the app may.
/// Preflights are not counted, and a request over a limit is answered with the route's CORS
/// headers, so that a page can tell what happened.
///
/// # Grammar
///
/// ```text
/// #[limit(part = value, ..)]      limits of this route
/// #[limit(UPLOADS)]               a constant of type Limits, shared between routes
/// ```
///
/// | part | says | over it |
/// |---|---|---|
/// | `body = "1 MiB"` | the most bytes of a body, in `B`, `kB`, `MB`, `GB` (thousands), `KiB`, `MiB` or `GiB` | 413 |
/// | `timeout = "5s"` | the longest time until an answer is ready, in `ms`, `s` or `m` | 503 |
/// | `rate = "100/min"` | the most requests of one client address within any `s`, `min`, `h` or `d` | 429 |
/// | `rate = "100/min per principal"` | the same for each principal, wherever they come from | 429 |
/// | `concurrency = 64` | the most requests at work at once | 503 |
///
/// An IPv6 address counts by its first 64 bits. A rate is a burst, too: all of its requests may
/// come at once, and then none for the rest of the period.
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
/// # What it refuses
///
/// Every rule of `policy_core::Rule` whose code begins with `limit.`:
///
/// - numbers without a unit, units that are none, nothing at all
///   ```compile_fail
///   # use policy_server::prelude::*;
///   #[post("/orders")]
///   #[auth(session)]
///   #[limit(body = "1 mb")]
///   async fn order() {}
///   ```
/// - zero, times of more than a day, and what is too large to count
/// - a rate `per principal` on a `public` route, which has none
/// - a second `#[limit]`, and one on a function without a route
pub use policy_macros::limit;

/// States what browsers are told about the answers of a route: what a page may load, who may frame
/// it, what it tells to others.
///
/// It replaces whatever the group and the app say; nothing is merged. What it does not state is as
/// in `HeadersPolicy::DEFAULT`, so no part is lost because another one is stated, and every answer
/// has `X-Content-Type-Options: nosniff`. A field that the handler writes itself stays.
///
/// # Grammar
///
/// ```text
/// #[headers(part, ..)]       a policy of this route
/// #[headers(PAGES)]          a constant of type HeadersPolicy, shared between routes
/// #[headers(none)]           no fields, whatever the group and the app say
/// ```
///
/// | part | says |
/// |---|---|
/// | `csp = "script-src 'self' 'nonce'; .."` | what a page may load and run; `'nonce'` is another one in each answer |
/// | `frame = none` | nobody may show the page in a frame; also `same_origin`, `any`, or a list of origins |
/// | `referrer = "no-referrer"` | what of its address the page tells to others |
/// | `permissions = ["camera=()", ..]` | what the page may use of the device |
/// | `coop = "same-origin"` | `Cross-Origin-Opener-Policy` |
/// | `coep = "require-corp"` | `Cross-Origin-Embedder-Policy` |
/// | `corp = "same-origin"` | `Cross-Origin-Resource-Policy`, on every answer |
/// | `hsts = 31536000` | seconds of `Strict-Transport-Security`, on every answer over TLS of a service with a public origin |
/// | `include_subdomains`, `preload` | what `hsts` promises beyond |
/// | `every_answer` | answers that are no pages have the fields of pages, too |
///
/// Pages are answers of HTML and XML: what browsers run scripts in.
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
/// # What it refuses
///
/// Every rule of `policy_core::Rule` whose code begins with `headers.`. The most common:
///
/// - a keyword without quotes, which browsers take for the name of a host:
///   ```compile_fail
///   # use policy_server::prelude::*;
///   #[get("/orders")]
///   #[auth(public)]
///   #[headers(csp = "default-src self")]
///   async fn orders() {}
///   ```
/// - a directive, a feature or a field twice; `frame` next to `frame-ancestors`
/// - a nonce that is always the same, and `'strict-dynamic'` without one
/// - a `corp` that keeps out whom [`cors`](macro@cors) or [`jsonp`](macro@jsonp) lets in
/// - `preload` without the promises that browsers ask for
pub use policy_macros::headers;

/// States which pages of others may load a route (W3C Fetch Metadata).
///
/// Browsers say whose page made a request, and what for. Pages that are not meant are refused with
/// 403 before the handler runs: they cannot load an answer as an image, a script or a frame, nor
/// guess by time or size what it says. Always let in are what [`cors`](macro@cors) grants or
/// [`jsonp`](macro@jsonp) answers, links that show the answer as a page of its own, and requests
/// of programs and of browsers that say nothing.
///
/// It replaces whatever the group and the app say. Without it, they decide.
///
/// # Grammar
///
/// ```text
/// #[isolation(same_origin)]      pages of the same origin
/// #[isolation(same_site)]        those of the same site, too, such as of subdomains
/// #[isolation(none)]             pages of everybody
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
/// # What it refuses
///
/// Anything but one of these words:
///
/// ```compile_fail
/// # use policy_server::prelude::*;
/// #[get("/account")]
/// #[auth(public)]
/// #[isolation(same_origin, same_site)]
/// async fn account() {}
/// ```
pub use policy_macros::isolation;

/// Lists handlers for an app or a group, as a `Vec<Route<S>>` for the state `S` of the app.
///
/// # Grammar
///
/// ```text
/// routes![handler, module::handler, ..]
/// routes![crate = path::to::policy_server, handler, ..]
/// ```
///
/// Nothing is registered by itself: linking code opens no endpoint. A handler that no list names
/// gets the compiler's warning that it is never used, unless it is exported.
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
/// # What it refuses
///
/// Everything that is not the name of a function with a route attribute, and handlers with an
/// argument that cannot be extracted with the app's state.
///
/// ```compile_fail
/// # use policy_server::prelude::*;
/// async fn plain() {}
/// let app = App::new(()).routes(routes![plain]);
/// ```
pub use policy_macros::routes;
