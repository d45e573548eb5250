//! A verified token, and the names by which revocations refer to it.

use std::borrow::Cow;

use policy_core::token::{Claims, Token};

/// Separates an external issuer from a name that it gave (ASCII unit separator). The name of an
/// external issuer cannot contain it, and names of this app have no issuer in front, so names of
/// different issuers never collide.
const BORDER: char = '\u{1f}';

/// A verified token, and whether another issuer issued it.
#[derive(Debug)]
pub(crate) struct Verified {
    token: Token,
    is_foreign: bool,
}

impl Verified {
    /// A token of this app.
    pub(super) fn own(token: Token) -> Self {
        Self { token, is_foreign: false }
    }

    /// A token of an external issuer.
    #[cfg(feature = "asym")]
    pub(super) fn foreign(token: Token) -> Self {
        Self { token, is_foreign: true }
    }

    pub(crate) fn token(&self) -> &Token {
        &self.token
    }

    pub(crate) fn claims(&self) -> Claims<'_> {
        self.token.claims()
    }

    /// The issuer, if it is not this app.
    pub(crate) fn foreign_issuer(&self) -> Option<&str> {
        self.is_foreign.then(|| self.claims().issuer())
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
        None => name.into(),
    }
}

/// The external issuer in a name of the form that revocations use.
pub(crate) fn foreign_issuer_of(scoped: &str) -> Option<&str> {
    scoped.split_once(BORDER).map(|(issuer, _)| issuer)
}
