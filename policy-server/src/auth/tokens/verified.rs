//! A token that was accepted, and the names that it is revoked by.

use std::borrow::Cow;

use policy_core::token::{Claims, Token};

/// Stands between a foreign issuer and a name that it gave (ASCII's unit separator). No foreign
/// issuer has one in its own name, and what this app issues has no issuer before it: so names of
/// two issuers are never the same.
const BORDER: char = '\u{1f}';

/// A token, and whether somebody else issued it.
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

    /// A token of an issuer that this app accepts.
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

    /// The issuer, where it is not this app.
    pub(crate) fn foreign_issuer(&self) -> Option<&str> {
        self.is_foreign.then(|| self.claims().issuer())
    }

    /// A name that the token says, as revocations know it.
    pub(crate) fn scoped<'a>(&'a self, name: &'a str) -> Cow<'a, str> {
        scoped(self.foreign_issuer(), name)
    }
}

/// A name that an issuer gave, as revocations know it.
pub(crate) fn scoped<'a>(foreign_issuer: Option<&str>, name: &'a str) -> Cow<'a, str> {
    match foreign_issuer {
        Some(issuer) => format!("{issuer}{BORDER}{name}").into(),
        None => name.into(),
    }
}

/// The foreign issuer that gave a name which revocations know.
pub(crate) fn foreign_issuer_of(scoped: &str) -> Option<&str> {
    scoped.split_once(BORDER).map(|(issuer, _)| issuer)
}
