//! What becomes of a session at the end of a request.

use http::StatusCode;

use super::{Change, Data, DataError, Handle, Identity, Record, SessionId, Timings};
use crate::time::Timestamp;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its handler answered with this status.
    Answered(StatusCode),
    /// Its handler panicked, took too long, or nobody waits for the answer any more.
    Lost,
}

impl Outcome {
    /// Whether effects that give rights are committed.
    fn gives(self) -> bool {
        matches!(self, Self::Answered(status) if status.as_u16() < 400)
    }

    /// Whether plain writes are committed.
    fn writes(self) -> bool {
        matches!(self, Self::Answered(status) if status.as_u16() < 500)
    }
}

/// Rights that a request gives to its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// A user logged in.
    Login {
        /// Who.
        identity: Identity,
        /// Whether the cookie outlives the browser.
        is_remembered: bool,
    },
    /// The user of the session proved again who they are.
    Elevate {
        /// The same user, with what they may do from now on.
        identity: Identity,
    },
}

/// What a request does to its session, as it was told so far.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    ends: bool,
    grant: Option<Grant>,
    /// How many of the changes came before the grant.
    before_grant: usize,
    changes: Vec<Change>,
}

impl Effects {
    /// Ends the session. Of its values, those of these keys go on in a new one without a user.
    pub fn end(&mut self, keep: impl IntoIterator<Item = Box<str>>) {
        self.ends = true;
        self.grant = None;
        self.changes.push(Change::Keep(keep.into_iter().collect()));
    }

    /// Gives rights; what was given before in this request is replaced.
    pub fn grant(&mut self, grant: Grant) {
        self.grant = Some(grant);
        self.before_grant = self.changes.len();
    }

    /// Changes a value.
    pub fn change(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// Whether nothing was done.
    pub fn is_empty(&self) -> bool {
        !self.ends && self.grant.is_none() && self.changes.is_empty()
    }

    /// Whether the session ends.
    pub fn ends(&self) -> bool {
        self.ends
    }

    /// The rights that are given.
    pub fn granted(&self) -> Option<&Grant> {
        self.grant.as_ref()
    }

    /// What is done to the values.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The changes that are committed. Those behind a grant that is not were meant for a session
    /// with those rights, so they go with it.
    fn committed(&self, outcome: Outcome) -> &[Change] {
        let len = match self.grant {
            _ if !outcome.writes() => 0,
            Some(_) if !outcome.gives() => self.before_grant,
            _ => self.changes.len(),
        };
        self.changes.get(..len).unwrap_or_default()
    }
}

/// What is stored of the session of a request.
#[derive(Clone, Copy, Debug)]
pub enum Row<'a> {
    /// Nothing: the request came without a session.
    Absent,
    /// A living session.
    Live(&'a Record),
    /// Nothing any more: the session died while the request ran.
    Dead,
}

/// The one thing that a store is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Nothing.
    Nothing,
    /// The session was used.
    Touch(Timestamp),
    /// The values change; the session may have to be touched as well.
    Update {
        /// The version that was changed.
        expected: u64,
        /// The values.
        data: Box<[u8]>,
        /// The idle deadline, if it is to move.
        touch: Option<Timestamp>,
    },
    /// A session begins.
    Create(Draft),
    /// A session gets a new id.
    Replace {
        /// The version that was replaced.
        expected: u64,
        /// What is stored from now on.
        draft: Draft,
        /// For how long the old id is still good: a renewal, whose new id is derived.
        grace: Option<Timestamp>,
    },
    /// The session ends.
    Delete,
    /// The session died, so nothing can be given to it.
    Refuse,
}

/// A record for a session whose id is not known yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    record: Record,
    /// Whether its life begins now.
    begins: bool,
    /// Whether it has the public name of a session that goes on.
    is_named: bool,
    /// Whether anti-forgery tokens of before hold no longer.
    is_bound_anew: bool,
}

impl Draft {
    /// The record of this id. `fresh` is its public name unless an older session goes on.
    pub fn record(&self, id: &SessionId, fresh: Handle) -> Record {
        let mut record = self.record.clone();
        if !self.is_named {
            record.handle = fresh;
        }
        if self.is_bound_anew {
            record.binding = id.key().0;
        }
        record
    }

    /// Whether somebody logs in with it.
    pub fn is_login(&self) -> bool {
        self.begins && self.record.identity.is_some()
    }

    /// A session that begins now.
    fn begin(now: Timestamp, timings: &Timings, is_remembered: bool) -> Self {
        let lifetime = if is_remembered { timings.remembered } else { timings.lifetime };
        let absolute_deadline = now.after(lifetime.absolute);
        let record = Record {
            handle: Handle([0; 16]),
            identity: None,
            epoch: 0,
            version: 0,
            created: now,
            authenticated: None,
            rotated: now,
            last_seen: now,
            idle_deadline: now.after(lifetime.idle).min(absolute_deadline),
            absolute_deadline,
            idle: lifetime.idle,
            is_remembered,
            binding: [0; 32],
            data: Box::default(),
        };
        Self { record, begins: true, is_named: false, is_bound_anew: true }
    }

    /// A session that goes on under another id.
    fn go_on(record: &Record, now: Timestamp) -> Self {
        let mut record = record.clone();
        record.rotated = now;
        record.last_seen = now;
        record.idle_deadline = record.idle_deadline_at(now).max(record.idle_deadline);
        Self { record, begins: false, is_named: true, is_bound_anew: false }
    }
}

/// Decides what is stored at the end of a request.
///
/// Effects that take rights away are committed whatever became of the request, those that give
/// some only where its status is below 400, and plain writes only below 500. A dead session never
/// lives again: a login begins another one, and everything else is dropped.
///
/// # Errors
///
/// The values cannot be stored.
pub fn plan(
    effects: &Effects,
    row: Row<'_>,
    outcome: Outcome,
    now: Timestamp,
    timings: &Timings,
) -> Result<Plan, DataError> {
    let changes = effects.committed(outcome);
    match &effects.grant {
        Some(Grant::Login { identity, is_remembered }) if outcome.gives() => {
            let mut draft = Draft::begin(now, timings, *is_remembered);
            draft.record.identity = Some(identity.clone());
            draft.record.authenticated = Some(now);
            let (mut data, mut expected) = (Data::default(), None);
            if let Row::Live(record) = row {
                expected = Some(record.version);
                // What one user left is nothing for the next.
                if record.user().is_none_or(|user| user == &*identity.subject) {
                    // Nobody is kept out because of values that cannot be read.
                    data = Data::read(&record.data).unwrap_or_default();
                    if !effects.ends {
                        draft.record.handle = record.handle;
                        draft.is_named = true;
                    }
                }
            }
            data.apply(changes);
            draft.record.data = data.write()?;
            Ok(match expected {
                Some(expected) => Plan::Replace { expected, draft, grace: None },
                None => Plan::Create(draft),
            })
        }
        Some(Grant::Elevate { identity }) if outcome.gives() => {
            let Row::Live(record) = row else { return Ok(Plan::Refuse) };
            let mut draft = Draft::go_on(record, now);
            draft.record.identity = Some(identity.clone());
            draft.record.authenticated = Some(now);
            draft.record.data = replay(record, changes)?;
            draft.is_bound_anew = true;
            Ok(Plan::Replace { expected: record.version, draft, grace: None })
        }
        // Without a session there is nothing to end, and what is written begins one.
        _ if effects.ends && !matches!(row, Row::Absent) => {
            let (Row::Live(record), true) = (row, outcome.writes()) else {
                return Ok(Plan::Delete);
            };
            // Rights are taken away even if the values are not readable.
            let data = replay(record, changes).unwrap_or_default();
            if data.is_empty() {
                return Ok(Plan::Delete);
            }
            let mut draft = Draft::begin(now, timings, false);
            draft.record.data = data;
            Ok(Plan::Replace { expected: record.version, draft, grace: None })
        }
        _ => plain(changes, row, outcome, now, timings),
    }
}

fn plain(
    changes: &[Change],
    row: Row<'_>,
    outcome: Outcome,
    now: Timestamp,
    timings: &Timings,
) -> Result<Plan, DataError> {
    match row {
        Row::Dead => Ok(Plan::Nothing),
        Row::Absent => {
            let mut data = Data::default();
            data.apply(changes);
            if data.is_empty() {
                return Ok(Plan::Nothing);
            }
            let mut draft = Draft::begin(now, timings, false);
            draft.record.data = data.write()?;
            Ok(Plan::Create(draft))
        }
        // Nobody would learn of a new id, and nobody used the session to the end.
        Row::Live(_) if outcome == Outcome::Lost => Ok(Plan::Nothing),
        Row::Live(record) => {
            let data = if changes.is_empty() { None } else { Some(replay(record, changes)?) };
            let data = data.filter(|data| *data != record.data);
            if let Some(grace) = timings.renewal(record, now) {
                let mut draft = Draft::go_on(record, now);
                if let Some(data) = data {
                    draft.record.data = data;
                }
                return Ok(Plan::Replace { expected: record.version, draft, grace: Some(grace) });
            }
            let touch = timings.touch(record, now);
            Ok(match (data, touch) {
                (Some(data), touch) => Plan::Update { expected: record.version, data, touch },
                (None, Some(deadline)) => Plan::Touch(deadline),
                (None, None) => Plan::Nothing,
            })
        }
    }
}

fn replay(record: &Record, changes: &[Change]) -> Result<Box<[u8]>, DataError> {
    if changes.is_empty() {
        return Ok(record.data.clone());
    }
    let mut data = Data::read(&record.data)?;
    data.apply(changes);
    data.write()
}
