//! The server of the playground: an engine decides, and policy-core writes the response as it does for
//! an app.

use std::time::Duration;

use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, COOKIE, HOST, ORIGIN, SET_COOKIE, VARY, WWW_AUTHENTICATE},
};
use policy_browser::{Fetch, Page, Profile, SentRequest, ServerResponse, State, ThirdParty, Url};
use policy_core::{
    Refusal, Rule,
    auth::Challenges,
    cache::{self, CacheExchange, ResponseFacts},
    cookie::{self, CookieSpec},
    cors::{Cors, CorsConfig, PolicyError},
    head::PublicOrigin,
    headers::HeadersPolicy,
    jsonp,
    origin::{OriginPattern, Site},
    time::Timestamp,
    vary,
};
use policy_manifest::{
    AppFacts, Cache, Date, ExamplePaths, Manifest, ManifestRoute, RouteOrigins, SessionFacts,
    Sources, TokenFacts,
    engine::{Decision, Engine, EngineError, Gate, Outcome, RequestCredentials, Verdict},
    facet::{self, FromPolicy as _},
};
use serde::{Deserialize, Serialize};

use super::decide::{Kind, Problem, Report};

/// The name of the cookie, which policy-server chooses for an app with a public origin, too.
const COOKIE_NAME: &str = "__Host-sid";

/// Which requests from pages of other sites carry the cookie of a session.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SameSite {
    Strict,
    Lax,
    None,
}

/// The facts of the form.
pub(super) struct App {
    origin: Url,
    same_site: SameSite,
}

impl App {
    pub(super) fn new(origin: &str, same_site: SameSite) -> Result<Self, Problem> {
        let valid = PublicOrigin::parse(origin).map_err(Rule::message);
        let url = valid.and_then(|_| Url::parse(origin).map_err(|_invalid| "is not an origin"));
        let of_page = |text: &str| {
            Problem::new("origin", format!("{text}: write one such as https://api.shop.example"))
        };
        Ok(Self { origin: url.map_err(of_page)?, same_site })
    }

    pub(super) fn facts(&self) -> AppFacts {
        let mut facts = AppFacts::default();
        let origin = self.origin.origin().ascii_serialization();
        let same_site = match self.same_site {
            SameSite::Strict => "strict",
            SameSite::Lax => "lax",
            SameSite::None => "none",
        };
        facts.sessions = Some(SessionFacts::new("memory", COOKIE_NAME, same_site));
        let mut tokens = TokenFacts::default();
        tokens.issuer = Some(origin.clone());
        facts.tokens = Some(tokens);
        facts.public_origin = Some(origin);
        facts
    }

    /// The cookie of a login.
    fn cookie(&self) -> Option<HeaderValue> {
        let same_site = match self.same_site {
            SameSite::Strict => cookie::SameSite::Strict,
            SameSite::Lax => cookie::SameSite::Lax,
            SameSite::None => cookie::SameSite::None,
        };
        let spec = CookieSpec::new(COOKIE_NAME).path("/").secure().http_only();
        spec.same_site(same_site).set("q4Zt").ok()
    }
}

/// An app that serves requests.
pub(super) struct World {
    app: App,
    manifest: Manifest,
    sources: Sources,
    engine: Engine,
    example_paths: ExamplePaths,
    /// The name of the security headers of responses that are of no route.
    default_headers: String,
}

/// A request, the decision about it, and the response.
#[derive(Debug, Serialize)]
pub(crate) struct Exchange {
    pub(super) is_preflight: bool,
    /// The method and the path.
    request: String,
    sent: Vec<Field>,
    /// The cookies that the browser does not send, and why.
    pub(super) withheld: Vec<String>,
    gates: Vec<GateStep>,
    status: u16,
    written: Vec<Field>,
    #[serde(skip)]
    pub(super) decision: Decision,
    #[serde(skip)]
    pub(super) response: HeaderMap,
}

/// The name and the value of a header.
type Field = (String, String);

impl Exchange {
    /// Whether the request has a header.
    pub(super) fn sends(&self, header: &HeaderName) -> bool {
        self.sent.iter().any(|(name, _)| name == header.as_str())
    }
}

#[derive(Debug, Serialize)]
struct GateStep {
    gate: &'static str,
    /// `passed`, `not_asked`, `ended`, `refused`, or `not_reached`.
    verdict: &'static str,
    /// Of a refusal.
    code: Option<&'static str>,
    title: Option<&'static str>,
    /// The line of the attribute that this gate enforces.
    line: Option<u32>,
}

impl World {
    pub(super) fn new(
        app: App,
        mut manifest: Manifest,
        sources: Sources,
    ) -> Result<Self, EngineError> {
        let engine = Engine::new(&manifest)?;
        let example_paths = ExamplePaths::new(&manifest.routes);
        let default_headers = String::from_policy(&HeadersPolicy::DEFAULT, &mut manifest);
        Ok(Self { app, manifest, sources, engine, example_paths, default_headers })
    }

    /// What keeps the app from starting: no page of another site can send the cookie that a route
    /// needs.
    pub(super) fn start_errors(&self) -> Vec<Report> {
        let own = self.app.origin.origin().ascii_serialization();
        let own = OriginPattern::parse(&own).map(|own| Site::from_origin(&own));
        let (Ok(own), SameSite::Lax | SameSite::Strict) = (own, self.app.same_site) else {
            return Vec::new();
        };
        let of_route = |route: &ManifestRoute| {
            let cors = route.cors.as_ref().filter(|_| needs_session(route))?;
            let RouteOrigins::Listed(origins) = &cors.origins else { return None };
            let mut config = CorsConfig::new(origins);
            config.credentials = cors.credentials;
            config.dangerous_insecure_origins = cors.dangers.insecure_origins;
            config.dangerous_public_suffix = cors.dangers.public_suffix;
            let errors = Cors::from_config("", &config).ok()?.require_site("", &own).err()?;
            let line = self.line_of(&name_of(route), "cors");
            let report = move |error: PolicyError| {
                let (rule, value) = (error.rule(), error.value().to_owned());
                let text = format!(
                    "the app does not start: `{value}`: {} ({})\nhelp: {}",
                    rule.message(),
                    rule.code(),
                    rule.help()
                );
                Report::for_line(Kind::Error, rule.code(), text, line)
            };
            Some(errors.into_iter().map(report))
        };
        self.manifest.routes.iter().filter_map(of_route).flatten().collect()
    }

    /// What is legal and odd about the routes.
    pub(super) fn lints(&self) -> Vec<Report> {
        // Without suppressions, the day does not matter.
        let day = Date::from_timestamp(Timestamp::from_seconds(0));
        let linted = policy_manifest::lint(&self.manifest, &[], day);
        let of_routes = linted.findings.into_iter().filter(|finding| finding.facet != "app");
        let reports = of_routes.map(|finding| {
            let (lint, about) = (finding.lint, &finding.about);
            let about = if about.is_empty() { String::new() } else { format!("{about}: ") };
            let text =
                format!("{about}{} ({})\nhelp: {}", lint.message(), lint.code(), lint.help());
            let route = finding.routes.first().map(String::as_str).unwrap_or_default();
            Report::for_line(Kind::Lint, lint.code(), text, self.line_of(route, finding.facet))
        });
        reports.collect()
    }

    /// The line of a facet of a route, such as `GET,POST /orders`; of its function, if it states none.
    fn line_of(&self, route: &str, facet: &str) -> u32 {
        let (methods, path) = route.split_once(' ').unwrap_or_default();
        let method = methods.split(',').next().unwrap_or_default();
        let route = &format!("{method} {path}");
        let stated = self.sources.decided.get(route).and_then(|facets| facets.get(facet));
        let line = stated.map(|source| source.line);
        line.or_else(|| Some(self.sources.places.get(route)?.line)).unwrap_or(1)
    }

    pub(super) fn origin(&self) -> &Url {
        &self.app.origin
    }

    pub(super) fn route(&self, index: usize) -> Option<&ManifestRoute> {
        self.manifest.routes.get(index)
    }

    /// A path that a route serves, if it has paths.
    pub(super) fn example_path(&self, route: &ManifestRoute) -> Option<String> {
        self.example_paths.path(route)
    }

    /// The address of a path.
    pub(super) fn address(&self, path: &str) -> String {
        format!("{}{path}", self.app.origin.origin().ascii_serialization())
    }

    /// The browser of a user who has logged in. It sends third-party cookies: a policy that needs a
    /// browser to block them protects only some users.
    pub(super) fn browser(&self) -> State {
        let profile = Profile::CHROMIUM.third_party(ThirdParty::Sent);
        let browser = State::new(profile, Duration::from_secs(1_800_000_000));
        let page = Page::at(self.app.origin.clone());
        let login = Fetch::navigate(self.app.origin.as_str());
        let (browser, _) = policy_browser::run(browser, Some(&page), login, |_| {
            let cookie = self.app.cookie().map(|cookie| (SET_COOKIE, cookie));
            ServerResponse::new(200, HeaderMap::from_iter(cookie), Vec::new())
        });
        browser
    }

    /// Serves a request. The credentials count where the request carries them.
    pub(super) fn serve(&self, sent: &SentRequest, caller: &RequestCredentials) -> Exchange {
        let mut headers = sent.headers.clone();
        let host = sent.url.host_str().unwrap_or_default();
        let host = sent.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        headers.extend(HeaderValue::try_from(host).ok().map(|host| (HOST, host)));
        let query = sent.url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let target = format!("{}{query}", sent.url.path());
        let mut request = Request::new(());
        *request.method_mut() = sent.method.clone();
        // INVARIANT: the path and the query of a URL are a target.
        *request.uri_mut() = target.parse().unwrap_or_default();
        *request.headers_mut() = headers;
        let decision = self.engine.decide(&request, caller);
        let (status, response) = self.respond(&request, &decision);
        Exchange {
            is_preflight: sent.is_preflight,
            request: format!("{} {target}", sent.method),
            sent: fields(request.headers()),
            withheld: sent.withheld.iter().map(ToString::to_string).collect(),
            gates: self.gates(&decision),
            status: status.as_u16(),
            written: fields(&response),
            decision,
            response,
        }
    }

    /// The response, whose policy is written as gate 13 of a server does it.
    fn respond(&self, request: &Request<()>, decision: &Decision) -> (StatusCode, HeaderMap) {
        let status = decision.status.and_then(|status| StatusCode::from_u16(status).ok());
        let status = status.unwrap_or(StatusCode::OK);
        if matches!(decision.outcome, Outcome::PreflightGranted | Outcome::Automatic) {
            return (status, decision.cors.clone());
        }
        let route = decision.route.and_then(|index| self.route(index));
        let is_script = route.is_some_and(|route| route.jsonp.is_some());
        let mut headers = HeaderMap::new();
        let content_type = match decision.outcome {
            Outcome::Refused(_) if navigates(request) => "text/html; charset=utf-8",
            Outcome::Refused(_) => "application/problem+json",
            _ => "application/json",
        };
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        if is_script && decision.outcome == Outcome::Reached {
            jsonp::apply(&mut headers);
        }
        if decision.refusal().is_some() {
            // A browser that navigates gets a page instead.
            vary::add(&mut headers, vary::VaryToken::Accept);
        }
        challenge(route, decision, &mut headers);
        let facts = facts(request, route, decision);
        let caching = route.and_then(|route| route.cache.as_ref()).map(Cache::compile);
        let exchange = CacheExchange { method: request.method(), status, facts };
        cache::apply(caching.as_ref(), exchange, &mut headers);
        let security = match route {
            Some(route) => self.manifest.headers_of(route),
            None => self.manifest.headers.get(&self.default_headers),
        };
        let is_page = content_type.starts_with("text/html");
        let pages = security.filter(|_| is_page).map(|security| &security.pages);
        // The page about a refusal has a content security policy of its own.
        let pages =
            pages.into_iter().flatten().filter(|(name, _)| *name != "content-security-policy");
        let every = security.into_iter().flat_map(|security| &security.every);
        for (name, value) in every.chain(pages) {
            if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse()) {
                headers.entry(name).or_insert(value);
            }
        }
        if route.is_some_and(|route| route.isolation.is_some()) {
            vary::add(&mut headers, vary::VaryToken::FetchMetadata);
            vary::add(&mut headers, vary::VaryToken::Origin);
        }
        for (name, value) in &decision.cors {
            if name == VARY {
                vary::add(&mut headers, vary::VaryToken::Origin);
            } else {
                headers.insert(name, value.clone());
            }
        }
        (status, headers)
    }

    fn gates(&self, decision: &Decision) -> Vec<GateStep> {
        let route = decision.route.and_then(|index| self.route(index));
        let route = route.and_then(|route| Some((route.methods.first()?, &route.path)));
        let step = |gate: Gate| {
            // Gate 8 is checked again if the handler takes the session itself.
            let step = decision.steps.iter().rfind(|step| step.gate == gate);
            let (verdict, refusal) = match step.map(|step| &step.verdict) {
                Some(Verdict::Passed) => ("passed", None),
                Some(Verdict::NotAsked) => ("not_asked", None),
                Some(Verdict::Ended) => ("ended", None),
                Some(Verdict::Refused(refusal)) => ("refused", Some(refusal)),
                None => ("not_reached", None),
            };
            let source = route
                .zip(facet::enforced_by(gate))
                .and_then(|((method, path), facet)| self.sources.get(method, path, facet));
            GateStep {
                gate: gate.name(),
                verdict,
                code: refusal.map(|refusal| refusal.code()),
                title: refusal.map(|refusal| refusal.title()),
                line: source.map(|source| source.line),
            }
        };
        Gate::ALL.into_iter().map(step).collect()
    }
}

/// Adds the `WWW-Authenticate` challenge, where a token would help.
fn challenge(route: Option<&ManifestRoute>, decision: &Decision, headers: &mut HeaderMap) {
    let requirement = route.and_then(|route| route.auth.requirement());
    let Some(requirement) = requirement.filter(|requirement| requirement.token) else { return };
    let scopes: Vec<_> = requirement.scopes.iter().map(String::as_str).collect();
    let challenges = Challenges::new("api", &scopes).ok();
    let refusal = decision.refusal();
    if let Some(challenge) =
        challenges.as_ref().zip(refusal).and_then(|(all, it)| all.for_refusal(it))
    {
        headers.insert(WWW_AUTHENTICATE, challenge.clone());
    }
}

/// The method and the path of a route.
fn name_of(route: &ManifestRoute) -> String {
    format!("{} {}", route.methods.join(","), route.path)
}

/// Whether a route refuses everybody without a session.
fn needs_session(route: &ManifestRoute) -> bool {
    let Some(requirement) = route.auth.requirement() else { return false };
    let takes_others = requirement.token || requirement.ticket || requirement.optional;
    requirement.session && !takes_others
}

/// What decides how caches may treat the response.
fn facts(
    request: &Request<()>,
    route: Option<&ManifestRoute>,
    decision: &Decision,
) -> ResponseFacts {
    let requirement = route.and_then(|route| route.auth.requirement());
    let takes_session = requirement.is_some_and(|requirement| requirement.session)
        || route.is_some_and(|route| route.takes_session);
    let takes_token = requirement.is_some_and(|requirement| requirement.token);
    let has_cookie = request.headers().contains_key(COOKIE);
    let bearer = decision.is_authenticated && takes_token && !(takes_session && has_cookie);
    ResponseFacts {
        refused: decision.refusal().is_some_and(Refusal::is_uncacheable),
        session_read: takes_session,
        bearer,
        bearer_absent: takes_token && !bearer,
        ..ResponseFacts::default()
    }
}

/// Whether a browser asks for a page.
fn navigates(request: &Request<()>) -> bool {
    let accept = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.starts_with("text/html"))
}

/// The headers in the order of their names.
fn fields(headers: &HeaderMap) -> Vec<Field> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let mut all: Vec<_> =
        headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    all.sort();
    all
}

/// A request of a program: no browser adds anything.
pub(super) fn program_request(method: &Method, url: Url, origin: &str) -> SentRequest {
    let mut sent = SentRequest::new(method.clone(), url);
    sent.headers.extend(HeaderValue::try_from(origin).ok().map(|origin| (ORIGIN, origin)));
    sent
}
