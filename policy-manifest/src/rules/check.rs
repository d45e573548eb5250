//! Checks policies by rules.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use policy_core::{Lint, method};

use super::{
    CallerKind, CheckError, CheckReport, CheckedPolicy, Exception, PolicyRule, RuleProblem,
    RuleViolation, RuleWitness, Rules,
    budget::Budget,
    error::plain,
    names::NameSet,
    protections::{faults, too_long},
    rule::{Lifetime, Never, Require, Statement},
    selector::{Selector, methods_of},
    subject::{From, Question, RequestProbe, Subject},
};
use crate::{
    Date, ManifestRoute, RouteKind, Suppression,
    diff::probe::{self, Credentials, Sender},
    lints::{name, sort},
};

/// Checks policies by rules.
///
/// A violation is not found by trying requests at random: the algebra divides callers and pages into
/// the classes that a route tells apart, and the engine of the policy decides about a request of each
/// class. Lists of origins that are given at run time count as all that their bounds allow.
///
/// # Errors
///
/// [`CheckError`]: a policy breaks a rule of the engine, or the rules and policies are too many.
pub fn check(
    rules: &Rules,
    policies: &[CheckedPolicy<'_>],
    today: Date,
) -> Result<CheckReport, CheckError> {
    let subjects = policies.iter().map(|policy| {
        Subject::new(policy.manifest)
            .map_err(|error| CheckError::Policy { name: policy.name.to_owned(), error })
    });
    let subjects = subjects.collect::<Result<Vec<_>, _>>()?;
    let (problems, units) = (Vec::new(), Vec::new());
    let (rules_of, names) = (rules.rules(), required_names(&subjects));
    let budget = Budget::new();
    let mut run = Checker { rules: rules_of, subjects, names, budget, problems, units };
    run.public()?;
    for (number, rule) in rules.rules().iter().enumerate() {
        run.rule(number, rule)?;
    }
    run.finish(rules.exceptions(), today)
}

/// A check in progress.
struct Checker<'r> {
    rules: &'r [PolicyRule],
    subjects: Vec<Subject>,
    /// The roles and the scopes that some route requires.
    names: (BTreeSet<String>, BTreeSet<String>),
    budget: Budget,
    problems: Vec<RuleProblem>,
    units: Vec<Unit>,
}

/// A violation of one rule by one method of one route.
struct Unit {
    policy: usize,
    rule: usize,
    /// None for a fact of the app.
    at: Option<MethodProbe>,
    facet: &'static str,
    about: Rc<str>,
}

/// A method of a route, and a request to it.
struct MethodProbe {
    route: usize,
    method: String,
    path: Rc<str>,
    probe: RequestProbe,
}

/// Methods of a route, with the path that found it, if one did.
type SelectedMethods = BTreeMap<usize, (Option<String>, BTreeSet<String>)>;

impl Checker<'_> {
    /// Which routes are public, and whether they should be.
    fn public(&mut self) -> Result<(), CheckError> {
        let rules = self.rules;
        let publics = || {
            rules.iter().enumerate().filter(|(_, rule)| matches!(rule.statement, Statement::Public))
        };
        // The file that extends the others is the last one.
        let Some((last, _)) = publics().next_back() else { return Ok(()) };
        let callers = BTreeSet::from([CallerKind::Anonymous]);
        let all = NameSet::all();
        let question =
            Question { callers: Some(&callers), roles: &all, scopes: &all, from: From::Anywhere };
        let listed: Rc<str> = "it is listed as public, and needs credentials".into();
        let unlisted: Rc<str> = "it is public, and not listed as such".into();
        for policy in 0..self.subjects.len() {
            let mut stated: BTreeMap<(usize, String), usize> = BTreeMap::new();
            for (number, rule) in publics() {
                for (route, (path, methods)) in self.selected(policy, rule)? {
                    // A route is listed by its own path only.
                    let methods = methods.into_iter().filter(|_| path.is_none());
                    stated.extend(methods.map(|method| ((route, method), number)));
                }
            }
            let routes = self.routes(policy).iter().enumerate();
            let known = routes.filter(|(_, route)| route.kind != RouteKind::NotFound);
            let known: BTreeSet<(usize, String)> = known
                .flat_map(|(index, route)| {
                    methods_of(route).into_iter().map(move |method| (index, method.to_owned()))
                })
                .chain(stated.keys().cloned())
                .collect();
            for (route, method) in known {
                let Some(path) = self.path(policy, route, None, &method) else { continue };
                let found = self.answer(policy, route, (&method, &path), question)?;
                let rule = stated.get(&(route, method.clone())).copied();
                let (rule, about, probe) = match (rule, found) {
                    (None, Some(probe)) => (last, &unlisted, probe),
                    (Some(rule), None) => {
                        (rule, &listed, (Sender::default(), Credentials::default()))
                    }
                    _ => continue,
                };
                let about = Rc::clone(about);
                let at = Some(MethodProbe { route, method, path: path.into(), probe });
                self.add(Unit { policy, rule, at, facet: "auth", about })?;
            }
        }
        Ok(())
    }

    fn rule(&mut self, number: usize, rule: &PolicyRule) -> Result<(), CheckError> {
        self.find_unused(rule)?;
        match &rule.statement {
            Statement::Public => Ok(()),
            Statement::Never(never) => self.never(number, rule, never),
            Statement::Require(require) => self.require(number, rule, require),
            Statement::Lifetimes(most) => self.lifetimes(number, most),
        }
    }

    fn lifetimes(
        &mut self,
        rule: usize,
        most: &BTreeMap<Lifetime, (u64, String)>,
    ) -> Result<(), CheckError> {
        for policy in 0..self.subjects.len() {
            let app = self.subjects.get(policy).map(|subject| &subject.side.manifest.app);
            let faults: Vec<_> = app.into_iter().flat_map(|app| too_long(app, most)).collect();
            for about in faults {
                self.add(Unit { policy, rule, at: None, facet: "app", about: about.into() })?;
            }
        }
        Ok(())
    }

    fn never(&mut self, number: usize, rule: &PolicyRule, never: &Never) -> Result<(), CheckError> {
        self.find_unknown(rule, never);
        let question = Question::new(never, number);
        let facet = if never.origins.is_some() { "cors" } else { "auth" };
        let about: Rc<str> = never.words.as_str().into();
        for policy in 0..self.subjects.len() {
            for (route, (path, methods)) in self.selected(policy, rule)? {
                for method in methods {
                    let place = (policy, route, path.as_ref());
                    let about = Rc::clone(&about);
                    self.ask(number, place, method, (question, facet, about))?;
                }
            }
        }
        Ok(())
    }

    fn require(
        &mut self,
        number: usize,
        rule: &PolicyRule,
        require: &Require,
    ) -> Result<(), CheckError> {
        let all = NameSet::all();
        let everybody = Question { callers: None, roles: &all, scopes: &all, from: From::Anywhere };
        let forged = Question { from: From::Forged, ..everybody };
        let forgeable: Rc<str> =
            "a page of another origin can send it with the credentials of its visitor".into();
        for policy in 0..self.subjects.len() {
            for (route, (path, methods)) in self.selected(policy, rule)? {
                if require.csrf {
                    for method in methods.iter().filter(|method| !method::is_safe(method)) {
                        let place = (policy, route, path.as_ref());
                        let about = Rc::clone(&forgeable);
                        self.ask(number, place, method.clone(), (forged, "csrf", about))?;
                    }
                }
                let manifest = self.subjects.get(policy).map(|subject| &subject.side.manifest);
                let faults = manifest.and_then(|manifest| {
                    Some(faults(manifest, manifest.routes.get(route)?, require))
                });
                for (facet, about) in faults.unwrap_or_default() {
                    let about: Rc<str> = about.into();
                    for method in &methods {
                        let Some(path) = self.path(policy, route, path.as_ref(), method) else {
                            continue;
                        };
                        // Refused responses have the same policy.
                        let found = self.answer(policy, route, (method, &path), everybody)?;
                        let probe = found.unwrap_or_default();
                        let at =
                            MethodProbe { route, method: method.clone(), path: path.into(), probe };
                        let (rule, at, about) = (number, Some(at), Rc::clone(&about));
                        self.add(Unit { policy, rule, at, facet, about })?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Asks whether a request gets through that a rule forbids.
    fn ask(
        &mut self,
        rule: usize,
        (policy, route, path): (usize, usize, Option<&String>),
        method: String,
        (question, facet, about): (Question<'_>, &'static str, Rc<str>),
    ) -> Result<(), CheckError> {
        let Some(path) = self.path(policy, route, path, &method) else { return Ok(()) };
        let Some(probe) = self.answer(policy, route, (&method, &path), question)? else {
            return Ok(());
        };
        // The answer may be that of another route with the same policy.
        let target = (method.as_str(), path.as_str());
        let subject = self.subjects.get(policy);
        let again = subject.and_then(|subject| {
            subject.gets_through(route, target, (&probe.0, &probe.1), question)
        });
        if again.is_none() {
            let rule = self.rules.get(rule).map(|rule| rule.id.clone()).unwrap_or_default();
            let route = self.routes(policy).get(route).map(name).unwrap_or_default();
            return Err(CheckError::Mismatch { rule, route });
        }
        let at = Some(MethodProbe { route, method, path: path.into(), probe });
        self.add(Unit { policy, rule, at, facet, about })
    }

    fn add(&mut self, unit: Unit) -> Result<(), CheckError> {
        self.budget.spend(100)?;
        self.units.push(unit);
        Ok(())
    }

    fn answer(
        &mut self,
        policy: usize,
        route: usize,
        target: (&str, &str),
        question: Question<'_>,
    ) -> Result<Option<RequestProbe>, CheckError> {
        match self.subjects.get_mut(policy) {
            Some(subject) => subject.answer(route, target, question, &mut self.budget),
            None => Ok(None),
        }
    }

    fn routes(&self, policy: usize) -> &[ManifestRoute] {
        self.subjects.get(policy).map_or(&[], |subject| &subject.side.manifest.routes)
    }

    /// A path by which a route serves a method: the given one if it does, or one that only this route
    /// serves.
    fn path(
        &self,
        policy: usize,
        route: usize,
        chosen_path: Option<&String>,
        method: &str,
    ) -> Option<String> {
        let subject = self.subjects.get(policy)?;
        match chosen_path {
            Some(path) => subject.serves(route, method, path).then(|| path.clone()),
            None => subject.path(route, method),
        }
    }

    /// The routes that a rule is about.
    fn selected(
        &mut self,
        policy: usize,
        rule: &PolicyRule,
    ) -> Result<SelectedMethods, CheckError> {
        let mut selected = SelectedMethods::new();
        for selector in &rule.routes {
            self.select(policy, rule, selector, &mut selected)?;
        }
        Ok(selected)
    }

    fn select(
        &mut self,
        policy: usize,
        rule: &PolicyRule,
        selector: &Selector,
        selected: &mut SelectedMethods,
    ) -> Result<(), CheckError> {
        let Some(subject) = self.subjects.get_mut(policy) else { return Ok(()) };
        let found = subject.select(&selector.glob, &mut self.budget)?;
        for (index, path) in found.iter() {
            self.budget.spend(1)?;
            let Some(route) = subject.route(*index).filter(|route| is_of_kind(route, rule)) else {
                continue;
            };
            let methods = selector.methods_of(route);
            if !methods.is_empty() {
                let entry =
                    selected.entry(*index).or_insert_with(|| (path.clone(), BTreeSet::new()));
                entry.1.extend(methods);
                // The glob of another entry may match the path of the route itself.
                entry.0 = entry.0.take().filter(|_| path.is_some());
            }
        }
        Ok(())
    }

    /// Reports the entries that select no route of any policy.
    fn find_unused(&mut self, rule: &PolicyRule) -> Result<(), CheckError> {
        let is_about_existence =
            matches!(&rule.statement, Statement::Never(never) if never.is_of_everybody());
        if rule.is_shared || is_about_existence {
            return Ok(());
        }
        for selector in &rule.routes {
            let mut selected = SelectedMethods::new();
            for policy in 0..self.subjects.len() {
                if selected.is_empty() {
                    self.select(policy, rule, selector, &mut selected)?;
                }
            }
            let by_path = |(path, _): &(Option<String>, _)| path.is_none();
            let is_used = match rule.statement {
                Statement::Public => selected.values().any(by_path),
                _ => !selected.is_empty(),
            };
            if !is_used {
                let message =
                    format!("`{}` selects no route of the checked policies", selector.text());
                let help = "correct the path or the methods, or remove it";
                self.report(rule, message, help.to_owned());
            }
        }
        Ok(())
    }

    /// Reports roles and scopes that no route of any policy requires: no caller would ever have them.
    fn find_unknown(&mut self, rule: &PolicyRule, never: &Never) {
        if rule.is_shared {
            return;
        }
        for (what, set) in [("role", &never.roles), ("scope", &never.scopes)] {
            if set.is_cofinite() {
                continue;
            }
            let known = if what == "role" { &self.names.0 } else { &self.names.1 };
            let unknown: Vec<String> =
                set.names().filter(|name| !known.contains(*name)).cloned().collect();
            let listed = known.iter().take(8).map(|name| format!("`{}`", plain(name)));
            let listed = listed.collect::<Vec<_>>().join(", ");
            for name in unknown {
                let message = format!(
                    "no route of the checked policies requires the {what} `{}`",
                    plain(&name)
                );
                let help = match listed.is_empty() {
                    true => format!("leave it out: no route requires a {what}"),
                    false => format!("correct it; they require {listed}"),
                };
                self.report(rule, message, help);
            }
        }
    }

    fn report(&mut self, rule: &PolicyRule, message: String, help: String) {
        let (rule, place) = (rule.id.clone(), rule.place.clone());
        self.problems.push(RuleProblem { rule, place, message, help, is_error: true });
    }

    fn finish(mut self, exceptions: &[Exception], today: Date) -> Result<CheckReport, CheckError> {
        let lines: Vec<Suppression> =
            exceptions.iter().map(|exception| exception.line.clone()).collect();
        let units = std::mem::take(&mut self.units);
        self.budget.spend(lines.len().saturating_mul(units.len()))?;
        let sorted = sort(&lines, units, today, |in_force| {
            let run = &self;
            move |unit: &Unit| in_force.iter().position(|line| run.covers(line, unit))
        });
        let index_of =
            |line: &Suppression| lines.iter().position(|other| std::ptr::eq(other, line));
        let mut violations = self.violations(sorted.left.into_iter().map(|unit| (unit, None)));
        violations.sort_by_cached_key(|(one, _)| order(one));
        let violations = violations.into_iter().map(|(violation, _)| violation).collect();
        let suppressed = sorted.suppressed.into_iter();
        let excepted = self.violations(suppressed.map(|(unit, line)| (unit, index_of(line))));
        let excepted = excepted.into_iter();
        let excepted = excepted
            .filter_map(|(violation, index)| Some((violation, exceptions.get(index?)?.clone())));
        let excepted = excepted.collect();
        let reports = sorted.reports.into_iter();
        let reports: Vec<RuleProblem> = reports
            .filter_map(|(line, lint)| self.problem(exceptions.get(index_of(line)?)?, lint))
            .collect();
        self.problems.extend(reports);
        self.problems.sort_by(|one, other| one.place.cmp(&other.place));
        Ok(CheckReport { violations, problems: self.problems, excepted })
    }

    /// Whether an exception is about a violation: it names the route as reports do, or its path and
    /// some of its methods.
    fn covers(&self, line: &Suppression, unit: &Unit) -> bool {
        let (Some(rule), Some(text)) = (self.rules.get(unit.rule), &line.route) else {
            return false;
        };
        let is_named = match &unit.at {
            None => text == "app",
            Some(MethodProbe { route, method, .. }) => {
                self.routes(unit.policy).get(*route).is_some_and(|route| {
                    let (methods, path) = text.split_once(' ').unwrap_or(("", text));
                    let is_method =
                        methods.is_empty() || methods.split(',').any(|named| named == method);
                    (path == route.path && is_method) || *text == name(route)
                })
            }
        };
        rule.id == line.lint && is_named
    }

    /// What is wrong with an exception.
    fn problem(&self, exception: &Exception, lint: Lint) -> Option<RuleProblem> {
        let Exception { line, place, is_shared } = exception;
        let is_known = self.rules.iter().any(|rule| rule.id == line.lint);
        let (message, help) = match lint {
            Lint::SuppressionUnused if *is_shared => return None,
            Lint::SuppressionUnused if !is_known => {
                ("it excepts from a rule that there is not", "correct the name of the rule")
            }
            Lint::SuppressionUnused => {
                ("it excepts nothing", "remove it, or correct its rule and its route")
            }
            Lint::SuppressionExpired => (
                "this exception has ended",
                "correct the route and remove it, or have somebody except it again with a later `until`",
            ),
            Lint::SuppressionEndsSoon => (
                "this exception ends within two weeks, and the check fails then",
                "correct the route",
            ),
            _ => ("an exception states who excepts and why", "write `who` and `why`"),
        };
        let route = line.route.as_deref().map(plain).unwrap_or_default();
        Some(RuleProblem {
            rule: line.lint.clone(),
            place: place.clone(),
            message: format!("{message}: `{route}`"),
            help: help.to_owned(),
            is_error: lint != Lint::SuppressionEndsSoon,
        })
    }

    /// Joins the violations of one rule by routes of one policy that are alike, and have the same
    /// exception.
    fn violations(
        &self,
        units: impl Iterator<Item = (Unit, Option<usize>)>,
    ) -> Vec<(RuleViolation, Option<usize>)> {
        type Routes = BTreeMap<usize, BTreeSet<String>>;
        type Key = (usize, usize, Rc<str>, Option<usize>);
        let mut groups: BTreeMap<Key, (Unit, Routes)> = BTreeMap::new();
        for (unit, exception) in units {
            let key = (unit.policy, unit.rule, Rc::clone(&unit.about), exception);
            let at = unit.at.as_ref().map(|at| (at.route, at.method.clone()));
            let (_, routes) = groups.entry(key).or_insert_with(|| (unit, Routes::new()));
            if let Some((route, method)) = at {
                routes.entry(route).or_default().insert(method);
            }
        }
        let groups = groups.into_iter();
        let joined = groups.filter_map(|((.., exception), (unit, routes))| {
            let of = self.routes(unit.policy);
            let routes = routes.iter().filter_map(|(index, methods)| {
                let route = of.get(*index)?;
                let own: BTreeSet<String> =
                    methods_of(route).into_iter().map(str::to_owned).collect();
                let methods: Vec<&str> = methods.iter().map(String::as_str).collect();
                Some(match own.iter().eq(&methods) {
                    true => name(route),
                    false => format!("{} {}", methods.join(","), route.path),
                })
            });
            let mut routes: Vec<String> = routes.collect();
            if unit.at.is_none() {
                routes.push("app".to_owned());
            }
            let violation = RuleViolation {
                policy: unit.policy,
                rule: self.rules.get(unit.rule)?.clone(),
                routes,
                facet: unit.facet,
                about: unit.about.to_string(),
                witness: self.witness(&unit),
            };
            Some((violation, exception))
        });
        joined.collect()
    }

    fn witness(&self, unit: &Unit) -> Option<RuleWitness> {
        let side = &self.subjects.get(unit.policy)?.side;
        let MethodProbe { method, path, probe: (sender, credentials), .. } = unit.at.as_ref()?;
        let target = (method.as_str(), &**path);
        let request = probe::request(target, sender, credentials, &side.identity);
        let caller = credentials.caller();
        let decision = side.engine.decide(&request, &caller);
        Some(RuleWitness { request, caller, credentials: credentials.words(), decision })
    }
}

/// The roles and the scopes that some route of some policies requires.
fn required_names(subjects: &[Subject]) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut roles, mut scopes) = (BTreeSet::new(), BTreeSet::new());
    let routes = subjects.iter().flat_map(|subject| &subject.side.manifest.routes);
    for requirement in routes.filter_map(|route| route.auth.requirement()) {
        roles.extend(requirement.roles.iter().cloned());
        scopes.extend(requirement.scopes.iter().cloned());
    }
    (roles, scopes)
}

/// Whether a rule is about routes of this kind. Probes and tunnels have none of the protections that
/// other routes have.
fn is_of_kind(route: &ManifestRoute, rule: &PolicyRule) -> bool {
    match (&rule.kinds, &rule.statement) {
        (Some(kinds), _) => kinds.contains(&route.kind),
        (None, Statement::Require(_)) => {
            !matches!(route.kind, RouteKind::Probe | RouteKind::Tunnel)
        }
        (None, _) => true,
    }
}

/// The worst first.
fn order(violation: &RuleViolation) -> impl Ord + use<> {
    let RuleViolation { policy, rule, about, routes, .. } = violation;
    (Reverse(rule.severity), *policy, rule.place.clone(), about.clone(), routes.clone())
}
