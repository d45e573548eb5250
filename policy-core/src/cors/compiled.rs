//! The compiled policy that serves requests: validated again, with its header values prepared.

use http::HeaderValue;

use super::{
    config::CorsConfig,
    errors::{PolicyError, PolicyErrors},
    extension::CorsExtension,
    names,
    policy::CorsPolicy,
    shared::{OriginLists, SharedOrigins},
    spec::{CorsPart, CorsSpec, Origins},
};
use crate::{catalogue::Rule, origin::OriginSet};

/// A CORS policy, ready to decide.
///
/// [`preflight`](Self::preflight) makes the responses to preflights;
/// [`decide_origin`](Self::decide_origin) and [`apply`](Self::apply) serve every other request.
#[derive(Clone, Debug)]
pub struct Cors {
    pub(super) audience: Audience,
    pub(super) credentials: bool,
    pub(super) methods: Option<NameList>,
    /// Declared request headers, lower case, sorted.
    pub(super) headers: NameList,
    /// Declared response headers, without those that every page can read.
    exposed: NameList,
    pub(super) expose: Option<HeaderValue>,
    pub(super) max_age: Option<HeaderValue>,
    /// Compared by [`Self::shares_preflight`].
    pub(super) run_time: Option<RunTime>,
    notices: Vec<PolicyError>,
}

/// How a policy gets its origins at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunTime {
    pub(super) name: String,
    pub(super) within: Option<OriginSet>,
    /// The path parameter that selects the list.
    pub(super) by: Option<String>,
}

/// Which origins may read responses.
#[derive(Clone, Debug)]
pub(super) enum Audience {
    /// `*`: the response is the same for every origin.
    Any,
    /// These origins.
    Listed(OriginSet),
    /// The origins of a list that can change.
    Shared(SharedOrigins),
}

/// A list of names for a header, or `*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NameList {
    pub(super) any: bool,
    pub(super) listed: Vec<String>,
}

impl Cors {
    /// Compiles a policy for `location`, which error messages name, such as `GET /orders/{id}`.
    ///
    /// # Errors
    ///
    /// Everything that is wrong: public suffixes, which constants cannot check, and run-time
    /// lists that are missing or break a rule.
    pub fn new(
        location: &str,
        policy: &CorsPolicy,
        lists: &OriginLists,
    ) -> Result<Self, PolicyErrors> {
        Self::compile(location, policy.spec(), lists)
    }

    /// Compiles a policy from a configuration file.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub fn from_config(location: &str, config: &CorsConfig) -> Result<Self, PolicyErrors> {
        config.with_spec(|spec| Self::compile(location, spec, &OriginLists::new()))
    }

    /// Compiles a spec.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn compile(
        location: &str,
        spec: &CorsSpec<'_>,
        lists: &OriginLists,
    ) -> Result<Self, PolicyErrors> {
        PolicyErrors::from_violations(location, spec.violations())?;
        if let Origins::AtRunTime { name, within: None, by } = spec.origins
            && spec.dangerous_configured_bound
            && let Some(bound) = lists.bound(location, name)?
        {
            return Self::within_configured(location, spec, lists, (name, by, bound));
        }
        let (audience, run_time) = match spec.origins {
            Origins::Listed(["*"]) => (Audience::Any, None),
            Origins::Listed(list) => (Audience::Listed(set(list)), None),
            Origins::AtRunTime { name, within, by } => {
                // A bound of `*` is no bound.
                let within = within.filter(|list| !matches!(list, ["*"])).map(set);
                let list = lists.resolve(location, spec, name, within.clone())?;
                let (name, by) = (name.to_owned(), by.map(str::to_owned));
                (Audience::Shared(list), Some(RunTime { name, within, by }))
            }
        };
        let exposed = NameList::from_exposed(spec.expose);
        Ok(Self {
            audience,
            credentials: spec.credentials,
            methods: spec.methods.map(NameList::from_methods),
            headers: NameList::from_headers(spec.headers),
            expose: exposed.value(),
            exposed,
            max_age: spec.max_age.map(|seconds| HeaderValue::from(seconds.max(0))),
            run_time,
            notices: notices(location, spec),
        })
    }

    /// Compiles a spec whose bound the configuration states.
    fn within_configured(
        location: &str,
        spec: &CorsSpec<'_>,
        lists: &OriginLists,
        (name, by, bound): (&str, Option<&str>, &[String]),
    ) -> Result<Self, PolicyErrors> {
        let within: Vec<_> = bound.iter().map(String::as_str).collect();
        let origins = Origins::AtRunTime { name, within: Some(&within), by };
        let spec = CorsSpec { origins, ..*spec };
        let place = format!("{location}, configured bound of list `{name}`");
        PolicyErrors::from_violations(&place, spec.violations())?;
        let mut compiled = Self::compile(location, &spec, lists)?;
        let rule = Rule::BoundConfigured;
        compiled.notices.push(PolicyError::new(location, rule, CorsPart::Within, &bound.join(" ")));
        Ok(compiled)
    }

    /// The policy with the header names of an extension added.
    #[must_use]
    pub fn extended(&self, extension: &CorsExtension<'_>) -> Self {
        let headers = self.headers.and(NameList::from_headers(extension.headers));
        let exposed = self.exposed.and(NameList::from_exposed(extension.expose));
        Self { headers, expose: exposed.value(), exposed, ..self.clone() }
    }

    /// Warnings about the policy.
    pub fn notices(&self) -> &[PolicyError] {
        &self.notices
    }

    /// Whether the response is the same for every origin, so that no `Vary` is needed.
    pub fn is_any_origin(&self) -> bool {
        matches!(self.audience, Audience::Any)
    }

    /// Whether requests from the granted origins may include cookies and TLS certificates.
    pub fn allows_credentials(&self) -> bool {
        self.credentials
    }

    /// Whether the policy names the methods that a preflight allows.
    pub fn names_methods(&self) -> bool {
        self.methods.is_some()
    }

    /// The path parameter whose value selects the list of origins, if there is one:
    /// [`CorsPolicyBuilder::by`](super::CorsPolicyBuilder::by).
    pub fn key(&self) -> Option<&str> {
        self.run_time.as_ref()?.by.as_deref()
    }

    /// Whether a preflight response of one of the two policies is also valid for the other: both
    /// grant the same origins, and their credentials, methods and request headers are equal.
    /// Browsers cache a preflight response for all methods of a URL (Fetch, CORS-preflight cache).
    pub fn shares_preflight(&self, other: &Self) -> bool {
        // Routes with equal policies usually share a compiled one.
        if std::ptr::eq(self, other) {
            return true;
        }
        let same_audience = match (&self.audience, &other.audience) {
            (Audience::Any, Audience::Any) => true,
            (Audience::Listed(one), Audience::Listed(two)) => one == two,
            (Audience::Shared(_), Audience::Shared(_)) => self.run_time == other.run_time,
            _ => false,
        };
        same_audience
            && self.credentials == other.credentials
            && self.methods == other.methods
            && self.headers == other.headers
    }

    /// Which origins may read responses, for display: `*`, the origins, or the name of their list.
    pub fn audience(&self) -> String {
        let credentials = if self.credentials { ", with credentials" } else { "" };
        let origins = match &self.run_time {
            Some(RunTime { name, by: None, .. }) => format!("list `{name}`"),
            Some(RunTime { name, by: Some(by), .. }) => format!("list `{name}` by `{{{by}}}`"),
            None => self.origins().join(" "),
        };
        origins + credentials
    }

    /// The origins that may read responses, as declared: `*` alone, or origins and patterns. For a
    /// named list, its current entries.
    pub fn origins(&self) -> Vec<String> {
        let texts = |set: &OriginSet| set.patterns().map(|pattern| pattern.to_string()).collect();
        match &self.audience {
            Audience::Any => vec!["*".to_owned()],
            Audience::Listed(set) => texts(set),
            Audience::Shared(list) => texts(&list.load()),
        }
    }

    /// Whether the policy grants an origin that is only used in development, such as
    /// `http://localhost:5173`.
    pub fn grants_development(&self) -> bool {
        match &self.audience {
            Audience::Any => false,
            Audience::Listed(set) => set.patterns().any(|pattern| pattern.is_development()),
            Audience::Shared(list) => {
                let is_granted = |set: &OriginSet| set.patterns().any(|it| it.is_development());
                list.sets().iter().any(|set| is_granted(set))
            }
        }
    }
}

/// The warnings about a spec that has no errors.
fn notices(location: &str, spec: &CorsSpec<'_>) -> Vec<PolicyError> {
    spec.violations().map(|found| PolicyError::at(location, &found)).collect()
}

/// The set of a list that passed the rules.
fn set(list: &[&str]) -> OriginSet {
    OriginSet::new(list.iter().copied()).unwrap_or_default()
}

impl NameList {
    fn from_methods(list: &[&str]) -> Self {
        Self::new(list.iter().map(|name| names::normalized_method(name).to_owned()))
    }

    fn from_headers(list: &[&str]) -> Self {
        Self::new(list.iter().map(|name| name.to_ascii_lowercase()))
    }

    pub(super) fn new(names: impl Iterator<Item = String>) -> Self {
        let mut this = Self::default();
        for name in names {
            if name == "*" {
                this.any = true;
            } else {
                this.listed.push(name);
            }
        }
        this.listed.sort_unstable();
        this.listed.dedup();
        this
    }

    /// Without the names that every page can read.
    fn from_exposed(list: &[&str]) -> Self {
        let mut names = Self::from_headers(list);
        names.listed.retain(|name| !names::is_safelisted_response_header(name.as_bytes()));
        names
    }

    fn and(&self, other: Self) -> Self {
        let mut names = Self::new(self.listed.iter().cloned().chain(other.listed));
        names.any = self.any || other.any;
        names
    }

    /// The header value; `None` for an empty list.
    pub(super) fn value(&self) -> Option<HeaderValue> {
        let any = self.any.then_some("*");
        let names: Vec<_> = any.into_iter().chain(self.listed.iter().map(String::as_str)).collect();
        // Names are tokens, which are valid in every header value.
        (!names.is_empty()).then(|| HeaderValue::from_str(&names.join(",")).ok()).flatten()
    }
}
