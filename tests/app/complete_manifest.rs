//! Every setter changes the manifest, or is in the list of `docs/review.md`.

use std::collections::BTreeSet;

use policy_core::{secret::SecretKey, token::Key};
use policy_manifest::{Direction, Manifest, changes};
use policy_server::{
    CsrfPolicy, Fallback, Files, OriginList, RateCapacity, ReverseProxy, ServerSettings,
    SharedLimits, Tls, TrailingSlash, TrustedProxies, Tunnel,
    http::HeaderValue,
    session::{SameSite, SessionSettings, days, minutes},
    store::{LimitPolicy, MemoryStore},
    tokens::{Issuer, OnStale, TokenSettings},
};
use policy_tests::public_api::{root, setters};

use super::{objects::engine::Desk, *};

use Direction::{Narrows, Opens, OpensAndNarrows, Shifts};

const ORDERS: &str = "https://api.shop.example";
const ADMIN: AuthRequirement = AuthRequirement::session().roles(&["admin"]);
const SHARED: CorsPolicy = CorsPolicy::origins(&["https://a.example"]).credentials().build();

#[get("/own")]
#[auth(session)]
async fn own() {}

#[get("/open")]
#[auth(public)]
async fn open() {}

fn shop() -> App<()> {
    App::new(()).public_origin(ORDERS).sessions(Sessions::memory())
}

fn echo() -> Mount {
    Mount::new(service_fn(async |_: Request| Ok::<_, Infallible>("echo".into_response())))
}

fn proxy() -> ReverseProxy {
    ReverseProxy::new("/p", "http://127.0.0.1:9").auth(ADMIN)
}

fn key() -> Key {
    Key::hs256("k", &SecretKey::from_bytes([1; 32])).unwrap()
}

fn keys() -> TokenSettings {
    Tokens::hs256(SecretKey::from_bytes([1; 32])).unwrap()
}

fn names() -> [&'static str; 1] {
    ["http://localhost:3000"]
}

/// The setters that were tried, and the types that have them.
#[derive(Default)]
struct Tried {
    setters: BTreeSet<String>,
    types: BTreeSet<&'static str>,
    /// Those with another effect than expected.
    others: Vec<String>,
}

/// The name of a setter, the effect of the call, and the call.
type Row<T> = (&'static str, Direction, fn(T) -> T);

impl Tried {
    /// Compares the manifests without and with each call.
    fn rows<T>(
        &mut self,
        of: &'static str,
        base: impl Fn() -> T,
        manifest: impl Fn(T) -> Manifest,
        rows: &[Row<T>],
    ) {
        self.types.insert(of);
        for (setter, expected, call) in rows {
            let [before, after] = [manifest(base()), manifest(call(base()))];
            let changes = changes(&before, &after).unwrap();
            let of_all = |is: fn(Direction) -> bool| changes.iter().any(|it| is(it.direction));
            let direction = match (of_all(Direction::opens), of_all(Direction::narrows)) {
                (true, true) => OpensAndNarrows,
                (true, false) => Opens,
                (false, true) => Narrows,
                (false, false) => Shifts,
            };
            if direction != *expected || changes.is_empty() {
                let words: Vec<_> = changes.iter().map(ToString::to_string).collect();
                let other = format!("{of}::{setter}: {direction:?}: {words:#?}");
                self.others.push(other);
            }
            self.setters.insert(format!("{of}::{setter}"));
            // The text has everything, and is read again.
            assert_ne!(before.to_json(), after.to_json(), "{of}::{setter}");
            assert_eq!(Manifest::parse(&after.to_json()).unwrap(), after, "{of}::{setter}");
        }
    }
}

fn try_apps(tried: &mut Tried) {
    let base = || shop().auth(ADMIN).mount("/m", echo());
    let manifest = |app: App<()>| app.manifest();
    tried.rows(
        "App",
        base,
        manifest,
        &[
            ("auth", Opens, |app: App<()>| app.auth(AuthRequirement::session())),
            ("behind", Opens, |app| app.behind(TrustedProxies::new(["10.0.0.0/8"]).forwarded())),
            ("config_file", Shifts, |app| app.config_file("lists.toml")),
            ("csrf", Opens, |app| app.csrf(CsrfPolicy::Exempt("why"))),
            ("engine", OpensAndNarrows, |app| app.engine(Desk::default())),
            ("fallback", Opens, |app| app.fallback(Fallback::handler(async |_| "").public())),
            ("group", Opens, |app| app.group("/g", Group::new().routes(routes![open]))),
            ("health", Opens, |app| app.health("/health")),
            ("layer", Opens, |app| app.layer(MapResponseLayer::new(|it: Response| it))),
            ("mount", Opens, |app| app.mount("/n", echo().public())),
            ("origins", Shifts, |app| app.origins("pages", names())),
            ("policies", Opens, |app| app.policies(Policies::new().cors(SHARED))),
            ("proxy", Opens, |app| app.proxy(proxy().public())),
            ("public", Opens, |app| app.public()),
            ("public_origin", Opens, |app| app.public_origin("https://other.example")),
            ("rate_capacity", Opens, |app| {
                app.rate_capacity(RateCapacity::DEFAULT.clients_per_network(20_480))
            }),
            ("readiness", Opens, |app| app.readiness("/ready")),
            ("routes", Opens, |app| app.routes(routes![open])),
            ("sessions", Opens, |app| app.sessions(Sessions::memory().same_site(SameSite::None))),
            ("settings", Opens, |app| {
                app.settings(ServerSettings::default().header_limit(1 << 20))
            }),
            ("shared_limits", Narrows, |app| app.shared_limits(SharedLimits::with_sessions())),
            ("tls", Shifts, |app| app.tls(Tls::files("cert.pem", "key.pem"))),
            ("tokens", Opens, |app| app.tokens(keys())),
            ("trace", Opens, |app| app.trace()),
            ("trailing_slash", OpensAndNarrows, |app| app.trailing_slash(TrailingSlash::Same)),
            ("tunnel", Opens, |app| app.tunnel(Tunnel::to(["db.example:5432"]).public())),
        ],
    );
    let base = || Group::new().auth(ADMIN).mount("/m", echo()).routes(routes![own]);
    tried.rows(
        "Group",
        base,
        |group| shop().group("/g", group).manifest(),
        &[
            ("auth", Opens, |group: Group<()>| group.auth(AuthRequirement::session())),
            ("csrf", Opens, |group| group.csrf(CsrfPolicy::Exempt("why"))),
            ("layer", Opens, |group| group.layer(MapResponseLayer::new(|it: Response| it))),
            ("mount", Opens, |group| group.mount("/n", echo().public())),
            ("policies", Opens, |group| group.policies(Policies::new().cors(SHARED))),
            ("proxy", Opens, |group| group.proxy(proxy().public())),
            ("public", Opens, |group| group.public()),
            ("routes", Opens, |group| group.routes(routes![open])),
        ],
    );
}

fn try_targets(tried: &mut Tried) {
    tried.rows(
        "Mount",
        || echo().auth(ADMIN),
        |mount| shop().mount("/m", mount).manifest(),
        &[
            ("all_methods", Shifts, |mount: Mount| mount.all_methods()),
            ("auth", Opens, |mount| mount.auth(AuthRequirement::session())),
            ("csrf", Opens, |mount| mount.csrf(CsrfPolicy::Exempt("why"))),
            ("encoded_slashes", Opens, |mount| mount.encoded_slashes()),
            ("exact_paths", Opens, |mount| mount.exact_paths()),
            ("methods", Narrows, |mount| mount.methods([Method::POST])),
            ("policies", Opens, |mount| mount.policies(Policies::new().cors(SHARED))),
            ("problems", Shifts, |mount| mount.problems()),
            ("public", Opens, |mount| mount.public()),
            ("strip_prefix", Opens, |mount| mount.strip_prefix()),
        ],
    );
    tried.rows(
        "ReverseProxy",
        proxy,
        |proxy| shop().proxy(proxy).manifest(),
        &[
            ("answer_timeout", Opens, |proxy: ReverseProxy| proxy.answer_timeout(minutes(9))),
            ("auth", Opens, |proxy| proxy.auth(AuthRequirement::session())),
            ("connect_timeout", Opens, |proxy| proxy.connect_timeout(minutes(9))),
            ("csrf", Opens, |proxy| proxy.csrf(CsrfPolicy::Exempt("why"))),
            ("encoded_slashes", Opens, |proxy| proxy.encoded_slashes()),
            ("exact_paths", Opens, |proxy| proxy.exact_paths()),
            ("forward_session", Opens, |proxy| proxy.forward_session()),
            ("http2", Shifts, |proxy| proxy.http2()),
            ("idle_timeout", Opens, |proxy| proxy.idle_timeout(minutes(9))),
            ("methods", Narrows, |proxy| proxy.methods([Method::GET])),
            ("policies", Opens, |proxy| proxy.policies(Policies::new().cors(SHARED))),
            ("public", OpensAndNarrows, |proxy| proxy.public()),
            ("root_certificates", Opens, |proxy| proxy.root_certificates("/etc/own.pem")),
            ("strip_prefix", Opens, |proxy| proxy.strip_prefix()),
            ("new", Opens, |_| ReverseProxy::new("/p", "http://127.0.0.1:9/admin").auth(ADMIN)),
        ],
    );
    tried.rows(
        "Fallback",
        || Fallback::handler(async |_| "").auth(ADMIN),
        |fallback| shop().fallback(fallback).manifest(),
        &[
            ("auth", Opens, |fallback: Fallback| fallback.auth(AuthRequirement::session())),
            ("csrf", Opens, |fallback| fallback.csrf(CsrfPolicy::Exempt("why"))),
            ("layer", Opens, |fallback| fallback.layer(MapResponseLayer::new(|it: Response| it))),
            ("policies", Opens, |fallback| fallback.policies(Policies::new().cors(SHARED))),
            ("public", Opens, |fallback| fallback.public()),
        ],
    );
    tried.rows(
        "Files",
        || Files::new("dist").not_below(["/api"]),
        |files| shop().mount("/files", Mount::files(files).public()).manifest(),
        &[
            ("dotfiles", Opens, |files: Files| files.dotfiles()),
            ("not_below", Narrows, |files| files.not_below(["/admin"])),
            ("single_page", Shifts, |files| files.single_page()),
            ("new", Opens, |_| Files::new("/").not_below(["/api"])),
        ],
    );
    tried.rows(
        "Tunnel",
        || Tunnel::to(["db.example:5432"]).public(),
        |tunnel| shop().tunnel(tunnel).manifest(),
        &[
            ("connect_timeout", Opens, |tunnel: Tunnel| tunnel.connect_timeout(minutes(9))),
            ("idle_timeout", Opens, |tunnel| tunnel.idle_timeout(minutes(9))),
            ("max_tunnels", Opens, |tunnel| tunnel.max_tunnels(1024)),
            ("private", Opens, |tunnel| tunnel.private(["10.0.0.0/8"])),
        ],
    );
}

fn try_credentials(tried: &mut Tried) {
    tried.rows(
        "SessionSettings",
        || Sessions::memory().encrypted([SecretKey::from_bytes([1; 32])]),
        |sessions| shop().sessions(sessions).manifest(),
        &[
            ("absolute", Opens, |it: SessionSettings| it.absolute(days(365))),
            ("clear_site_data", Narrows, |it| it.clear_site_data()),
            ("cookie_name", Opens, |it| it.cookie_name("sid")),
            ("domain", Opens, |it| it.domain("shop.example")),
            ("idle", Opens, |it| it.idle(days(90))),
            ("limit_per_user", Opens, |it| it.limit_per_user(u32::MAX, LimitPolicy::Deny)),
            ("login_page", Shifts, |it| it.login_page("/login")),
            ("moving_from", Shifts, |it| it.moving_from(Sessions::store(MemoryStore::default()))),
            ("moving_to", Shifts, |it| it.moving_to(Sessions::store(MemoryStore::default()))),
            ("partitioned", OpensAndNarrows, |it| it.same_site(SameSite::None).partitioned()),
            ("remembered_absolute", Opens, |it| it.remembered_absolute(days(365))),
            ("remembered_idle", Opens, |it| it.remembered_idle(days(30))),
            ("renewal", Narrows, |it| it.renewal(minutes(5))),
            ("same_site", Opens, |it| it.same_site(SameSite::None)),
            ("unencrypted_until", Opens, |it| {
                it.unencrypted_until(std::time::UNIX_EPOCH + days(40_000))
            }),
        ],
    );
    tried.rows(
        "SessionSettings",
        Sessions::memory,
        |sessions| shop().sessions(sessions).manifest(),
        &[("encrypted", Narrows, |it: SessionSettings| {
            it.encrypted([SecretKey::from_bytes([1; 32])])
        })],
    );
    tried.rows(
        "TokenSettings",
        || keys().audience("orders"),
        |tokens| shop().tokens(tokens).manifest(),
        &[
            ("accept", Opens, |it: TokenSettings| {
                it.accept(Issuer::new("https://id.example").keys([key()]))
            }),
            ("audience", Opens, |it| it.audience("everything")),
            ("from_websocket_protocol", Opens, |it| it.from_websocket_protocol()),
            ("issuer", Opens, |it| it.issuer("https://id.example")),
            ("leeway", Opens, |it| it.leeway(minutes(5))),
            ("lifetime", Opens, |it| it.lifetime(minutes(60))),
            ("max_lifetime", Opens, |it| it.max_lifetime(days(9))),
            ("max_staleness", Opens, |it| it.max_staleness(minutes(9))),
            ("on_stale", Opens, |it| it.on_stale(OnStale::Allow)),
            ("refresh_grace", Opens, |it| it.refresh_grace(minutes(9))),
            ("refresh_lifetime", Opens, |it| it.refresh_lifetime(days(3650))),
            ("store", Shifts, |it| it.store(MemoryStore::default())),
        ],
    );
    let issuer = || {
        let issuer = Issuer::new("https://id.example").jwks("https://id.example/keys");
        issuer.audience("orders").required_claim(["tenant"], "shop")
    };
    tried.rows(
        "Issuer",
        issuer,
        |issuer| shop().tokens(keys().accept(issuer)).manifest(),
        &[
            ("audience", Opens, |it: Issuer| it.audience("everything")),
            ("audience_claim", Opens, |it| it.audience_claim(["client_id"])),
            ("certificate_authority", Opens, |it| it.certificate_authority(*b"pem")),
            ("generic_type", Opens, |it| it.generic_type()),
            ("jwks", Opens, |it| it.jwks("https://other.example/keys")),
            ("keys", Opens, |it| it.keys([key()])),
            ("leeway", Opens, |it| it.leeway(minutes(5))),
            ("max_len", Opens, |it| it.max_len(8192)),
            ("max_lifetime", Opens, |it| it.max_lifetime(days(9))),
            ("required_claim", Narrows, |it| it.required_claim(["region"], "eu")),
            ("role_as", Opens, |it| it.role_as("root", "admin")),
            ("roles", Opens, |it| it.roles(["admin"])),
            ("roles_claim", Opens, |it| it.roles_claim(["groups"])),
            ("scope_as", Opens, |it| it.scope_as("all", "orders:write")),
            ("scopes", Opens, |it| it.scopes(["orders:write"])),
            ("scopes_claim", Opens, |it| it.scopes_claim(["scp"])),
            ("subject_claim", Opens, |it| it.subject_claim(["email"])),
            ("tenant_claim", Opens, |it| it.tenant_claim(["tid"])),
            ("trust_in_full", Opens, |it| it.trust_in_full()),
            ("typ", Opens, |it| it.typ("jwt")),
        ],
    );
}

fn try_connections(tried: &mut Tried) {
    tried.rows(
        "ServerSettings",
        ServerSettings::default,
        |settings| shop().settings(settings).manifest(),
        &[
            ("header_limit", Opens, |it: ServerSettings| it.header_limit(1 << 20)),
            ("header_timeout", Opens, |it| it.header_timeout(minutes(9))),
            ("idle_timeout", Opens, |it| it.idle_timeout(minutes(9))),
            ("max_connections", Opens, |it| it.max_connections(1 << 20)),
            ("max_unsent_per_connection", Opens, |it| it.max_unsent_per_connection(1 << 30)),
            ("max_unsent_total", Opens, |it| it.max_unsent_total(1 << 40)),
            ("min_read_rate", Opens, |it| it.min_read_rate(1)),
            ("one_request_per_connection", Shifts, |it| it.one_request_per_connection()),
            ("server_header", Shifts, |it| it.server_header(HeaderValue::from_static("shop"))),
            ("shared_port", Opens, |it| it.shared_port()),
        ],
    );
    tried.rows(
        "Tls",
        || Tls::files("cert.pem", "key.pem"),
        |tls| shop().tls(tls).manifest(),
        &[
            ("http3", Shifts, |tls: Tls| tls.http3()),
            ("redirect_http", Shifts, |tls| tls.redirect_http("0.0.0.0:80")),
        ],
    );
    tried.rows(
        "TrustedProxies",
        || TrustedProxies::new(["10.0.0.0/8"]),
        |proxies| shop().behind(proxies).manifest(),
        &[
            ("forwarded", Opens, |it: TrustedProxies| it.forwarded()),
            ("proxy_protocol", Opens, |it| it.proxy_protocol()),
            ("x_forwarded", Opens, |it| it.x_forwarded()),
            ("x_forwarded_with_host", Opens, |it| it.x_forwarded_with_host()),
        ],
    );
    tried.rows(
        "OriginList",
        || OriginList::from(names()),
        |list| shop().origins("pages", list).manifest(),
        &[
            ("from", Opens, |_| OriginList::from(["http://localhost:3000", "https://*.example"])),
            ("env", OpensAndNarrows, |_| OriginList::env("PAGES")),
            ("within", Narrows, |it: OriginList| it.within(["https://*.shop.example"])),
            ("within_env", Opens, |it| it.within_env("BOUND")),
        ],
    );
}

#[test]
fn every_setter_changes_the_manifest_or_is_listed() {
    let mut tried = Tried::default();
    try_apps(&mut tried);
    try_targets(&mut tried);
    try_credentials(&mut tried);
    try_connections(&mut tried);
    assert!(tried.others.is_empty(), "{}", tried.others.join("\n"));
    let left_out = left_out();
    let is_of =
        |setter: &String| setter.split("::").next().is_some_and(|of| tried.types.contains(of));
    let setters: BTreeSet<_> = setters("policy-server").into_iter().filter(is_of).collect();
    let known: BTreeSet<_> = tried.setters.union(&left_out).cloned().collect();
    let missing: Vec<_> = setters.difference(&known).collect();
    assert!(missing.is_empty(), "neither in a manifest nor left out: {missing:?}");
    let twice: Vec<_> = tried.setters.intersection(&left_out).collect();
    assert!(twice.is_empty(), "they change manifests, and are left out: {twice:?}");
    let unknown: Vec<_> = left_out.difference(&setters).collect();
    assert!(unknown.is_empty(), "left out, and no setter: {unknown:?}");
    assert!(setters.len() > 120, "only {} setters were seen", setters.len());
}

/// The setters of the table of what manifests leave out.
fn left_out() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("docs/review.md")).unwrap();
    let (_, table) = text.split_once("## What a manifest leaves out").unwrap();
    let rows = table.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    let names = rows.flat_map(|row| row.split('|').nth(1).unwrap_or_default().split(", "));
    names.map(|name| name.trim().trim_matches('`').to_owned()).collect()
}
