//! How requests end: the statuses and the codes of problems that have their own series. All are known
//! before the first request.

use http::StatusCode;
use policy_core::{Refusal, problem::DeclaredProblem};
use rustc_hash::FxHashMap;

use super::names::OTHER;

/// The end of a request, as an index.
pub(super) type Outcome = usize;

/// The end of a request without a response: its client has disconnected.
pub(super) const NO_RESPONSE: Outcome = 0;

/// The error type of a request without a response.
const ABANDONED: &str = "abandoned";

const STATUSES: u16 = 600;

/// All ends that have series.
#[derive(Debug)]
pub(super) struct Outcomes {
    /// Status and error type, empty if there is none.
    all: Vec<(String, String)>,
    by_status: [u8; STATUSES as usize],
    /// Server errors, by status and code. A status without a code is its own error type.
    by_code: FxHashMap<(u16, &'static str), Outcome>,
    /// The codes of the catalogue and of the app's problems, with their indexes.
    codes: FxHashMap<&'static str, usize>,
}

impl Outcomes {
    /// The outcomes of an app whose handlers declare these problems.
    pub(super) fn new(declared: &[DeclaredProblem]) -> Self {
        let mut outcomes = Self {
            all: Vec::new(),
            by_status: [0; STATUSES as usize],
            by_code: FxHashMap::default(),
            codes: FxHashMap::default(),
        };
        outcomes.add("", ABANDONED);
        let other = outcomes.add(OTHER, "");
        for status in 0..STATUSES {
            let is_known = StatusCode::from_u16(status)
                .is_ok_and(|status| status.canonical_reason().is_some());
            let text = status.to_string();
            let outcome = match status {
                _ if !is_known => other,
                ..500 => outcomes.add(&text, ""),
                _ => {
                    let unknown = outcomes.add(&text, OTHER);
                    outcomes.by_code.insert((status, OTHER), unknown);
                    outcomes.add(&text, &text)
                }
            };
            if let (Some(of_status), Ok(outcome)) =
                (outcomes.by_status.get_mut(usize::from(status)), u8::try_from(outcome))
            {
                *of_status = outcome;
            }
        }
        let of_catalogue = Refusal::ALL.iter().map(|refusal| (refusal.status(), refusal.code()));
        let of_app = declared.iter().filter_map(|problem| Some((problem.status, problem.code?)));
        for (status, code) in of_catalogue.chain(of_app) {
            let next = outcomes.codes.len();
            outcomes.codes.entry(code).or_insert(next);
            if status >= 500 && !outcomes.by_code.contains_key(&(status, code)) {
                let outcome = outcomes.add(&status.to_string(), code);
                outcomes.by_code.insert((status, code), outcome);
            }
        }
        outcomes
    }

    fn add(&mut self, status: &str, error: &str) -> Outcome {
        self.all.push((status.to_owned(), error.to_owned()));
        self.all.len() - 1
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Status and error type.
    pub(super) fn attributes(&self, outcome: Outcome) -> (&str, &str) {
        self.all.get(outcome).map_or((OTHER, ""), |(status, error)| (status, error))
    }

    /// The number of codes that are counted, with the one for all others.
    pub(super) fn codes(&self) -> usize {
        self.codes.len() + 1
    }

    /// The index of a code, and the name under which it is counted.
    pub(super) fn code(&self, code: &str) -> (usize, &'static str) {
        let known = self.codes.get_key_value(code);
        known.map_or((self.codes.len(), OTHER), |(code, index)| (*index, *code))
    }

    /// The outcome of a request whose response has this status, and its problem this code.
    pub(super) fn find(&self, status: StatusCode, code: Option<&str>) -> Outcome {
        let number = status.as_u16();
        if number >= 500
            && let Some(code) = code
        {
            let known = |code| self.by_code.get(&(number, code)).copied();
            if let Some(outcome) = known(code).or_else(|| known(OTHER)) {
                return outcome;
            }
        }
        // Also the end of statuses that are out of range.
        let other = self.by_status.first().copied().unwrap_or_default();
        let outcome = self.by_status.get(usize::from(number)).copied();
        usize::from(outcome.unwrap_or(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_error_has_the_code_of_its_problem_as_its_type() {
        let full = DeclaredProblem::new(507, Some("disks.full"), None);
        let outcomes =
            Outcomes::new(&[full, DeclaredProblem::from_refusal(Refusal::Internal), full]);
        let of = |status, code| {
            let status = StatusCode::from_u16(status).unwrap();
            outcomes.attributes(outcomes.find(status, code))
        };
        assert_eq!(of(200, None), ("200", ""));
        assert_eq!(of(404, Some("route.not-found")), ("404", ""));
        assert_eq!(of(500, None), ("500", "500"));
        assert_eq!(of(500, Some("handler.failed")), ("500", "handler.failed"));
        assert_eq!(of(507, Some("disks.full")), ("507", "disks.full"));
        assert_eq!(of(500, Some("disks.full")), ("500", OTHER), "the code of another status");
        assert_eq!(of(500, Some("of.my-own")), ("500", OTHER));
        assert_eq!(of(503, Some("handler.failed")), ("503", OTHER), "the code of another status");
        for status in [299, 499, 599, 600, 999] {
            assert_eq!(of(status, None), (OTHER, ""), "{status}");
            assert_eq!(of(status, Some("of.my-own")), (OTHER, ""), "{status}");
        }
        assert_eq!(outcomes.attributes(NO_RESPONSE), ("", ABANDONED));
        assert_eq!(outcomes.len(), Outcomes::new(&[full]).len(), "each once");
        assert!(Outcomes::new(&[]).len() < 256, "an index is a byte");
    }

    #[test]
    fn a_code_that_the_app_declares_is_counted_by_itself() {
        let closed = DeclaredProblem::new(409, Some("orders.closed"), None);
        let outcomes = Outcomes::new(&[DeclaredProblem::new(404, None, None), closed, closed]);
        for code in ["route.not-found", "handler.failed", "orders.closed"] {
            assert_eq!(outcomes.code(code).1, code);
        }
        assert_eq!(outcomes.codes(), Refusal::ALL.len() + 2);
        assert_eq!(outcomes.code("orders.unknown"), (outcomes.codes() - 1, OTHER));
    }
}
