//! What the rules of a document state.

use std::collections::{BTreeMap, BTreeSet};

use super::{Place, names::NameSet, selector::Selector};
use crate::{FindingSeverity, RouteKind, RouteRate, Suppression, algebra::OriginRegion};

/// A rule.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PolicyRule {
    /// Its name with its kind, such as `never.partner-in-admin`; `public` is the only one without a
    /// name of its own.
    pub id: String,
    /// The severity of a violation.
    pub severity: FindingSeverity,
    /// The reason for the rule; may be empty.
    pub why: String,
    /// Where it is written.
    pub place: Place,
    /// Whether a file of several apps states it, which another one extends: it may be about routes
    /// that an app does not have.
    pub is_shared: bool,
    pub(super) routes: Vec<Selector>,
    /// The kinds of routes that it is about; `None` for the usual ones.
    pub(super) kinds: Option<BTreeSet<RouteKind>>,
    pub(super) statement: Statement,
}

/// What a rule states of its routes.
#[derive(Clone, Debug)]
pub(super) enum Statement {
    /// They are public, and no other route is.
    Public,
    /// These callers do not reach them.
    Never(Never),
    /// They have these protections.
    Require(Require),
    /// Credentials of the app live no longer.
    Lifetimes(BTreeMap<Lifetime, (u64, String)>),
}

/// What lives for some time, for the most seconds that a rule allows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lifetime {
    Session,
    SessionIdle,
    Token,
    RefreshToken,
}

impl Lifetime {
    pub(super) const ALL: [(&'static str, Self); 4] = [
        ("session", Self::Session),
        ("session-idle", Self::SessionIdle),
        ("token", Self::Token),
        ("refresh-token", Self::RefreshToken),
    ];
}

/// The callers that do not reach a route.
#[derive(Clone, Debug)]
pub(super) struct Never {
    /// How the app identifies them; `None` for all ways, and for pages the ambient ones.
    pub(super) callers: Option<BTreeSet<CallerKind>>,
    /// The roles that they may have.
    pub(super) roles: NameSet,
    /// The scopes that they may have.
    pub(super) scopes: NameSet,
    /// Only pages of these origins, by a browser; `None` for everybody.
    pub(super) origins: Option<OriginRegion>,
    /// The rule in words: `callers without the role `admin` reach it`.
    pub(super) words: String,
}

impl Never {
    /// Whether it is about everybody, so that it states that there is no such route.
    pub(super) fn is_of_everybody(&self) -> bool {
        let all = NameSet::all();
        self.callers.is_none() && self.origins.is_none() && self.roles == all && self.scopes == all
    }
}

/// How an app identifies the caller of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum CallerKind {
    /// It does not: the route is public, or its credential optional.
    Anonymous,
    Session,
    Token,
    Ticket,
    Scheme,
}

impl CallerKind {
    pub(super) const ALL: [(&'static str, Self); 5] = [
        ("anonymous", Self::Anonymous),
        ("session", Self::Session),
        ("token", Self::Token),
        ("ticket", Self::Ticket),
        ("scheme", Self::Scheme),
    ];
}

/// The protections that a route has to have.
#[derive(Clone, Debug, Default)]
pub(super) struct Require {
    /// No page that the policy does not name can make a browser send a changing request with the
    /// credentials of its visitor.
    pub(super) csrf: bool,
    /// A rate that is at least as strict, and its text. Without a key, any key will do.
    pub(super) rate: Option<(RouteRate, String)>,
    /// The weakest value of each of these headers.
    pub(super) headers: BTreeMap<String, String>,
    pub(super) cache: Option<Storers>,
    /// Each parameter of the path is the key of an object that is checked.
    pub(super) objects: bool,
}

/// The caches that may keep responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Storers {
    Nobody,
    Caller,
}

impl Storers {
    pub(super) const ALL: [Self; 2] = [Self::Nobody, Self::Caller];

    /// The name in a document.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Nobody => "no-store",
            Self::Caller => "private",
        }
    }
}

/// A violation that was reviewed and is deliberately left: a suppression whose `lint` is a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exception {
    /// The rule, the route, who, why and until.
    pub line: Suppression,
    /// Where it is written.
    pub place: Place,
    /// Whether a file of several apps states it.
    pub is_shared: bool,
}
