//! Which requests an audit sends: a few for each distinct policy, not for each route.

mod callers;
mod static_files;
mod unseen;

use std::collections::BTreeSet;

use http::{HeaderName, HeaderValue, Method, Request, Uri};
use policy_core::{Refusal, method};
use policy_manifest::{
    ExamplePaths, Manifest, ManifestRoute, RouteCors, RouteKind, RouteOrigins,
    engine::{Engine, Outcome, RequestCredentials},
};

pub(super) use self::static_files::{OF_NOBODY, STATIC_FILE};

/// What an audit sends.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The first one shows whether the app is reached at all.
    pub(super) trials: Vec<Trial>,
    /// The routes of the trials that are left out, since there would be too many probes.
    pub(super) left_out: Vec<String>,
    /// What the responses to these requests cannot show.
    pub(super) unseen: Vec<String>,
}

/// Requests that are sent one after the other, and judged together.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    /// The methods and the path of the route, as the manifest has them.
    pub(super) route: String,
    pub(super) purpose: Purpose,
    pub(super) probes: Vec<Probe>,
}

/// What a trial looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Whether the app is reached, and refuses what it does not have.
    Baseline,
    /// A response as it is, to HEAD, and to a client that accepts content codings.
    Plain,
    /// Responses to pages of several origins, one after the other, with one URL that is new.
    Origins,
    /// The same with several callers.
    Callers,
    /// Preflights.
    Preflight,
    /// OPTIONS that is no preflight.
    Options,
    /// An image on a page of another site, which isolation refuses by Fetch Metadata alone.
    FetchMetadata,
    /// A path in another form.
    Path(PathForm),
    /// A host that is not the app's.
    Host,
    /// Forwarding headers that a client writes.
    Forwarded,
    /// A method that the policy refuses.
    Method,
    /// TRACE.
    Trace,
    /// A path with the extension of a static file, with a credential and then without. Before both,
    /// another such path without one, if only responses show whether the route knows its caller.
    StaticFile,
    /// The login that the user of the command names. No plan has it.
    Login,
    /// Whether an app that is served over TLS redirects or refuses plain HTTP. No plan has it.
    PlainHttp,
}

/// What is unusual about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathForm {
    DotSegments,
    Slashes,
    Coded,
}

/// One request.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    pub(super) request: Request<()>,
    /// The sender, as the policy sees it.
    pub(super) caller: RequestCredentials,
    /// The credential that the sender adds.
    pub(super) credential: Option<Credential>,
}

/// A credential that the user of the command has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Credential {
    Session,
    Token,
}

/// What a plan depends on in addition to the manifest.
#[derive(Clone, Debug)]
pub(super) struct Options {
    /// Host, and port unless it is the default one.
    pub(super) authority: String,
    pub(super) has_session: bool,
    pub(super) has_token: bool,
    pub(super) sends_unsafe_methods: bool,
    /// Whether each route is asked, and not one for each distinct policy.
    pub(super) asks_all_routes: bool,
    pub(super) max_probes: usize,
}

/// An origin that no policy grants on purpose.
const STRANGER: &str = "https://policy-audit.invalid";
/// The longest body that is sent to see whether it is refused.
const LONGEST_BODY: u64 = 64 << 10;

/// The probes for a manifest.
pub(super) fn plan(manifest: &Manifest, engine: &Engine, options: &Options) -> Plan {
    let example_paths = ExamplePaths::new(&manifest.routes);
    let planner = Planner { manifest, engine, example_paths, options };
    let mut plan = Plan::default();
    let mut room = options.max_probes;
    let subjects = planner.subjects();
    plan.unseen = planner.unseen(&subjects);
    for trial in planner.trials(&subjects) {
        match room.checked_sub(trial.probes.len()) {
            Some(left) => {
                room = left;
                plan.trials.push(trial);
            }
            None => plan.left_out.push(trial.route),
        }
    }
    plan
}

struct Planner<'a> {
    manifest: &'a Manifest,
    engine: &'a Engine,
    example_paths: ExamplePaths,
    options: &'a Options,
}

/// A route with a path that it serves.
struct Subject<'a> {
    route: &'a ManifestRoute,
    path: String,
}

impl Subject<'_> {
    fn name(&self) -> String {
        name_of(self.route)
    }
}

impl Planner<'_> {
    fn trials(&self, subjects: &[Subject<'_>]) -> Vec<Trial> {
        let mut trials = vec![self.baseline()];
        if let Some(subject) = self.easiest(subjects) {
            trials.extend(self.app_trials(subject));
        }
        for subject in subjects {
            trials.extend(self.policy_trials(subject));
        }
        trials.extend(self.static_files());
        trials.retain(|trial| !trial.probes.is_empty());
        trials
    }

    /// One route for each distinct policy, or each route.
    fn subjects(&self) -> Vec<Subject<'_>> {
        let mut known = Vec::new();
        let mut subjects = Vec::new();
        // Routes that are read, and paths without parameters, need no data to respond.
        let mut routes: Vec<_> = self.manifest.routes.iter().collect();
        routes.sort_by_key(|route| (!route.serves("GET"), route.path.matches('{').count()));
        for route in routes {
            let Some(path) = self.served_path(route) else { continue };
            if self.is_new(route, &mut known) {
                subjects.push(Subject { route, path });
            }
        }
        subjects
    }

    /// Whether no route before it has the same policy, or each route is asked.
    fn is_new(&self, route: &ManifestRoute, known: &mut Vec<ManifestRoute>) -> bool {
        let mut policy = route.clone();
        policy.path.clear();
        policy.methods.retain(|method| method == "GET");
        policy.takes_slashes = false;
        let is_new = self.options.asks_all_routes || !known.contains(&policy);
        if is_new {
            known.push(policy);
        }
        is_new
    }

    /// A path that this route serves, and not a more specific one.
    fn served_path(&self, route: &ManifestRoute) -> Option<String> {
        let path = self.example_paths.path(route).filter(|_| route.kind != RouteKind::Probe)?;
        let method = route.methods.first().map_or("GET", String::as_str);
        let served = self.engine.serving(method, &path);
        served.is_some_and(|served| served.path == route.path).then_some(path)
    }

    /// The route that a stranger may read, if there is one.
    fn easiest<'s, 'a>(&self, subjects: &'s [Subject<'a>]) -> Option<&'s Subject<'a>> {
        let is_easy = |subject: &&Subject<'_>| {
            subject.path.len() > 1 && self.is_reached("GET", &subject.path)
        };
        subjects.iter().find(is_easy).or_else(|| subjects.first())
    }

    fn is_reached(&self, method: &str, path: &str) -> bool {
        let probe = self.probe(method, path, &[]);
        let is_reached = |probe: Probe| {
            self.engine.decide(&probe.request, &probe.caller).outcome == Outcome::Reached
        };
        probe.is_some_and(is_reached)
    }

    fn probe(&self, method: &str, target: &str, fields: &[(&str, &str)]) -> Option<Probe> {
        let mut request = Request::new(());
        *request.method_mut() = Method::from_bytes(method.as_bytes()).ok()?;
        *request.uri_mut() = target.parse::<Uri>().ok()?;
        let own = [("host", self.options.authority.as_str())];
        let own = own.iter().filter(|_| fields.iter().all(|(name, _)| *name != "host"));
        for (name, value) in own.chain(fields) {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            request.headers_mut().append(name, HeaderValue::from_str(value).ok()?);
        }
        Some(Probe { request, caller: RequestCredentials::default(), credential: None })
    }

    fn trial(
        &self,
        route: String,
        purpose: Purpose,
        probes: impl IntoIterator<Item = Option<Probe>>,
    ) -> Trial {
        Trial { route, purpose, probes: probes.into_iter().flatten().collect() }
    }

    fn baseline(&self) -> Trial {
        let probe = self.probe("GET", "/policy-audit-of-no-route", &[]);
        self.trial("GET *".to_owned(), Purpose::Baseline, [probe])
    }

    /// The trials that are not about one policy.
    fn app_trials(&self, subject: &Subject<'_>) -> Vec<Trial> {
        let path = subject.path.as_str();
        let name = || subject.name();
        let mut trials = Vec::new();
        for (form, targets) in path_forms(path) {
            for target in targets {
                let probe = self.probe("GET", &target, &[]);
                trials.push(self.trial(name(), Purpose::Path(form), [probe]));
            }
        }
        let other = self.probe("GET", path, &[("host", "policy-audit.invalid")]);
        trials.push(self.trial(name(), Purpose::Host, [other]));
        for field in [
            ("x-forwarded-proto", "http"),
            ("x-forwarded-for", "policy audit"),
            ("x-forwarded-host", "policy-audit.invalid"),
            ("forwarded", "for=\"policy audit\";proto=http;host=policy-audit.invalid"),
        ] {
            let probe = self.probe("GET", path, &[field]);
            trials.push(self.trial(name(), Purpose::Forwarded, [probe]));
        }
        if self.options.sends_unsafe_methods {
            trials.push(self.trial(name(), Purpose::Trace, [self.probe("TRACE", path, &[])]));
        }
        trials
    }

    fn policy_trials(&self, subject: &Subject<'_>) -> Vec<Trial> {
        let Subject { route, path } = subject;
        let (path, name) = (path.as_str(), subject.name());
        let plain = [
            self.probe("GET", path, &[]),
            self.probe("HEAD", path, &[]),
            self.probe("GET", path, &[("accept-encoding", "gzip")]),
        ];
        let mut trials = vec![self.trial(name.clone(), Purpose::Plain, plain)];
        trials.push(self.trial(name.clone(), Purpose::Origins, self.origins(route, path)));
        trials.extend(self.callers(route, path).into_iter().map(|probes| {
            self.trial(name.clone(), Purpose::Callers, probes.into_iter().map(Some))
        }));
        trials.push(self.trial(name.clone(), Purpose::Preflight, self.preflights(route, path)));
        let options = self.probe("OPTIONS", path, &[]);
        trials.push(self.trial(name.clone(), Purpose::Options, [options]));
        trials.push(self.trial(name.clone(), Purpose::FetchMetadata, [self.image(path)]));
        if self.options.sends_unsafe_methods {
            let probes = self.refused_methods(route, path).map(Some);
            trials.extend(probes.map(|probe| self.trial(name.clone(), Purpose::Method, [probe])));
        }
        trials
    }

    fn origins(&self, route: &ManifestRoute, path: &str) -> Vec<Option<Probe>> {
        let (granted, refused) = origins_of(route.cors.as_ref());
        let origins = granted.into_iter().chain(refused).chain(["null".to_owned()]);
        let probes = origins.map(|origin| self.probe("GET", path, &[("origin", &origin)]));
        probes.chain([self.probe("GET", path, &[])]).collect()
    }

    /// An image of another site, if the policy refuses it.
    fn image(&self, path: &str) -> Option<Probe> {
        let metadata = [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "no-cors"),
            ("sec-fetch-dest", "image"),
        ];
        self.probe("GET", path, &metadata).filter(|probe| {
            let decision = self.engine.decide(&probe.request, &probe.caller);
            decision.refusal() == Some(Refusal::CrossSite)
        })
    }

    fn preflights(&self, route: &ManifestRoute, path: &str) -> Vec<Option<Probe>> {
        let (granted, refused) = origins_of(route.cors.as_ref());
        let method = route.methods.first().map_or("GET", String::as_str);
        let other = method::EVERY.iter().find(|name| self.engine.serving(name, path).is_none());
        let ask = |origin: &str, method: &str| {
            let headers = [
                ("origin", origin),
                ("access-control-request-method", method),
                ("access-control-request-headers", "content-type,x-policy-audit"),
            ];
            self.probe("OPTIONS", path, &headers)
        };
        let first = granted.first().map(|origin| {
            let other = other.and_then(|other| ask(origin, other));
            [ask(origin, method), other]
        });
        let strangers = refused.into_iter().chain(["null".to_owned()]);
        let strangers = strangers.map(|origin| ask(&origin, method));
        first.into_iter().flatten().chain(strangers).collect()
    }

    /// Requests with unsafe methods that the policy refuses, so that they change nothing.
    fn refused_methods(&self, route: &ManifestRoute, path: &str) -> impl Iterator<Item = Probe> {
        let unserved = ["DELETE", "PUT", "PATCH"].map(str::to_owned);
        let unsafe_ones = route.methods.iter().filter(|method| !method::is_safe(method));
        let methods: BTreeSet<_> = unsafe_ones.cloned().chain(unserved).collect();
        let mut probes: Vec<_> =
            methods.iter().filter_map(|method| self.probe(method, path, &[])).collect();
        if let Some(most) = route.limits.body.filter(|most| *most < LONGEST_BODY) {
            let length = (most + 1).to_string();
            let posts = methods.iter().filter(|method| route.serves(method));
            probes.extend(
                posts.filter_map(|method| self.probe(method, path, &[("content-length", &length)])),
            );
        }
        probes.into_iter().filter(|probe| {
            let decision = self.engine.decide(&probe.request, &probe.caller);
            matches!(decision.outcome, Outcome::Refused(_))
        })
    }
}

/// Methods and path of a route.
pub(super) fn name_of(route: &ManifestRoute) -> String {
    let methods = if route.methods.is_empty() { "*".to_owned() } else { route.methods.join(",") };
    format!("{methods} {}", route.path)
}

/// A path in other forms, which a server and a proxy may treat as the same path.
fn path_forms(path: &str) -> Vec<(PathForm, Vec<String>)> {
    let mut forms = vec![
        (
            PathForm::DotSegments,
            vec![format!("/policy-audit/..{path}"), format!("/policy-audit/%2e%2e{path}")],
        ),
        (PathForm::Slashes, vec![format!("/policy-audit/{path}"), format!("/{path}")]),
        (PathForm::Coded, vec![format!("/policy-audit%2F..{path}")]),
    ];
    let trimmed = path.trim_end_matches('/');
    if !trimmed.is_empty() {
        let slash = if trimmed == path { format!("{path}/") } else { trimmed.to_owned() };
        forms.push((PathForm::Slashes, vec![slash]));
        forms.push((PathForm::Coded, vec![format!("{trimmed}%2Fpolicy-audit")]));
    }
    if let Some(last) = trimmed.chars().last().filter(char::is_ascii_alphanumeric) {
        let before = trimmed.strip_suffix(last).unwrap_or(trimmed);
        // Decoded twice, it is the path.
        forms.push((PathForm::Coded, vec![format!("{before}%25{:02X}", u32::from(last))]));
    }
    forms
}

/// Up to two origins that a policy grants, and one that it refuses.
fn origins_of(cors: Option<&RouteCors>) -> (Vec<String>, Option<String>) {
    let Some(cors) = cors else { return (Vec::new(), Some(STRANGER.to_owned())) };
    let region = cors.region();
    let granted = match &cors.origins {
        RouteOrigins::Listed(_) => region.witnesses(2),
        // The current entries are rarely in the manifest, and the plan says that it leaves them out.
        RouteOrigins::AtRunTime(_) => Vec::new(),
    };
    let granted = granted.iter().map(|witness| witness.origin().to_owned()).collect();
    let refused = match region.contains(STRANGER.as_bytes()) {
        false => Some(STRANGER.to_owned()),
        true => region.complement().witness().map(|witness| witness.origin().to_owned()),
    };
    (granted, refused)
}

#[cfg(test)]
pub(super) mod tests;
