//! The result of a comparison.

use http::Request;
use serde::Serialize;

use super::{access::Gains, senders::Senders};
use crate::{
    Change, FindingSeverity,
    engine::{Decision, RequestCredentials},
};

/// Which of two apps allows more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// The new one: requests gain access.
    Widened,
    /// The old one: clients may break.
    Narrowed,
}

impl Axis {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Widened, Self::Narrowed];

    /// Its name, such as `widened`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Widened => "widened",
            Self::Narrowed => "narrowed",
        }
    }
}

/// Requests that one of two apps allows and the other does not, on routes with the same difference.
#[derive(Debug)]
#[non_exhaustive]
pub struct DiffFinding {
    /// Which of the two allows more.
    pub axis: Axis,
    /// The severity of the worst case.
    pub severity: FindingSeverity,
    /// The places where the difference is.
    pub places: Vec<PathMethods>,
    /// The senders, and the access that they gain or lose; the worst first. No request is in two of
    /// them.
    pub cases: Vec<Case>,
    /// The facets that decide.
    pub facets: Vec<&'static str>,
    /// The changes of these facets.
    pub changes: Vec<Change>,
}

/// Some methods of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct PathMethods {
    /// The template of the path; `*` for paths without a route, empty for tunnels.
    pub path: String,
    /// The methods.
    pub methods: Vec<String>,
    /// Also every method that neither app names.
    pub every_other_method: bool,
    /// Only spellings of the path that have an encoded slash.
    pub encoded_slash: bool,
    /// The path of the route that serves it before, if one does.
    pub before: Option<String>,
    /// The path of the route that serves it afterwards, if one does.
    pub after: Option<String>,
}

/// Requests that gain or lose the same access.
#[derive(Debug)]
#[non_exhaustive]
pub struct Case {
    /// The severity of the case.
    pub severity: FindingSeverity,
    /// Programs and pages.
    pub senders: Senders,
    /// The least credentials that suffice, in words; empty for preflights, which have none.
    pub callers: Vec<String>,
    /// The access that is gained or lost.
    pub gains: Gains,
    /// One of the requests.
    pub witness: Witness,
    pub(super) is_preflight: bool,
}

/// A request that two apps decide differently.
#[derive(Debug)]
#[non_exhaustive]
pub struct Witness {
    /// The request.
    pub request: Request<()>,
    /// The same request to the new app, if its origin or the name of its cookie differs.
    pub moved: Option<Request<()>>,
    /// The sender of the request.
    pub caller: RequestCredentials,
    /// Their credentials in words.
    pub credentials: String,
    /// How the old app decides.
    pub before: Decision,
    /// How the new app decides.
    pub after: Decision,
}

impl PathMethods {
    /// Methods and path in words.
    pub fn words(&self) -> String {
        let mut methods = self.methods.join(",");
        if self.every_other_method {
            methods = "every method".to_owned();
        }
        let path = match self.path.as_str() {
            "*" => "paths without a route",
            "" => "tunnels",
            path => path,
        };
        let slash = if self.encoded_slash { " with an encoded slash" } else { "" };
        format!("{methods} {path}{slash}")
    }
}

impl Case {
    /// Whether the requests are preflights, which announce another request of a page.
    pub fn is_preflight(&self) -> bool {
        self.is_preflight
    }
}
