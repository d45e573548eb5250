//! The smallest variant of a case that still shows a difference.

use std::time::{Duration, Instant};

use policy_browser::Mode;

use crate::diff::{
    case::{Canned, Case, Step},
    compare::Run,
    webdriver::Failure,
};

/// The maximum number of variants that are tried.
const TRIES: usize = 400;

/// The maximum duration of the search: each try takes seconds if a request never arrives.
const LIMIT: Duration = Duration::from_secs(60);

/// Removes one part after the other, as long as the difference remains.
pub(crate) fn shrink(run: &mut Run, mut case: Case) -> Result<Case, Failure> {
    let mut index = 0;
    let until = Instant::now() + LIMIT;
    for _ in 0..TRIES {
        if Instant::now() > until {
            break;
        }
        let Some(smaller) = parts(&case).get(index).map(|part| without(&case, *part)) else {
            break;
        };
        if run.differs(&smaller)? {
            case = smaller;
        } else {
            index += 1;
        }
    }
    Ok(case)
}

/// What can be removed.
#[derive(Clone, Copy)]
enum Part {
    Step(usize),
    /// A field of a step.
    Field(usize, usize),
    Route(usize),
    /// A response of a route, to preflights or to other requests.
    Response(usize, bool, usize),
    /// A field of such a response.
    ResponseField(usize, bool, usize, usize),
}

fn parts(case: &Case) -> Vec<Part> {
    let mut parts: Vec<Part> = (0..case.steps.len()).map(Part::Step).collect();
    let is_idle = |route: &usize| !is_named(case, case.routes[*route].path);
    parts.extend((0..case.routes.len()).filter(is_idle).map(Part::Route));
    for (index, step) in case.steps.iter().enumerate() {
        // A form sets its own fields.
        if let Step::Load(fetch) | Step::Keepalive(fetch) = step
            && fetch.mode != Mode::Navigate
        {
            parts.extend((0..fetch.headers.len()).map(|field| Part::Field(index, field)));
        }
    }
    for (index, route) in case.routes.iter().enumerate() {
        for (is_preflight, list) in [(true, &route.preflights), (false, &route.responses)] {
            // The last response is repeated.
            if list.len() > 1 {
                let each = (0..list.len()).map(|one| Part::Response(index, is_preflight, one));
                parts.extend(each);
            }
            for (one, canned) in list.iter().enumerate() {
                let each = 0..canned.headers.len();
                parts
                    .extend(each.map(|field| Part::ResponseField(index, is_preflight, one, field)));
            }
        }
    }
    parts
}

/// Whether a load or a redirect may lead to a path.
fn is_named(case: &Case, path: &str) -> bool {
    let responses = case.routes.iter().flat_map(|route| &route.responses);
    let locations = responses
        .flat_map(|response| &response.headers)
        .filter(|(name, _)| *name == "location")
        .map(|(_, value)| value);
    let mut addresses = case.loads().map(|fetch| &fetch.url).chain(locations);
    addresses.any(|address| address.split(['/', '?', '#']).any(|part| part == path))
}

fn without(case: &Case, part: Part) -> Case {
    let mut case = case.clone();
    match part {
        Part::Step(step) => drop(case.steps.remove(step)),
        Part::Route(route) => drop(case.routes.remove(route)),
        Part::Field(step, field) => {
            if let Some(fetch) = case.steps[step].load_mut() {
                fetch.headers.remove(field);
            }
        }
        Part::Response(route, is_preflight, one) => {
            drop(list(&mut case, route, is_preflight).remove(one));
        }
        Part::ResponseField(route, is_preflight, one, field) => {
            drop(list(&mut case, route, is_preflight)[one].headers.remove(field));
        }
    }
    case
}

fn list(case: &mut Case, route: usize, is_preflight: bool) -> &mut Vec<Canned> {
    let route = &mut case.routes[route];
    if is_preflight { &mut route.preflights } else { &mut route.responses }
}
