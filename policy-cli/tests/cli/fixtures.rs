//! The manifests in `tests/manifests`: a shop, a service that others can read, and one whose names
//! attack every format.

use policy_core::{cache::Audience, isolation::Isolation, limits::RateKey, route::Level};
use policy_manifest::{
    AppScheme, Auth, Cache, Csrf, Dangers, FacetSource, Headers, IssuerFacts, Jsonp, Lock,
    Manifest, ManifestRoute, RouteCors, RouteKind, RouteLimits, RouteOrigins, RouteRate,
    RouteRequirement, RuntimeOrigins, SessionFacts, Sources, TokenFacts,
};

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn cors(origins: &[&str]) -> RouteCors {
    RouteCors::new(RouteOrigins::Listed(texts(origins)))
}

fn required(requirement: RouteRequirement) -> Auth {
    Auth::Required(requirement)
}

fn session() -> RouteRequirement {
    RouteRequirement { session: true, ..RouteRequirement::default() }
}

fn limits(body: u64) -> RouteLimits {
    RouteLimits { body: Some(body), timeout_ms: Some(30_000), ..RouteLimits::default() }
}

fn security(page_policy: &str) -> Headers {
    let mut headers = Headers::default();
    let every = [
        ("strict-transport-security", "max-age=63072000; includeSubDomains"),
        ("x-content-type-options", "nosniff"),
    ];
    headers.every.extend(every.map(|(name, value)| (name.to_owned(), value.to_owned())));
    headers.pages.insert("content-security-policy".to_owned(), page_policy.to_owned());
    headers
}

/// A shop: sessions and tokens, partners, an app of its own on another origin.
pub(crate) fn shop() -> Manifest {
    let mut manifest = Manifest::new();
    manifest.app.public_origin = Some("https://api.shop.example".to_owned());
    manifest.app.sessions = Some(SessionFacts::new("postgres", "__Host-sid", "lax"));
    let mut tokens = TokenFacts::default();
    tokens.issuer = Some("https://api.shop.example".to_owned());
    manifest.app.tokens = Some(tokens);
    let usual = manifest.add_headers(security("frame-ancestors 'self'"));
    let strict = manifest.add_headers(security(
        "default-src 'none'; script-src 'nonce'; style-src 'nonce'; base-uri 'none'; \
         frame-ancestors 'none'",
    ));
    let app = |credentials| {
        Some(RouteCors { credentials, max_age: Some(600), ..cors(&["https://app.shop.example"]) })
    };
    let no_store = Some(Cache { no_store: true, ..Cache::default() });
    let add = |manifest: &mut Manifest, mut route: ManifestRoute| {
        route.headers.get_or_insert_with(|| usual.clone());
        if route.limits == RouteLimits::default() {
            route.limits = limits(1 << 20);
        }
        manifest.routes.push(route);
    };

    let token = RouteRequirement { token: true, scopes: texts(&["orders:read"]), ..session() };
    let mut orders = ManifestRoute::handler("/orders/{id}", ["GET"], required(token));
    orders.cors = app(true);
    orders.cache =
        Some(Cache { audience: Audience::Private, max_age: Some(30), ..Cache::default() });
    add(&mut manifest, orders);

    let mut order = ManifestRoute::handler("/orders", ["POST"], required(session()));
    order.cors = app(true);
    order.cache = no_store.clone();
    order.limits = RouteLimits {
        rate: Some(RouteRate { count: 100, per_ms: 60_000, by: RateKey::Principal }),
        ..limits(64 << 10)
    };
    add(&mut manifest, order);

    let staff = RouteRequirement { roles: texts(&["staff"]), fresh: Some(600), ..session() };
    let mut refund =
        ManifestRoute::handler("/admin/refunds/{id}", ["DELETE", "PUT"], required(staff));
    refund.cache = no_store.clone();
    refund.isolation = Some(Isolation::SameOrigin);
    refund.headers = Some(strict.clone());
    add(&mut manifest, refund);

    let mut products = ManifestRoute::handler("/products/{id}", ["GET"], Auth::Public);
    products.cors = Some(cors(&["*"]));
    products.cache = Some(Cache {
        audience: Audience::Public,
        max_age: Some(60),
        stale_while_revalidate: Some(600),
        ..Cache::default()
    });
    products.limits.rate = Some(RouteRate { count: 10, per_ms: 1000, by: RateKey::Address });
    add(&mut manifest, products);

    let mut prices = ManifestRoute::handler("/prices", ["GET"], Auth::Public);
    let list = RuntimeOrigins {
        list: "partners".to_owned(),
        within: Some(texts(&["https://*.partner.example"])),
        by: None,
    };
    prices.cors = Some(RouteCors { origins: RouteOrigins::AtRunTime(list), ..cors(&[]) });
    prices.jsonp = Some(Jsonp { callback: "cb".to_owned(), dotted: false });
    add(&mut manifest, prices);

    let hook = AppScheme { name: "Hmac".to_owned(), ambient: false };
    let hook = RouteRequirement { scheme: Some(hook), ..RouteRequirement::default() };
    let mut hook = ManifestRoute::handler("/hooks/payment", ["POST"], required(hook));
    hook.csrf = Csrf::Exempt("signed by the payment provider".to_owned());
    add(&mut manifest, hook);

    let greeting = RouteRequirement { optional: true, ..session() };
    add(&mut manifest, ManifestRoute::handler("/hello", ["GET"], required(greeting)));

    let mut files = ManifestRoute::new(RouteKind::Mount, "/files", ["GET"], Auth::Public);
    files.limits.concurrency = Some(64);
    add(&mut manifest, files);

    let mut health = ManifestRoute::new(RouteKind::Probe, "/healthz", ["GET"], Auth::Public);
    health.cache = no_store;
    add(&mut manifest, health);

    add(&mut manifest, ManifestRoute::new(RouteKind::NotFound, "*", [""; 0], Auth::Public));
    manifest.normal()
}

/// The lines of the shop.
pub(crate) fn shop_sources() -> Sources {
    let mut sources = Sources::default();
    let source = |level, file: &str, line| FacetSource { level, file: file.to_owned(), line };
    for (key, handler, file, line) in [
        ("DELETE /admin/refunds/{id}", "shop::admin::cancel_refund", "src/admin.rs", 31),
        ("GET /hello", "shop::hello", "src/main.rs", 12),
        ("GET /orders/{id}", "shop::orders::order", "src/orders.rs", 24),
        ("GET /prices", "shop::products::prices", "src/products.rs", 40),
        ("GET /products/{id}", "shop::products::product", "src/products.rs", 18),
        ("POST /hooks/payment", "shop::hooks::payment", "src/hooks.rs", 9),
        ("POST /orders", "shop::orders::place", "src/orders.rs", 41),
        ("PUT /admin/refunds/{id}", "shop::admin::refund", "src/admin.rs", 18),
    ] {
        sources.handlers.insert(key.to_owned(), handler.to_owned());
        let decided = sources.decided.entry(key.to_owned()).or_default();
        decided.insert("auth".to_owned(), source(Level::Route, file, line));
        decided.insert("limits".to_owned(), source(Level::App, "src/main.rs", 45));
        if key.contains("admin") {
            for facet in ["headers", "isolation"] {
                decided.insert(facet.to_owned(), source(Level::Group, "src/main.rs", 57));
            }
        }
        if key.ends_with("/orders") {
            decided.insert("cors".to_owned(), source(Level::App, "src/main.rs", 44));
        }
    }
    let decided = sources.decided.entry("GET /files".to_owned()).or_default();
    decided.insert("auth".to_owned(), source(Level::Route, "src/main.rs", 61));
    sources.lists.insert("partners".to_owned(), texts(&["https://a.partner.example"]));
    sources
}

/// The shop with mistakes that lints find: of each severity, sure and not, at one route and at
/// several.
pub(crate) fn odd() -> Manifest {
    let mut manifest = shop();
    if let Some(sessions) = &mut manifest.app.sessions {
        sessions.domain = Some("shop.example".to_owned());
    }
    for route in &mut manifest.routes {
        if route.path.starts_with("/orders") {
            let origins = ["https://*.shop.example", "http://old.shop.example"];
            let dangers = Dangers { insecure_origins: true, ..Dangers::default() };
            route.cors = Some(RouteCors { credentials: true, dangers, ..cors(&origins) });
        }
        if route.path == "/products/{id}" {
            route.cors = Some(cors(&["https://api.shop.example", "https://*.partner.example"]));
        }
    }
    manifest.normal()
}

/// One route, as a new app has it.
pub(crate) fn hello() -> Manifest {
    let mut manifest = Manifest::new();
    let mut route = ManifestRoute::handler("/hello/{name}", ["GET"], Auth::Public);
    route.limits = limits(1 << 20);
    manifest.routes.push(route);
    manifest
}

/// Names that no real app has, and that would do harm in a terminal, a page or a table.
pub(crate) fn hostile() -> Manifest {
    let mut manifest = Manifest::new();
    manifest.app.public_origin = Some("https://api.example\u{1b}]0;title\u{7}".to_owned());
    let texts_of_harm = [
        "</td></tr></table><script>alert(1)</script>",
        "a | b || `c` ``d`` \\| [x](javascript:alert(1)) ![](x) # *e* _f_ &amp; <b>",
        "\u{1b}[31mred\u{1b}[0m \u{9b}2J \u{8}\u{8} \r\n \u{202e}gnp.exe \u{200b} \u{2028}",
        "'><img src=x onerror=alert(1)>\" onload=\"x",
        "漢字 e\u{301} \u{feff} \u{e0041}",
        "```\n| a | b |\n<!-- ]]> -->",
    ];
    for text in texts_of_harm {
        let requirement = RouteRequirement {
            roles: texts(&[text]),
            scopes: texts(&[text]),
            issuers: texts(&[text]),
            scheme: Some(AppScheme { name: text.to_owned(), ambient: true }),
            ..RouteRequirement::default()
        };
        let mut route = ManifestRoute::handler(format!("/{text}"), [text], required(requirement));
        let list = RuntimeOrigins {
            list: text.to_owned(),
            within: Some(texts(&[text])),
            by: Some(text.to_owned()),
        };
        route.cors = Some(RouteCors { origins: RouteOrigins::AtRunTime(list), ..cors(&[]) });
        route.csrf = Csrf::Exempt(text.to_owned());
        route.cache = Some(Cache { vary: texts(&[text]), ..Cache::default() });
        route.jsonp = Some(Jsonp { callback: text.to_owned(), dotted: false });
        let mut fields = Headers::default();
        fields.every.insert(text.to_owned(), text.to_owned());
        route.headers = Some(manifest.add_headers(fields));
        manifest.routes.push(route);
    }
    manifest.normal()
}

/// The source lines of the names of [`hostile`] in `sources.json`.
pub(crate) fn hostile_sources() -> Sources {
    let mut sources = Sources::default();
    for route in hostile().routes {
        let name = route.path.trim_start_matches('/');
        let key = format!("{name} {}", route.path);
        sources.handlers.insert(key.clone(), name.to_owned());
        let source = |level| FacetSource { level, file: name.to_owned(), line: 1 };
        let decided = sources.decided.entry(key).or_default();
        decided.insert("auth".to_owned(), source(Level::Route));
        decided.insert(name.to_owned(), source(Level::App));
        sources.lists.insert(name.to_owned(), texts(&[name]));
    }
    sources
}

/// Many routes, for measurements.
pub(crate) fn large(count: usize) -> Manifest {
    let mut manifest = shop();
    let routes = std::mem::take(&mut manifest.routes);
    for (index, mut route) in routes.into_iter().cycle().take(count).enumerate() {
        route.path = format!("/v{index}{}", route.path);
        manifest.routes.push(route);
    }
    manifest.normal()
}

/// The lock files of a fleet, by path. Services call each other by origin and by issuer; `turn` is
/// another version, in which every tenth service differs.
pub(crate) fn fleet(services: usize, routes: usize, turn: usize) -> Vec<(String, String)> {
    let service = |number: usize| {
        let mut manifest = shop();
        let origin = |number: usize| format!("https://s{}.shop.example", number % services);
        manifest.app.public_origin = Some(origin(number));
        let tokens = manifest.app.tokens.get_or_insert_default();
        tokens.issuer = Some(origin(number));
        let accepted: IssuerFacts =
            serde_json::from_value(serde_json::json!({ "issuer": origin(number + 1) })).unwrap();
        tokens.accepts = vec![accepted];
        let known = std::mem::take(&mut manifest.routes);
        let handlers: Vec<_> =
            known.into_iter().filter(|route| route.kind == RouteKind::Handler).collect();
        for (index, mut route) in handlers.into_iter().cycle().take(routes).enumerate() {
            route.path = format!("/v{index}{}", route.path);
            if index % 10 == 1 {
                route.cors = Some(cors(&[&origin(number + 1), "https://s2.shop.example"]));
            }
            if index % 10 == 2 {
                route.jsonp = None;
                let requirement = RouteRequirement {
                    token: true,
                    issuers: vec![origin(number + 1)],
                    ..RouteRequirement::default()
                };
                route.auth = required(requirement);
            }
            let is_other = turn > 0 && number.is_multiple_of(10) && index == 0;
            route.limits = if is_other { limits(1 << 22) } else { route.limits };
            manifest.routes.push(route);
        }
        (format!("team{}/s{number}/policy.lock", number % 7), Lock::new(manifest).to_json())
    };
    (0..services).map(service).collect()
}
