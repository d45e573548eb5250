//! Origins that are known at run time only, and can be replaced while the app runs.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use arc_swap::{ArcSwap, Guard};
use http::HeaderValue;

use super::{
    errors::{PolicyError, PolicyErrors},
    spec::{CorsPart, CorsSpec, Origins},
};
use crate::{
    catalogue::{Rule, Severity},
    origin::{Origin, OriginPattern, OriginSet, Site},
};

/// A named list of origins, shared by all routes that use it. A clone is another handle to the same
/// list.
///
/// [`replace`](Self::replace) is atomic: a request sees the old list or the new one. A list that
/// breaks a rule of any route that uses it is refused as a whole, and the old one stays.
#[derive(Clone, Default)]
pub struct SharedOrigins {
    current: Arc<ArcSwap<OriginSet>>,
    /// Lists by the value of the path parameter that selects them.
    keyed: Arc<ArcSwap<BTreeMap<String, Arc<OriginSet>>>>,
    /// The requirements of the routes that use the list. Locked while a list is replaced.
    uses: Arc<Mutex<Vec<Use>>>,
    /// Whether the entries are not known, so that every origin may be one.
    is_unknown: bool,
}

/// A list of origins as it was at one moment. It is equal only to itself, and not to another list
/// with the same entries.
#[derive(Clone, Debug)]
pub struct OriginsAt(Arc<OriginSet>);

impl PartialEq for OriginsAt {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for OriginsAt {}

/// A requirement on a list, and its location.
#[derive(Clone)]
struct Use {
    location: String,
    demand: Demand,
}

#[derive(Clone)]
enum Demand {
    /// Of a CORS policy that names the list.
    Policy {
        credentials: bool,
        dangerous_insecure_origins: bool,
        dangerous_public_suffix: bool,
        within: Option<OriginSet>,
    },
    /// Of a route whose callers need a cookie that pages of other sites do not send.
    Site(Site),
}

impl SharedOrigins {
    /// An empty list, which grants no origin.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the list.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the new list; the old one stays then.
    pub fn replace<T: AsRef<str>>(&self, origins: &[T]) -> Result<(), PolicyErrors> {
        let uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        self.current.store(Arc::new(parse_origins(&uses, origins)?));
        Ok(())
    }

    /// Replaces the list of one key, such as a tenant, for policies that select the list by a path
    /// parameter ([`CorsPolicyBuilder::by`](super::CorsPolicyBuilder::by)). The same bound applies
    /// as to the other lists. A key without a list grants no origin, and an empty list removes the
    /// key.
    ///
    /// ```
    /// use policy_core::{cors::{Cors, CorsPolicy, OriginLists, SharedOrigins}, head::Single::One};
    ///
    /// const OF_TENANT: CorsPolicy = CorsPolicy::origins_at_run_time("tenants")
    ///     .within(&["https://*.shop.example"])
    ///     .by("tenant")
    ///     .build();
    ///
    /// let (mut lists, tenants) = (OriginLists::new(), SharedOrigins::new());
    /// lists.insert("tenants", tenants.clone());
    /// let cors = Cors::new("GET /{tenant}/orders", &OF_TENANT, &lists)?;
    /// tenants.replace_for("acme", &["https://acme.shop.example"])?;
    /// assert!(tenants.replace_for("acme", &["https://evil.example"]).is_err());
    ///
    /// let page = http::HeaderValue::from_static("https://acme.shop.example");
    /// let granted = |key| cors.decide_origin_of(key, One(&page)).grants(One(&page), Some(&cors));
    /// assert!(granted(Some("acme")));
    /// assert!(!granted(Some("globex")) && !granted(None));
    /// # Ok::<(), policy_core::cors::PolicyErrors>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Rule::OriginListKey`] for a key that a path cannot contain without percent-encoding, and
    /// all errors of the new list. The old list then stays in use.
    pub fn replace_for<T: AsRef<str>>(&self, key: &str, origins: &[T]) -> Result<(), PolicyErrors> {
        if !is_key(key) {
            let rule = Rule::OriginListKey;
            let error = PolicyError::new(PolicyError::UNLOCATED, rule, CorsPart::Origins, key);
            return Err(PolicyErrors::from_iter([error]));
        }
        let uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        let list = parse_origins(&uses, origins)?;
        let mut keyed = BTreeMap::clone(&self.keyed.load());
        match list.is_empty() {
            true => drop(keyed.remove(key)),
            false => drop(keyed.insert(key.to_owned(), Arc::new(list))),
        }
        self.keyed.store(Arc::new(keyed));
        Ok(())
    }

    /// The current list of a key, as text; empty if it has none.
    pub fn patterns_for(&self, key: &str) -> Vec<String> {
        let list = self.load_for(key);
        list.iter().flat_map(|list| list.patterns()).map(|pattern| pattern.to_string()).collect()
    }

    /// Checks a list as [`replace`](Self::replace) does. The current list stays.
    ///
    /// ```
    /// use policy_core::cors::SharedOrigins;
    ///
    /// let partners = SharedOrigins::new();
    /// assert!(partners.check(&["https://a.partner.example"]).is_ok());
    /// assert!(partners.check(&["https://A.partner.example"]).is_err());
    /// assert!(partners.patterns().is_empty());
    /// ```
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub fn check<T: AsRef<str>>(&self, origins: &[T]) -> Result<(), PolicyErrors> {
        let uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        parse_origins(&uses, origins).map(drop)
    }

    /// The list as it is now, as text.
    pub fn patterns(&self) -> Vec<String> {
        self.load().patterns().map(|pattern| pattern.to_string()).collect()
    }

    /// The list at this moment, to find out later whether it has been replaced.
    pub fn now(&self) -> OriginsAt {
        OriginsAt(self.current.load_full())
    }

    /// The same list for policies that make no demands on it: a policy that uses the view accepts
    /// any list that the routes of the original allow.
    pub fn view(&self) -> Self {
        Self {
            current: Arc::clone(&self.current),
            keyed: Arc::clone(&self.keyed),
            uses: Arc::default(),
            is_unknown: self.is_unknown,
        }
    }

    /// The origin to write into a response, if the list has it.
    pub(super) fn echo(&self, origin: &HeaderValue) -> Option<HeaderValue> {
        match self.is_unknown {
            true => Origin::parse(origin.as_bytes()).map(|_| origin.clone()),
            false => self.load().echo(origin),
        }
    }

    /// The list as it is now.
    pub(super) fn load(&self) -> Guard<Arc<OriginSet>> {
        self.current.load()
    }

    /// The current list of a key.
    pub(super) fn load_for(&self, key: &str) -> Option<Arc<OriginSet>> {
        self.keyed.load().get(key).cloned()
    }

    /// The current list without a key, and those of all keys.
    pub(super) fn sets(&self) -> Vec<Arc<OriginSet>> {
        [self.current.load_full()].into_iter().chain(self.keyed.load().values().cloned()).collect()
    }

    /// Requires the origins to be same-site with the app's own origin, on behalf of the first route
    /// that needs it.
    pub(super) fn add_site(&self, location: String, site: &Site) -> Result<(), PolicyErrors> {
        self.add_use(Use { location, demand: Demand::Site(site.clone()) })
    }

    /// Registers a requirement, and checks the current list against it.
    fn add_use(&self, demand: Use) -> Result<(), PolicyErrors> {
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = |known: &Use| match (&known.demand, &demand.demand) {
            (Demand::Site(known), Demand::Site(site)) => known == site,
            _ => false,
        };
        if uses.iter().any(is_known) {
            return Ok(());
        }
        let broken = self
            .sets()
            .iter()
            .flat_map(|list| list.patterns())
            .filter_map(|pattern| demand.check(&pattern.to_string(), &pattern))
            .collect::<PolicyErrors>();
        uses.push(demand);
        broken.into_result()
    }

    fn is_used(&self) -> bool {
        !self.uses.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

/// Whether a text is a path segment of unreserved characters, which needs no percent-encoding (RFC
/// 3986 2.3).
fn is_key(text: &str) -> bool {
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_unreserved)
}

/// Parses these origins into a set, if none breaks a rule.
fn parse_origins<T: AsRef<str>>(uses: &[Use], origins: &[T]) -> Result<OriginSet, PolicyErrors> {
    let mut set = OriginSet::default();
    let mut errors = Vec::new();
    for text in origins {
        let text = text.as_ref();
        match OriginPattern::parse(text) {
            Ok(pattern) => {
                errors.extend(uses.iter().filter_map(|demand| demand.check(text, &pattern)));
                set.insert(&pattern);
            }
            Err(rule) => {
                let rule = if text == "*" { Rule::AnyOriginAtRunTime } else { rule };
                errors.push(PolicyError::new(
                    PolicyError::UNLOCATED,
                    rule,
                    CorsPart::Origins,
                    text,
                ));
            }
        }
    }
    PolicyErrors::from_iter(errors).into_result()?;
    Ok(set)
}

impl Use {
    /// The rule that one origin of the list breaks here, if any.
    fn check(&self, text: &str, pattern: &OriginPattern<'_>) -> Option<PolicyError> {
        let rule = match &self.demand {
            Demand::Site(site) => is_withheld(site, pattern).then_some(Rule::SessionSameSite)?,
            Demand::Policy {
                credentials,
                dangerous_insecure_origins,
                dangerous_public_suffix,
                within,
            } => {
                let list = [text];
                let spec = CorsSpec {
                    credentials: *credentials,
                    dangerous_insecure_origins: *dangerous_insecure_origins,
                    dangerous_public_suffix: *dangerous_public_suffix,
                    ..CorsSpec::new(Origins::Listed(&list))
                };
                let mut found = spec.violations();
                let broken = found.find(|found| found.rule.severity() == Severity::Error);
                let outside =
                    || within.as_ref().is_some_and(|bound| !bound.includes_pattern(pattern));
                broken
                    .map(|found| found.rule)
                    .or_else(|| outside().then_some(Rule::OriginOutsideBound))?
            }
        };
        Some(PolicyError::new(&self.location, rule, CorsPart::Origins, text))
    }
}

/// The location of a policy that makes demands on a list.
pub(super) fn in_list(location: &str, name: &str) -> String {
    format!("{location}, list `{name}`")
}

/// Whether browsers withhold the `SameSite` cookie of a deployment from pages of an origin that
/// users visit. Development origins do not count: developers notice the refusals of their own
/// pages.
pub(super) fn is_withheld(own: &Site, pattern: &OriginPattern<'_>) -> bool {
    !own.includes(pattern) && !pattern.is_development()
}

impl fmt::Debug for SharedOrigins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedOrigins").field(&*self.load()).finish()
    }
}

/// The named lists of origins of an app, and the bounds that its configuration states for them.
#[derive(Clone, Debug, Default)]
pub struct OriginLists {
    lists: BTreeMap<String, SharedOrigins>,
    bounds: BTreeMap<String, Bound>,
}

/// The bound of a list in the configuration.
#[derive(Clone, Debug)]
struct Bound {
    /// `None` if its patterns are not known.
    patterns: Option<Vec<String>>,
    is_used: Arc<AtomicBool>,
}

impl OriginLists {
    /// No lists.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names a list; a later list with the same name replaces it.
    pub fn insert(&mut self, name: impl Into<String>, origins: SharedOrigins) {
        self.lists.insert(name.into(), origins);
    }

    /// States that the entries of a list are not known, for decisions without a running app: a policy
    /// that names the list grants every origin, since each may be an entry.
    ///
    /// ```
    /// use policy_core::{cors::{Cors, CorsPolicy, OriginLists}, head::Single::One};
    ///
    /// const OF_PARTNERS: CorsPolicy = CorsPolicy::origins_at_run_time("partners").build();
    ///
    /// let mut lists = OriginLists::new();
    /// lists.set_unknown_entries("partners");
    /// let cors = Cors::new("GET /prices", &OF_PARTNERS, &lists)?;
    ///
    /// let granted = |origin| {
    ///     let origin = http::HeaderValue::from_static(origin);
    ///     cors.decide_origin(One(&origin)).grants(One(&origin), Some(&cors))
    /// };
    /// assert!(granted("https://any.example"));
    /// assert!(!granted("null") && !granted("https://any.example/"));
    /// # Ok::<(), policy_core::cors::PolicyErrors>(())
    /// ```
    pub fn set_unknown_entries(&mut self, name: &str) {
        self.insert(name, SharedOrigins { is_unknown: true, ..SharedOrigins::default() });
    }

    /// States the bound of a list for policies that take it from the configuration
    /// ([`CorsPolicyBuilder::dangerous_configured_bound`](super::CorsPolicyBuilder::dangerous_configured_bound)).
    /// It is checked with each of them.
    ///
    /// ```
    /// use policy_core::{Rule, cors::{Cors, CorsPolicy, OriginLists, SharedOrigins}};
    ///
    /// const CUSTOMER: CorsPolicy = CorsPolicy::origins_at_run_time("customer")
    ///     .credentials()
    ///     .dangerous_configured_bound()
    ///     .build();
    ///
    /// let (mut lists, pages) = (OriginLists::new(), SharedOrigins::new());
    /// lists.insert("customer", pages.clone());
    /// let errors = Cors::new("GET /me", &CUSTOMER, &lists).unwrap_err();
    /// assert_eq!(errors.errors()[0].rule(), Rule::BoundUnset);
    ///
    /// lists.set_bound("customer", vec!["https://*.acme.example".to_owned()]);
    /// assert!(Cors::new("GET /me", &CUSTOMER, &lists).is_ok());
    /// assert!(pages.replace(&["https://shop.acme.example"]).is_ok());
    /// assert!(pages.replace(&["https://evil.example"]).is_err());
    /// ```
    pub fn set_bound(&mut self, name: impl Into<String>, patterns: Vec<String>) {
        let bound = Bound { patterns: Some(patterns), is_used: Arc::default() };
        self.bounds.insert(name.into(), bound);
    }

    /// States that the bound of a list is not known.
    pub fn set_unknown_bound(&mut self, name: &str) {
        self.bounds.insert(name.to_owned(), Bound { patterns: None, is_used: Arc::default() });
    }

    /// The bound that the configuration states for a list; `None` if it is not known.
    pub(super) fn bound(
        &self,
        location: &str,
        name: &str,
    ) -> Result<Option<&[String]>, PolicyErrors> {
        let Some(bound) = self.bounds.get(name) else {
            let unset = PolicyError::new(location, Rule::BoundUnset, CorsPart::Within, name);
            return Err(PolicyErrors::from_iter([unset]));
        };
        bound.is_used.store(true, Ordering::Relaxed);
        Ok(bound.patterns.as_deref())
    }

    /// The lists with a bound in the configuration that no policy takes.
    pub fn unused_bounds(&self) -> impl Iterator<Item = &str> {
        let unused = self.bounds.iter().filter(|(_, bound)| !bound.is_used.load(Ordering::Relaxed));
        unused.map(|(name, _)| name.as_str())
    }

    /// All lists with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &SharedOrigins)> {
        self.lists.iter().map(|(name, list)| (name.as_str(), list))
    }

    /// The list of this name.
    pub fn get(&self, name: &str) -> Option<&SharedOrigins> {
        self.lists.get(name)
    }

    /// The names of the lists that no policy uses.
    pub fn unused(&self) -> impl Iterator<Item = &str> {
        let has_bound = |name: &str| {
            self.bounds.get(name).is_some_and(|bound| bound.is_used.load(Ordering::Relaxed))
        };
        let unused =
            self.lists.iter().filter(move |(name, list)| !list.is_used() && !has_bound(name));
        unused.map(|(name, _)| name.as_str())
    }

    /// The list that a policy names, after the requirements of the policy are registered.
    pub(super) fn resolve(
        &self,
        location: &str,
        spec: &CorsSpec<'_>,
        name: &str,
        within: Option<OriginSet>,
    ) -> Result<SharedOrigins, PolicyErrors> {
        let Some(list) = self.get(name) else {
            let missing =
                PolicyError::new(location, Rule::OriginListMissing, CorsPart::Origins, name);
            return Err(PolicyErrors::from_iter([missing]));
        };
        let demand = Demand::Policy {
            credentials: spec.credentials,
            dangerous_insecure_origins: spec.dangerous_insecure_origins,
            dangerous_public_suffix: spec.dangerous_public_suffix,
            within,
        };
        list.add_use(Use { location: in_list(location, name), demand })?;
        Ok(list.clone())
    }
}
