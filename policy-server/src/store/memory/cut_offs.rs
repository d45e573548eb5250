//! The last cut-off of each user.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Mutex,
};

use crate::base::locks::lock;

/// The most users that are remembered. Only a request in flight that is older than this many
/// cut-offs can meet a user who is not.
const REMEMBERED: usize = 100_000;

/// Numbers the cut-offs of sessions, and knows the last one of each user.
#[derive(Default)]
pub(super) struct CutOffs(Mutex<State>);

#[derive(Default)]
struct State {
    newest: u64,
    /// The last cut-off that concerns every user: that of everyone, or the last one of a user who
    /// is not remembered.
    of_all: u64,
    of_users: HashMap<Box<str>, u64>,
    users: BTreeMap<u64, Box<str>>,
}

impl CutOffs {
    /// The number of the newest one.
    pub(super) fn newest(&self) -> u64 {
        lock(&self.0).newest
    }

    /// The number of the last one that concerns a user: their epoch.
    pub(super) fn epoch(&self, user: &str) -> u64 {
        lock(&self.0).epoch(user)
    }

    /// Cuts a user off. Returns the epoch before, and the new one.
    pub(super) fn cut(&self, user: &str) -> (u64, u64) {
        let mut state = lock(&self.0);
        let (before, number) = (state.epoch(user), state.next());
        if let Some(old) = state.of_users.insert(user.into(), number) {
            state.users.remove(&old);
        }
        state.users.insert(number, user.into());
        state.forget();
        (before, number)
    }

    /// Cuts everyone off. Returns the highest epoch before, and everyone's new one.
    pub(super) fn cut_everyone(&self) -> (u64, u64) {
        let mut state = lock(&self.0);
        let (before, number) = (state.newest, state.next());
        state.of_all = number;
        state.of_users.clear();
        state.users.clear();
        (before, number)
    }
}

impl State {
    fn epoch(&self, user: &str) -> u64 {
        self.of_users.get(user).copied().unwrap_or_default().max(self.of_all)
    }

    fn next(&mut self) -> u64 {
        self.newest += 1;
        self.newest
    }

    /// Forgets the oldest, which then counts as one of every user: this refuses more, never less.
    fn forget(&mut self) {
        if self.users.len() > REMEMBERED
            && let Some((number, user)) = self.users.pop_first()
        {
            self.of_users.remove(&user);
            self.of_all = self.of_all.max(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_off_that_is_forgotten_concerns_every_user() {
        let cut_offs = CutOffs::default();
        assert_eq!(cut_offs.cut("first"), (0, 1));
        for number in 0..REMEMBERED {
            assert_eq!(cut_offs.epoch("other"), 0);
            cut_offs.cut(&number.to_string());
        }
        assert_eq!((cut_offs.epoch("first"), cut_offs.epoch("other")), (1, 1));
        assert_eq!(cut_offs.epoch("0"), 2);
        assert_eq!(lock(&cut_offs.0).of_users.len(), REMEMBERED);
    }

    #[test]
    fn a_cut_off_of_everyone_applies_to_each_user() {
        let cut_offs = CutOffs::default();
        cut_offs.cut("ada");
        assert_eq!(cut_offs.cut_everyone(), (1, 2));
        assert_eq!([cut_offs.epoch("ada"), cut_offs.epoch("bob")], [2, 2]);
        assert_eq!(cut_offs.cut("ada"), (2, 3));
        assert_eq!([cut_offs.epoch("ada"), cut_offs.epoch("bob")], [3, 2]);
    }
}
