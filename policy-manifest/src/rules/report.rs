//! What a check finds.

use http::Request;

use super::{Exception, Place, PolicyRule, error::plain};
use crate::{
    FacetSource, FindingSeverity, Sources,
    engine::{Decision, Outcome, RequestCredentials},
    lints::source_of,
};

/// A policy that is checked.
#[derive(Clone, Copy, Debug)]
pub struct CheckedPolicy<'a> {
    /// Its name in the report.
    pub name: &'a str,
    /// The policy.
    pub manifest: &'a crate::Manifest,
}

/// The result of [`check`](super::check).
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct CheckReport {
    /// The violations, the worst first.
    pub violations: Vec<RuleViolation>,
    /// What is wrong with the rules themselves.
    pub problems: Vec<RuleProblem>,
    /// The violations that are excepted, each with its exception.
    pub excepted: Vec<(RuleViolation, Exception)>,
}

/// Routes of a policy that violate a rule in the same way.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RuleViolation {
    /// The index of the policy, in the order in which they were given.
    pub policy: usize,
    /// The rule.
    pub rule: PolicyRule,
    /// The routes, such as `GET /orders/{id}`, or `app`.
    pub routes: Vec<String>,
    /// The facet that is at fault, as [`Sources`] names it.
    pub facet: &'static str,
    /// What the routes do against the rule.
    pub about: String,
    /// A request to the first of the routes, about which the engine of the policy was asked; none if
    /// the rule is about a fact of the app.
    pub witness: Option<RuleWitness>,
}

/// A request that shows a violation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RuleWitness {
    /// The request.
    pub request: Request<()>,
    /// The credentials of its sender.
    pub caller: RequestCredentials,
    /// The credentials in words.
    pub credentials: String,
    /// The decision of the policy.
    pub decision: Decision,
}

/// What is wrong with a rule or an exception.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleProblem {
    /// The rule.
    pub rule: String,
    /// The line of the file of rules.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// Whether it fails; an exception that ends soon does not.
    pub is_error: bool,
}

impl CheckReport {
    /// Whether nothing fails: violations of the severity `info` are for information.
    ///
    /// ```
    /// use policy_core::time::Timestamp;
    /// use policy_manifest::{Auth, Date, Manifest, ManifestRoute, rules::{CheckedPolicy, Rules, check}};
    ///
    /// let rules = Rules::parse("policy.rules", "[public]\nroutes = [\"GET /healthz\"]").unwrap();
    /// let mut manifest = Manifest::new();
    /// manifest.routes.push(ManifestRoute::handler("/healthz", ["GET"], Auth::Public));
    /// let policy = CheckedPolicy { name: "shop", manifest: &manifest };
    /// let today = Date::from_timestamp(Timestamp::from_seconds(1_800_000_000));
    /// assert!(check(&rules, &[policy], today).unwrap().holds());
    ///
    /// let mut other = manifest.clone();
    /// other.routes.push(ManifestRoute::handler("/orders", ["GET"], Auth::Public));
    /// let policy = CheckedPolicy { name: "shop", manifest: &other };
    /// let checked = check(&rules, &[policy], today).unwrap();
    /// assert_eq!(checked.violations[0].routes, ["GET /orders"]);
    /// ```
    pub fn holds(&self) -> bool {
        !self.violations.iter().any(RuleViolation::is_error)
            && !self.problems.iter().any(|problem| problem.is_error)
    }
}

impl RuleViolation {
    /// Whether it fails.
    pub fn is_error(&self) -> bool {
        self.rule.severity > FindingSeverity::Info
    }

    /// The source line that decided, for the first of the routes that has one.
    pub fn source<'s>(&self, sources: &'s Sources) -> Option<&'s FacetSource> {
        source_of(&self.routes, self.facet, sources)
    }
}

/// The violation in a few lines, as the other findings about a policy.
impl std::fmt::Display for RuleViolation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { rule, routes, about, witness, .. } = self;
        writeln!(f, "{}: {about} ({})", rule.severity, rule.id)?;
        let routes: Vec<_> = routes.iter().map(|route| plain(route)).collect();
        writeln!(f, "  at       {}", routes.join("; "))?;
        if let Some(witness) = witness {
            writeln!(f, "  witness  {witness}")?;
        }
        if !rule.why.is_empty() {
            writeln!(f, "  why      {}", plain(&rule.why))?;
        }
        write!(f, "  rule     {}", rule.place)
    }
}

/// The request in one line, with its sender and the decision.
impl std::fmt::Display for RuleWitness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { request, credentials, decision, .. } = self;
        let target = plain(&request.uri().to_string());
        write!(f, "{} {target}", request.method())?;
        let headers = request.headers();
        let page = headers.get(http::header::ORIGIN).and_then(|origin| origin.to_str().ok());
        match page {
            Some(origin) => write!(f, " from a page of {}", plain(origin))?,
            None if headers.contains_key("sec-fetch-site") => f.write_str(" from another page")?,
            None => (),
        }
        write!(f, " with {}: ", plain(credentials))?;
        match decision.outcome {
            Outcome::Reached => f.write_str("reaches the handler"),
            Outcome::Refused(refusal) => write!(f, "{} {}", refusal.status(), refusal.code()),
            Outcome::PreflightGranted | Outcome::Automatic => f.write_str("answered by the server"),
        }
    }
}

impl std::fmt::Display for RuleProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { rule, place, message, help, .. } = self;
        write!(f, "{place}: {message} ({})\n  help     {help}", plain(rule))
    }
}
