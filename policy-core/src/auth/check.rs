//! The rules about callers, for attributes, constants and the start.

use super::{
    spec::{AuthPart, AuthSpec},
    syntax::{is_issuer, is_own_issuer, is_role, is_scope},
};
use crate::{
    catalogue::Rule,
    grammar::{any, entry, eq, every},
    validator::validator,
};

validator!(AuthSpec, AuthPart; then check_repeated);

impl<'a> AuthSpec<'a> {
    const fn value(&self, part: AuthPart, index: usize) -> &'a str {
        entry(self.entries(part), index)
    }

    /// The number of checks of a part: one for each entry, or one if there are none.
    const fn slots(&self, part: AuthPart) -> usize {
        match self.entries(part).len() {
            0 => 1,
            entries => entries,
        }
    }

    const fn entries(&self, part: AuthPart) -> &'a [&'a str] {
        let list = match part {
            AuthPart::Issuers => self.issuers,
            AuthPart::Scopes => self.scopes,
            AuthPart::Roles => self.roles,
            _ => None,
        };
        match list {
            Some(list) => list,
            None => &[],
        }
    }

    const fn check(&self, part: AuthPart, index: usize) -> Option<Rule> {
        match part {
            AuthPart::Auth => self.check_callers(),
            AuthPart::Ticket if self.ticket && !is_only_get(self.methods) => {
                Some(Rule::TicketMethod)
            }
            AuthPart::Ticket => None,
            AuthPart::Scheme if self.scheme && self.takes_standard() => Some(Rule::SchemeNotAlone),
            AuthPart::Scheme => None,
            AuthPart::Issuers => match self.issuers {
                Some([]) => Some(Rule::RequirementEmpty),
                Some(_) if index == 0 && !self.token && !self.ticket => {
                    Some(Rule::IssuersWithoutToken)
                }
                Some(list) if !is_issuer(entry(list, index)) => Some(Rule::IssuerInvalid),
                _ => None,
            },
            AuthPart::Scopes => match self.scopes {
                Some([]) => Some(Rule::RequirementEmpty),
                Some(list) if !is_scope(entry(list, index)) => Some(Rule::ScopeInvalid),
                _ => None,
            },
            AuthPart::Roles => match self.roles {
                Some([]) => Some(Rule::RequirementEmpty),
                Some(list) if !is_role(entry(list, index).as_bytes()) => Some(Rule::RoleInvalid),
                _ => None,
            },
            AuthPart::Fresh => match self.fresh {
                None | Some(1..=LONGEST_FRESH) => None,
                Some(_) => Some(Rule::FreshOutOfBounds),
            },
            AuthPart::Csrf => self.check_csrf(),
            AuthPart::Cors => self.check_cors(),
            AuthPart::Principal if self.public && (self.principal || self.takes_user) => {
                Some(Rule::PrincipalOfPublic)
            }
            AuthPart::Principal if self.principal && self.optional => {
                Some(Rule::PrincipalOfOptional)
            }
            AuthPart::Principal if self.takes_user && self.names_others() => {
                Some(Rule::PrincipalOfOthers)
            }
            AuthPart::Principal => None,
        }
    }

    const fn check_callers(&self) -> Option<Rule> {
        let asks = self.names_credential();
        let demands = self.issuers.is_some()
            || self.scopes.is_some()
            || self.roles.is_some()
            || self.fresh.is_some();
        if self.public && (asks || demands || self.optional) {
            Some(Rule::PublicNotAlone)
        } else if !self.public && !asks {
            Some(Rule::CallersMissing)
        } else {
            None
        }
    }

    /// A handler can reach the session through its arguments, with any credentials, and a custom
    /// extractor may do so unseen by the macro. On a `public` route, such as a login, this is only
    /// a warning.
    const fn check_csrf(&self) -> Option<Rule> {
        match self.exempt {
            Some(reason) if reason.trim_ascii().is_empty() => Some(Rule::ExemptWithoutReason),
            _ if !self.csrf || self.is_ambient() || self.takes_session => None,
            _ if self.public => Some(Rule::CsrfWithoutSession),
            _ if self.names_credential() => Some(Rule::NothingToForge),
            _ => None,
        }
    }

    const fn check_cors(&self) -> Option<Rule> {
        if !self.without_credentials || !self.is_ambient() {
            None
        } else if self.optional || self.token || self.ticket {
            Some(Rule::CorsWithoutSession)
        } else {
            Some(Rule::CorsWithoutCredentials)
        }
    }

    /// Only a warning, so it is not checked for constants.
    fn check_repeated(self, part: AuthPart) -> impl Fn(usize) -> Option<Rule> + use<'a> {
        let entries = self.entries(part);
        move |index| {
            let (before, rest) = entries.split_at_checked(index)?;
            before.contains(rest.first()?).then_some(Rule::RequirementRepeated)
        }
    }

    /// Whether the route names an issuer other than the app itself.
    const fn names_others(&self) -> bool {
        any!(self.entries(AuthPart::Issuers), issuer => !is_own_issuer(issuer))
    }

    /// Whether the route takes any credentials.
    pub(crate) const fn names_credential(&self) -> bool {
        self.takes_standard() || self.scheme
    }

    const fn takes_standard(&self) -> bool {
        self.session || self.token || self.ticket
    }

    const fn is_ambient(&self) -> bool {
        self.session || (self.scheme && self.ambient)
    }
}

/// Whether a handler has no method but GET, if its methods are known.
const fn is_only_get(methods: &[&str]) -> bool {
    every!(methods, method => eq(method.as_bytes(), b"GET"))
}

/// 365 days.
const LONGEST_FRESH: u32 = 365 * 86_400;

#[cfg(test)]
mod tests;
