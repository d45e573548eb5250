//! The pairs, by what a change of the policy is about.

use std::convert::Infallible;

use axum::response::Html;
use policy_server::{
    CachePolicy, CsrfPolicy, Fallback, HeadersPolicy, Isolation, Limits, Mount, Rate, Request,
    ReverseProxy, TrailingSlash,
    http::Method,
    policy::{
        CachePolicyBuilder, Frame, HeadersPolicyBuilder,
        csp::{Directive, Name, Source},
    },
    session::{SameSite, days, minutes},
};
use tower::service_fn;

use super::{Effect, Effect::*, Pair, token_settings};
use crate::*;

const USER: AuthRequirement = AuthRequirement::session();
const ADMIN: AuthRequirement = USER.roles(&["admin"]);
const PROGRAM: AuthRequirement = AuthRequirement::token();
const READER: AuthRequirement = PROGRAM.scopes(&["orders:read"]);
const EXEMPT: CsrfPolicy = CsrfPolicy::Exempt("a mistake");

const A: CorsPolicy = CorsPolicy::origins(&["https://a.example"]).build();
const A_AND_B: CorsPolicy =
    CorsPolicy::origins(&["https://a.example", "https://b.example"]).build();
const SHOPS: CorsPolicy = CorsPolicy::origins(&["https://*.shop.example"]).build();
const ANY: CorsPolicy = CorsPolicy::origins(&["*"]).build();
const BOTH_LOGGED_IN: CorsPolicy =
    CorsPolicy::origins(&["https://a.example", "https://b.example"]).credentials().build();
const LOGGED_IN: CorsPolicy = CorsPolicy::origins(&["https://a.example"]).credentials().build();

/// A pair that is weaker in one direction only.
fn pair(
    name: &'static str,
    effect: Effect,
    old: impl Fn(App<()>, &str) -> App<()> + 'static,
    new: impl Fn(App<()>, &str) -> App<()> + 'static,
) -> Pair {
    Pair { name, effect, is_one_way: true, old: Box::new(old), new: Box::new(new) }
}

/// A pair in which each app allows something that the other one does not.
fn both_ways(
    name: &'static str,
    effect: Effect,
    old: impl Fn(App<()>, &str) -> App<()> + 'static,
    new: impl Fn(App<()>, &str) -> App<()> + 'static,
) -> Pair {
    pair(name, effect, old, new).both_ways()
}

impl Pair {
    fn both_ways(self) -> Self {
        Self { is_one_way: false, ..self }
    }
}

/// A pair of mounts.
fn mounts(name: &'static str, effect: Effect, old: Mount, new: Mount) -> Pair {
    let [old, new] =
        [old, new].map(|mount| move |it: App<()>, _: &str| it.mount("/m", mount.clone()));
    pair(name, effect, old, new)
}

/// A pair of mounts that differ in their callers.
fn admits(name: &'static str, old: AuthRequirement, new: AuthRequirement) -> Pair {
    mounts(name, Requests, reads().auth(old), reads().auth(new))
}

/// A pair of a mount for these callers, and one for everybody.
fn opens(name: &'static str, old: AuthRequirement) -> Pair {
    mounts(name, Requests, reads().auth(old), reads().public())
}

/// A pair of mounts that differ in their protection against forged requests.
fn checks(name: &'static str, old: CsrfPolicy, new: CsrfPolicy) -> Pair {
    let [old, new] = [old, new].map(|csrf| writes().auth(USER).csrf(csrf));
    mounts(name, Requests, old, new)
}

/// A pair of mounts that differ in their limits.
fn limited(name: &'static str, effect: Effect, mount: fn() -> Mount, limits: [Limits; 2]) -> Pair {
    let [old, new] = limits.map(|limits| mount().public().policies(policies().limits(limits)));
    mounts(name, effect, old, new)
}

/// A service for GET and HEAD.
fn reads() -> Mount {
    Mount::new(service_fn(async |_: Request| Ok::<_, Infallible>("reached".into_response())))
}

/// A service for POST.
fn writes() -> Mount {
    reads().methods([Method::POST])
}

fn page() -> Fallback {
    Fallback::handler(async |_| "reached")
}

fn policies() -> Policies {
    Policies::new()
}

/// A mount for everybody with a CORS policy.
fn shared(cors: CorsPolicy) -> Mount {
    reads().public().policies(policies().cors(cors))
}

/// A pair of such mounts.
fn shares(name: &'static str, old: CorsPolicy, new: CorsPolicy) -> Pair {
    mounts(name, Requests, shared(old), shared(new))
}

/// A mount for users that pages of other sites may reach, or not.
fn isolated(policies: Policies) -> Mount {
    reads().auth(USER).policies(policies)
}

/// A pair of pages that differ in this header.
fn protects(
    name: &'static str,
    header: &'static str,
    old: HeadersPolicyBuilder,
    new: HeadersPolicyBuilder,
) -> Pair {
    let [old, new] = [old, new].map(|headers| {
        let page = async |_: Request| Ok::<_, Infallible>(Html("reached").into_response());
        Mount::new(service_fn(page)).public().policies(policies().headers(headers.build()))
    });
    mounts(name, Field("GET /m", header), old, new)
}

fn cached(cache: CachePolicyBuilder) -> Mount {
    reads().public().policies(policies().cache(cache.build()))
}

/// A pair of mounts that differ in `Cache-Control`.
fn caches(name: &'static str, old: CachePolicyBuilder, new: CachePolicyBuilder) -> Pair {
    mounts(name, Field("GET /m", "cache-control"), cached(old), cached(new))
}

macro_rules! handlers {
    ($($name:ident: $(#[$attribute:meta])+;)+) => {
        $($(#[$attribute])+ async fn $name() -> &'static str { "reached" })+
    };
}

handlers! {
    audit_of_admins: #[get("/audit")] #[auth(session, roles = ["admin"])];
    audit_of_users: #[get("/audit")] #[auth(session)];
    audit_of_all: #[get("/audit")] #[auth(public)];
    save_by_token: #[post("/save")] #[auth(session)] #[csrf(token)];
    save_by_origin: #[post("/save")] #[auth(session)] #[csrf(origin)];
    save_exempt: #[post("/save")] #[auth(session)] #[csrf(exempt = "a mistake")];
    order_private: #[get("/order")] #[auth(session)];
    order_shared: #[get("/order")] #[auth(session)]
        #[cors(origins = ["https://a.example"], credentials)];
    order_of_a: #[get("/order")] #[auth(session)]
        #[cors(origins = ["https://*.a.example"], credentials)];
    list_of_a: #[get("/list")] #[auth(public)]
        #[cors(origins = config("pages", within = ["https://*.a.example"]))];
    list_of_a_and_b: #[get("/list")] #[auth(public)]
        #[cors(origins = config("pages", within = ["https://*.a.example", "https://b.example"]))];
}

#[get("/prices")]
#[auth(public)]
async fn plain_prices() -> Json<u32> {
    Json(7)
}

#[get("/prices")]
#[auth(public)]
#[jsonp(callback = "cb")]
async fn script_prices() -> Json<u32> {
    Json(7)
}

fn callers() -> Vec<Pair> {
    vec![
        admits("a role is gone", ADMIN, USER),
        opens("users to everybody", USER),
        admits("users to optional", USER, USER.optional()),
        admits("tokens, too", USER, USER.or_token()).both_ways(),
        admits("tickets, too", PROGRAM, PROGRAM.or_ticket()),
        admits("sessions, too", PROGRAM, PROGRAM.or_session()),
        admits("a scope is gone", READER, PROGRAM),
        admits(
            "one of two scopes is gone",
            PROGRAM.scopes(&["orders:read", "orders:write"]),
            READER,
        ),
        admits("another role", ADMIN, USER.roles(&["staff"])).both_ways(),
        admits("another scope", READER, PROGRAM.scopes(&["orders:write"])).both_ways(),
        admits("older logins", USER.fresh(minutes(5)), USER.fresh(minutes(10))),
        admits("logins of any age", USER.fresh(minutes(5)), USER),
        admits("tokens in place of sessions", USER, PROGRAM).both_ways(),
        admits("programs with a role in place of users with it", ADMIN, PROGRAM.roles(&["admin"]))
            .both_ways(),
        opens("optional to everybody", USER.optional()),
        opens("tickets to everybody", AuthRequirement::ticket()),
        opens("tokens to everybody", READER),
        pair(
            "the role of a handler",
            Requests,
            |it, _| it.routes(routes![audit_of_admins]),
            |it, _| it.routes(routes![audit_of_users]),
        ),
        pair(
            "a handler for everybody",
            Requests,
            |it, _| it.routes(routes![audit_of_admins]),
            |it, _| it.routes(routes![audit_of_all]),
        ),
        pair(
            "the default of the app",
            Requests,
            |it, _| it.auth(ADMIN).mount("/m", reads()),
            |it, _| it.auth(USER).mount("/m", reads()),
        ),
        pair(
            "the default of a group",
            Requests,
            |it, _| it.group("/g", Group::new().auth(ADMIN).mount("/m", reads())),
            |it, _| it.group("/g", Group::new().auth(USER).mount("/m", reads())),
        ),
        pair(
            "a public group",
            Requests,
            |it, _| it.group("/g", Group::new().auth(ADMIN).mount("/m", reads())),
            |it, _| it.group("/g", Group::new().public().mount("/m", reads())),
        ),
        both_ways(
            "the fallback",
            Requests,
            |it, _| it.fallback(page().auth(ADMIN)),
            |it, _| it.fallback(page().public()),
        ),
        mounts(
            "writes by tokens, too",
            Requests,
            writes().auth(USER),
            writes().auth(USER.or_token()),
        )
        .both_ways(),
    ]
}

fn forgery() -> Vec<Pair> {
    let mut pairs = vec![
        both_ways(
            "the token of a handler",
            Requests,
            |it, _| it.routes(routes![save_by_token]),
            |it, _| it.routes(routes![save_by_origin]),
        ),
        pair(
            "an exempt handler",
            Requests,
            |it, _| it.routes(routes![save_by_token]),
            |it, _| it.routes(routes![save_exempt]),
        ),
        pair(
            "the default of the app: forgery",
            Requests,
            |it, _| it.mount("/m", writes().auth(USER)),
            |it, _| it.csrf(EXEMPT).mount("/m", writes().auth(USER)),
        ),
        pair(
            "the default of a group: forgery",
            Requests,
            |it, _| it.group("/g", Group::new().mount("/m", writes().auth(USER))),
            |it, _| {
                let group = Group::new().csrf(EXEMPT);
                it.group("/g", group.mount("/m", writes().auth(USER)))
            },
        ),
        mounts("an exempt login", Requests, writes().public(), writes().public().csrf(EXEMPT)),
        pair(
            "an exempt fallback",
            Requests,
            |it, _| it.fallback(page().auth(USER)),
            |it, _| it.fallback(page().auth(USER).csrf(EXEMPT)),
        ),
        pair(
            "an exempt proxy",
            Requests,
            |it, up| it.proxy(ReverseProxy::new("/p", up).methods([Method::POST]).auth(USER)),
            |it, up| {
                let proxy = ReverseProxy::new("/p", up).methods([Method::POST]).auth(USER);
                it.proxy(proxy.csrf(EXEMPT))
            },
        ),
    ];
    use CsrfPolicy as By;
    pairs.extend([
        checks("token to origin", By::Token, By::Origin).both_ways(),
        checks("token to origin else token", By::Token, By::OriginElseToken),
        checks("token to exempt", By::Token, EXEMPT),
        checks("origin to exempt", By::Origin, EXEMPT),
        checks("origin else token to exempt", By::OriginElseToken, EXEMPT),
        checks("origin to origin else token", By::Origin, By::OriginElseToken),
    ]);
    pairs
}

fn pages() -> Vec<Pair> {
    let deletes = |methods: &'static [&'static str]| {
        let cors = CorsPolicy::origins(&["https://a.example"]).methods(methods).build();
        let mount = reads().methods([Method::GET, Method::DELETE]).auth(PROGRAM);
        mount.policies(policies().cors(cors))
    };
    vec![
        mounts("a first origin", Requests, reads().public(), shared(LOGGED_IN)),
        shares("one origin more", A, A_AND_B),
        shares("every origin", A, ANY),
        shares("a wildcard", CorsPolicy::origins(&["https://a.shop.example"]).build(), SHOPS),
        shares(
            "a shorter wildcard",
            CorsPolicy::origins(&["https://*.eu.shop.example"]).build(),
            SHOPS,
        ),
        shares("credentials", A, LOGGED_IN),
        mounts("a method more", Requests, deletes(&["GET"]), deletes(&["GET", "DELETE"])),
        shares(
            "a request header more",
            CorsPolicy::origins(&["https://a.example"]).headers(&["x-a"]).build(),
            CorsPolicy::origins(&["https://a.example"]).headers(&["x-a", "x-b"]).build(),
        ),
        shares(
            "an exposed header",
            A,
            CorsPolicy::origins(&["https://a.example"]).expose(&["x-secret"]).build(),
        ),
        pair(
            "origins of the app",
            Requests,
            |it, _| it.policies(policies().cors(LOGGED_IN)).mount("/m", reads().public()),
            |it, _| it.policies(policies().cors(BOTH_LOGGED_IN)).mount("/m", reads().public()),
        ),
        pair(
            "a group that inherits again",
            Requests,
            |it, _| {
                let group = Group::new().policies(policies().no_cors());
                let group = group.mount("/m", reads().public());
                it.policies(policies().cors(LOGGED_IN)).group("/g", group)
            },
            |it, _| {
                let group = Group::new().mount("/m", reads().public());
                it.policies(policies().cors(LOGGED_IN)).group("/g", group)
            },
        ),
        shares(
            "an insecure origin",
            A,
            CorsPolicy::origins(&["https://a.example", "http://intranet.example"])
                .dangerous_insecure_origins()
                .build(),
        ),
        pair(
            "origins of a handler",
            Requests,
            |it, _| it.routes(routes![order_private]),
            |it, _| it.routes(routes![order_shared]),
        ),
        both_ways(
            "subdomains in place of a domain",
            Requests,
            |it, _| it.routes(routes![order_shared]),
            |it, _| it.routes(routes![order_of_a]),
        ),
        pair(
            "origins of the fallback",
            Requests,
            |it, _| it.fallback(page().public()),
            |it, _| it.fallback(page().public().policies(policies().cors(ANY))),
        ),
        pair(
            "a wider list in code",
            Shared("https://y.a.example"),
            |it, _| it.origins("pages", ["https://x.a.example"]).routes(routes![list_of_a]),
            |it, _| it.origins("pages", ["https://*.a.example"]).routes(routes![list_of_a]),
        ),
        pair(
            "a wider bound of a list",
            Requests,
            |it, _| it.origins("pages", ["https://*.a.example"]).routes(routes![list_of_a]),
            |it, _| {
                it.origins("pages", ["https://*.a.example", "https://b.example"])
                    .routes(routes![list_of_a_and_b])
            },
        ),
        mounts(
            "pages of the same site",
            Requests,
            isolated(policies().isolation(Isolation::SameOrigin)),
            isolated(policies().isolation(Isolation::SameSite)),
        ),
        mounts(
            "pages of every site",
            Requests,
            isolated(policies().isolation(Isolation::SameSite)),
            isolated(policies().no_isolation()),
        ),
        mounts(
            "isolation is gone",
            Requests,
            isolated(policies().isolation(Isolation::SameOrigin)),
            isolated(policies()),
        ),
        pair(
            "isolation of the app",
            Requests,
            |it, _| {
                let policies = policies().isolation(Isolation::SameOrigin);
                it.policies(policies).mount("/m", reads().public())
            },
            |it, _| it.mount("/m", reads().public()),
        ),
        both_ways(
            "a script for every page",
            Body("GET /prices?cb=f"),
            |it, _| it.routes(routes![plain_prices]),
            |it, _| it.routes(routes![script_prices]),
        ),
    ]
}

fn paths() -> Vec<Pair> {
    vec![
        mounts(
            "a method is served",
            Requests,
            reads().public(),
            reads().methods([Method::GET, Method::HEAD, Method::POST]).public(),
        ),
        mounts(
            "all methods are served",
            Requests,
            reads().auth(USER),
            reads().all_methods().auth(USER),
        ),
        mounts("encoded slashes", Requests, reads().public(), reads().public().encoded_slashes()),
        both_ways(
            "another mount",
            Requests,
            |it, _| it.mount("/m", reads().public()),
            |it, _| it.mount("/n", reads().public()),
        ),
        pair("a new mount", Requests, |it, _| it, |it, _| it.mount("/m", reads().public())),
        pair("a new fallback", Requests, |it, _| it, |it, _| it.fallback(page().public())),
        pair(
            "a laxer mount below",
            Requests,
            |it, _| it.mount("/m", reads().auth(ADMIN)),
            |it, _| it.mount("/m", reads().auth(ADMIN)).mount("/m/open", reads().public()),
        ),
        pair(
            "out of a guarded group",
            Requests,
            |it, _| it.group("/g", Group::new().auth(ADMIN).mount("/m", reads())),
            |it, _| it.mount("/g/m", reads().auth(USER)),
        ),
        both_ways(
            "strict slashes",
            Requests,
            |it, _| it.routes(routes![audit_of_all]),
            |it, _| it.trailing_slash(TrailingSlash::Same).routes(routes![audit_of_all]),
        ),
        pair(
            "TRACE",
            Body("TRACE /m"),
            |it, _| it.mount("/m", reads().public()),
            |it, _| it.trace().mount("/m", reads().public()),
        ),
        pair("a probe", Requests, |it, _| it, |it, _| it.health("/health")),
        pair(
            "a proxy of more methods",
            Requests,
            |it, up| it.proxy(ReverseProxy::new("/p", up).methods([Method::GET]).auth(USER)),
            |it, up| {
                let methods = [Method::GET, Method::DELETE];
                it.proxy(ReverseProxy::new("/p", up).methods(methods).auth(USER))
            },
        ),
        both_ways(
            "a proxy for everybody",
            Requests,
            |it, up| it.proxy(ReverseProxy::new("/p", up).methods([Method::GET]).auth(ADMIN)),
            |it, up| it.proxy(ReverseProxy::new("/p", up).methods([Method::GET]).public()),
        ),
        both_ways(
            "another base path",
            Body("GET /p/echo"),
            |it, up| it.proxy(ReverseProxy::new("/p", up).strip_prefix().public()),
            |it, up| {
                let up = format!("{up}/admin");
                it.proxy(ReverseProxy::new("/p", up).strip_prefix().public())
            },
        ),
        pair(
            "the session for the upstream",
            Body("GET /p/echo"),
            |it, up| it.proxy(ReverseProxy::new("/p", up).auth(USER)),
            |it, up| it.proxy(ReverseProxy::new("/p", up).auth(USER).forward_session()),
        ),
        both_ways(
            "without its prefix",
            Body("GET /p/echo"),
            |it, up| it.proxy(ReverseProxy::new("/p", up).public()),
            |it, up| it.proxy(ReverseProxy::new("/p", up).public().strip_prefix()),
        ),
    ]
}

fn limits() -> Vec<Pair> {
    const NONE: Limits = Limits::NONE;
    const FIVE: Limits = NONE.rate(Rate::per_minute(5));
    const SENT: Effect = AtOnce("GET /m", 60);
    vec![
        limited("no rate", SENT, reads, [FIVE, NONE]),
        limited("a longer burst", SENT, reads, [FIVE, NONE.rate(Rate::per_minute(50))]),
        limited(
            "a slower rate with a longer burst",
            SENT,
            reads,
            [FIVE, NONE.rate(Rate::per_day(7000))],
        )
        .both_ways(),
        limited(
            "the same speed with a longer burst",
            SENT,
            reads,
            [FIVE, NONE.rate(Rate::per_hour(300))],
        ),
        pair(
            "the rate of the app",
            SENT,
            |it, _| it.policies(policies().limits(FIVE)).mount("/m", reads().public()),
            |it, _| it.mount("/m", reads().public()),
        ),
        limited("longer bodies", Length(64), writes, [NONE.body(16), NONE.body(64)]),
        limited("bodies of the usual length", Length(64), writes, [NONE.body(16), NONE]),
    ]
}

fn responses() -> Vec<Pair> {
    const BARE: HeadersPolicyBuilder = HeadersPolicy::builder();
    const OWN: HeadersPolicyBuilder =
        BARE.csp(&[Directive(Name::DefaultSrc, &[Source::SelfOrigin])]);
    const OWN_AND_CDN: HeadersPolicyBuilder = BARE.csp(&[Directive(
        Name::DefaultSrc,
        &[Source::SelfOrigin, Source::Host("https://cdn.example")],
    )]);
    const ANYTHING: HeadersPolicyBuilder =
        BARE.csp(&[Directive(Name::DefaultSrc, &[Source::Any, Source::DangerousUnsafeInline])]);
    const CSP: &str = "content-security-policy";
    const NO_STORE: CachePolicyBuilder = CachePolicy::no_store();
    const PRIVATE: CachePolicyBuilder = CachePolicy::private();
    const PUBLIC: CachePolicyBuilder = CachePolicy::public();
    vec![
        protects("any scripts", CSP, OWN, ANYTHING),
        protects("a host more", CSP, OWN, OWN_AND_CDN),
        protects("no CSP", CSP, OWN, BARE).both_ways(),
        protects("frames of everybody", CSP, BARE.frame(Frame::Nobody), BARE.frame(Frame::Anybody)),
        protects(
            "frames of the same origin",
            "x-frame-options",
            BARE.frame(Frame::Nobody),
            BARE.frame(Frame::SameOrigin),
        ),
        protects(
            "openers",
            "cross-origin-opener-policy",
            BARE.coop("same-origin"),
            BARE.coop("unsafe-none"),
        ),
        protects(
            "embedding pages",
            "cross-origin-resource-policy",
            BARE.corp("same-origin"),
            BARE.corp("cross-origin"),
        ),
        protects(
            "embedded resources",
            "cross-origin-embedder-policy",
            BARE.coep("require-corp"),
            BARE.coep("unsafe-none"),
        ),
        protects(
            "longer referrers",
            "referrer-policy",
            BARE.referrer("no-referrer"),
            BARE.referrer("unsafe-url"),
        ),
        protects(
            "a camera",
            "permissions-policy",
            BARE.permissions(&["camera=()"]),
            BARE.permissions(&["camera=(self)"]),
        ),
        mounts(
            "no headers at all",
            Field("GET /m", "x-content-type-options"),
            reads().public(),
            reads().public().policies(policies().no_headers()),
        ),
        caches("a stored response", NO_STORE, CachePolicy::unstated().max_age(600)),
        caches("a response in shared caches", NO_STORE, CachePolicy::unstated().s_maxage(600)),
        caches("private to public", PRIVATE.max_age(60), PUBLIC.max_age(60)),
        caches("a longer time", PRIVATE.max_age(60), PRIVATE.max_age(86_400)),
        caches("without asking again", PRIVATE.no_cache(), PRIVATE),
        caches("stale responses", PUBLIC.max_age(60), PUBLIC.max_age(60).stale_if_error(600)),
        mounts(
            "one response for all tenants",
            Field("GET /m", "vary"),
            cached(PUBLIC.max_age(60).vary(&["x-tenant"])),
            cached(PUBLIC.max_age(60)),
        ),
    ]
}

fn lifetimes() -> Vec<Pair> {
    const MINUTE: u64 = 60;
    vec![
        pair(
            "idle sessions",
            Alive("GET /me", 20 * MINUTE),
            |it, _| it,
            |it, _| it.sessions(Sessions::memory().idle(minutes(30))),
        ),
        pair(
            "sessions in all",
            Alive("GET /me", 20 * MINUTE),
            |it, _| it.sessions(Sessions::memory().idle(minutes(15)).absolute(minutes(16))),
            |it, _| it.sessions(Sessions::memory().idle(days(2)).absolute(days(30))),
        ),
        pair(
            "tokens",
            Alive("GET /by-token", 50 * MINUTE),
            |it, _| it.tokens(token_settings().lifetime(minutes(5))),
            |it, _| it.tokens(token_settings().lifetime(minutes(60))),
        ),
        pair(
            "late tokens",
            Alive("GET /by-token", 6 * MINUTE),
            |it, _| it.tokens(token_settings().lifetime(minutes(5)).leeway(minutes(0))),
            |it, _| it.tokens(token_settings().lifetime(minutes(5)).leeway(minutes(5))),
        ),
        pair(
            "the cookie of other sites",
            Cookie,
            |it, _| it.sessions(Sessions::memory().same_site(SameSite::Strict)),
            |it, _| it.sessions(Sessions::memory().same_site(SameSite::Lax)),
        ),
    ]
}

pub(super) fn all() -> Vec<Pair> {
    [callers(), forgery(), pages(), paths(), limits(), responses(), lifetimes()]
        .into_iter()
        .flatten()
        .collect()
}
