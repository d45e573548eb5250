//! A verified token, and the names by which revocations refer to it.

use std::{borrow::Cow, sync::Arc};

use policy_core::{
    session::Identity,
    token::{Claims, Token},
};

/// Separates an external issuer from a name that it gave (ASCII unit separator). The name of an
/// external issuer is not empty and cannot contain it. A name of this app has no issuer in front;
/// if it contains the separator, another one is put in front, so names of different issuers never
/// collide.
const BORDER: char = '\u{1f}';

/// A verified token, and whether another issuer issued it.
#[derive(Clone, Debug)]
pub(crate) struct VerifiedToken {
    token: Token,
    /// The identity that is accepted from the token of an external issuer.
    foreign: Option<Arc<Identity>>,
}

impl VerifiedToken {
    /// A token of this app.
    pub(super) fn own(token: Token) -> Self {
        Self { token, foreign: None }
    }

    /// A token of an external issuer.
    #[cfg(feature = "asym")]
    pub(super) fn foreign(token: Token, identity: Identity) -> Self {
        Self { token, foreign: Some(Arc::new(identity)) }
    }

    pub(crate) fn token(&self) -> &Token {
        &self.token
    }

    pub(crate) fn claims(&self) -> Claims<'_> {
        self.token.claims()
    }

    /// The issuer, if it is not this app.
    pub(crate) fn foreign_issuer(&self) -> Option<&str> {
        self.foreign.as_ref().map(|_| self.claims().issuer())
    }

    /// The user whom the issuer states, with the rights that it may give, if it is not this app.
    pub(crate) fn foreign_identity(&self) -> Option<&Identity> {
        self.foreign.as_deref()
    }

    /// A name in the token, in the form that revocations use.
    pub(crate) fn scoped<'a>(&'a self, name: &'a str) -> Cow<'a, str> {
        scoped(self.foreign_issuer(), name)
    }
}

/// A name that an issuer gave, in the form that revocations use.
pub(crate) fn scoped<'a>(foreign_issuer: Option<&str>, name: &'a str) -> Cow<'a, str> {
    match foreign_issuer {
        Some(issuer) => format!("{issuer}{BORDER}{name}").into(),
        None if name.contains(BORDER) => format!("{BORDER}{name}").into(),
        None => name.into(),
    }
}

/// The external issuer in a name of the form that revocations use.
pub(crate) fn foreign_issuer_of(scoped: &str) -> Option<&str> {
    let (issuer, _) = scoped.split_once(BORDER)?;
    Some(issuer).filter(|issuer| !issuer.is_empty())
}

/// Whether this is the placeholder id of an external issuer's token without one.
pub(super) fn is_nameless(scoped: &str) -> bool {
    foreign_issuer_of(scoped).is_some_and(|issuer| scoped.len() == issuer.len() + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Different issuers, or different names, are different for revocations, whatever the name of a
        /// user of this app; and the issuer can be read from the name.
        #[test]
        fn names_of_different_issuers_never_collide(
            names in prop::array::uniform2("[a\u{1f}]{0,4}"),
            issuers in prop::array::uniform2(prop::option::of("[a/]{1,2}")),
        ) {
            let of = |at: usize| scoped(issuers[at].as_deref(), &names[at]).into_owned();
            let is_same = names[0] == names[1] && issuers[0] == issuers[1];
            prop_assert_eq!(of(0) == of(1), is_same);
            let first = of(0);
            prop_assert_eq!(foreign_issuer_of(&first), issuers[0].as_deref());
            let is_empty = issuers[0].is_some() && names[0].is_empty();
            prop_assert_eq!(is_nameless(&first), is_empty);
        }
    }
}
