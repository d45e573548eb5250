//! The severity of gained access.

use serde::{Deserialize, Serialize};

/// The severity of a finding, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingSeverity {
    /// Good to know.
    Info,
    /// A client reads or does something of little importance.
    Low,
    /// A site that the policy names, or a user with an account, gets more access than before.
    Medium,
    /// Strangers make changes that they should not, or act as a user who is logged in.
    High,
}

/// The party that gains access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gainer {
    /// Pages of the app itself.
    OwnPages,
    /// Pages of sites that a policy names.
    NamedSites,
    /// Pages of a site that anyone can set up.
    AnySite,
    /// Any program, without another user's browser.
    Anybody,
}

/// The effect of a gain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// A response is read.
    Read,
    /// Something may be changed.
    Write,
}

/// The authority of a gain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Authority {
    /// No authority: without a credential.
    Nobody,
    /// The authority of a credential that the gainer holds, such as a token.
    Held,
    /// The authority of a credential that browsers add automatically, such as a session cookie.
    Ambient,
}

/// A gain: who gains what, and with whose authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
pub struct Gain {
    /// The gainer.
    pub who: Gainer,
    /// The effect.
    pub what: Effect,
    /// The authority.
    pub authority: Authority,
}

impl Gain {
    /// The severity of the gain.
    pub const fn severity(self) -> FindingSeverity {
        FindingSeverity::for_gain(self.who, self.what, self.authority)
    }
}

impl std::fmt::Display for Gain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let who = match self.who {
            Gainer::OwnPages => "pages of the app itself",
            Gainer::NamedSites => "pages that the policy names",
            Gainer::AnySite => "pages of any site",
            Gainer::Anybody => "anybody",
        };
        let what = match self.what {
            Effect::Read => "read",
            Effect::Write => "change",
        };
        let authority = match (self.authority, self.who) {
            (Authority::Nobody, _) => "without a credential",
            (Authority::Held, _) => "with a credential of their own",
            (Authority::Ambient, Gainer::Anybody) => "with a session of their own",
            (Authority::Ambient, _) => "as the visitor who is logged in",
        };
        write!(f, "{who} may {what} {authority}")
    }
}

impl FindingSeverity {
    /// All severities, in ascending order.
    pub const ALL: [Self; 4] = [Self::Info, Self::Low, Self::Medium, Self::High];

    /// The severity of gained access with this authority. It grows with each of the three, except
    /// for [`Gainer::Anybody`]: a gain that needs an account is smaller than one that needs none.
    ///
    /// ```
    /// use policy_manifest::{Authority, Effect, Gainer, FindingSeverity};
    ///
    /// let read_by = |who, authority| FindingSeverity::for_gain(who, Effect::Read, authority);
    /// assert_eq!(read_by(Gainer::AnySite, Authority::Ambient), FindingSeverity::High);
    /// assert_eq!(read_by(Gainer::NamedSites, Authority::Ambient), FindingSeverity::Medium);
    /// assert_eq!(read_by(Gainer::AnySite, Authority::Nobody), FindingSeverity::Low);
    /// ```
    pub const fn for_gain(who: Gainer, what: Effect, authority: Authority) -> Self {
        let reach = match (who, authority) {
            (Gainer::OwnPages, _) => 0,
            (Gainer::NamedSites, _) => 1,
            (Gainer::AnySite, _) | (Gainer::Anybody, Authority::Held | Authority::Ambient) => 2,
            (Gainer::Anybody, Authority::Nobody) => 3,
        };
        let effect = match what {
            Effect::Read => 0,
            Effect::Write => 1,
        };
        // A program that sends a cookie acts for itself. A page acts for its visitor.
        let borrowed = match (who, authority) {
            (Gainer::Anybody, _) | (_, Authority::Nobody | Authority::Held) => 0,
            (_, Authority::Ambient) => 2,
        };
        match reach + effect + borrowed {
            0 => Self::Info,
            1 | 2 => Self::Low,
            3 => Self::Medium,
            _ => Self::High,
        }
    }

    /// Its name, such as `high`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

impl std::fmt::Display for FindingSeverity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHO: [Gainer; 4] =
        [Gainer::OwnPages, Gainer::NamedSites, Gainer::AnySite, Gainer::Anybody];
    const AUTHORITY: [Authority; 3] = [Authority::Nobody, Authority::Held, Authority::Ambient];

    #[test]
    fn to_write_is_at_least_as_bad_as_to_read() {
        for who in WHO {
            for authority in AUTHORITY {
                let [read, write] = [Effect::Read, Effect::Write]
                    .map(|what| FindingSeverity::for_gain(who, what, authority));
                assert!(write >= read, "{who:?} {authority:?}");
            }
        }
    }

    #[test]
    fn the_more_may_do_it_without_an_account_the_worse_it_is() {
        for what in [Effect::Read, Effect::Write] {
            let found = WHO.map(|who| FindingSeverity::for_gain(who, what, Authority::Nobody));
            assert!(found.is_sorted(), "{found:?}");
        }
    }

    #[test]
    fn a_page_with_the_credential_of_its_visitor_is_worse_than_one_without() {
        for who in [Gainer::OwnPages, Gainer::NamedSites, Gainer::AnySite] {
            for what in [Effect::Read, Effect::Write] {
                let found =
                    AUTHORITY.map(|authority| FindingSeverity::for_gain(who, what, authority));
                assert!(found.is_sorted() && found[0] < found[2], "{found:?}");
            }
        }
    }

    #[test]
    fn a_gain_that_needs_an_account_is_less_severe() {
        let of = |authority| FindingSeverity::for_gain(Gainer::Anybody, Effect::Write, authority);
        assert_eq!(of(Authority::Nobody), FindingSeverity::High);
        assert_eq!([of(Authority::Held), of(Authority::Ambient)], [FindingSeverity::Medium; 2]);
    }

    #[test]
    fn severities_are_displayed_as_serialized() {
        for severity in FindingSeverity::ALL {
            let text = serde_json::to_string(&severity).unwrap();
            assert_eq!(text, format!("\"{severity}\""));
        }
    }
}
