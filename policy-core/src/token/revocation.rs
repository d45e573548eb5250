//! Tokens that are refused before they expire.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    sync::Arc,
    time::Duration,
};

use super::name_filter::{NameFilter, NameHash};
use crate::time::Timestamp;

/// The revocations that one process knows. It is checked for every token, without a store.
///
/// A token is revoked by its `jti`, by its `sid` (with all others that followed from the same
/// login), by a cut-off of its user, or by the cut-off of all users.
///
/// The store numbers its cut-offs, and a token of this app states the newest number that was known
/// when the request that issued it began ([`NewClaims::cut_offs`](super::NewClaims::cut_offs)).
/// A cut-off with a higher number covers it, regardless of clocks. A cut-off also names a second,
/// and tokens whose `iat` is before it are refused: tokens of other issuers state no number. Since
/// `iat` counts whole seconds, the [cut-off](Self::cut_off) of now is the *next* second, and a
/// token that is [issued](Self::issue_time) after it, in the same second, states the next second,
/// too. Further cut-offs of that second name the same one, and cover such a token by their number:
/// otherwise fast cut-offs would move the `iat` of later tokens into the future.
///
/// The age of the set is measured by a monotonic clock: the time since a fixed point.
///
/// ```
/// use std::time::Duration;
/// use policy_core::{time::Timestamp, token::{TokenCutOff, TokenNames, RevocationSet, RevocationStatus}};
///
/// let (now, since_start) = (Timestamp::from_seconds(1_800_000_000), Duration::from_secs(60));
/// let mut set = RevocationSet::new(Duration::from_secs(3630), Duration::from_secs(5));
/// set.caught_up(since_start);
/// set.revoke_user("ada", TokenCutOff { before: set.cut_off("ada", now), number: 7 });
/// let status = |user, issued, cut_offs| {
///     let names = TokenNames { id: "j1", session: None, user, cut_offs };
///     set.status(issued, since_start, || names)
/// };
/// assert_eq!(status("ada", now, None), RevocationStatus::Revoked);
/// assert_eq!(status("eve", now, None), RevocationStatus::Good);
/// let later = set.issue_time("ada", now);
/// assert_eq!(status("ada", later, Some(7)), RevocationStatus::Good);
/// assert_eq!(status("ada", later, Some(6)), RevocationStatus::Revoked);
/// ```
#[derive(Debug)]
pub struct RevocationSet {
    tokens: HashMap<Arc<str>, NameEntry<Timestamp>>,
    users: HashMap<Arc<str>, NameEntry<TokenCutOff>>,
    /// The names of revoked tokens and of users with a cut-off.
    filter: NameFilter,
    /// The cut-off of all users.
    all: TokenCutOff,
    /// The highest number of a cut-off that was dropped.
    dropped: u64,
    /// When each entry can be dropped.
    ends: BinaryHeap<Reverse<(Timestamp, Entry)>>,
    /// How long a token can be accepted after a cut-off that covers it.
    longest: Duration,
    max_staleness: Duration,
    /// When the set was last complete with respect to the store.
    caught_up: Option<Duration>,
}

/// A cut-off: tokens that were issued before it are revoked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCutOff {
    /// Tokens whose `iat` is before this second are revoked.
    pub before: u64,
    /// Its number in the store. Tokens that state a lower one are revoked.
    pub number: u64,
}

impl TokenCutOff {
    /// Whether it covers a token with this `iat` that states the number `known`.
    pub fn covers(self, issued: u64, known: Option<u64>) -> bool {
        issued < self.before || known.is_some_and(|known| known < self.number)
    }

    fn max(self, other: Self) -> Self {
        Self { before: self.before.max(other.before), number: self.number.max(other.number) }
    }
}

/// The entry of a name, with the hash of the name for the filter.
#[derive(Clone, Copy, Debug)]
struct NameEntry<T> {
    hash: NameHash,
    known: T,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Entry {
    Token(Arc<str>),
    User(Arc<str>),
}

/// The ids by which a token can be revoked.
#[derive(Clone, Copy, Debug)]
pub struct TokenNames<'a> {
    /// Its `jti`.
    pub id: &'a str,
    /// Its `sid`.
    pub session: Option<&'a str>,
    /// Its `sub`.
    pub user: &'a str,
    /// The newest cut-off that was known when it was issued; `None` if the token does not state it.
    pub cut_offs: Option<u64>,
}

/// Whether a token is revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RevocationStatus {
    /// It is not revoked.
    Good,
    /// It is revoked.
    Revoked,
    /// It is not known to be revoked, but the set is too old to be reliable.
    Stale,
}

impl RevocationSet {
    /// An empty set that is stale until it has [caught up](Self::caught_up). `longest` is how long
    /// a token can be accepted after a cut-off that covers it: its maximum lifetime, the leeway, and
    /// the time by which the clock of its issuer may be ahead. `max_staleness` is how old the set
    /// may get.
    pub fn new(longest: Duration, max_staleness: Duration) -> Self {
        Self {
            tokens: HashMap::new(),
            users: HashMap::new(),
            filter: NameFilter::default(),
            all: TokenCutOff::default(),
            dropped: 0,
            ends: BinaryHeap::new(),
            longest,
            max_staleness,
            caught_up: None,
        }
    }

    /// The revocation status of a token that is otherwise valid, at a time since the fixed point. If
    /// nothing is revoked, this takes a few comparisons and `names` is not called. It never
    /// allocates.
    #[inline]
    pub fn status<'a>(
        &self,
        issued: Timestamp,
        now: Duration,
        names: impl FnOnce() -> TokenNames<'a>,
    ) -> RevocationStatus {
        let has_revoked = (!self.is_empty() || self.all != TokenCutOff::default())
            && self.has_revoked(names(), issued);
        if has_revoked {
            RevocationStatus::Revoked
        } else if self.is_stale(now) {
            RevocationStatus::Stale
        } else {
            RevocationStatus::Good
        }
    }

    fn has_revoked(&self, names: TokenNames<'_>, issued: Timestamp) -> bool {
        let issued = issued.seconds();
        let is_covered = |cut: &TokenCutOff| cut.covers(issued, names.cut_offs);
        is_covered(&self.all) || (self.may_have(names) && self.has(names, is_covered))
    }

    /// Whether one of the names may be revoked. Queries the filter for all three at once, so that
    /// the reads from memory overlap.
    fn may_have(&self, names: TokenNames<'_>) -> bool {
        let may_have = |name| self.filter.may_have(name);
        may_have(names.id) | names.session.is_some_and(may_have) | may_have(names.user)
    }

    fn has(&self, names: TokenNames<'_>, is_covered: impl Fn(&TokenCutOff) -> bool) -> bool {
        self.tokens.contains_key(names.id)
            || names.session.is_some_and(|session| self.tokens.contains_key(session))
            || self.users.get(names.user).is_some_and(|user| is_covered(&user.known))
    }

    /// Whether a cut-off of this user, or of all, has a higher number than the one that was known.
    /// Always true for a number that is lower than that of a dropped cut-off.
    pub fn is_cut_off(&self, user: &str, known: u64) -> bool {
        let of_user = self.users.get(user).map_or(0, |user| user.known.number);
        known < of_user.max(self.all.number).max(self.dropped)
    }

    /// Whether the last contact with the store is longer ago than allowed.
    pub(crate) fn is_stale(&self, now: Duration) -> bool {
        self.caught_up.is_none_or(|then| now.saturating_sub(then) > self.max_staleness)
    }

    /// Notes that the set was complete with respect to the store at `when`.
    pub fn caught_up(&mut self, when: Duration) {
        self.caught_up = self.caught_up.max(Some(when));
    }

    /// Revokes the token with this `jti`, or the tokens with this `sid`; `until` is when the last
    /// of them expires, plus the leeway. Returns whether this changed the set.
    pub fn revoke_token(&mut self, id: &str, until: Timestamp) -> bool {
        let known = self.tokens.get(id).copied();
        if known.is_some_and(|token| token.known >= until) {
            return false;
        }
        let hash = known.map_or_else(|| self.add_to_filter(id), |token| token.hash);
        let id: Arc<str> = id.into();
        self.ends.push(Reverse((until, Entry::Token(Arc::clone(&id)))));
        self.tokens.insert(id, NameEntry { hash, known: until });
        known.is_none()
    }

    /// Revokes the tokens of a user that this cut-off covers; it never moves back. Returns whether
    /// this changed the set.
    pub fn revoke_user(&mut self, user: &str, cut: TokenCutOff) -> bool {
        let known = self.users.get(user).copied();
        let before = known.map_or_else(TokenCutOff::default, |user| user.known);
        let cut = before.max(cut);
        if before == cut {
            return false;
        }
        let hash = known.map_or_else(|| self.add_to_filter(user), |user| user.hash);
        let user: Arc<str> = user.into();
        self.ends.push(Reverse((self.end_of_cut(cut), Entry::User(Arc::clone(&user)))));
        self.users.insert(user, NameEntry { hash, known: cut });
        true
    }

    /// Revokes all tokens that this cut-off covers; it never moves back. Returns whether this
    /// changed the set.
    pub fn revoke_all(&mut self, cut: TokenCutOff) -> bool {
        let known = self.all;
        self.all = known.max(cut);
        self.all != known
    }

    /// The second of a cut-off of a user now. With its number, it covers every token that was
    /// issued for the user until now.
    pub fn cut_off(&self, user: &str, now: Timestamp) -> u64 {
        self.last_cut_off(user).max(now.seconds().saturating_add(1))
    }

    /// The second of a cut-off of all users now. With its number, it covers every token that was
    /// issued until now.
    pub fn cut_off_of_all(&self, now: Timestamp) -> u64 {
        self.all.before.max(now.seconds().saturating_add(1))
    }

    /// The `iat` of a token that is issued now. If a cut-off of this second would cover it, the
    /// `iat` is one second later.
    pub fn issue_time(&self, user: &str, now: Timestamp) -> Timestamp {
        now.max(Timestamp::from_seconds(self.last_cut_off(user)))
    }

    /// The second of the last cut-off that a user was subject to.
    fn last_cut_off(&self, user: &str) -> u64 {
        let of_user = self.users.get(user).map_or(0, |user| user.known.before);
        of_user.max(self.all.before)
    }

    /// Drops up to `limit` entries that no longer cover a live token. Returns whether there may be
    /// more of them.
    pub fn expire(&mut self, now: Timestamp, limit: usize) -> bool {
        for _ in 0..limit {
            if self.ends.peek().is_none_or(|Reverse((end, _))| *end > now) {
                return false;
            }
            // If the end of an entry was extended, the entry is in the heap a second time, with the
            // later end.
            match self.ends.pop() {
                Some(Reverse((end, Entry::Token(id)))) => {
                    if self.tokens.get(&id).is_some_and(|token| token.known <= end) {
                        self.tokens.remove(&id);
                    }
                }
                Some(Reverse((end, Entry::User(user)))) => {
                    let cut = self.users.get(&user).map(|user| user.known);
                    if let Some(cut) = cut.filter(|cut| self.end_of_cut(*cut) <= end) {
                        self.users.remove(&user);
                        self.dropped = self.dropped.max(cut.number);
                    }
                }
                None => return false,
            }
        }
        true
    }

    /// Adds a name that is not revoked yet.
    fn add_to_filter(&mut self, name: &str) -> NameHash {
        if self.filter.is_full() {
            let tokens = self.tokens.values().map(|token| token.hash);
            let names = tokens.chain(self.users.values().map(|user| user.hash));
            self.filter = NameFilter::from_hashes(names, self.len());
        }
        let hash = NameHash::new(name);
        self.filter.insert(hash);
        hash
    }

    /// The revoked tokens, each with its expiry.
    pub fn tokens(&self) -> impl Iterator<Item = (&str, Timestamp)> {
        self.tokens.iter().map(|(id, token)| (&**id, token.known))
    }

    /// The users with a cut-off, each with the last one.
    pub fn users(&self) -> impl Iterator<Item = (&str, TokenCutOff)> {
        self.users.iter().map(|(user, known)| (&**user, known.known))
    }

    /// The last cut-off of all users.
    pub fn all(&self) -> TokenCutOff {
        self.all
    }

    /// The number of revoked tokens and users.
    pub fn len(&self) -> usize {
        self.tokens.len() + self.users.len()
    }

    /// Whether no token and no user is revoked.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// When every token that a cut-off covers has expired.
    fn end_of_cut(&self, cut: TokenCutOff) -> Timestamp {
        Timestamp::from_seconds(cut.before).after(self.longest)
    }
}

#[cfg(test)]
mod tests;
