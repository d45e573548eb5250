//! The interface of stores for refresh tokens, revocations and tickets.

use std::{fmt, time::Duration};

use policy_core::{
    session::{Handle, Identity},
    time::Timestamp,
};

use super::{CreateFamily, NewsReader, Refresh, StoreFuture};

/// The SHA-256 of an opaque token, which is stored in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenHash(pub [u8; 32]);

/// A store of refresh token families, revocations and tickets. Each call is atomic, and durable
/// when it completes.
///
/// The positions of revocations tell what came before what, since instances share no clock.
pub trait TokenStore: fmt::Debug + Send + Sync + 'static {
    /// Opens the store before the first request. Called once, when the app starts.
    fn open(&self) -> StoreFuture<'_, ()> {
        StoreFuture::ready(Ok(()))
    }

    /// The secret from which all keys of refresh tokens are derived: the stored one, or else
    /// `fresh`, which is then stored.
    fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]>;

    /// Inserts a family with its first token, neither of which may exist. Returns whether it did:
    /// not if its user, everyone, or the session in which it begins was revoked at a position after
    /// `began`, or the store has not given out that position.
    ///
    /// If the user already has [`Family::MAX_PER_USER`] families, the oldest ends.
    fn create_family(&self, request: CreateFamily) -> StoreFuture<'_, bool>;

    /// Exchanges `token` for `successor`, atomically with the check of its family:
    ///
    /// - an unused token of a live family is marked as used, and `successor` inserted;
    /// - a token used less than `grace` ago gives [`RefreshOutcome::Again`] with the number of tokens
    ///   from it to the unused one, or [`RefreshOutcome::Overtaken`] if that is above
    ///   [`RefreshOutcome::MAX_STEPS`]: no order of requests within the grace ends a family;
    /// - any other used token ends its family;
    /// - every token of a family that ended or expired gives [`RefreshOutcome::Dead`], at least until the
    ///   next purge, after which it may be unknown;
    /// - a family that was refreshed as often as `limit` allows ends, in place of a further token: the
    ///   store keeps every used token, and must not be filled by one user.
    ///
    /// What ends the family also revokes its access tokens, as [`end_family`](Self::end_family) does.
    ///
    /// Callers must derive the same successor each time the same token is presented.
    fn refresh(&self, request: Refresh) -> StoreFuture<'_, RefreshOutcome>;

    /// Ends the family of a token, used or not, and atomically adds the
    /// [revocation of its access tokens](Revocation::access_tokens), which is needed until `until`: a caller
    /// that got no answer finds the family ended, and cannot add it. Returns the family if it was live.
    fn end_family(&self, token: TokenHash, until: Timestamp) -> StoreFuture<'_, Option<Family>>;

    /// Ends the family with this id, if there is one. It is called after the store has lost writes, since
    /// the end of the family may be among them. The default, which ends nothing, is for a store that
    /// loses no writes.
    fn end_family_by_id(&self, id: [u8; 16]) -> StoreFuture<'_, ()> {
        let _ = id;
        StoreFuture::ready(Ok(()))
    }

    /// Adds a revocation at a new position in the sequence, after all that were read before, in
    /// place of an existing one of the same subject. The second of a cut-off never moves back, nor
    /// does the `until` of a token or session.
    ///
    /// Atomically, a cut-off of a user ends all their families, one of everyone those of all users,
    /// and the end of a session those that began in it. The last also adds the
    /// [revocations of their access tokens](Revocation::access_tokens), with its own `until`.
    fn revoke(&self, revocation: Revocation) -> StoreFuture<'_, Revoked>;

    /// All revocations after a position in the sequence that are still needed, in order; all of
    /// them for 0. Where the store has lost revocations that its caller knows, the sequence goes on in the
    /// next [era](super::ERA), with a [`Revocation::All`] at its beginning. Cut-offs are needed for ever, those of tokens until a purge after their `until`.
    fn revocations(&self, since: u64) -> StoreFuture<'_, RevocationBatch>;

    /// Stores a ticket until it is taken or expires.
    fn put_ticket(&self, hash: TokenHash, ticket: Ticket) -> StoreFuture<'_, ()>;

    /// Takes a ticket out: no second call gets it. `None` if it has expired.
    fn take_ticket(&self, hash: TokenHash, now: Timestamp) -> StoreFuture<'_, Option<Ticket>>;

    /// Removes up to `limit` rows that are no longer needed, and returns how many.
    fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize>;

    /// Tells of each revocation from now on, of all instances that share the store, by
    /// [`News::Revocation`](super::News::Revocation). `None` for a store that tells nothing: it is
    /// asked for revocations once a second in any case.
    fn news(&self) -> Option<NewsReader> {
        None
    }

    /// Whether the store is known to be able to write at the moment. While it cannot,
    /// [`App::readiness`](crate::App::readiness) reports 503. It must not wait.
    fn is_writable(&self) -> bool {
        true
    }
}

/// The refresh tokens issued from one login.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Family {
    /// Its id in logs; it grants no access.
    pub id: [u8; 16],
    /// The user and their rights.
    pub identity: Identity,
    /// When the user logged in.
    pub authenticated: Timestamp,
    /// When the family expires.
    pub expires: Timestamp,
    /// The session in which it began, and with which it ends.
    pub session: Option<Handle>,
}

impl Family {
    /// The most families of one user.
    pub const MAX_PER_USER: usize = 100;

    /// The family of a login of `identity` at `authenticated`, outside of a session.
    pub fn new(
        id: [u8; 16],
        identity: Identity,
        authenticated: Timestamp,
        expires: Timestamp,
    ) -> Self {
        Self { id, identity, authenticated, expires, session: None }
    }
}

/// The result of a refresh.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefreshOutcome {
    /// The successor is now the valid token.
    Done(Family),
    /// The token was used within the grace period: the client gets the token that is valid now.
    Again {
        /// The family of the token.
        family: Family,
        /// How many tokens after the presented one the valid one is: 1 for its successor, more where
        /// that was used, too.
        steps: u32,
    },
    /// The token was used within the grace period, and more than [`RefreshOutcome::MAX_STEPS`] tokens
    /// followed. It is refused, and the family stays live.
    Overtaken,
    /// The token was used before, so it was copied. This call ended the family.
    Reused(Family),
    /// The family ended or expired.
    Dead,
    /// The token does not exist.
    Unknown,
}

impl RefreshOutcome {
    /// The highest number of steps in [`Again`](Self::Again), which bounds what one call reads and
    /// what is derived from it.
    pub const MAX_STEPS: u32 = 32;
}

/// Tokens that are no longer accepted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Revocation {
    /// The token with this `jti`; the row is needed until `until`, its expiry plus leeway.
    Token {
        /// `jti`
        id: Box<str>,
        /// When the row is no longer needed.
        until: Timestamp,
    },
    /// A session that ended: the tokens with its handle as `sid`, and the families that began in it.
    Session {
        /// The user of the session.
        user: Box<str>,
        /// The handle of the session.
        session: Handle,
        /// When the row is no longer needed.
        until: Timestamp,
    },
    /// A cut-off of a user: tokens that state an earlier position, or an `iat` before this second.
    User {
        /// `sub`
        user: Box<str>,
        /// Seconds since 1970.
        before: u64,
    },
    /// A cut-off of everyone: the tokens of all users, likewise, and all families.
    Everyone {
        /// Seconds since 1970.
        before: u64,
    },
    /// The same for access tokens and tickets alone; families remain.
    All {
        /// Seconds since 1970.
        before: u64,
    },
}

impl Revocation {
    /// The revocation of the access tokens of the family with this id, which they state as their `sid`.
    pub fn access_tokens(family: [u8; 16], until: Timestamp) -> Self {
        Self::Token { id: Handle(family).to_string().into(), until }
    }

    /// When its row is no longer needed; `None` for a cut-off, which is needed for ever.
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Token { until, .. } | Self::Session { until, .. } => Some(*until),
            Self::User { .. } | Self::Everyone { .. } | Self::All { .. } => None,
        }
    }

    /// Extends this revocation to what an earlier one of the same subject covers, which it replaces:
    /// neither its second nor its `until` moves back.
    pub fn cover(&mut self, earlier: &Self) {
        match (self, earlier) {
            (
                Self::Token { until, .. } | Self::Session { until, .. },
                Self::Token { until: earlier, .. } | Self::Session { until: earlier, .. },
            ) => *until = (*until).max(*earlier),
            (
                Self::User { before, .. } | Self::Everyone { before } | Self::All { before },
                Self::User { before: earlier, .. }
                | Self::Everyone { before: earlier }
                | Self::All { before: earlier },
            ) => *before = (*before).max(*earlier),
            _ => (),
        }
    }
}

/// The result of a revocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Revoked {
    /// Its position in the sequence.
    pub position: u64,
    /// For a cut-off of a user, the highest position of an earlier one of the same user or of
    /// everyone, 0 without one. For one of everyone or of all, that of any earlier revocation.
    pub before: u64,
    /// How many families ended; 0 for a cut-off of everyone whose families the store could not count.
    pub ended: u64,
    /// The ids of the families that ended with their user or session. None for a cut-off of everyone, which may end
    /// millions.
    pub families: Vec<[u8; 16]>,
}

impl Revoked {
    /// A revocation at `position`, after a cut-off at `before`, which ended these families. For a cut-off of
    /// everyone, a store sets [`ended`](Self::ended) in place of naming them.
    pub fn new(position: u64, before: u64, families: Vec<[u8; 16]>) -> Self {
        Self { position, before, ended: families.len() as u64, families }
    }
}

/// Revocations, and the position in the sequence after them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RevocationBatch {
    /// The revocations, each with its position.
    pub revocations: Vec<(u64, Revocation)>,
    /// The position from which to read the next time.
    pub sequence: u64,
}

impl RevocationBatch {
    /// A batch after which the sequence continues at `sequence`.
    pub fn new(revocations: Vec<(u64, Revocation)>, sequence: u64) -> Self {
        Self { revocations, sequence }
    }
}

/// A single-use credential for one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ticket {
    /// The user and their rights.
    pub identity: Identity,
    /// When the user logged in.
    pub authenticated: Option<Timestamp>,
    /// The session in which it was issued; what the ticket opened ends with it.
    pub session: Option<Handle>,
    /// The `jti` and the expiry of the token from which it was issued; what the ticket opened ends
    /// with it.
    pub token: Option<(Box<str>, Timestamp)>,
    /// The newest revocation that was known when the request that issued it began.
    pub cut_offs: u64,
    /// When it expires.
    pub expires: Timestamp,
}

impl Ticket {
    /// How long a ticket can be used.
    pub const LIFETIME: Duration = Duration::from_secs(30);

    /// A ticket without a session and token. A store that reads one back sets the other fields.
    pub fn new(identity: Identity, expires: Timestamp) -> Self {
        Self { identity, authenticated: None, session: None, token: None, cut_offs: 0, expires }
    }

    /// The second in which it was issued.
    pub fn issued_at(&self) -> Timestamp {
        Timestamp::from_seconds(self.expires.seconds().saturating_sub(Self::LIFETIME.as_secs()))
    }
}
