//! For each lint an app in which it finds something, and the most similar one in which it does not.

use super::*;
use crate::FindingSeverity::{High, Info, Low, Medium};
pub(super) use crate::samples::{self, OWN, cors, session, texts, token, tokens};

pub(super) fn day(text: &str) -> Date {
    text.parse().unwrap()
}

pub(in super::super) fn today() -> Date {
    day("2026-11-24")
}

pub(in super::super) fn security(csp: &str, hsts: Option<&str>) -> Headers {
    let mut headers = Headers::default();
    headers.every.insert("x-content-type-options".to_owned(), "nosniff".to_owned());
    let hsts = hsts.map(|value| ("strict-transport-security".to_owned(), value.to_owned()));
    headers.every.extend(hsts);
    headers.pages.insert("content-security-policy".to_owned(), csp.to_owned());
    headers
}

pub(in super::super) const CSP: &str = "base-uri 'self'; object-src 'none'; frame-ancestors 'self'";
pub(in super::super) const HSTS: Option<&str> = Some("max-age=31536000");

/// An app without oddities, with a route of each sort.
pub(super) fn shop() -> Manifest {
    let mut manifest = Manifest::new();
    manifest.app.public_origin = Some(OWN.to_owned());
    manifest.app.sessions = Some(SessionFacts::new("postgres", "__Host-sid", "lax"));
    manifest.app.tokens = Some(tokens());
    let headers = manifest.add_headers(security(CSP, HSTS));
    let own_page = Some(cors(&["https://app.shop.example"], true));
    let staff = RouteRequirement { roles: texts(&["staff"]), ..session() };
    let mut routes = [
        ("/orders/{id}", "GET", Auth::Required(session()), own_page.clone()),
        ("/orders/{id}", "PUT", Auth::Required(session()), own_page.clone()),
        ("/logout", "POST", Auth::Required(session()), own_page),
        ("/prices", "GET", Auth::Public, Some(cors(&["*"], false))),
        ("/machines", "POST", Auth::Required(token()), None),
        ("/stock", "GET", Auth::Required(staff.clone()), None),
        ("/staff", "GET", Auth::Required(staff), None),
    ]
    .map(|(path, method, auth, cors)| {
        let mut route = ManifestRoute::handler(path, [method], auth);
        route.cors = cors;
        // Otherwise reading and writing are one route.
        route.limits.body = (method != "GET").then_some(1 << 16);
        route
    })
    .to_vec();
    routes.push(ManifestRoute::new(RouteKind::NotFound, "*", [""; 0], Auth::Public));
    routes.iter_mut().for_each(|route| route.headers = Some(headers.clone()));
    manifest.routes = routes;
    manifest
}

/// The shop with a change.
pub(super) fn with(change: impl FnOnce(&mut Manifest)) -> Manifest {
    let mut manifest = shop();
    change(&mut manifest);
    manifest
}

/// The shop with a change of one of its routes.
pub(super) fn with_route(
    method: &str,
    path: &str,
    change: impl FnOnce(&mut ManifestRoute),
) -> Manifest {
    with(|manifest| {
        let mut routes = manifest.routes.iter_mut();
        change(routes.find(|route| route.path == path && route.serves(method)).unwrap());
    })
}

pub(super) fn with_cors(method: &str, path: &str, cors: RouteCors) -> Manifest {
    with_route(method, path, |route| route.cors = Some(cors))
}

/// The shop with an additional route.
fn and(change: impl FnOnce(&mut Manifest) -> ManifestRoute) -> Manifest {
    with(|manifest| {
        let headers = manifest.routes[0].headers.clone();
        let route = change(manifest);
        manifest.routes.push(ManifestRoute { headers: route.headers.clone().or(headers), ..route });
    })
}

fn with_headers(path: &str, headers: Headers) -> Manifest {
    with(|manifest| {
        let name = manifest.add_headers(headers);
        let mut routes = manifest.routes.iter_mut();
        routes.find(|route| route.path == path).unwrap().headers = Some(name);
    })
}

pub(in super::super) fn public_for(seconds: i64) -> Option<Cache> {
    let audience = Audience::Public;
    Some(Cache { audience, max_age: Some(seconds), ..Cache::default() })
}

fn exempt(manifest: &mut Manifest, same_site: &str) {
    manifest.app.sessions = Some(SessionFacts::new("postgres", "__Host-sid", same_site));
    let route = manifest.routes.iter_mut().find(|route| route.path == "/logout");
    route.unwrap().csrf = Csrf::Exempt("it is harmless".to_owned());
}

/// A lint with the severity of its finding, a manifest in which only this lint finds something, and one in
/// which it finds nothing. The severity follows from gainer, effect and authority.
type Case = ((Lint, FindingSeverity), Manifest, Manifest);

fn cases_of_origins() -> Vec<Case> {
    let credentialed = |origins: &[&str], dangers| RouteCors { dangers, ..cors(origins, true) };
    let from_any_site = |origins: &[&str]| {
        let dangers = Dangers { public_suffix: true, ..Dangers::default() };
        let mut manifest = with_cors("GET", "/orders/{id}", credentialed(origins, dangers));
        manifest.app.sessions = Some(SessionFacts::new("postgres", "__Host-sid", "none"));
        manifest
    };
    let insecure = Dangers { insecure_origins: true, ..Dangers::default() };
    let list = |within| with_cors("GET", "/prices", RouteCors::new(samples::partners(within)));
    let jsonp = |origins: &[&str]| {
        let shared = cors(origins, false);
        with_route("GET", "/prices", |route| {
            route.jsonp = Some(Jsonp { callback: "cb".to_owned(), dotted: false });
            route.cors = Some(shared);
        })
    };
    let kept = |origins: &[&str], cache| {
        let shared = cors(origins, false);
        with_route("GET", "/prices", |route| (route.cors, route.cache) = (Some(shared), cache))
    };
    let partners = &["https://*.partner.example"][..];
    let development = |origin: &str| {
        let mut manifest = with_cors("PUT", "/orders/{id}", cors(&[origin], true));
        manifest.app.sessions = Some(SessionFacts::new("postgres", "__Host-sid", "none"));
        manifest
    };
    vec![
        (
            (Lint::DevelopmentOrigin, High),
            development("http://localhost:5173"),
            development("https://localhost"),
        ),
        (
            (Lint::PublicSuffixOrigins, High),
            from_any_site(&["https://*.co.uk"]),
            from_any_site(&["https://shop.co.uk"]),
        ),
        (
            (Lint::PublicSuffixOrigins, Low),
            with_cors("GET", "/prices", cors(&["https://*.github.io"], false)),
            with_cors("GET", "/prices", cors(&["https://*.shop.github.io"], false)),
        ),
        (
            (Lint::PublicSuffixOrigins, Low),
            with_cors("GET", "/prices", cors(&["https://*.code.run"], false)),
            with_cors("GET", "/prices", cors(&["https://*.web.shop.code.run"], false)),
        ),
        (
            (Lint::InsecureOrigins, High),
            with_cors("PUT", "/orders/{id}", credentialed(&["http://app.shop.example"], insecure)),
            with_cors("PUT", "/orders/{id}", credentialed(&["https://app.shop.example"], insecure)),
        ),
        (
            (Lint::InsecureOrigins, Low),
            with_cors("GET", "/prices", cors(&["http://kiosk.example"], false)),
            with_cors("GET", "/prices", cors(&["http://localhost:*", "app://shop"], false)),
        ),
        (
            (Lint::SubdomainOrigins, High),
            with_cors("PUT", "/orders/{id}", cors(&["https://*.shop.example"], true)),
            with_cors("PUT", "/orders/{id}", cors(&["https://*.shop.example"], false)),
        ),
        (
            (Lint::SubdomainOrigins, Medium),
            with_cors("GET", "/orders/{id}", cors(&["https://*.shop.example"], true)),
            with_cors("GET", "/orders/{id}", cors(&["https://shop.example:*"], true)),
        ),
        ((Lint::UnboundedOrigins, Low), list(None), list(Some(partners))),
        (
            (Lint::OwnOrigin, Info),
            with_cors("GET", "/prices", cors(&[OWN, "https://www.shop.example"], false)),
            with_cors("GET", "/prices", cors(&["https://*.shop.example"], false)),
        ),
        ((Lint::JsonpBesideCors, Low), jsonp(partners), jsonp(&["*"])),
        (
            (Lint::SharedCacheSplit, Info),
            kept(partners, public_for(600)),
            kept(partners, public_for(5)),
        ),
        (
            (Lint::SharedCacheSplit, Info),
            kept(&["https://a.example", "https://b.example"], public_for(600)),
            kept(&["https://a.example"], public_for(600)),
        ),
    ]
}

fn cases_of_preflights() -> Vec<Case> {
    let methods = |method: &str, listed: &[&str]| {
        let listed =
            RouteCors { methods: Some(texts(listed)), ..cors(&["https://app.shop.example"], true) };
        with_cors(method, "/orders/{id}", listed)
    };
    let exposing = |name: &str| {
        let exposing =
            RouteCors { expose: texts(&[name]), ..cors(&["https://app.shop.example"], true) };
        with_cors("GET", "/orders/{id}", exposing)
    };
    let partner = |same_site: &str, origin: &str| {
        let mut manifest = with_cors("GET", "/orders/{id}", cors(&[origin], true));
        manifest.app.sessions = Some(SessionFacts::new("postgres", "__Host-sid", same_site));
        manifest
    };
    vec![
        (
            (Lint::CredentialsUnneeded, Low),
            with_cors("POST", "/machines", cors(&["https://app.shop.example"], true)),
            with_cors("POST", "/machines", cors(&["https://app.shop.example"], false)),
        ),
        (
            (Lint::CookieWithheld, Info),
            partner("lax", "https://shop.partner.example"),
            partner("none", "https://shop.partner.example"),
        ),
        (
            (Lint::CookieWithheld, Info),
            partner("strict", "https://shop.partner.example"),
            partner("strict", "https://www.shop.example"),
        ),
        (
            (Lint::MethodNotServed, Info),
            methods("GET", &["GET", "DELETE"]),
            methods("GET", &["GET", "PUT", "HEAD", "OPTIONS"]),
        ),
        ((Lint::OwnMethodMissing, Info), methods("PUT", &["GET"]), methods("PUT", &["GET", "PUT"])),
        ((Lint::ExposedSecret, Medium), exposing("x-auth-token"), exposing("etag")),
    ]
}

fn cases_of_callers() -> Vec<Case> {
    let optional = |roles: &[&str]| {
        let requirement = RouteRequirement { optional: true, roles: texts(roles), ..session() };
        with_route("GET", "/stock", |route| route.auth = Auth::Required(requirement))
    };
    let delete = |auth| and(|_| ManifestRoute::handler("/orders/{id}", ["DELETE"], auth));
    let role = |role: &str| {
        let requirement = RouteRequirement { roles: texts(&[role]), ..session() };
        and(|_| ManifestRoute::handler("/lists", ["GET"], Auth::Required(requirement)))
    };
    let tunnel = |auth| {
        and(|_| {
            let mut tunnel = ManifestRoute::new(RouteKind::Tunnel, "", ["CONNECT"], auth);
            tunnel.targets = texts(&["db.shop.example:5432"]);
            tunnel
        })
    };
    let beside = |path: &str, of_staff: &[&str], method: &str| {
        let staff = Auth::Required(RouteRequirement { roles: texts(&["staff"]), ..session() });
        let mut manifest =
            and(|_| ManifestRoute::handler(path, [method], Auth::Required(session())));
        let other = ManifestRoute {
            headers: manifest.routes[0].headers.clone(),
            ..ManifestRoute::handler(path, [""; 0], staff)
        };
        manifest.routes.extend(of_staff.iter().map(|method| {
            // Otherwise they are one route.
            let mut route = ManifestRoute { methods: texts(&[method]), ..other.clone() };
            route.limits.timeout_ms = Some(method.len() as u64);
            route
        }));
        manifest
    };
    let by_scope = |scope: &str| {
        let requirement = RouteRequirement { scopes: texts(&[scope]), ..token() };
        and(|_| ManifestRoute::handler("/stock/{id}", ["PUT"], Auth::Required(requirement)))
    };
    let behind = |network: &str| with(|manifest| manifest.app.proxies = texts(&[network]));
    vec![
        ((Lint::RightsOfOptional, Medium), optional(&["staff"]), optional(&[])),
        (
            (Lint::ChangeWithoutCredential, High),
            delete(Auth::Public),
            delete(Auth::Required(session())),
        ),
        ((Lint::NameNearlyAnother, Info), role("staf"), role("guest")),
        ((Lint::NameNearlyAnother, Info), role("satff"), role("staff")),
        ((Lint::NameNearlyAnother, Info), role("stafff"), role("staff2")),
        ((Lint::NameNearlyAnother, Info), role("staft"), role("toast")),
        ((Lint::OpenTunnel, High), tunnel(Auth::Public), tunnel(Auth::Required(token()))),
        (
            (Lint::Outlier, Medium),
            beside("/admin", &["GET", "POST", "PUT"], "DELETE"),
            beside("/admin", &["GET", "POST"], "DELETE"),
        ),
        (
            (Lint::Outlier, Medium),
            beside("/machines/{id}", &["PUT"], "DELETE"),
            beside("/machines/{id}", &["PUT"], "POST"),
        ),
        ((Lint::ScopeOfReadingWrites, Medium), by_scope("stock:read"), by_scope("stock:write")),
        (
            (Lint::AddressForgeable, Medium),
            behind("forwarded 0.0.0.0/0"),
            behind("forwarded 10.0.0.0/8"),
        ),
        (
            (Lint::AddressForgeable, Medium),
            behind("x-forwarded ::/0"),
            behind("x-forwarded fd00::/8"),
        ),
    ]
}

fn cases_of_forgery() -> Vec<Case> {
    let basic = |ambient, isolation| {
        let scheme = Some(AppScheme { name: "Basic".to_owned(), ambient });
        let requirement = RouteRequirement { scheme, ..RouteRequirement::default() };
        and(|_| ManifestRoute {
            csrf: Csrf::Exempt("it is harmless".to_owned()),
            isolation,
            ..ManifestRoute::handler("/reports", ["POST"], Auth::Required(requirement))
        })
    };
    let socket = |shared| {
        and(|manifest| {
            manifest.app.sessions = Some(SessionFacts::new("postgres", "__Host-sid", "none"));
            let requirement = RouteRequirement { token: true, ..session() };
            let mut feed = ManifestRoute::handler("/feed", ["GET"], Auth::Required(requirement));
            feed.handler.takes = vec![ArgumentKind::WebSocket];
            ManifestRoute { csrf: Csrf::Exempt("it is harmless".to_owned()), cors: shared, ..feed }
        })
    };
    let linked = |path: &str, isolation| {
        and(|_| ManifestRoute {
            isolation,
            ..ManifestRoute::handler(path, ["GET"], Auth::Required(session()))
        })
    };
    let cookie = |domain: Option<&str>| {
        with(|manifest| {
            let sessions = manifest.app.sessions.as_mut().unwrap();
            sessions.domain = domain.map(str::to_owned);
        })
    };
    let unframed = "base-uri 'self'; object-src 'none'";
    let without_transport = |keeps: &str| {
        with(|manifest| {
            let bare = manifest.add_headers(security(CSP, None));
            for route in manifest.routes.iter_mut().filter(|route| route.path != keeps) {
                route.headers = Some(bare.clone());
            }
        })
    };
    vec![
        (
            (Lint::ForgeableFromAnySite, High),
            with(|manifest| exempt(manifest, "none")),
            with(|manifest| exempt(manifest, "lax")),
        ),
        (
            (Lint::ForgeableFromAnySite, High),
            basic(true, None),
            basic(true, Some(Isolation::SameOrigin)),
        ),
        ((Lint::ForgeableFromAnySite, High), basic(true, None), basic(false, None)),
        ((Lint::ForgeableFromAnySite, High), socket(Some(cors(&["*"], false))), socket(None)),
        ((Lint::ChangeByGet, High), linked("/me/delete", None), linked("/me/deleted", None)),
        (
            (Lint::ChangeByGet, High),
            linked("/logout/{id}/cancel", None),
            linked("/logout/{id}/cancel", Some(Isolation::SameSite)),
        ),
        ((Lint::CookieOfDomain, Medium), cookie(Some("shop.example")), cookie(None)),
        (
            (Lint::FramingOpen, High),
            with_headers("/staff", security(unframed, HSTS)),
            with_headers("/staff", security(CSP, HSTS)),
        ),
        (
            (Lint::HstsOff, Low),
            with_headers("/staff", security(CSP, Some("max-age=0"))),
            with_headers("/staff", security(CSP, None)),
        ),
        ((Lint::HstsOff, Low), without_transport("none of them"), without_transport("/prices")),
    ]
}

fn cases_of_operators() -> Vec<Case> {
    let post = |path: &str, change: fn(&mut ManifestRoute)| {
        and(|_| {
            let mut route = ManifestRoute::handler(path, ["POST"], Auth::Public);
            change(&mut route);
            route
        })
    };
    let get = |path: &str, cache| {
        and(|_| ManifestRoute { cache, ..ManifestRoute::handler(path, ["GET"], Auth::Public) })
    };
    let upload = |route: &mut ManifestRoute| {
        (route.limits.body, route.limits.timeout_ms) = (Some(50 << 30), Some(3_600_000));
    };
    let to = |upstream: &str| {
        and(|_| {
            let auth = Auth::Required(session());
            let mut route = ManifestRoute::new(RouteKind::Proxy, "/reports", ["GET"], auth);
            route.target.upstream = Some(upstream.to_owned());
            route.target.forwards_session = true;
            route
        })
    };
    let lasting = |days: u64| {
        with(|manifest| {
            let sessions = manifest.app.sessions.as_mut().unwrap();
            sessions.absolute_s = Some(days * 24 * 60 * 60);
        })
    };
    let traced = |own: &str| {
        with(|manifest| {
            (manifest.app.trace, manifest.app.public_origin) = (true, Some(own.to_owned()));
        })
    };
    vec![
        (
            (Lint::LoginWithoutRate, Medium),
            post("/login", |_| ()),
            post("/login", |route| {
                let by = policy_core::limits::RateKey::Address;
                route.limits.rate = Some(crate::RouteRate { count: 5, per_ms: 60_000, by });
            }),
        ),
        ((Lint::InternalsPublic, Medium), get("/debug/env", None), get("/environments", None)),
        (
            (Lint::UploadWithoutCaller, High),
            post("/drop", upload),
            post("/drop", |route| route.limits.body = Some(50 << 30)),
        ),
        ((Lint::TraceServed, Medium), traced(OWN), traced("http://localhost")),
        (
            (Lint::CleartextUpstream, High),
            to("http://reports.example"),
            to("https://reports.example"),
        ),
        (
            (Lint::CleartextUpstream, High),
            to("http://192.0.2.1:80/v1"),
            to("http://192.168.0.1:80/v1"),
        ),
        ((Lint::LongLifetime, Medium), lasting(3_650), lasting(365)),
        (
            (Lint::OneTimeLinkCached, Medium),
            get("/reset/{token}", public_for(600)),
            get("/reset/{token}", None),
        ),
    ]
}

fn cases_of_objects() -> Vec<Case> {
    let exempt = |method: &str| {
        with_route(method, "/orders/{id}", |route| {
            route.object = Some(RouteObjects::exempt("all orders are everybody's"));
        })
    };
    let taking = |ids: &[&str]| {
        with_route("POST", "/machines", |route| {
            let fields = texts(ids).into_iter().collect();
            route.object = Some(RouteObjects { fields, ..RouteObjects::default() });
        })
    };
    let ruled = |edit: &str| {
        let mut manifest = with_route("PUT", "/orders/{id}", |route| {
            route.object = Some(samples::order("edit", samples::id()));
        });
        manifest.objects = samples::object_rules(&[("Order.view", "anyone"), ("Order.edit", edit)]);
        manifest
    };
    vec![
        ((Lint::ObjectUncheckedChange, Medium), exempt("PUT"), exempt("GET")),
        ((Lint::ObjectFieldUnchecked, Medium), taking(&["order_id"]), taking(&[])),
        ((Lint::ObjectRuleAlwaysTrue, Medium), ruled("draft | !draft"), ruled("anyone")),
        (
            (Lint::ObjectRuleAlwaysTrue, Medium),
            ruled("authenticated | !owner(user)"),
            ruled("authenticated | owner(user)"),
        ),
        (
            (Lint::ObjectRuleOpaque, Info),
            ruled("owner(user) | with(own::rule)"),
            ruled("owner(user) | same(team)"),
        ),
        (
            (Lint::ObjectRuleOpaque, Info),
            ruled("owner(user) | engine"),
            ruled("owner(user) | role(\"engine\")"),
        ),
    ]
}

pub(super) fn cases() -> Vec<Case> {
    let areas = [
        cases_of_origins(),
        cases_of_preflights(),
        cases_of_callers(),
        cases_of_forgery(),
        cases_of_operators(),
        cases_of_objects(),
    ];
    areas.into_iter().flatten().collect()
}
