//! Callers: their credentials, the state of these, and whether a route admits them.

use policy_core::time::Timestamp;
use policy_manifest::RouteRequirement;

use super::{declared::Declaration, probe::OWN_CREDENTIAL};

/// A caller.
#[derive(Clone, Debug, Default)]
pub(super) struct Caller {
    /// A description.
    pub(super) name: String,
    pub(super) state: CredentialState,
    /// The value of the session's cookie.
    pub(super) cookie: Option<String>,
    /// Whether the credential of the custom scheme is ambient.
    pub(super) is_ambient: bool,
    /// The value of `Authorization`.
    pub(super) authorization: Option<String>,
    /// The CSRF token that the page has.
    pub(super) csrf: Option<String>,
    /// The credential of a custom scheme.
    pub(super) own: Option<String>,
    /// Whether there is a ticket in the query: a new one each time, since each is valid once.
    pub(super) has_ticket: bool,
}

/// The state of a credential.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum CredentialState {
    /// There is none.
    #[default]
    Anonymous,
    /// It is valid.
    Known(Facts),
    /// It is invalid.
    Bad(CredentialKind, Defect),
}

/// The defect of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Defect {
    Malformed,
    Unknown,
    Expired,
}

/// The facts about a caller whose credential is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) subject: String,
    pub(super) kind: CredentialKind,
    pub(super) issuer: Issuer,
    pub(super) scopes: Vec<String>,
    pub(super) roles: Vec<String>,
    /// When the caller last authenticated.
    pub(super) authenticated: Option<Timestamp>,
    pub(super) now: Timestamp,
}

/// The issuer of a credential, by the words of `#[auth(issuers = [..])]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Issuer {
    /// The words for it.
    pub(super) words: Vec<String>,
    /// Whether a route that names no issuer takes it.
    pub(super) is_default: bool,
    /// Its name, if it is not the app.
    pub(super) foreign: Option<String>,
}

/// The kind of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CredentialKind {
    Session,
    Token,
    Ticket,
    Own,
}

impl CredentialKind {
    pub(super) const ALL: [Self; 4] = [Self::Session, Self::Token, Self::Ticket, Self::Own];

    /// Whether a route takes it with this method.
    pub(super) fn is_taken(self, requirement: &RouteRequirement, method: &str) -> bool {
        match self {
            Self::Session => requirement.session,
            Self::Token => requirement.token,
            Self::Ticket => requirement.ticket && method == "GET",
            Self::Own => requirement.scheme.is_some(),
        }
    }
}

impl Caller {
    pub(super) fn anonymous() -> Self {
        Self { name: "nobody".to_owned(), ..Self::default() }
    }

    /// A caller whose credential is valid. Its value is still missing.
    pub(super) fn valid(name: String, facts: Facts) -> Self {
        Self { name, state: CredentialState::Known(facts), ..Self::default() }
    }

    /// A caller whose credential is invalid. Its value is still missing.
    pub(super) fn bad(name: &str, kind: CredentialKind, defect: Defect) -> Self {
        let (name, state) = (name.to_owned(), CredentialState::Bad(kind, defect));
        Self { name, state, ..Self::default() }
    }

    /// Whether `#[auth]` admits the caller, and as whom, by its plain meaning. `is_carried` is
    /// whether the browser sent its ambient credentials.
    pub(super) fn admission(
        &self,
        requirement: &RouteRequirement,
        method: &str,
        is_carried: bool,
    ) -> CallerAdmission<'_> {
        let is_taken = |kind: CredentialKind| kind.is_taken(requirement, method);
        let is_lost = self.has_ambient() && !is_carried;
        let is_admitted = match &self.state {
            CredentialState::Known(facts) if is_taken(facts.kind) && !is_lost => {
                let subject = Some(&*facts.subject);
                return if facts.satisfy(requirement) {
                    CallerAdmission::As(subject)
                } else {
                    CallerAdmission::No
                };
            }
            // A cookie without a session counts as no credential.
            CredentialState::Bad(kind, _)
                if is_taken(*kind) && !is_lost && *kind != CredentialKind::Session =>
            {
                false
            }
            _ => requirement.optional,
        };
        if is_admitted { CallerAdmission::As(None) } else { CallerAdmission::No }
    }

    pub(super) fn is_anonymous(&self) -> bool {
        self.state == CredentialState::Anonymous
    }

    /// Whether browsers send all credentials of the caller automatically.
    pub(super) fn is_in_browser(&self) -> bool {
        self.csrf.is_none() && (self.is_anonymous() || self.has_ambient())
    }

    pub(super) fn facts(&self) -> Option<&Facts> {
        match &self.state {
            CredentialState::Known(facts) => Some(facts),
            _ => None,
        }
    }

    /// The facts that a route uses; `None` if it takes no such credential, so that the caller is
    /// anonymous to it.
    pub(super) fn facts_for(&self, route: &Declaration) -> Option<&Facts> {
        let (requirement, method) = (route.requirement()?, route.method.as_str());
        self.facts().filter(|facts| facts.kind.is_taken(requirement, method))
    }

    /// Whether browsers send the credential automatically.
    pub(super) fn has_ambient(&self) -> bool {
        self.cookie.is_some() || (self.own.is_some() && self.is_ambient)
    }

    /// The value of the `Cookie` header.
    pub(super) fn cookies(&self, of_sessions: &str) -> String {
        let session = self.cookie.as_ref().map(|value| format!("{of_sessions}={value}"));
        let own = self.own.as_ref().filter(|_| self.is_ambient);
        let own = own.map(|value| format!("{OWN_CREDENTIAL}={value}"));
        let pairs: Vec<_> = session.into_iter().chain(own).collect();
        pairs.join("; ")
    }
}

/// Whether a caller is admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallerAdmission<'a> {
    No,
    /// Admitted as this user, or as anonymous.
    As(Option<&'a str>),
}

impl Issuer {
    /// Whether a route that names these issuers accepts credentials of this one.
    fn is_named(&self, issuers: &[String]) -> bool {
        match issuers {
            [] => self.is_default,
            names => self.words.iter().any(|word| names.contains(word)),
        }
    }
}

impl Facts {
    /// Whether another issuer made the credential.
    pub(super) fn is_foreign(&self) -> bool {
        self.issuer.foreign.is_some()
    }

    /// Whether the credential states a last login less than `limit` seconds ago.
    fn is_younger(&self, limit: u32) -> bool {
        self.authenticated.is_some_and(|at| self.now.since(at).as_secs() < u64::from(limit))
    }

    fn satisfy(&self, requirement: &RouteRequirement) -> bool {
        let has_scopes = requirement.scopes.iter().all(|scope| self.scopes.contains(scope));
        let has_role = requirement.roles.is_empty()
            || requirement.roles.iter().any(|role| self.roles.contains(role));
        let is_fresh = self.kind == CredentialKind::Own
            || requirement.fresh.is_none_or(|limit| self.is_younger(limit));
        let has_issuer = matches!(self.kind, CredentialKind::Token | CredentialKind::Ticket);
        let is_of_issuer = !has_issuer || self.issuer.is_named(&requirement.issuers);
        has_scopes && has_role && is_fresh && is_of_issuer
    }
}
