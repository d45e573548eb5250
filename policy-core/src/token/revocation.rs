//! Tokens that are refused before they expire.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    sync::Arc,
    time::Duration,
};

use crate::time::Timestamp;

/// The revocations that one process knows. It is checked for every token, without a store.
///
/// A token is revoked by its `jti`, by its `sid` (with all others that followed from the same
/// login), by a cut-off of its user, or by the cut-off of all users. A
/// cut-off names a second, and tokens whose `iat` is before it are refused. Since `iat` counts
/// whole seconds, the [cut-off](Self::cut_off) of now is the *next* second, and a token that is
/// [issued](Self::issue_time) after it, in the same second, says that second too.
///
/// ```
/// use std::time::Duration;
/// use policy_core::{time::Timestamp, token::{TokenNames, RevocationSet, RevocationStatus}};
///
/// let now = Timestamp::from_seconds(1_800_000_000);
/// let mut set = RevocationSet::new(Duration::from_secs(3630), Duration::from_secs(5));
/// set.caught_up(now);
/// set.revoke_user("ada", set.cut_off("ada", now));
/// let token = |user| TokenNames { id: "j1", session: None, user };
/// assert_eq!(set.status(now, now, || token("ada")), RevocationStatus::Revoked);
/// assert_eq!(set.status(now, now, || token("eve")), RevocationStatus::Good);
/// assert_eq!(set.status(set.issue_time("ada", now), now, || token("ada")), RevocationStatus::Good);
/// ```
#[derive(Debug)]
pub struct RevocationSet {
    tokens: HashMap<Arc<str>, Timestamp>,
    users: HashMap<Arc<str>, u64>,
    /// The cut-off of all users.
    all: u64,
    /// When each entry can be dropped.
    ends: BinaryHeap<Reverse<(Timestamp, Entry)>>,
    /// How long a token can be accepted after its `iat`: its longest life and the leeway.
    longest: Duration,
    max_staleness: Duration,
    /// When the set last had everything that the store has.
    caught_up: Option<Timestamp>,
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
}

/// Whether a token is revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RevocationStatus {
    /// It is not revoked.
    Good,
    /// It is revoked.
    Revoked,
    /// It is not known to be revoked, but the set is too old to rely on.
    Stale,
}

impl RevocationSet {
    /// An empty set that is stale until it [caught up](Self::caught_up). `longest` is how long a
    /// token can be accepted after its `iat`, `max_staleness` how old the set may get.
    pub fn new(longest: Duration, max_staleness: Duration) -> Self {
        Self {
            tokens: HashMap::new(),
            users: HashMap::new(),
            all: 0,
            ends: BinaryHeap::new(),
            longest,
            max_staleness,
            caught_up: None,
        }
    }

    /// The revocation status of a token that is otherwise valid. If nothing is revoked, this takes
    /// a few comparisons and `names` is not called. It never allocates.
    #[inline]
    pub fn status<'a>(
        &self,
        issued: Timestamp,
        now: Timestamp,
        names: impl FnOnce() -> TokenNames<'a>,
    ) -> RevocationStatus {
        let issued = issued.seconds();
        if issued < self.all || (!self.is_empty() && self.has_revoked(names(), issued)) {
            RevocationStatus::Revoked
        } else if self.is_stale(now) {
            RevocationStatus::Stale
        } else {
            RevocationStatus::Good
        }
    }

    fn has_revoked(&self, names: TokenNames<'_>, issued: u64) -> bool {
        self.tokens.contains_key(names.id)
            || names.session.is_some_and(|session| self.tokens.contains_key(session))
            || self.users.get(names.user).is_some_and(|before| issued < *before)
    }

    /// Whether the set lost touch with the store for longer than allowed.
    pub fn is_stale(&self, now: Timestamp) -> bool {
        self.caught_up.is_none_or(|then| now.since(then) > self.max_staleness)
    }

    /// Notes that the set had everything that the store had at `when`.
    pub fn caught_up(&mut self, when: Timestamp) {
        self.caught_up = self.caught_up.max(Some(when));
    }

    /// Revokes the token with this `jti`, or the tokens with this `sid`; `until` is when the last
    /// of them expires, plus the leeway. Returns whether this changed the set.
    pub fn revoke_token(&mut self, id: &str, until: Timestamp) -> bool {
        if self.tokens.get(id).is_some_and(|known| *known >= until) {
            return false;
        }
        let id: Arc<str> = id.into();
        self.ends.push(Reverse((until, Entry::Token(Arc::clone(&id)))));
        self.tokens.insert(id, until).is_none()
    }

    /// Revokes the tokens of a user whose `iat` is before this second; a cut-off never moves back.
    /// Returns whether this changed the set.
    pub fn revoke_user(&mut self, user: &str, before: u64) -> bool {
        if self.users.get(user).is_some_and(|known| *known >= before) {
            return false;
        }
        let user: Arc<str> = user.into();
        self.ends.push(Reverse((self.end_of_cut(before), Entry::User(Arc::clone(&user)))));
        self.users.insert(user, before);
        true
    }

    /// Revokes all tokens whose `iat` is before this second; the cut-off never moves back. Returns
    /// whether this changed the set.
    pub fn revoke_all(&mut self, before: u64) -> bool {
        let is_news = before > self.all;
        self.all = self.all.max(before);
        is_news
    }

    /// The cut-off that covers every token that was issued for a user until now.
    pub fn cut_off(&self, user: &str, now: Timestamp) -> u64 {
        self.issue_time(user, now).seconds().saturating_add(1)
    }

    /// The cut-off that covers every token that was issued until now.
    pub fn cut_off_of_all(&self, now: Timestamp) -> u64 {
        let latest = self.users.values().copied().max().unwrap_or_default().max(self.all);
        latest.max(now.seconds()).saturating_add(1)
    }

    /// The `iat` of a token that is issued now. If a cut-off of this second would cover it, the
    /// `iat` is one second later, plus one for each further cut-off in the same second.
    pub fn issue_time(&self, user: &str, now: Timestamp) -> Timestamp {
        let cut = self.users.get(user).copied().unwrap_or_default().max(self.all);
        now.max(Timestamp::from_seconds(cut))
    }

    /// Drops up to `limit` entries that cover no live token any more.
    pub fn expire(&mut self, now: Timestamp, limit: usize) {
        for _ in 0..limit {
            if self.ends.peek().is_none_or(|Reverse((end, _))| *end > now) {
                return;
            }
            // An entry whose end was extended is in the heap a second time, with the later end.
            match self.ends.pop() {
                Some(Reverse((end, Entry::Token(id)))) => {
                    if self.tokens.get(&id).is_some_and(|until| *until <= end) {
                        self.tokens.remove(&id);
                    }
                }
                Some(Reverse((end, Entry::User(user)))) => {
                    let cut = self.users.get(&user);
                    if cut.is_some_and(|before| self.end_of_cut(*before) <= end) {
                        self.users.remove(&user);
                    }
                }
                None => return,
            }
        }
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
    fn end_of_cut(&self, before: u64) -> Timestamp {
        Timestamp::from_seconds(before).after(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        cell::Cell,
        hash::{BuildHasher, RandomState},
    };

    use proptest::{
        prelude::*,
        test_runner::{Config, RngSeed, TestRunner},
    };

    use super::*;

    const LONGEST: Duration = Duration::from_secs(100);
    const LEEWAY: Duration = Duration::from_secs(30);

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn fresh() -> RevocationSet {
        let mut set = RevocationSet::new(LONGEST, Duration::from_secs(5));
        set.caught_up(at(0));
        set
    }

    /// The status of the token `j` of user `u`, issued at 0.
    fn status(set: &RevocationSet, session: Option<&str>, now: Timestamp) -> RevocationStatus {
        set.status(at(0), now, || TokenNames { id: "j", session, user: "u" })
    }

    #[test]
    fn a_set_that_never_caught_up_is_stale() {
        let mut set = RevocationSet::new(LONGEST, Duration::from_secs(5));
        assert_eq!(status(&set, None, at(0)), RevocationStatus::Stale);
        set.caught_up(at(10));
        assert_eq!(status(&set, None, at(15)), RevocationStatus::Good);
        assert_eq!(status(&set, None, Timestamp::from_millis(15_001)), RevocationStatus::Stale);
        set.caught_up(at(9));
        assert!(!set.is_stale(at(15)), "an answer that came late sets nothing back");
    }

    #[test]
    fn what_is_known_to_be_revoked_is_so_in_a_stale_set_too() {
        let mut set = fresh();
        set.revoke_token("j", at(300));
        assert_eq!(status(&set, None, at(200)), RevocationStatus::Revoked);
    }

    #[test]
    fn tokens_of_one_login_are_revoked_together() {
        let mut set = fresh();
        set.revoke_token("s", at(300));
        assert_eq!(status(&set, Some("s"), at(1)), RevocationStatus::Revoked);
        assert_eq!(status(&set, Some("t"), at(1)), RevocationStatus::Good);
    }

    #[test]
    fn entries_are_kept_until_their_end_and_not_longer() {
        let mut set = fresh();
        assert!(set.revoke_token("j", at(300)));
        assert!(!set.revoke_token("j", at(200)), "an end does not move forward");
        assert!(!set.revoke_token("j", at(330)), "and a later one is no news");
        assert!(set.revoke_user("u", 230));
        set.expire(at(329), 10);
        assert_eq!(set.len(), 2);
        set.expire(at(330), 10);
        assert!(set.is_empty());
    }

    #[test]
    fn expiring_stops_at_its_limit() {
        let mut set = fresh();
        (0..10).for_each(|n| assert!(set.revoke_token(&n.to_string(), at(n))));
        set.expire(at(20), 4);
        assert_eq!(set.len(), 6);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Token { id: u8, life: u64 },
        User { user: u8 },
        All,
        Expire,
        Wait { seconds: u64 },
        Issue { id: u8, user: u8, life: u64 },
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            3 => (0..6_u8, 1..70_u64).prop_map(|(id, life)| Step::Token { id, life }),
            2 => (0..3_u8).prop_map(|user| Step::User { user }),
            1 => Just(Step::All),
            2 => Just(Step::Expire),
            4 => (0..40_u64).prop_map(|seconds| Step::Wait { seconds }),
            4 => (0..6_u8, 0..3_u8, 1..70_u64)
                .prop_map(|(id, user, life)| Step::Issue { id, user, life }),
        ];
        prop::collection::vec(step, 1..60)
    }

    /// A revoked token, by its id or by a cut-off, is refused at every later time until its
    /// lifetime and the leeway are over, whatever else is revoked or dropped meanwhile; and nothing
    /// else is refused.
    #[test]
    fn revoked_is_revoked_until_the_end() {
        struct Issued {
            id: String,
            user: String,
            iat: u64,
            exp: u64,
            is_revoked: bool,
        }
        let refused = Cell::new(0);
        let forgotten = Cell::new(0);
        let config = Config::default();
        let seed = match config.rng_seed {
            RngSeed::Fixed(seed) => seed,
            RngSeed::Random => RandomState::new().hash_one(()),
        };
        println!("PROPTEST_RNG_SEED={seed}");
        let config = Config { rng_seed: RngSeed::Fixed(seed), ..config };
        TestRunner::new(config)
            .run(&steps(), |steps| {
                let mut set = fresh();
                let mut issued: Vec<Issued> = Vec::new();
                let mut now = 1000;
                for step in steps {
                    match step {
                        Step::Wait { seconds } => now += seconds,
                        Step::Issue { id, user, life } => {
                            // Ids are unique, as 16 random bytes are.
                            let id = format!("{id}-{}", issued.len());
                            let user = user.to_string();
                            let iat = set.issue_time(&user, at(now)).seconds();
                            issued.push(Issued {
                                id,
                                user,
                                iat,
                                exp: iat + life,
                                is_revoked: false,
                            });
                        }
                        Step::Token { id, life } => {
                            let mut of_id = issued.iter_mut().rev();
                            let named = format!("{id}-");
                            match of_id.find(|token| token.id.starts_with(&named)) {
                                Some(token) => {
                                    set.revoke_token(&token.id, at(token.exp).after(LEEWAY));
                                    token.is_revoked = true;
                                }
                                None => _ = set.revoke_token(&named, at(now + life)),
                            }
                        }
                        Step::User { user } => {
                            let user = user.to_string();
                            set.revoke_user(&user, set.cut_off(&user, at(now)));
                            issued
                                .iter_mut()
                                .filter(|token| token.user == user)
                                .for_each(|token| token.is_revoked = true);
                        }
                        Step::All => {
                            set.revoke_all(set.cut_off_of_all(at(now)));
                            issued.iter_mut().for_each(|token| token.is_revoked = true);
                        }
                        Step::Expire => {
                            let before = set.len();
                            set.expire(at(now), 100);
                            forgotten.set(forgotten.get() + before - set.len());
                        }
                    }
                    set.caught_up(at(now));
                    for token in issued.iter().filter(|token| at(now) < at(token.exp).after(LEEWAY))
                    {
                        let status = set.status(at(token.iat), at(now), || TokenNames {
                            id: &token.id,
                            session: None,
                            user: &token.user,
                        });
                        let wanted = if token.is_revoked {
                            RevocationStatus::Revoked
                        } else {
                            RevocationStatus::Good
                        };
                        prop_assert_eq!(status, wanted, "{} at {}", &token.id, now);
                        refused.set(refused.get() + usize::from(token.is_revoked));
                    }
                }
                Ok(())
            })
            .unwrap();
        assert!(refused.get() > 1000 && forgotten.get() > 100, "{refused:?} {forgotten:?}");
    }
}
