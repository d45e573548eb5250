//! The problems that an app sends for its errors (RFC 9457), as its types declare them.

use crate::{
    ConstText, Refusal, Rule,
    grammar::{any, eq},
};

/// A problem that an app sends for errors: what `derive(Problems)` states about a variant.
///
/// ```
/// use policy_core::problem::DeclaredProblem;
///
/// const CLOSED: DeclaredProblem =
///     DeclaredProblem::new(409, Some("orders.closed"), Some("The order is closed"));
/// assert_eq!(CLOSED.status, 409);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DeclaredProblem {
    /// The status of the response, from 400 to 599.
    pub status: u16,
    /// The code by which programs identify the problem, if it has one.
    pub code: Option<&'static str>,
    /// The summary of this type of problem; without one, the reason phrase of the status.
    pub title: Option<&'static str>,
}

impl DeclaredProblem {
    /// The problem with this status, code and title.
    pub const fn new(status: u16, code: Option<&'static str>, title: Option<&'static str>) -> Self {
        Self { status, code, title }
    }

    /// The problem that is sent for a refusal of the framework.
    ///
    /// ```
    /// use policy_core::{Refusal, problem::DeclaredProblem};
    ///
    /// let problem = DeclaredProblem::from_refusal(Refusal::RequestInvalid);
    /// assert_eq!(problem.code, Some("request.invalid"));
    /// ```
    pub const fn from_refusal(refusal: Refusal) -> Self {
        Self::new(refusal.status(), Some(refusal.code()), Some(refusal.title()))
    }

    /// Whether both have the same code, but differ in status or title: then the code does not tell
    /// a client what happened.
    pub const fn contradicts(&self, other: &Self) -> bool {
        matches!((self.code, other.code), (Some(_), Some(_)))
            && is_same(self.code, other.code)
            && !self.is(other)
    }

    const fn is(&self, other: &Self) -> bool {
        self.status == other.status
            && is_same(self.code, other.code)
            && is_same(self.title, other.title)
    }
}

/// Checks the status of a declared problem.
///
/// # Errors
///
/// [`Rule::ProblemStatus`] for a number that is not the status of an error (RFC 9110 15).
pub const fn check_status(status: u16) -> Result<(), Rule> {
    if matches!(status, 400..=599) { Ok(()) } else { Err(Rule::ProblemStatus) }
}

/// Checks the code of a declared problem: an area, a dot, and words with hyphens or more dots between
/// them, in lower case.
///
/// ```
/// use policy_core::{Rule, problem::check_code};
///
/// assert_eq!(check_code("orders.sold-out"), Ok(()));
/// assert_eq!(check_code("SoldOut"), Err(Rule::ProblemCode));
/// assert_eq!(check_code("route.not-found"), Err(Rule::ProblemCodeTaken));
/// ```
///
/// # Errors
///
/// [`Rule::ProblemCode`], and [`Rule::ProblemCodeTaken`] for the code of a [`Refusal`].
pub const fn check_code(code: &str) -> Result<(), Rule> {
    let (mut rest, mut has_dot, mut is_begin) = (code.as_bytes(), false, true);
    while let [byte, tail @ ..] = rest {
        match *byte {
            b'a'..=b'z' | b'0'..=b'9' => is_begin = false,
            b'.' | b'-' if !is_begin && (has_dot || *byte == b'.') => {
                (has_dot, is_begin) = (true, true);
            }
            _ => return Err(Rule::ProblemCode),
        }
        rest = tail;
    }
    if is_begin || !has_dot {
        return Err(Rule::ProblemCode);
    }
    let is_taken = any!(Refusal::ALL, refusal => eq(refusal.code().as_bytes(), code.as_bytes()));
    if is_taken { Err(Rule::ProblemCodeTaken) } else { Ok(()) }
}

/// The members that every problem can have (RFC 9457 3.1), and `code`: no other member has one of
/// these names.
pub const RESERVED_MEMBERS: [&str; 6] = ["type", "title", "status", "code", "detail", "instance"];

/// The problems of several lists, each once, in the order of the lists. `N` is at least their
/// [`total`](Self::total).
#[derive(Clone, Copy, Debug)]
pub struct JoinedProblems<const N: usize> {
    problems: [DeclaredProblem; N],
    len: usize,
}

impl<const N: usize> JoinedProblems<N> {
    /// The number of problems in these lists.
    pub const fn total(mut lists: &[&[DeclaredProblem]]) -> usize {
        let mut total = 0;
        while let [list, rest @ ..] = lists {
            total += list.len();
            lists = rest;
        }
        total
    }

    /// Joins the lists.
    pub const fn new(mut lists: &[&[DeclaredProblem]]) -> Self {
        let mut joined = Self { problems: [DeclaredProblem::new(0, None, None); N], len: 0 };
        while let [list, rest @ ..] = lists {
            let mut list = *list;
            while let [problem, tail @ ..] = list {
                joined.add(problem);
                list = tail;
            }
            lists = rest;
        }
        joined
    }

    const fn add(&mut self, problem: &DeclaredProblem) {
        if any!(self.as_slice(), known => known.is(problem)) {
            return;
        }
        if let Some((_, [next, ..])) = self.problems.split_at_mut_checked(self.len) {
            *next = *problem;
            self.len += 1;
        }
    }

    /// The problems.
    pub const fn as_slice(&self) -> &[DeclaredProblem] {
        let (problems, _) = self.problems.split_at(self.len);
        problems
    }

    /// The first contradiction between one of these problems and a list.
    pub const fn contradiction(&self, list: &[DeclaredProblem]) -> Option<ProblemContradiction> {
        let mut list = list;
        while let [problem, tail @ ..] = list {
            let mut known = self.as_slice();
            while let [one, rest @ ..] = known {
                if let (Some(code), true) = (problem.code, one.contradicts(problem)) {
                    return Some(ProblemContradiction(code));
                }
                known = rest;
            }
            list = tail;
        }
        None
    }
}

/// A code with two meanings among joined problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProblemContradiction(&'static str);

impl ProblemContradiction {
    /// The violated rule, for a const panic.
    pub const fn text(&self) -> ConstText {
        let rule = Rule::ProblemCodeRepeated;
        ConstText::new("`").text(self.0).text("`").rule(rule, rule.help())
    }
}

const fn is_same(a: Option<&str>, b: Option<&str>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => eq(a.as_bytes(), b.as_bytes()),
        (None, None) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOLD_OUT: DeclaredProblem = DeclaredProblem::new(409, Some("lamps.sold-out"), None);
    const GONE: DeclaredProblem = DeclaredProblem::new(410, None, None);

    #[test]
    fn a_code_is_an_area_and_words() {
        for code in ["lamps.sold-out", "a.b", "lamps.red.sold-out", "v2.3d"] {
            assert_eq!(check_code(code), Ok(()), "{code}");
        }
        for code in [
            "",
            ".",
            "lamps",
            "sold-out",
            "sold-out.lamps",
            "Lamps.sold-out",
            ".sold",
            "lamps.",
            "lamps..sold",
            "lamps.-sold",
            "lamps.sold-",
            "lamps.sold--out",
            "lamps.sold_out",
            "lamps.sold out",
            "lämpen.sold",
            "lamps.sold\n",
        ] {
            assert_eq!(check_code(code), Err(Rule::ProblemCode), "{code}");
        }
    }

    #[test]
    fn no_code_of_the_framework_is_free() {
        for refusal in Refusal::ALL {
            assert_eq!(check_code(refusal.code()), Err(Rule::ProblemCodeTaken));
        }
    }

    #[test]
    fn a_status_is_that_of_an_error() {
        let accepted: Vec<u16> = (0..=u16::MAX).filter(|it| check_status(*it).is_ok()).collect();
        assert_eq!(accepted, (400..600).collect::<Vec<_>>());
        assert_eq!(check_status(399), Err(Rule::ProblemStatus));
    }

    #[test]
    fn joined_problems_are_listed_once_in_their_order() {
        const LISTS: &[&[DeclaredProblem]] = &[&[SOLD_OUT, GONE], &[], &[GONE, SOLD_OUT], &[GONE]];
        const JOINED: JoinedProblems<{ JoinedProblems::<0>::total(LISTS) }> =
            JoinedProblems::new(LISTS);
        assert_eq!(JOINED.as_slice(), [SOLD_OUT, GONE]);
    }

    #[test]
    fn one_code_has_one_meaning() {
        let joined = JoinedProblems::<2>::new(&[&[SOLD_OUT, GONE]]);
        assert_eq!(joined.contradiction(&[SOLD_OUT, GONE]), None);
        let other_status = DeclaredProblem { status: 410, ..SOLD_OUT };
        let other_title = DeclaredProblem { title: Some("Sold out"), ..SOLD_OUT };
        for other in [other_status, other_title] {
            let found = joined.contradiction(&[GONE, other]).unwrap();
            assert!(found.text().as_str().contains("`lamps.sold-out`: "), "{found:?}");
        }
        // Problems without a code do not claim to be the same.
        let untitled = DeclaredProblem { title: Some("Gone"), ..GONE };
        assert_eq!(joined.contradiction(&[untitled]), None);
    }
}
