//! The route table that a server prints when it starts in development.

use std::{
    collections::HashSet,
    fmt::{self, Write},
};

use policy_core::{
    Rule, Violation,
    auth::{AuthPolicy, AuthSpec},
    cors::{self, Cors},
    csrf::CsrfPolicy,
    head::OwnOrigin,
    method::is_safe,
    origin::{OriginPattern, Site},
    route::Level,
};

use crate::{
    base::error::StartProblem,
    build::callers::{is_as_strict_as, violations_of_callers},
    pipeline::compiled_app::{CompiledApp, CompiledRoute},
};
#[cfg(feature = "gateway")]
use crate::{gateway::tunnel::OpenTunnels, pipeline::compiled_app::Target};

/// The routes of an app with their policies, and the level that set each one.
pub(crate) fn report(
    app: &CompiledApp,
    listening: &[String],
    odd: &[StartProblem],
) -> Result<String, fmt::Error> {
    let mut text = String::new();
    let profile = match &app.own_origin {
        OwnOrigin::Development => "development: loopback hosts only".to_owned(),
        OwnOrigin::Public(origin) => origin.as_str().to_owned(),
    };
    for (index, line) in listening.iter().enumerate() {
        match index {
            0 => writeln!(text, "{line} ({profile})")?,
            _ => writeln!(text, "{line}")?,
        }
    }
    let rows: Vec<_> = app
        .routes
        .iter()
        .map(|route| {
            let methods: Vec<_> = route.methods.iter().map(http::Method::as_str).collect();
            let cors = match (&route.rules.cors, route.level) {
                (Some(cors), Some(level)) => format!("{} ({})", cors.audience(), level.name()),
                _ => "nobody".to_owned(),
            };
            let csrf = match route.csrf_level.filter(|_| can_be_forged(route)) {
                Some(level) => format!("  csrf: {} ({})", route.auth.csrf, level.name()),
                None => String::new(),
            };
            (
                methods.join(","),
                route.path().to_string(),
                format!("auth: {}", route.auth.auth),
                format!("shared with {cors}{csrf}"),
            )
        })
        .collect();
    let width = |column: fn(&(String, String, String, String)) -> usize| {
        rows.iter().map(column).max().unwrap_or(0)
    };
    let (methods, paths) = (width(|row| row.0.len()), width(|row| row.1.len()));
    let auths = width(|row| row.2.len());
    for (method, path, auth, rest) in &rows {
        writeln!(text, "  {method:methods$}  {path:paths$}  {auth:auths$}  {rest}")?;
    }
    #[cfg(feature = "gateway")]
    if let Some((opens, auth)) = tunnel(app) {
        writeln!(text, "  CONNECT  {opens}  auth: {auth}")?;
    }
    if let Some(proxies) = &app.proxies {
        writeln!(text, "  behind proxies: {proxies}")?;
    }
    for notice in odd.iter().chain(&notices(app)) {
        writeln!(text, "notice: {notice}")?;
    }
    Ok(text)
}

/// Notices about policies of an app that are permitted but unusual, each once.
pub(crate) fn notices(app: &CompiledApp) -> Vec<StartProblem> {
    let is_deployment = app.own_origin != OwnOrigin::Development;
    let mut notices = app.notices.clone();
    for route in &app.routes {
        #[cfg(feature = "gateway")]
        if let Target::Proxy(gateway) = &route.target {
            notices.extend(gateway.notice());
        }
        let cors = route.rules.cors.as_deref();
        let is_own = route.csrf_level == Some(Level::Route);
        let stated = is_own.then_some(&route.auth.csrf);
        let spec = AuthSpec::from_policies(&route.auth.auth, stated);
        let odd = violations_of_callers(spec, true, cors);
        notices.extend(odd.map(|Violation { rule, part, .. }| {
            StartProblem::without_value(rule, route.path().to_string()).with_part(part.name())
        }));
        if let CsrfPolicy::Exempt(reason) = route.auth.csrf
            && !is_own
            && route.description().is_some()
            && can_be_forged(route)
        {
            let path = route.path().to_string();
            notices.push(StartProblem::new(Rule::ExemptByDefault, path, reason));
        }
        let Some(cors) = cors else { continue };
        notices.extend(cors.notices().iter().cloned().map(StartProblem::from));
        notices.extend(app.cookie_site.as_ref().and_then(|own| withheld(route, cors, own)));
        if is_deployment && cors.grants_development() {
            notices
                .push(StartProblem::without_value(Rule::LoopbackShared, route.path().to_string()));
        }
    }
    notices.extend(guarded_below(app));
    #[cfg(feature = "gateway")]
    if app.traces {
        notices.push(StartProblem::without_value(Rule::TraceOn, "App::trace"));
    }
    #[cfg(feature = "gateway")]
    if let Some((opens, AuthPolicy::Public)) = tunnel(app) {
        notices.push(StartProblem::new(Rule::TunnelPublic, "App::tunnel", opens.to_string()));
    }
    // Routes share the policy of their group and of the app.
    let mut seen = HashSet::new();
    notices.retain(|notice| seen.insert(notice.to_string()));
    notices
}

/// The granted origins whose pages call a route without a session, although it accepts one. They
/// include development origins, with which the app still starts; an app on loopback does not
/// report the origins of its deployment.
fn withheld(route: &CompiledRoute, cors: &Cors, own: &Site) -> Option<StartProblem> {
    let takes_session = route.description().is_some_and(|handler| handler.takes_session)
        || matches!(&route.auth.auth, AuthPolicy::Required(policy) if policy.session);
    if !takes_session {
        return None;
    }
    let is_told = |origin: &String| {
        !own.is_loopback() || OriginPattern::parse(origin).is_ok_and(|it| it.is_development())
    };
    let others: Vec<_> = cors.cross_site_origins(own).into_iter().filter(is_told).collect();
    (!others.is_empty()).then(|| {
        StartProblem::new(Rule::SessionWithheld, route.path().to_string(), others.join(" "))
            .with_part(cors::CorsPart::Origins.name())
    })
}

/// Whether the CSRF protection of a route decides about anything.
fn can_be_forged(route: &CompiledRoute) -> bool {
    let is_ambient = match &route.auth.auth {
        AuthPolicy::Required(requirement) => requirement.is_ambient(),
        _ => false,
    };
    let takes_session = route.description().is_some_and(|handler| handler.takes_session);
    (is_ambient || takes_session || route.auth.checks_anonymous)
        && !route.methods.iter().all(|method| is_safe(method.as_str()))
}

/// Routes below the prefix of a mount or a proxy that requires less of its callers: the service at
/// the prefix may treat another path as the same resource.
fn guarded_below(app: &CompiledApp) -> impl Iterator<Item = StartProblem> {
    let loose = app.routes.iter().filter(|route| !route.tells_paths_apart);
    loose.flat_map(move |mount| {
        let prefix = mount.path().strip_suffix("{*path}").unwrap_or_default();
        let below = app.routes.iter().filter(move |route| {
            route.path().starts_with(prefix)
                && !is_as_strict_as(mount.auth.callers(), route.auth.callers())
        });
        below.map(move |route| {
            StartProblem::new(Rule::GuardedBelow, mount.path().to_string(), &**route.path())
        })
    })
}

/// The targets and the callers of the tunnel of an app.
#[cfg(feature = "gateway")]
fn tunnel(app: &CompiledApp) -> Option<(&OpenTunnels, &AuthPolicy)> {
    let route = app.tunnel.as_ref()?;
    let Target::Tunnel(opens) = &route.target else { return None };
    Some((opens, &route.auth.auth))
}

#[cfg(all(test, feature = "gateway"))]
mod tests {
    use policy_core::cors::CorsPolicy;

    use super::*;
    use crate::app::{proxy::ReverseProxy, tunnel::Tunnel};
    use crate::prelude::*;

    /// The code of each notice about an app, and its value.
    fn notice_texts(app: App<()>) -> Vec<String> {
        let notices = notices(app.into_service().app());
        let texts = notices.iter().map(|it| format!("{} {}", it.code(), it.value().unwrap_or("")));
        texts.collect()
    }

    #[test]
    fn notices_name_their_rule() {
        let shared = CorsPolicy::origins(&["https://app.example", "http://localhost:3000"]).build();
        let app = App::new(())
            .public_origin("https://api.example")
            .trace()
            .tunnel(Tunnel::to(["db.example:5432"]).public())
            .proxy(
                ReverseProxy::new("/files", "http://files.example")
                    .public()
                    .policies(Policies::new().cors(shared)),
            );
        let noticed: Vec<_> = notices(app.into_service().app())
            .iter()
            .map(|notice| (notice.rule(), notice.location().to_owned()))
            .collect();
        let expected = [
            (Rule::UpstreamPlain, "proxy /files"),
            (Rule::LoopbackShared, "/files/{*path}"),
            (Rule::TraceOn, "App::trace"),
            (Rule::TunnelPublic, "App::tunnel"),
        ];
        assert_eq!(noticed, expected.map(|(rule, location)| (rule, location.to_owned())));
    }

    #[cfg(feature = "asym")]
    #[test]
    fn unused_issuers_are_noticed() {
        use crate::tokens::{Issuer, TokenSettings};

        const NAMES: [&str; 3] = ["https://a.example", "https://b.example", "https://c.example"];

        #[get("/a")]
        #[auth(token, issuers = ["own", "https://a.example"])]
        async fn of_a() {}

        #[get("/any")]
        #[auth(token)]
        async fn unnamed(_caller: crate::Caller) {}

        let issuer = |name: &str| Issuer::new(name).jwks("https://id.example/keys");
        let noticed = |tokens: TokenSettings, names: &[&str], app: App<()>| {
            let tokens = names.iter().copied().map(issuer).fold(tokens, TokenSettings::accept);
            let app = app.public_origin("https://api.example").tokens(tokens);
            let notices = notices(app.into_service().app());
            let of_issuers = notices.iter().filter(|notice| notice.rule() == Rule::IssuerUnused);
            of_issuers.map(|it| it.value().unwrap_or_default().to_owned()).collect::<Vec<_>>()
        };
        let key = policy_core::secret::SecretKey::from_bytes([7; 32]);
        let signing = || Tokens::hs256([("k", key.clone())]).unwrap();
        let c = AuthRequirement::token().issuers(&["https://c.example"]);
        let mount = Mount::new(axum::Router::new());
        let app = || App::new(()).routes(routes![of_a, unnamed]);
        assert_eq!(noticed(signing(), &NAMES, app()), ["https://b.example", "https://c.example"]);
        let mounted = app().group("/c", Group::new().auth(c).mount("/m", mount));
        assert_eq!(noticed(signing(), &NAMES, mounted), ["https://b.example"]);
        // In an app without own tokens, the only issuer is accepted without being named.
        let unnamed = || App::new(()).routes(routes![unnamed]);
        assert_eq!(noticed(signing(), &NAMES[..1], unnamed()), ["https://a.example"]);
        assert_eq!(noticed(Tokens::accepting(issuer(NAMES[0])), &[], unnamed()), [""; 0]);
    }

    #[test]
    fn csrf_policies_of_outer_levels_are_listed_and_exemptions_noticed() {
        #[post("/quiet")]
        #[auth(session)]
        async fn quiet() {}

        #[post("/own")]
        #[auth(session)]
        #[csrf(token)]
        async fn own() {}

        #[post("/tokens")]
        #[auth(token)]
        async fn tokens() {}

        let key = policy_core::secret::SecretKey::from_bytes([7; 32]);
        let signed = CsrfPolicy::Exempt("signed");
        let app = App::new(())
            .sessions(Sessions::memory())
            .tokens(Tokens::hs256([("k", key)]).unwrap())
            .csrf(CsrfPolicy::OriginElseToken)
            .routes(routes![quiet, own, tokens])
            .group("/hooks", Group::new().csrf(signed).routes(routes![quiet, own, tokens]));
        let service = app.into_service();
        let text = report(service.app(), &[], &[]).unwrap();
        let listed: Vec<_> =
            text.lines().filter_map(|line| line.split("  csrf: ").nth(1)).collect();
        assert_eq!(
            listed,
            [
                "origin_else_token (app)",
                "token (route)",
                "exempt = \"signed\" (group)",
                "token (route)"
            ]
        );
        let noticed: Vec<_> = notices(service.app())
            .iter()
            .map(|notice| format!("{} {}", notice.code(), notice.location()))
            .collect();
        assert_eq!(noticed, ["csrf.exempt-by-default /hooks/quiet"]);
    }

    #[test]
    fn guarded_routes_below_an_open_prefix_are_noticed_once_unless_paths_are_exact() {
        #[get("/files/payroll.csv")]
        #[auth(session)]
        async fn payroll() {}

        #[get("/filesystem")]
        #[auth(session)]
        async fn beside() {}

        let noticed = |mount: Mount| {
            let app = App::new(())
                .public_origin("https://shop.example")
                .sessions(Sessions::memory())
                .routes(routes![payroll, beside])
                .mount("/files", mount);
            notice_texts(app.fallback(Fallback::handler(async |_| "the page").public()))
        };
        let files = || Mount::new(axum::Router::new()).public();
        assert_eq!(noticed(files()), ["route.guarded-below /files/payroll.csv"]);
        assert_eq!(noticed(files().exact_paths()), [""; 0]);
        assert_eq!(noticed(files().auth(AuthRequirement::session().roles(&["hr"]))), [""; 0]);
        let guests = AuthRequirement::session().optional();
        assert_eq!(noticed(files().auth(guests)), ["route.guarded-below /files/payroll.csv"]);
    }

    #[test]
    fn a_handler_that_is_laxer_than_its_group_is_noticed() {
        #[get("/open")]
        #[auth(public)]
        async fn open() {}

        #[get("/staff")]
        #[auth(session)]
        async fn staff() {}

        #[get("/recent")]
        #[auth(session, roles = ["admin"], fresh = "10m")]
        async fn recent() {}

        #[get("/inherits")]
        #[auth(group)]
        async fn inherits() {}

        let noticed = |group: Group<()>| {
            let app = App::new(())
                .sessions(Sessions::memory())
                .auth(AuthRequirement::session().roles(&["owner"]));
            notice_texts(app.group("/admin", group.routes(routes![open, staff, recent, inherits])))
        };
        let admins = AuthRequirement::session().roles(&["admin"]);
        assert_eq!(
            noticed(Group::new().auth(admins)),
            ["auth.laxer-than-group GET /open", "auth.laxer-than-group GET /staff"]
        );
        // A requirement of the app is for mounts and fallbacks, which handlers seldom share.
        assert_eq!(noticed(Group::new()), [""; 0]);
    }

    macro_rules! schemes {
        ($($module:ident)*) => {$(
            mod $module {
                use crate::{AuthError, Identity, Scheme, SchemeRequest};

                pub(super) struct Keys;

                impl Scheme for Keys {
                    const AMBIENT: bool = false;

                    async fn authenticate(
                        &self,
                        _: &mut SchemeRequest<'_>,
                    ) -> Result<Option<Identity>, AuthError> {
                        Ok(None)
                    }
                }
            }
        )*};
    }

    schemes! { staff partners }

    #[test]
    fn schemes_are_compared_by_their_types() {
        use partners::Keys;

        #[get("/same")]
        #[auth(scheme = staff::Keys)]
        async fn same() {}

        #[get("/other")]
        #[auth(scheme = Keys)]
        async fn other() {}

        let group = Group::new().auth(AuthRequirement::scheme::<staff::Keys>());
        let group = group.routes(routes![same, other]);
        let app = App::new(()).scheme(staff::Keys).scheme(Keys).group("/staff", group);
        assert_eq!(notice_texts(app), ["auth.laxer-than-group GET /other"]);
    }

    #[cfg(feature = "files")]
    #[test]
    fn an_ordinary_single_page_application_starts_without_a_notice() {
        use crate::Files;

        #[get("/api/orders")]
        #[auth(session, roles = ["clerk"])]
        async fn orders() {}

        let app = App::new(())
            .public_origin("https://shop.example")
            .sessions(Sessions::memory())
            .routes(routes![orders])
            .mount("/assets", Mount::files(Files::new("dist/assets")).public())
            .fallback(Fallback::files(Files::new("dist").single_page()).public());
        assert_eq!(notice_texts(app), [""; 0]);
    }
}
