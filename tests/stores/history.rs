//! Checks whether what clients saw of sessions is linearizable.
//!
//! A session is a register: it is created with version 1, each change writes the next version over
//! the one that its caller names, and a deletion ends it for ever. A call that failed may have been
//! made or not, at any later time. Since versions order the changes, a history of one session is
//! linearizable if all of these hold, and no search is needed:
//!
//! - each version is written once, with one value;
//! - what is read was written by a call that had begun;
//! - a call that begins after another ended does not see an older version;
//! - after a deletion nothing is seen, and nothing is gone without one.

use std::collections::{BTreeMap, BTreeSet};

/// A call, and its result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Call {
    /// Wrote this value as this version; `None` if it failed.
    Write { version: u64, value: u64, done: Option<bool> },
    /// Saw this version and value; `None` if it saw no session.
    Read(Option<(u64, u64)>),
    /// Ended it, or found it gone; `None` if it failed.
    Delete(Option<bool>),
}

/// A call between two moments.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) begun: u64,
    pub(crate) ended: u64,
    pub(crate) call: Call,
}

/// The first rule that a history of one session breaks. It begins when the session exists, with
/// version 1 and value 0.
pub(crate) fn broken(history: &[Event]) -> Option<String> {
    let writes: Vec<_> = history
        .iter()
        .filter_map(|event| match event.call {
            Call::Write { version, value, done } if done != Some(false) => {
                Some((event, version, value, done.is_some()))
            }
            _ => None,
        })
        .collect();
    let mut of_version = BTreeMap::from([(1, 0)]);
    for (event, version, value, is_known) in &writes {
        if *is_known && of_version.insert(*version, *value).is_some() {
            return Some(format!("version {version} was written twice: {event:?}"));
        }
    }
    // The values that were seen show which of the unknown calls took effect.
    for event in history {
        let Call::Read(Some((version, value))) = event.call else { continue };
        if *of_version.entry(version).or_insert(value) != value {
            return Some(format!("version {version} has two values: {event:?}"));
        }
        let origin = writes.iter().find(|(_, of, with, _)| *of == version && *with == value);
        match origin {
            None if version == 1 && value == 0 => (),
            Some((write, ..)) if write.begun < event.ended => (),
            _ => return Some(format!("nobody had written what was read: {event:?}")),
        }
    }
    let seen = |event: &Event| match event.call {
        Call::Write { version, done: Some(true), .. } => Some(version),
        Call::Read(Some((version, _))) => Some(version),
        _ => None,
    };
    for (later, version) in history.iter().filter_map(|event| Some((event, seen(event)?))) {
        for earlier in history.iter().filter(|earlier| earlier.ended < later.begun) {
            let at_most = match later.call {
                // A write sees the version before its own.
                Call::Write { .. } => version - 1,
                _ => version,
            };
            if seen(earlier).is_some_and(|before| before > at_most) {
                return Some(format!("an older version after a newer one: {earlier:?} {later:?}"));
            }
            let is_deleted = matches!(earlier.call, Call::Delete(Some(_)) | Call::Read(None));
            if is_deleted {
                return Some(format!("it was back after its end: {earlier:?} {later:?}"));
            }
        }
    }
    // A deletion that returned no answer may be why something is gone.
    let ends = || history.iter().filter(|event| matches!(event.call, Call::Delete(_)));
    history.iter().find_map(|event| {
        let is_gone = matches!(event.call, Call::Read(None) | Call::Delete(Some(false)));
        let is_explained = ends()
            .any(|end| end.begun < event.ended && !matches!(end.call, Call::Delete(Some(false))));
        (is_gone && !is_explained).then(|| format!("it was gone without an end: {event:?}"))
    })
}

/// A history without reads of changes that were not acknowledged. A server with asynchronous
/// replication shows such a change, and loses it if another server takes over.
pub(crate) fn acknowledged(history: Vec<Event>) -> Vec<Event> {
    let done: BTreeSet<_> = history
        .iter()
        .filter_map(|event| match event.call {
            Call::Write { version, value, done: Some(true) } => Some((version, value)),
            _ => None,
        })
        .chain([(1, 0)])
        .collect();
    let is_ended = history.iter().any(|event| event.call == Call::Delete(Some(true)));
    let mut history = history;
    history.retain(|event| match event.call {
        Call::Read(Some(seen)) => done.contains(&seen),
        Call::Read(None) | Call::Delete(Some(false)) => is_ended,
        _ => true,
    });
    history
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events of a correct history: some in sequence, then some concurrent.
    fn right() -> Vec<Event> {
        let calls = [
            (0, 1, Call::Read(Some((1, 0)))),
            (2, 3, Call::Write { version: 2, value: 10, done: Some(true) }),
            (4, 9, Call::Write { version: 3, value: 11, done: None }),
            (5, 8, Call::Write { version: 3, value: 12, done: Some(false) }),
            (6, 7, Call::Read(Some((2, 10)))),
            (10, 11, Call::Read(Some((3, 11)))),
            (12, 15, Call::Delete(Some(true))),
            (13, 14, Call::Read(Some((3, 11)))),
            (13, 16, Call::Read(None)),
            (17, 18, Call::Delete(Some(false))),
            (19, 20, Call::Read(None)),
        ];
        calls.map(|(begun, ended, call)| Event { begun, ended, call }).into()
    }

    #[test]
    fn a_history_that_is_right_breaks_nothing() {
        assert_eq!(broken(&right()), None);
    }

    /// Each change of the correct history breaks one rule, and that rule reports it.
    #[test]
    fn each_rule_is_noticed() {
        for (at, call, rule) in [
            (3, Call::Write { version: 2, value: 12, done: Some(true) }, "written twice"),
            (7, Call::Read(Some((3, 12))), "two values"),
            (0, Call::Read(Some((2, 10))), "nobody had written"),
            (5, Call::Read(Some((4, 13))), "nobody had written"),
            (4, Call::Read(Some((1, 0))), "an older version"),
            (10, Call::Read(Some((3, 11))), "back after its end"),
            (0, Call::Read(None), "back after its end"),
            (6, Call::Read(Some((3, 11))), "gone without an end"),
        ] {
            let mut history = right();
            history[at].call = call;
            let fault = broken(&history).unwrap_or_default();
            assert!(fault.contains(rule), "event {at}: {fault}, not {rule}");
        }
    }

    /// Only an unacknowledged change may be lost.
    #[test]
    fn a_change_may_be_lost_that_was_not_acknowledged() {
        let mut history = right();
        history.truncate(6);
        history.push(Event { begun: 12, ended: 13, call: Call::Read(Some((2, 10))) });
        assert!(broken(&history).is_some_and(|rule| rule.contains("an older version")));
        assert_eq!(broken(&acknowledged(history.clone())), None);
        history.push(Event { begun: 14, ended: 15, call: Call::Read(Some((1, 0))) });
        let rule = broken(&acknowledged(history));
        assert!(rule.is_some_and(|rule| rule.contains("an older version")));
        let mut history = right();
        history.truncate(6);
        let read = |begun, seen| Event { begun, ended: begun + 1, call: Call::Read(seen) };
        let end = Event { begun: 12, ended: u64::MAX, call: Call::Delete(None) };
        history.extend([end, read(13, None), read(15, Some((2, 10)))]);
        assert!(broken(&history).is_some());
        assert_eq!(broken(&acknowledged(history.clone())), None);
        history[6].call = Call::Delete(Some(true));
        history[6].ended = 13;
        let rule = broken(&acknowledged(history));
        assert!(rule.is_some_and(|rule| rule.contains("back after its end")));
    }
}
