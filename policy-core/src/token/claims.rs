//! The claims of a verified token.

use std::{borrow::Cow, fmt, sync::Arc};

use serde::Deserialize;

use super::{Claim, fields::Fields, json::Scanner};
use crate::time::Timestamp;

/// The claims of a token that was verified, borrowed from its payload.
///
/// Only a [`Verifier`](super::Verifier) makes them.
#[derive(Clone, Copy)]
pub struct Claims<'p> {
    text: &'p str,
    fields: Fields,
}

impl<'p> Claims<'p> {
    pub(super) fn new(text: &'p str, fields: Fields) -> Self {
        Self { text, fields }
    }

    /// The issuer (`iss`), which is the issuer of the profile that the token was verified against.
    pub fn issuer(&self) -> &'p str {
        self.fields.iss.slice(self.text)
    }

    /// The subject of the token (`sub`).
    pub fn subject(&self) -> &'p str {
        self.fields.sub.slice(self.text)
    }

    /// The id of the token (`jti`).
    pub fn id(&self) -> &'p str {
        self.fields.jti.slice(self.text)
    }

    /// When it was issued (`iat`).
    pub fn issued(&self) -> Timestamp {
        Timestamp::from_seconds(self.fields.iat)
    }

    /// When the token expires (`exp`), without the leeway.
    pub fn expires(&self) -> Timestamp {
        Timestamp::from_seconds(self.fields.exp)
    }

    /// When it becomes valid (`nbf`).
    pub fn not_before(&self) -> Option<Timestamp> {
        let nbf = || self.fields.rounded_up(Claim::Nbf, self.fields.nbf);
        self.fields.has(Claim::Nbf).then(|| Timestamp::from_seconds(nbf()))
    }

    /// The scopes (`scope`), one by one.
    pub fn scopes(&self) -> impl Iterator<Item = &'p str> + use<'p> {
        self.fields.scope.slice(self.text).split(' ').filter(|scope| !scope.is_empty())
    }

    /// Whether the token has this scope, compared byte for byte.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes().any(|held| held == scope)
    }

    /// The session it belongs to (`sid`).
    pub fn session(&self) -> Option<&'p str> {
        self.fields.has(Claim::Sid).then(|| self.fields.sid.slice(self.text))
    }

    /// When its user logged in (`auth_time`).
    pub fn authenticated_at(&self) -> Option<Timestamp> {
        self.fields.has(Claim::AuthTime).then(|| Timestamp::from_seconds(self.fields.auth_time))
    }

    /// The newest cut-off that was known when the request that issued it began (`cut_offs`), in a
    /// token of this app.
    pub fn cut_offs(&self) -> Option<u64> {
        self.fields.cut_offs
    }

    /// The roles of its user (`roles`), one by one.
    pub fn roles(&self) -> impl Iterator<Item = Cow<'p, str>> + use<'p> {
        let mut rest = self.fields.roles.slice(self.text);
        // The text was already read as an array of strings.
        std::iter::from_fn(move || {
            let text = rest.get(rest.find('"')?..)?;
            let mut scanner = Scanner::new(text);
            let role = scanner.literal().ok()?;
            rest = text.get(usize::from(scanner.position())..)?;
            if role.has_escapes {
                String::from_utf8(role.text().ok()?.into_owned()).ok().map(Cow::Owned)
            } else {
                Some(Cow::Borrowed(role.span.slice(text)))
            }
        })
    }

    /// Whether its user has this role.
    pub fn has_role(&self, role: &str) -> bool {
        self.roles().any(|held| held == role)
    }

    /// The tenant of its user (`tenant`).
    pub fn tenant(&self) -> Option<&'p str> {
        // In a token with mapped claims, it may be anything.
        Some(self.fields.tenant.slice(self.text)).filter(|tenant| !tenant.is_empty())
    }

    /// The claims as JSON.
    pub fn payload(&self) -> &'p str {
        self.text.get(..usize::from(self.fields.json_end)).unwrap_or_default()
    }

    /// Decodes the claims as the given type.
    ///
    /// # Errors
    ///
    /// If the claims do not match the type.
    pub fn custom<T: Deserialize<'p>>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.payload())
    }
}

/// Prints no claims: they are personal data.
impl fmt::Debug for Claims<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claims").field("expires", &self.expires()).finish_non_exhaustive()
    }
}

/// A verified token that owns its claims. Copies share them.
#[derive(Clone)]
pub struct Token {
    payload: Arc<Payload>,
}

struct Payload {
    text: String,
    fields: Fields,
}

impl Token {
    pub(super) fn new(text: String, fields: Fields) -> Self {
        Self { payload: Arc::new(Payload { text, fields }) }
    }

    pub(super) fn fields(&self) -> &Fields {
        &self.payload.fields
    }

    /// The claims.
    pub fn claims(&self) -> Claims<'_> {
        Claims::new(&self.payload.text, self.payload.fields)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.claims().fmt(f)
    }
}
