//! What each caller gets from a small app that is a text. A pure function: no I/O, no clock, and every
//! decision is the engine's.

use policy_core::Severity;
use policy_manifest::{Manifest, Sources};
use serde::{Deserialize, Serialize};

use super::{
    cast::{self, Actor},
    world::{App, SameSite, World},
};

/// The longest text that is read, in bytes.
const LONGEST_SOURCE: usize = 16 * 1024;
/// The longest origin of the form, in bytes.
const LONGEST_ORIGIN: usize = 300;
/// The most routes of an app.
const MOST_ROUTES: usize = 16;

/// What the page asks.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    /// Functions with attributes.
    pub(crate) source: String,
    /// The public origin of the app.
    pub(crate) origin: String,
    /// `SameSite` of the cookie of its sessions.
    pub(crate) same_site: SameSite,
    /// The origin of the attacker's page; `null` for a page in a sandbox.
    pub(crate) attacker: String,
    /// The route that is asked, by its position; the last one, if there are fewer.
    pub(crate) route: usize,
}

/// The result of [`decide`], which the page shows.
#[derive(Debug, Serialize)]
pub(crate) struct PlayResult {
    /// What is wrong with the form or with the app as a whole.
    pub(crate) problems: Vec<Problem>,
    /// What the compiler would say.
    pub(crate) reports: Vec<Report>,
    pub(crate) routes: Vec<Route>,
    /// The position of the route that the cast asks.
    pub(crate) route: usize,
    /// What each caller gets; nothing, if the app does not compile.
    pub(crate) cast: Vec<Actor>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Problem {
    /// `source`, `origin` or `attacker`.
    field: &'static str,
    text: String,
}

impl Problem {
    pub(super) fn new(field: &'static str, text: impl Into<String>) -> Self {
        Self { field, text: text.into() }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(super) kind: Kind,
    pub(crate) code: Option<&'static str>,
    pub(crate) text: String,
    /// Line, from 1, and column, from 0 in characters.
    start: (usize, usize),
    end: (usize, usize),
}

/// The source of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// The compiler, or the start of the app: nothing runs.
    Error,
    /// The compiler.
    Warning,
    /// `cargo policy lint`.
    Lint,
}

impl Report {
    /// A report about a whole line.
    pub(super) fn for_line(kind: Kind, code: &'static str, text: String, line: u32) -> Self {
        let line = line as usize;
        Self { kind, code: Some(code), text, start: (line, 0), end: (line, usize::MAX) }
    }
}

impl From<policy_attributes::Report> for Report {
    fn from(report: policy_attributes::Report) -> Self {
        let policy_attributes::Report { code, text, start, end, .. } = report;
        let kind = match report.severity {
            Severity::Error => Kind::Error,
            Severity::Warning => Kind::Warning,
        };
        Self { kind, code, text, start, end }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Route {
    method: String,
    path: String,
    /// The name of the function and its line.
    handler: String,
    line: u32,
}

/// Decides what everybody gets.
///
/// A parser recurses: call it on a thread with a stack of several megabytes.
pub(crate) fn decide(question: &Question) -> PlayResult {
    let mut answer = PlayResult {
        problems: Vec::new(),
        reports: Vec::new(),
        routes: Vec::new(),
        route: 0,
        cast: Vec::new(),
    };
    if let Err(problems) = try_to_decide(question, &mut answer) {
        answer.problems = problems;
    }
    answer
}

fn try_to_decide(question: &Question, answer: &mut PlayResult) -> Result<(), Vec<Problem>> {
    let Question { source, origin, same_site, attacker, route } = question;
    let long = [
        ("source", source.len(), LONGEST_SOURCE),
        ("origin", origin.len(), LONGEST_ORIGIN),
        ("attacker", attacker.len(), LONGEST_ORIGIN),
    ];
    let long = long.into_iter().filter(|(_, len, most)| len > most);
    let long: Vec<_> =
        long.map(|(field, _, most)| Problem::new(field, format!("over {most} bytes"))).collect();
    if !long.is_empty() {
        return Err(long);
    }
    let app = App::new(origin, *same_site);
    let page = cast::page_of(attacker);
    let (app, page) = match (app, page) {
        (Ok(app), Ok(page)) => (app, page),
        (app, page) => return Err(app.err().into_iter().chain(page.err()).collect()),
    };
    let mut manifest = Manifest::new();
    manifest.app = app.facts();
    let mut sources = Sources::default();
    let reports = policy_attributes::read(source, &mut manifest, &mut sources);
    answer.reports = reports.into_iter().map(Report::from).collect();
    if manifest.routes.len() > MOST_ROUTES {
        let text = format!("over {MOST_ROUTES} routes: leave some out");
        return Err(vec![Problem::new("source", text)]);
    }
    let routes = manifest.routes.iter().flat_map(|route| {
        let sources = &sources;
        route.methods.iter().map(move |method| {
            let key = format!("{method} {}", route.path);
            Route {
                method: method.clone(),
                path: route.path.clone(),
                handler: sources.handlers.get(&key).cloned().unwrap_or_default(),
                line: sources.places.get(&key).map_or(0, |place| place.line),
            }
        })
    });
    answer.routes = routes.collect();
    let has_errors = |reports: &[Report]| reports.iter().any(|report| report.kind == Kind::Error);
    if has_errors(&answer.reports) || answer.routes.is_empty() {
        return Ok(());
    }
    answer.route = (*route).min(answer.routes.len() - 1);
    let world = World::new(app, manifest, sources)
        .map_err(|error| vec![Problem::new("source", error.to_string())])?;
    answer.reports.extend(world.start_errors());
    if !has_errors(&answer.reports) {
        answer.reports.extend(world.lints());
        answer.cast = cast::play(&world, answer.route, &page);
    }
    Ok(())
}
