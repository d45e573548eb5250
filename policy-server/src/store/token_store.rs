//! What a store of refresh tokens, revocations and tickets can do.

use std::{fmt, time::Duration};

use policy_core::{
    session::{Handle, Identity},
    time::Timestamp,
};

use super::{Answer, Refresh};

/// The SHA-256 of an opaque token: what is stored in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenHash(pub [u8; 32]);

/// A store of refresh-token families, revocations and tickets. Each call is atomic, and done for
/// good when it answers.
pub trait TokenStore: fmt::Debug + Send + Sync + 'static {
    /// Opens what has to be open before the first request. Called once, when the app starts.
    fn open(&self) -> Answer<'_, ()> {
        Answer::ready(Ok(()))
    }

    /// The secret that all keys of refresh tokens are derived from: the stored one, else `fresh`,
    /// which is stored.
    fn secret(&self, fresh: [u8; 32]) -> Answer<'_, [u8; 32]>;

    /// Inserts a family with its first token. Neither the id nor the token was there before.
    fn create_family(&self, family: Family, token: TokenHash) -> Answer<'_, ()>;

    /// Exchanges `token` for `successor`, in one step with the check of its family:
    ///
    /// - an unused token of a living family is used, and `successor` inserted;
    /// - a token used less than `grace` ago, whose successor is unused, gives
    ///   [`Refreshed::Again`];
    /// - any other used token ends its family;
    /// - every token of a family that ended or is past its end is [`Refreshed::Dead`], at least
    ///   until a purge after that end.
    ///
    /// Who presents one token is expected to derive one successor from it each time.
    fn refresh(&self, request: Refresh) -> Answer<'_, Refreshed>;

    /// Ends the family of a token, used or not. Gives the family, if it lived.
    fn end_family(&self, token: TokenHash) -> Answer<'_, Option<Family>>;

    /// Ends all families of a user, and gives how many.
    fn end_families<'a>(&'a self, user: &'a str) -> Answer<'a, u64>;

    /// Adds a revocation, and gives its place in the sequence, behind all that were read before.
    /// A cut-off of a user, or of all, never moves back, nor does the `until` of a token: what is
    /// said already keeps its place, and what goes further replaces it at a new one.
    fn revoke(&self, revocation: Revocation) -> Answer<'_, u64>;

    /// All revocations behind a place in the sequence that still matter, in order; everything for
    /// 0. Cut-offs matter for ever, tokens until a purge after their `until`.
    fn revocations(&self, since: u64) -> Answer<'_, RevocationBatch>;

    /// Keeps a ticket for a while.
    fn put_ticket(&self, hash: TokenHash, ticket: Ticket) -> Answer<'_, ()>;

    /// Takes a ticket out: no second call gets it. None where it has expired.
    fn take_ticket(&self, hash: TokenHash, now: Timestamp) -> Answer<'_, Option<Ticket>>;

    /// Removes up to `limit` rows that no longer matter, and gives how many.
    fn purge(&self, now: Timestamp, limit: usize) -> Answer<'_, usize>;
}

/// The refresh tokens that followed from one login.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Family {
    /// Its name in logs; it gives access to nothing.
    pub id: [u8; 16],
    /// Whose tokens they are and what they may do.
    pub identity: Identity,
    /// When the user proved who they are.
    pub authenticated: Timestamp,
    /// The family is dead from then on.
    pub expires: Timestamp,
}

impl Family {
    /// The tokens that follow from the login of `identity` at `authenticated`.
    pub fn new(
        id: [u8; 16],
        identity: Identity,
        authenticated: Timestamp,
        expires: Timestamp,
    ) -> Self {
        Self { id, identity, authenticated, expires }
    }
}

/// What became of a refresh.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refreshed {
    /// The successor is the valid token now.
    Done(Family),
    /// The token was used a moment ago: the same successor once more.
    Again(Family),
    /// The token was used before: somebody has a copy. The family is dead now; this was the call
    /// that ended it.
    Reused(Family),
    /// The family is dead or past its end.
    Dead,
    /// No such token.
    Unknown,
}

/// Tokens that are no longer accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// The token of this `jti`; the row matters until `until`, the end of its life and leeway.
    Token {
        /// `jti`
        id: Box<str>,
        /// When the row no longer matters.
        until: Timestamp,
    },
    /// Tokens of a user whose `iat` is before this second.
    User {
        /// `sub`
        user: Box<str>,
        /// Seconds since 1970.
        before: u64,
    },
    /// Tokens whose `iat` is before this second.
    All {
        /// Seconds since 1970.
        before: u64,
    },
}

/// Revocations, and the place in the sequence behind them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RevocationBatch {
    /// What was revoked.
    pub revocations: Vec<Revocation>,
    /// Ask for what is behind this next time.
    pub sequence: u64,
}

impl RevocationBatch {
    /// These, after which the sequence goes on at `sequence`.
    pub fn new(revocations: Vec<Revocation>, sequence: u64) -> Self {
        Self { revocations, sequence }
    }
}

/// A single-use credential for one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ticket {
    /// Who it stands for.
    pub identity: Identity,
    /// When the user proved who they are.
    pub authenticated: Option<Timestamp>,
    /// The session that it was made in, whose end ends what the ticket opened.
    pub session: Option<Handle>,
    /// The `jti` and end of life of the token that it was made with; the same holds.
    pub token: Option<(Box<str>, Timestamp)>,
    /// When it is no longer taken.
    pub expires: Timestamp,
}

impl Ticket {
    /// How long a ticket waits to be used.
    pub const LIFETIME: Duration = Duration::from_secs(30);

    /// A ticket of nobody's session and token. A store that reads one back sets the other fields.
    pub fn new(identity: Identity, expires: Timestamp) -> Self {
        Self { identity, authenticated: None, session: None, token: None, expires }
    }

    /// The second in which it was made.
    pub fn made(&self) -> Timestamp {
        Timestamp::from_seconds(self.expires.seconds().saturating_sub(Self::LIFETIME.as_secs()))
    }
}
