//! The operation on the stored session at the end of a request.

use super::{
    Data, DataChange, DataError, Effects, Handle, HandlerOutcome, PrivilegeChange, Record,
    SessionId, Timings,
};
use crate::time::Timestamp;

/// The stored row of the request's session.
#[derive(Clone, Copy, Debug)]
pub enum Row<'a> {
    /// None: the request came without a session.
    Absent,
    /// A live session.
    Live(&'a Record),
    /// Deleted or expired while the request ran.
    Dead,
}

/// The one operation that the store must perform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitPlan {
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
        /// The idle deadline, if it moves.
        touch: Option<Timestamp>,
    },
    /// A session begins.
    Create(Draft),
    /// A session gets a new id.
    Replace {
        /// The version that was replaced.
        expected: u64,
        /// The record to store.
        draft: Draft,
        /// Set for a renewal, whose new id is derived: how long the old id is still accepted.
        grace: Option<Timestamp>,
    },
    /// The session ends.
    Delete,
    /// The session is dead, or of another user, so no rights can be granted to it.
    Refuse,
}

/// A record for a session that has no id yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    record: Record,
    /// Whether its life begins now.
    begins: bool,
    /// Whether it keeps the handle of the session that it continues.
    is_named: bool,
    /// Whether older CSRF tokens become invalid.
    is_bound_anew: bool,
}

impl Draft {
    /// The record for this id. `fresh` becomes its handle, unless it continues an older session.
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

    /// Whether this is a login.
    pub fn is_login(&self) -> bool {
        self.begins && self.record.identity.is_some()
    }

    /// Whether it gives a user rights: a login or an elevation.
    pub fn grants(&self) -> bool {
        self.is_bound_anew && self.record.identity.is_some()
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

    /// Continues a session under another id.
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
/// Changes that take rights away are always committed. Changes that grant rights are committed only
/// if the status is below 400, and plain writes only if it is below 500. A dead session is never
/// revived: a login begins another one, and every other change is dropped.
///
/// # Errors
///
/// The values cannot be stored.
pub fn plan(
    effects: &Effects,
    row: Row<'_>,
    outcome: HandlerOutcome,
    now: Timestamp,
    timings: &Timings,
) -> Result<CommitPlan, DataError> {
    let changes = effects.committed(outcome);
    match effects.privilege_change() {
        Some(PrivilegeChange::Login { identity, is_remembered }) if outcome.commits_grants() => {
            let mut draft = Draft::begin(now, timings, *is_remembered);
            draft.record.identity = Some(identity.clone());
            draft.record.authenticated = Some(now);
            let (mut data, mut expected) = (Data::default(), None);
            if let Row::Live(record) = row {
                expected = Some(record.version);
                // The values of one user are not passed on to another.
                if record.user().is_none_or(|user| user == &*identity.subject) {
                    // Unreadable values do not prevent a login.
                    data = Data::read(&record.data).unwrap_or_default();
                    if !effects.ends() {
                        draft.record.handle = record.handle;
                        draft.is_named = true;
                    }
                }
            }
            data.apply(changes);
            draft.record.data = data.write()?;
            Ok(match expected {
                Some(expected) => CommitPlan::Replace { expected, draft, grace: None },
                None => CommitPlan::Create(draft),
            })
        }
        Some(PrivilegeChange::Elevate { identity }) if outcome.commits_grants() => {
            let record = match row {
                Row::Live(record) if record.user() == Some(&*identity.subject) => record,
                Row::Live(_) | Row::Absent | Row::Dead => return Ok(CommitPlan::Refuse),
            };
            let mut draft = Draft::go_on(record, now);
            draft.record.identity = Some(identity.clone());
            draft.record.authenticated = Some(now);
            draft.record.data = replay(record, changes)?;
            draft.is_bound_anew = true;
            Ok(CommitPlan::Replace { expected: record.version, draft, grace: None })
        }
        // Without a session there is nothing to end, and a write begins a new one.
        _ if effects.ends() && !matches!(row, Row::Absent) => {
            let (Row::Live(record), true) = (row, outcome.commits_writes()) else {
                return Ok(CommitPlan::Delete);
            };
            // Rights are taken away even if the values are not readable.
            let data = replay(record, changes).unwrap_or_default();
            if data.is_empty() {
                return Ok(CommitPlan::Delete);
            }
            let mut draft = Draft::begin(now, timings, false);
            draft.record.data = data;
            Ok(CommitPlan::Replace { expected: record.version, draft, grace: None })
        }
        _ => plain(changes, row, outcome, now, timings),
    }
}

fn plain(
    changes: &[DataChange],
    row: Row<'_>,
    outcome: HandlerOutcome,
    now: Timestamp,
    timings: &Timings,
) -> Result<CommitPlan, DataError> {
    match row {
        Row::Dead => Ok(CommitPlan::Nothing),
        Row::Absent => {
            let mut data = Data::default();
            data.apply(changes);
            if data.is_empty() {
                return Ok(CommitPlan::Nothing);
            }
            let mut draft = Draft::begin(now, timings, false);
            draft.record.data = data.write()?;
            Ok(CommitPlan::Create(draft))
        }
        // The client would not receive a new id.
        Row::Live(_) if outcome == HandlerOutcome::Aborted => Ok(CommitPlan::Nothing),
        Row::Live(record) => {
            let data = if changes.is_empty() { None } else { Some(replay(record, changes)?) };
            let data = data.filter(|data| *data != record.data);
            if let Some(grace) = timings.renewal(record, now) {
                let mut draft = Draft::go_on(record, now);
                if let Some(data) = data {
                    draft.record.data = data;
                }
                return Ok(CommitPlan::Replace {
                    expected: record.version,
                    draft,
                    grace: Some(grace),
                });
            }
            let touch = timings.touch(record, now);
            Ok(match (data, touch) {
                (Some(data), touch) => CommitPlan::Update { expected: record.version, data, touch },
                (None, Some(deadline)) => CommitPlan::Touch(deadline),
                (None, None) => CommitPlan::Nothing,
            })
        }
    }
}

fn replay(record: &Record, changes: &[DataChange]) -> Result<Box<[u8]>, DataError> {
    if changes.is_empty() {
        return Ok(record.data.clone());
    }
    let mut data = Data::read(&record.data)?;
    data.apply(changes);
    data.write()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::StatusCode;

    use super::{
        super::{Identity, Renewal},
        *,
    };

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn record(user: Option<&str>) -> Record {
        let mut record = Draft::begin(NOW, &Timings::default(), false).record;
        record.identity = user.map(Identity::new);
        record.version = 3;
        record.data = Box::from(&br#"{"a":1}"#[..]);
        record
    }

    fn decide(effects: &Effects, row: Row<'_>, status: u16) -> CommitPlan {
        let outcome = HandlerOutcome::Answered(status.try_into().unwrap());
        plan(effects, row, outcome, NOW, &Timings::default()).unwrap()
    }

    /// The name of a plan, and the values that it stores.
    fn kind(plan: &CommitPlan) -> (&'static str, &str) {
        let text = |data| std::str::from_utf8(data).unwrap();
        match plan {
            CommitPlan::Nothing => ("nothing", ""),
            CommitPlan::Touch(_) => ("touch", ""),
            CommitPlan::Update { data, .. } => ("update", text(data)),
            CommitPlan::Create(draft) => ("create", text(&draft.record.data)),
            CommitPlan::Replace { draft, .. } => ("replace", text(&draft.record.data)),
            CommitPlan::Delete => ("delete", ""),
            CommitPlan::Refuse => ("refuse", ""),
        }
    }

    #[test]
    fn the_table_of_effects_and_rows() {
        let (ada, bob, nobody) = (record(Some("ada")), record(Some("bob")), record(None));
        let login =
            |user| PrivilegeChange::Login { identity: Identity::new(user), is_remembered: false };
        let with = |act: &dyn Fn(&mut Effects)| {
            let mut effects = Effects::default();
            act(&mut effects);
            effects
        };
        let none = with(&|_| ());
        let write = with(&|effects| effects.change(DataChange::Set("b".into(), 2.into())));
        let same = with(&|effects| effects.change(DataChange::Set("a".into(), 1.into())));
        let as_ada = with(&|effects| effects.grant(login("ada")));
        let as_bob = with(&|effects| effects.grant(login("bob")));
        let identity = Identity::new("ada");
        let elevate =
            with(&|effects| effects.grant(PrivilegeChange::Elevate { identity: identity.clone() }));
        let logout = with(&|effects| effects.end([]));
        let keep = with(&|effects| effects.end(["a".into()]));
        let leave_for_bob = with(&|effects| {
            effects.end([]);
            effects.grant(login("bob"));
        });
        let a = r#"{"a":1}"#;
        for (effects, row, status, expected) in [
            (&none, Row::Absent, 200, ("nothing", "")),
            (&none, Row::Live(&ada), 200, ("nothing", "")),
            (&none, Row::Dead, 200, ("nothing", "")),
            (&write, Row::Absent, 200, ("create", r#"{"b":2}"#)),
            (&write, Row::Live(&ada), 200, ("update", r#"{"a":1,"b":2}"#)),
            (&write, Row::Live(&ada), 499, ("update", r#"{"a":1,"b":2}"#)),
            (&write, Row::Live(&ada), 500, ("nothing", "")),
            (&write, Row::Dead, 200, ("nothing", "")),
            (&same, Row::Live(&ada), 200, ("nothing", "")),
            (&as_ada, Row::Absent, 200, ("create", "")),
            (&as_ada, Row::Absent, 400, ("nothing", "")),
            (&as_ada, Row::Live(&nobody), 200, ("replace", a)),
            (&as_ada, Row::Live(&nobody), 400, ("nothing", "")),
            (&as_ada, Row::Live(&ada), 200, ("replace", a)),
            (&as_bob, Row::Live(&ada), 200, ("replace", "")),
            (&as_bob, Row::Dead, 200, ("create", "")),
            (&elevate, Row::Live(&ada), 200, ("replace", a)),
            (&elevate, Row::Live(&ada), 400, ("nothing", "")),
            (&elevate, Row::Live(&nobody), 200, ("refuse", "")),
            (&elevate, Row::Live(&bob), 200, ("refuse", "")),
            (&elevate, Row::Dead, 200, ("refuse", "")),
            (&elevate, Row::Dead, 400, ("nothing", "")),
            (&logout, Row::Absent, 200, ("nothing", "")),
            (&logout, Row::Live(&ada), 200, ("delete", "")),
            (&logout, Row::Live(&ada), 500, ("delete", "")),
            (&logout, Row::Dead, 200, ("delete", "")),
            (&keep, Row::Live(&ada), 200, ("replace", a)),
            (&keep, Row::Live(&ada), 500, ("delete", "")),
            (&leave_for_bob, Row::Live(&ada), 200, ("replace", "")),
            (&leave_for_bob, Row::Live(&ada), 500, ("delete", "")),
        ] {
            let decided = decide(effects, row, status);
            assert_eq!(kind(&decided), expected, "{effects:?} on {row:?} with {status}");
        }
        let lost =
            plan(&logout, Row::Live(&ada), HandlerOutcome::Aborted, NOW, &Timings::default());
        assert_eq!(lost, Ok(CommitPlan::Delete));
        let later = NOW.after(Duration::from_secs(3600));
        let lost =
            plan(&none, Row::Live(&ada), HandlerOutcome::Aborted, later, &Timings::default());
        assert_eq!(lost, Ok(CommitPlan::Nothing));
    }

    #[test]
    fn a_draft_is_named_and_bound_by_its_predecessor() {
        let (id, fresh) = (SessionId::from_bytes([1; 32]), Handle([2; 16]));
        let mut before = record(Some("ada"));
        (before.handle, before.binding) = (Handle([3; 16]), [4; 32]);
        let identity = Identity::new("ada");
        let now = NOW.after(Duration::from_secs(60));
        let after = |grant: Option<PrivilegeChange>, timings: Timings| {
            let mut effects = Effects::default();
            grant.into_iter().for_each(|grant| effects.grant(grant));
            let outcome = HandlerOutcome::Answered(StatusCode::OK);
            match plan(&effects, Row::Live(&before), outcome, now, &timings) {
                Ok(CommitPlan::Replace { expected: 3, draft, .. }) => draft,
                other => panic!("{other:?}"),
            }
        };
        let renewal = Renewal { every: Duration::from_secs(60), grace: Duration::from_secs(10) };
        let renewed = after(None, Timings { renewal: Some(renewal), ..Timings::default() });
        assert!(!renewed.is_login());
        let renewed = renewed.record(&id, fresh);
        assert_eq!((renewed.handle, renewed.binding), (before.handle, before.binding));
        assert_eq!(renewed.absolute_deadline, before.absolute_deadline);
        let elevated = after(
            Some(PrivilegeChange::Elevate { identity: identity.clone() }),
            Timings::default(),
        );
        assert!(!elevated.is_login());
        let elevated = elevated.record(&id, fresh);
        assert_eq!((elevated.handle, elevated.binding), (before.handle, id.key().0));
        assert_eq!(elevated.absolute_deadline, before.absolute_deadline);
        let login = |identity| Some(PrivilegeChange::Login { identity, is_remembered: false });
        let again = after(login(identity), Timings::default());
        assert!(again.is_login());
        let again = again.record(&id, fresh);
        assert_eq!((again.handle, again.binding), (before.handle, id.key().0));
        assert!(again.absolute_deadline > before.absolute_deadline);
        let other = after(login(Identity::new("bob")), Timings::default()).record(&id, fresh);
        assert_eq!(other.handle, fresh);
        for draft in [&renewed, &elevated, &again, &other] {
            let most = Timings::default().lifetime.absolute;
            assert_eq!(draft.absolute_deadline, draft.created.after(most));
            assert!(draft.idle_deadline <= draft.idle_deadline_at(now));
        }
    }
}
