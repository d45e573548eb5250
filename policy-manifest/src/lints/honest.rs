//! Apps in a few lines: 33 honest ones, in which no lint finds anything, and what each guess of a lint
//! is meant to find.

use policy_core::{Lint, cache::Audience};

use super::{Finding, lint, tests};
use crate::{
    AppScheme, Auth, Cache, Csrf, Manifest, ManifestRoute, RouteCors, RouteKind, RouteOrigins,
    RouteRate, RouteRequirement, SessionFacts, TokenFacts,
};

/// An app: facts of the app in the first line, a route in each of the others.
fn app(text: &str) -> Manifest {
    let mut manifest = Manifest::new();
    let headers = manifest.add_headers(tests::security(tests::CSP, tests::HSTS));
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    for word in lines.next().unwrap().split(' ') {
        let facts = &mut manifest.app;
        match word.split_once('=').unwrap_or((word, "")) {
            ("origin", origin) => facts.public_origin = Some(origin.to_owned()),
            ("sessions", same_site) => {
                facts.sessions = Some(SessionFacts::new("postgres", "__Host-sid", same_site));
            }
            ("tokens", issuer) => {
                let issuer = Some(issuer.to_owned());
                facts.tokens = Some(TokenFacts { issuer, ..TokenFacts::default() });
            }
            ("trace", "") => facts.trace = true,
            ("absolute", seconds) => {
                facts.sessions.as_mut().unwrap().absolute_s = seconds.parse().ok();
            }
            ("remembered", seconds) => {
                facts.sessions.as_mut().unwrap().remembered_absolute_s = seconds.parse().ok();
            }
            ("lifetime", seconds) => {
                facts.tokens.as_mut().unwrap().lifetime_s = seconds.parse().ok();
            }
            ("refresh", seconds) => {
                facts.tokens.as_mut().unwrap().refresh_lifetime_s = seconds.parse().ok();
            }
            other => panic!("{other:?}"),
        }
    }
    for line in lines {
        let mut route = route(line);
        route.headers = (route.kind != RouteKind::Probe).then(|| headers.clone());
        manifest.routes.push(route);
    }
    manifest
}

/// A route, such as `PUT,DELETE /orders/{id} session role=staff,admin`.
fn route(line: &str) -> ManifestRoute {
    let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
    let mut words = line.split_whitespace();
    let (methods, path) = (words.next().unwrap(), words.next().unwrap());
    let mut route = ManifestRoute::handler(path, list(methods), Auth::Public);
    let mut auth = RouteRequirement::default();
    let mut is_public = false;
    let mut credentials = false;
    for word in words {
        match word.split_once('=').unwrap_or((word, "")) {
            ("public", "") => is_public = true,
            ("session", "") => auth.session = true,
            ("token", "") => auth.token = true,
            ("optional", "") => auth.optional = true,
            ("scheme", name) => {
                auth.scheme = Some(AppScheme { name: name.to_owned(), ambient: false });
            }
            ("issuer", names) => auth.issuers = list(names),
            ("role", names) => auth.roles = list(names),
            ("scope", names) => auth.scopes = list(names),
            ("fresh", "") => auth.fresh = Some(300),
            ("takes_session", "") => route.takes_session = true,
            ("rate", "") => {
                route.limits.rate =
                    Some(RouteRate { count: 10, per_ms: 60_000, by: Default::default() });
            }
            ("body", bytes) => route.limits.body = Some(bytes.parse().unwrap()),
            ("timeout", millis) => route.limits.timeout_ms = Some(millis.parse().unwrap()),
            ("concurrency", most) => route.limits.concurrency = Some(most.parse().unwrap()),
            ("cache", "private") => {
                route.cache = Some(Cache { audience: Audience::Private, ..Cache::default() });
            }
            ("cache", seconds) => route.cache = tests::public_for(seconds.parse().unwrap()),
            ("no_store", "") => {
                route.cache = Some(Cache { no_store: true, ..Cache::default() });
            }
            ("credentials", "") => credentials = true,
            ("cors", origins) => {
                route.cors = Some(RouteCors::new(RouteOrigins::Listed(list(origins))));
            }
            ("exempt", "") => route.csrf = Csrf::Exempt("it is signed".to_owned()),
            ("mount", "") => route.kind = RouteKind::Mount,
            ("proxy", upstream) => {
                route.kind = RouteKind::Proxy;
                route.target.upstream = Some(upstream.to_owned());
            }
            ("forwards_session", "") => route.target.forwards_session = true,
            ("probe", "") => route.kind = RouteKind::Probe,
            other => panic!("{other:?} in {line}"),
        }
    }
    if let Some(cors) = &mut route.cors {
        cors.credentials = credentials;
    }
    if !is_public {
        route.auth = Auth::Required(auth);
    }
    route
}

fn findings(text: &str) -> Vec<Finding> {
    lint(&app(text), &[], tests::today()).findings
}

#[test]
fn no_lint_finds_anything_in_honest_apps() {
    assert_eq!(HONEST.len(), 33);
    for text in HONEST {
        assert_eq!(findings(text), [], "{text}");
    }
}

/// The lock files of the examples, with their suppressions.
#[test]
fn no_lint_finds_anything_in_the_examples() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let mut files: Vec<_> = ["policy.lock", "docs/guide/policy.lock"]
        .map(|file| std::path::Path::new(root).join(file))
        .to_vec();
    for example in std::fs::read_dir(format!("{root}/examples")).unwrap() {
        let file = example.unwrap().path().join("policy.lock");
        files.extend(file.is_file().then_some(file));
    }
    assert!(files.len() > 8, "{files:?}");
    for file in files {
        let lock = crate::Lock::parse(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let linted = lint(&lock.manifest, &lock.suppressed, tests::today());
        assert_eq!(linted.findings, [], "{}", file.display());
    }
}

#[test]
fn each_guess_finds_what_it_is_meant_to_find() {
    let mut wrong = Vec::new();
    for (lint, text, expected) in FOUND {
        let found = findings(text);
        let of_lint = found.iter().filter(|finding| finding.lint == *lint);
        let mut routes: Vec<_> = of_lint.flat_map(|finding| &finding.routes).collect();
        routes.sort();
        if routes != expected.iter().collect::<Vec<_>>() {
            wrong.push((lint, text, routes.into_iter().cloned().collect::<Vec<_>>()));
        }
        assert!(found.iter().all(|finding| !finding.is_error()), "{found:#?}");
    }
    assert_eq!(wrong, []);
}

/// Shops, blogs, panels for staff, APIs, backends of pages, webhooks, files, proxies; among them the
/// most similar apps to those that lints find.
const HONEST: &[&str] = &[
    // Two routes show nothing that is usual.
    "origin=https://club.example sessions=lax
    GET /admin/members session role=admin
    POST /admin/members session role=admin
    GET /admin/news session",
    // A shop, whose cart needs no account.
    "origin=https://shop.example sessions=lax
    GET /products public cache=600
    GET /products/{id} public cache=600
    POST /cart/items public takes_session
    DELETE /cart/items/{id} public takes_session
    POST /login public takes_session rate
    POST /logout session takes_session
    GET /orders session
    POST /orders session
    GET /orders/{id} session",
    // A blog with comments.
    "origin=https://blog.example sessions=lax
    GET / public cache=60
    GET /posts/{slug} public cache=60
    POST /posts/{slug}/comments session
    DELETE /posts/{slug}/comments/{id} session
    POST /posts session role=author
    PUT /posts/{slug} session role=author
    DELETE /posts/{slug} session role=editor",
    // A panel for staff, all of which needs one role.
    "origin=https://admin.example sessions=strict
    GET /admin session
    GET /admin/users session role=admin
    POST /admin/users session role=admin
    GET /admin/users/{id} session role=admin
    PUT /admin/users/{id} session role=admin
    DELETE /admin/users/{id} session role=admin fresh
    POST /admin/login public takes_session rate
    POST /admin/logout session takes_session
    GET /admin/static/{*rest} public cache=3600",
    // A panel with several roles, and a page of one's own.
    "origin=https://desk.example sessions=lax
    GET /admin/tickets session role=support,admin
    PUT /admin/tickets/{id} session role=support,admin
    GET /admin/invoices session role=billing
    DELETE /admin/users/{id} session role=admin
    GET /admin/me session
    PUT /admin/profile session
    POST /admin/password session fresh
    GET /admin/favicon.ico public",
    // An API with scopes.
    "origin=https://api.example tokens=https://api.example lifetime=900 refresh=31536000
    GET /v1/orders token scope=orders:read
    POST /v1/orders token scope=orders:write
    GET /v1/orders/{id} token scope=orders:read
    PATCH /v1/orders/{id} token scope=orders:write
    DELETE /v1/orders/{id} token scope=orders:write
    POST /v1/orders/search token scope=orders:read
    POST /oauth/token public rate",
    // An API whose queries are long.
    "origin=https://data.example tokens=https://data.example
    POST /graphql token scope=graph.read
    POST /v1/reports:query token scope=reports.readonly
    GET /v1/search token scope=search:read
    POST /v1/search token scope=search:read
    POST /v1/translate token scope=text:read",
    // Scopes in the manner of Microsoft Graph.
    "origin=https://mail.example tokens=https://mail.example
    GET /me/messages token scope=Mail.Read
    PATCH /me/messages/{id} token scope=Mail.ReadWrite
    DELETE /me/messages/{id} token scope=Mail.ReadWrite
    POST /me/sendMail token scope=Mail.Send
    GET /users token scope=User.Read.All",
    // Notifications, which are marked as read.
    "origin=https://social.example sessions=lax tokens=https://social.example
    GET /notifications token scope=notifications:read
    PUT /notifications/{id}/read token scope=notifications:read
    POST /posts token scope=posts:write
    DELETE /posts/{id} token scope=posts:write
    PUT /posts/{id} token scope=posts:write",
    // The backend of a page on another origin.
    "origin=https://api.app.example sessions=lax
    GET /me session cors=https://www.app.example credentials
    PUT /me session cors=https://www.app.example credentials
    POST /login public takes_session rate cors=https://www.app.example credentials
    POST /session public takes_session rate cors=https://www.app.example credentials
    DELETE /session session takes_session cors=https://www.app.example credentials",
    // The same in development.
    "origin=http://localhost:8080 sessions=lax
    GET /me session cors=http://localhost:5173 credentials
    PUT /me session cors=http://localhost:5173 credentials
    POST /login public takes_session rate cors=http://localhost:5173 credentials",
    // Installed apps, whose pages are of the machine of their user.
    "origin=https://mobile.example sessions=none
    GET /feed session cors=https://localhost,capacitor://localhost,http://localhost credentials
    POST /feed session cors=https://localhost,capacitor://localhost,http://localhost credentials",
    // A tool for developers, which is asked without cookies.
    "origin=https://docs.example sessions=lax
    GET /search public cors=http://localhost:3000,https://docs.example.org
    GET /openapi.json public cors=*",
    // Webhooks with signatures.
    "origin=https://hooks.example
    POST /webhooks/payments scheme=Signature
    POST /webhooks/mail scheme=Signature
    GET /events scheme=ApiKey
    POST /internal/replay scheme=ApiKey",
    // A file server.
    "origin=https://files.example sessions=lax
    GET /files/{*path} public cache=86400
    PUT /files/{*path} session role=uploader body=53687091200 timeout=3600000
    DELETE /files/{*path} session role=uploader",
    // Large uploads, by a few at a time.
    "origin=https://drop.example
    POST /drop public body=2147483648 timeout=1200000 concurrency=4
    GET /drop/{id} public
    POST /images public body=10485760 timeout=900000
    POST /logs public body=2147483648 timeout=30000",
    // A proxy in front of several services.
    "origin=https://www.example sessions=lax absolute=28800 remembered=31536000
    GET,POST /shop session proxy=http://shop:8080 forwards_session
    GET,POST /reports session proxy=http://10.0.3.7:9000/base forwards_session
    GET,POST /stock session proxy=http://stock.prod.svc.cluster.local forwards_session
    GET,POST /legacy session proxy=http://[fd00::7]:80 forwards_session
    GET,POST /partner session proxy=https://partner.example forwards_session
    GET /weather public proxy=http://weather.example
    GET,POST,PUT,DELETE /admin session role=admin proxy=http://127.0.0.1:9990
    GET /assets public mount cache=3600
    POST /login public takes_session rate",
    // Metrics for a machine, health for everybody.
    "origin=https://ops.example tokens=https://ops.example
    GET /metrics token scope=metrics:read
    GET /healthz public probe
    GET /actuator/health public
    GET /internal/status public
    GET /debug/pprof/{*rest} token role=operator
    GET /version public",
    // A service of others in one network: nothing needs a caller.
    "tokens=https://mesh.example
    GET /internal/prices public
    POST /internal/prices public
    GET /internal/prices/{id} public",
    // Numbers of a business.
    "origin=https://bi.example sessions=lax
    GET /dashboards/{id}/metrics session
    GET /environments session
    GET /teams/{id}/metrics public
    GET /products/{id}/internals public",
    // Links that work once.
    "origin=https://id.example sessions=lax
    GET /reset/{token} public no_store
    POST /reset/{token} public rate
    GET /verify/{code} public no_store
    GET /invitations/{token} public cache=private
    POST /password/forgot public rate
    POST /signup public takes_session rate",
    // Links and names that only look like it.
    "origin=https://links.example
    GET /coupons/{code} public cache=300
    GET /countries/{code} public cache=86400
    GET /reset/{topic} public cache=300
    GET /verify/{domain} public cache=300
    GET /share/{token} public cache=300",
    // TRACE while the proxies are set up.
    "origin=http://localhost trace
    GET / public",
    // A forum with moderators.
    "origin=https://forum.example sessions=lax
    GET /threads public
    POST /threads session
    POST /threads/{id}/posts session
    DELETE /threads/{id} session role=moderator
    GET /moderation/queue session role=moderator
    POST /moderation/queue/{id}/approve session role=moderator
    POST /moderation/queue/{id}/reject session role=moderator",
    // Projects with a role for what changes them.
    "origin=https://projects.example sessions=lax
    GET /projects session
    POST /projects session role=manager
    GET /projects/{id} session
    PUT /projects/{id} session role=manager
    DELETE /projects/{id} session role=manager
    POST /projects/{id}/comments session
    POST /projects/{id}/feedback session",
    // Answers, which only some may read.
    "origin=https://polls.example sessions=lax
    GET /polls/{id} public
    GET /polls/{id}/answers session role=analyst
    POST /polls/{id}/answers session
    PUT /polls/{id}/mine session
    DELETE /polls/{id}/mine session",
    // Users who delete themselves, where the handler looks who it is.
    "origin=https://people.example sessions=lax
    GET /users/{id} session
    PUT /users/{id} session role=admin
    DELETE /users/{id} session takes_session",
    // Bookings that are managed by those who booked.
    "origin=https://hotel.example sessions=lax
    GET /manage/bookings session
    PUT /manage/bookings/{id} session
    DELETE /manage/bookings/{id} session
    POST /manage/bookings/{id}/cancel session",
    // Administrators of tenants.
    "origin=https://tenants.example sessions=lax
    GET /tenants/{tenant}/admin/users session role=owner
    POST /tenants/{tenant}/admin/users session role=owner
    DELETE /tenants/{tenant}/admin/users/{id} session role=owner
    GET /tenants/{tenant}/docs session
    POST /tenants/{tenant}/docs session",
    // Two logins, one of them of another service.
    "origin=https://two.example sessions=lax tokens=https://two.example
    GET /login public
    GET /login/{provider} public
    POST /login/{provider} public takes_session
    GET /auth/callback public takes_session
    POST /token/refresh public
    POST /oauth/revoke public
    GET /me session token",
    // Devices that send measurements.
    "origin=https://iot.example tokens=https://iot.example
    POST /devices/{id}/readings token scope=readings:write
    GET /devices/{id}/readings token scope=readings:read
    PUT /devices/{id}/config token scope=devices:manage
    GET /devices/{id}/config token scope=devices:read",
    // A panel of which half is for every member: nothing is usual there.
    "origin=https://club.example sessions=lax
    GET /admin/calendar session
    POST /admin/calendar session
    GET /admin/members session role=board
    DELETE /admin/members/{id} session role=board
    GET /admin/budget session role=board",
    // Games without accounts.
    "origin=https://games.example
    POST /sessions public
    POST /games/{id}/reset public
    POST /games/{id}/verify public
    GET /scores public cors=*",
];

/// A lint, an app, and the routes in which the lint finds something.
type LintCase = (Lint, &'static str, &'static [&'static str]);

const FOUND: &[LintCase] = &[
    (
        Lint::Outlier,
        "origin=https://a.example sessions=lax
        GET /admin/users session role=admin
        POST /admin/users session role=admin
        PUT /admin/users/{id} session role=admin
        DELETE /admin/users/{id} session",
        &["DELETE /admin/users/{id}"],
    ),
    (
        Lint::Outlier,
        "origin=https://a.example sessions=lax
        GET /admin/settings session
        GET /admin/users session
        PUT /admin/users/{id} session
        POST /admin/settings public",
        &["POST /admin/settings"],
    ),
    (
        Lint::Outlier,
        "origin=https://a.example tokens=https://a.example
        GET /api/v2/internal/jobs token scope=jobs
        POST /api/v2/internal/jobs token scope=jobs
        DELETE /api/v2/internal/jobs/{id} token scope=jobs
        GET /api/v2/internal/keys token",
        &["GET /api/v2/internal/keys"],
    ),
    (
        Lint::Outlier,
        "origin=https://a.example sessions=lax
        GET /orders/{id} session
        PUT,PATCH /orders/{id} session role=staff
        DELETE /orders/{id} session",
        &["DELETE,GET /orders/{id}"],
    ),
    (
        Lint::Outlier,
        "origin=https://a.example sessions=lax
        GET /audit/{id} session role=auditor
        DELETE /audit/{id} session",
        &["DELETE /audit/{id}"],
    ),
    (
        Lint::ScopeOfReadingWrites,
        "origin=https://a.example tokens=https://a.example
        GET /orders token scope=orders:read
        POST /orders token scope=orders:read
        DELETE /orders/{id} token scope=read:orders
        PUT /files/{id} token scope=https://a.example/auth/drive.readonly
        PATCH /mail/{id} token scope=Mail.Read",
        &["DELETE /orders/{id}", "GET,POST /orders", "PATCH /mail/{id}", "PUT /files/{id}"],
    ),
    (
        Lint::LoginWithoutRate,
        "origin=https://a.example sessions=lax tokens=https://a.example
        POST /login public takes_session
        POST /api/v1/auth/sign_in public takes_session
        POST /oauth/token public
        POST /password/reset public
        POST /account/2fa session optional
        POST /sessions public takes_session",
        &[
            "POST /account/2fa",
            "POST /api/v1/auth/sign_in",
            "POST /login",
            "POST /oauth/token",
            "POST /password/reset",
            "POST /sessions",
        ],
    ),
    (
        Lint::InternalsPublic,
        "origin=https://a.example sessions=lax
        GET /me session
        GET /metrics public
        GET /internal/metrics public
        GET /debug/env public
        GET /api/v1/env public
        GET /actuator/heapdump public
        GET /.git/{*rest} public
        GET /debug/pprof/profile public
        POST /_internal/jobs public",
        &[
            "GET /.git/{*rest}",
            "GET /actuator/heapdump",
            "GET /api/v1/env",
            "GET /debug/env",
            "GET /debug/pprof/profile",
            "GET /internal/metrics",
            "GET /metrics",
            "POST /_internal/jobs",
        ],
    ),
    (
        Lint::DevelopmentOrigin,
        "origin=https://a.example sessions=none
        GET /me session cors=http://localhost:3000,https://www.a.example credentials
        PUT /me session cors=http://127.0.0.1:5173 credentials
        GET /feed session cors=http://localhost:* credentials
        GET /prices public cors=http://localhost:3000",
        &["GET /feed", "GET /me", "PUT /me"],
    ),
    (
        Lint::OneTimeLinkCached,
        "origin=https://a.example
        GET /reset/{token} public cache=86400
        GET /verify/{code} public cache=60
        GET /accounts/invitations/{invite_token} public cache=3600
        GET /login/magic-link/{secret} public cache=3600",
        &[
            "GET /accounts/invitations/{invite_token}",
            "GET /login/magic-link/{secret}",
            "GET /reset/{token}",
            "GET /verify/{code}",
        ],
    ),
    (
        Lint::UploadWithoutCaller,
        "origin=https://a.example
        POST /upload public body=53687091200 timeout=3600000
        PUT /backups/{name} public body=1073741824 timeout=600000 rate",
        &["POST /upload", "PUT /backups/{name}"],
    ),
    (
        Lint::CleartextUpstream,
        "origin=https://a.example sessions=lax tokens=https://a.example
        GET /reports session proxy=http://reports.example/base forwards_session
        GET /stock token proxy=http://203.0.113.7:8080
        GET /maps session proxy=http://maps.example
        GET /news session proxy=http://news.internal forwards_session",
        &["GET /reports", "GET /stock"],
    ),
    (
        Lint::LongLifetime,
        "origin=https://a.example tokens=https://a.example lifetime=900 refresh=315360000
        GET /me token",
        &["app"],
    ),
    (
        Lint::LongLifetime,
        "origin=https://a.example tokens=https://a.example lifetime=7776000
        GET /me token",
        &["app"],
    ),
];
