//! Reads the rows of sessions.

use std::time::Duration;

use policy_core::session::{Handle, Identity, Record, SessionKey};

use super::super::{
    link::{Item, Replies, number as resp_number},
    reply::time_of,
};
use crate::store::{
    StoreError,
    history::{LOST, MarkedNumber},
    shared::loads::Stored,
};

/// The commands that read rows: an `HGETALL` for each row, then an `HGET` for the last cut-off of everyone and
/// an `HGET` for the mark of the newest number that the instance knows.
///
/// They need not be atomic, since the rows are read first. If no cut-off of everyone came after a session by
/// the last command, the session was live when its row was read. If one came, the session is dead, and stays so.
pub(super) struct ReadRows {
    /// The command for a row, up to the key of the session.
    row: Box<[u8]>,
    /// The last two commands, up to the number whose mark is read.
    last: Box<[u8]>,
}

impl ReadRows {
    /// Reads keys with this prefix.
    pub(super) fn new(prefix: &str) -> Self {
        let text = |text: &str| format!("${}\r\n{text}\r\n", text.len());
        let length = prefix.len() + "s:".len() + size_of::<SessionKey>();
        let row = format!("*2\r\n{}${length}\r\n{prefix}s:", text("HGETALL"));
        let numbers = text(&format!("{prefix}numbers"));
        let marks = text(&format!("{prefix}marks:cut_off"));
        let last = format!("*3\r\n{0}{numbers}{1}*3\r\n{0}{marks}", text("HGET"), text("everyone"));
        Self { row: row.into_bytes().into(), last: last.into_bytes().into() }
    }

    /// The number of replies.
    pub(super) fn replies(keys: &[SessionKey]) -> usize {
        keys.len() + 2
    }

    /// Appends the commands that read the rows of these keys.
    pub(super) fn write(&self, keys: &[SessionKey], newest: MarkedNumber, commands: &mut Vec<u8>) {
        for key in keys {
            commands.extend_from_slice(&self.row);
            commands.extend_from_slice(&key.0);
            commands.extend_from_slice(b"\r\n");
        }
        commands.extend_from_slice(&self.last);
        let number = newest.number.to_string();
        commands.extend_from_slice(format!("${}\r\n{number}\r\n", number.len()).as_bytes());
    }
}

/// Reads `count` rows, in the order of the commands.
pub(super) fn read(
    count: usize,
    newest: MarkedNumber,
    replies: &Replies,
) -> Vec<Result<Stored, StoreError>> {
    let mut rest = &*replies.bytes;
    let mut rows: Vec<_> = (0..count).map(|_| take(&mut rest)).collect();
    let last = last_of_everyone(newest, &mut rest);
    for row in &mut rows {
        match (&last, &*row) {
            (Ok(last), Ok(Stored::Session(record))) if is_cut_off(record, *last) => {
                *row = Ok(Stored::Nothing);
            }
            (Err(error), Ok(_)) => *row = Err(StoreError::new(error.to_string())),
            _ => (),
        }
    }
    rows
}

/// Takes one row. Whether the last cut-off of everyone ended it is not checked yet.
fn take(rest: &mut &[u8]) -> Result<Stored, StoreError> {
    let fields = Fields::take(rest)?;
    if fields.handle.is_some() {
        return Ok(Stored::Session(fields.record()?));
    }
    let Some(to) = fields.moved_to else { return Ok(Stored::Nothing) };
    let until = fields.moved_until.map_or(Ok(0), number)?;
    Ok(Stored::Moved { to: SessionKey(array(to)?), until: time_of(until) })
}

fn is_cut_off(record: &Record, last_of_everyone: u64) -> bool {
    record.identity.is_some() && record.epoch < last_of_everyone
}

/// The last cut-off of everyone, or an error if the server lacks the newest number that the instance knows.
fn last_of_everyone(newest: MarkedNumber, rest: &mut &[u8]) -> Result<u64, StoreError> {
    let last = text(rest)?.map_or(Ok(0), number)?;
    let mark = text(rest)?;
    match newest.mark {
        Some(known) if mark != Some(known.to_string().as_bytes()) => Err(StoreError::new(LOST)),
        _ => Ok(last),
    }
}

/// The fields of a row.
#[derive(Default)]
struct Fields<'a> {
    handle: Option<&'a [u8]>,
    user: Option<&'a [u8]>,
    roles: Option<&'a [u8]>,
    scopes: Option<&'a [u8]>,
    tenant: Option<&'a [u8]>,
    epoch: Option<&'a [u8]>,
    version: Option<&'a [u8]>,
    created: Option<&'a [u8]>,
    authenticated: Option<&'a [u8]>,
    rotated: Option<&'a [u8]>,
    last_seen: Option<&'a [u8]>,
    idle_deadline: Option<&'a [u8]>,
    absolute_deadline: Option<&'a [u8]>,
    idle: Option<&'a [u8]>,
    is_remembered: Option<&'a [u8]>,
    binding: Option<&'a [u8]>,
    data: Option<&'a [u8]>,
    moved_to: Option<&'a [u8]>,
    moved_until: Option<&'a [u8]>,
}

impl<'a> Fields<'a> {
    /// Takes the fields from a list of names and values.
    fn take(bytes: &mut &'a [u8]) -> Result<Self, StoreError> {
        let Item::List(words) = next(bytes)? else {
            return Err(strange("a session is not a list"));
        };
        let mut fields = Self::default();
        for _ in 0..words / 2 {
            let (name, value) = (text(bytes)?, text(bytes)?);
            let field = match name.unwrap_or_default() {
                b"handle" => &mut fields.handle,
                b"user" => &mut fields.user,
                b"roles" => &mut fields.roles,
                b"scopes" => &mut fields.scopes,
                b"tenant" => &mut fields.tenant,
                b"epoch" => &mut fields.epoch,
                b"version" => &mut fields.version,
                b"created" => &mut fields.created,
                b"authenticated" => &mut fields.authenticated,
                b"rotated" => &mut fields.rotated,
                b"last_seen" => &mut fields.last_seen,
                b"idle_deadline" => &mut fields.idle_deadline,
                b"absolute_deadline" => &mut fields.absolute_deadline,
                b"idle" => &mut fields.idle,
                b"is_remembered" => &mut fields.is_remembered,
                b"binding" => &mut fields.binding,
                b"data" => &mut fields.data,
                b"moved_to" => &mut fields.moved_to,
                b"moved_until" => &mut fields.moved_until,
                // Written by a later release.
                _ => continue,
            };
            *field = value;
        }
        Ok(fields)
    }

    fn record(&self) -> Result<Record, StoreError> {
        let time = |field: Option<&[u8]>| number(present(field)?).map(time_of);
        Ok(Record {
            handle: Handle(array(present(self.handle)?)?),
            identity: self.identity()?,
            epoch: number(present(self.epoch)?)?,
            version: number(present(self.version)?)?,
            created: time(self.created)?,
            authenticated: self.authenticated.map(number).transpose()?.map(time_of),
            rotated: time(self.rotated)?,
            last_seen: time(self.last_seen)?,
            idle_deadline: time(self.idle_deadline)?,
            absolute_deadline: time(self.absolute_deadline)?,
            idle: Duration::from_millis(number(present(self.idle)?)?),
            is_remembered: number(present(self.is_remembered)?)? == 1,
            binding: array(present(self.binding)?)?,
            data: present(self.data)?.into(),
        })
    }

    /// A user, if there is one, with their tenant, roles and scopes.
    fn identity(&self) -> Result<Option<Identity>, StoreError> {
        let Some(user) = self.user else { return Ok(None) };
        let user = str::from_utf8(user).map_err(StoreError::new)?;
        let tenant = self.tenant.map(str::from_utf8).transpose().map_err(StoreError::new)?;
        let mut identity = Identity::new(user).roles(list(self.roles)?).scopes(list(self.scopes)?);
        identity.tenant = tenant.map(Into::into);
        Ok(Some(identity))
    }
}

fn next<'a>(bytes: &mut &'a [u8]) -> Result<Item<'a>, StoreError> {
    let item = Item::take(bytes).map_err(StoreError::new)?;
    item.ok_or_else(|| strange("a session has no end"))
}

fn text<'a>(bytes: &mut &'a [u8]) -> Result<Option<&'a [u8]>, StoreError> {
    match next(bytes)? {
        Item::Nil => Ok(None),
        Item::Text(text) => Ok(Some(text)),
        _ => Err(strange("a field of a session is not text")),
    }
}

fn present(field: Option<&[u8]>) -> Result<&[u8], StoreError> {
    field.ok_or_else(|| strange("a session lacks a field"))
}

fn list(field: Option<&[u8]>) -> Result<Box<[Box<str>]>, StoreError> {
    match field {
        None | Some(b"[]") => Ok(Box::default()),
        Some(list) => serde_json::from_slice(list).map_err(StoreError::new),
    }
}

fn number(digits: &[u8]) -> Result<u64, StoreError> {
    resp_number(digits).ok_or_else(|| strange("a field of a session is not a number"))
}

fn array<const N: usize>(bytes: &[u8]) -> Result<[u8; N], StoreError> {
    bytes.try_into().map_err(|_length| {
        StoreError::new(format!("the server returned {} bytes in place of {N}", bytes.len()))
    })
}

fn strange(what: &str) -> StoreError {
    StoreError::new(format!("the server returned something else: {what}"))
}

#[cfg(test)]
mod tests {
    use policy_core::time::Timestamp;

    use super::*;

    /// Replies as a server would write them.
    fn replies(rows: &[&[(&str, &str)]], everyone: Option<&str>) -> Replies {
        let text = |text: &str| format!("${}\r\n{text}\r\n", text.len());
        let row = |fields: &&[(&str, &str)]| {
            let row: String =
                fields.iter().map(|(name, value)| text(name) + &text(value)).collect();
            format!("*{}\r\n{row}", fields.len() * 2)
        };
        let rows: String = rows.iter().map(row).collect();
        let bytes = rows + &everyone.map_or_else(|| "$-1\r\n".to_owned(), text) + &text("-7");
        Replies { bytes: bytes.into_bytes(), has_error: false }
    }

    fn one(replies: &Replies) -> Result<Stored, StoreError> {
        read(1, MarkedNumber::default(), replies).pop().expect("a row")
    }

    const KEY: &str = "0123456789abcdef0123456789abcdef";
    const SESSION: [(&str, &str); 15] = [
        ("handle", "0123456789abcdef"),
        ("epoch", "3"),
        ("version", "4"),
        ("created", "5"),
        ("rotated", "6"),
        ("last_seen", "7"),
        ("idle_deadline", "8"),
        ("absolute_deadline", "9007199254740991"),
        ("idle", "10"),
        ("is_remembered", "1"),
        ("binding", KEY),
        ("data", "{\"a\":1}"),
        ("user", ""),
        ("roles", "[\"admin\"]"),
        ("of_a_later_release", "x"),
    ];

    #[test]
    fn a_row_is_a_session_or_leads_to_one() {
        let Stored::Session(record) = one(&replies(&[&SESSION], None)).unwrap() else {
            panic!("a session")
        };
        assert_eq!((record.epoch, record.version), (3, 4));
        assert_eq!(record.identity, Some(Identity::new("").roles(["admin"])));
        assert_eq!(record.absolute_deadline, Timestamp::MAX);
        assert_eq!((record.authenticated, record.is_remembered), (None, true));
        let of_tenant = [&SESSION[..], &[("tenant", "acme")]].concat();
        let Stored::Session(record) = one(&replies(&[&of_tenant], None)).unwrap() else {
            panic!("a session")
        };
        let of_tenant = Identity::new("").tenant("acme").roles(["admin"]);
        assert_eq!(record.identity, Some(of_tenant));
        let moved = replies(&[&[("moved_to", KEY), ("moved_until", "11")]], None);
        let Stored::Moved { to, until } = one(&moved).unwrap() else { panic!("it leads on") };
        assert_eq!((&to.0[..], until), (KEY.as_bytes(), Timestamp::from_millis(11)));
        assert!(matches!(one(&replies(&[&[]], Some("9"))).unwrap(), Stored::Nothing));
    }

    #[test]
    fn a_cut_off_of_everyone_ends_the_sessions_of_users_before_it() {
        let anonymous = &SESSION[..12];
        for (everyone, ends) in [(None, false), (Some("3"), false), (Some("4"), true)] {
            let rows = read(2, MarkedNumber::default(), &replies(&[&SESSION, anonymous], everyone));
            let [Ok(of_user), Ok(Stored::Session(other))] = &rows[..] else { panic!("two rows") };
            assert_eq!(matches!(of_user, Stored::Nothing), ends, "{everyone:?}");
            assert_eq!(other.identity, None);
        }
    }

    #[test]
    fn rows_are_read_in_their_order_and_a_strange_one_spoils_no_other() {
        let strange = [("handle", "0123")];
        let replies = replies(&[&SESSION, &[], &strange, &SESSION[..12]], None);
        let rows = read(4, MarkedNumber::default(), &replies);
        let [Ok(Stored::Session(_)), Ok(Stored::Nothing), Err(_), Ok(Stored::Session(last))] =
            &rows[..]
        else {
            panic!("a session, nothing, an error, a session")
        };
        assert_eq!(last.identity, None);
    }

    #[test]
    fn a_malformed_row_is_an_error_that_names_it() {
        let says = |replies: &Replies, part: &str| {
            let error = one(replies).err().expect(part).to_string();
            assert!(error.contains(part), "{error}");
        };
        says(&replies(&[&SESSION[..11]], None), "lacks a field");
        says(&replies(&[&[("handle", "0123")]], None), "4 bytes in place of 16");
        says(&replies(&[&SESSION], Some("x")), "not a number");
        says(&Replies { bytes: b":1\r\n$-1\r\n".to_vec(), has_error: false }, "not a list");
        let whole = replies(&[&SESSION], None);
        let bytes = whole.bytes[..whole.bytes.len() - 1].to_vec();
        says(&Replies { bytes, has_error: false }, "no end");
    }

    #[test]
    fn rows_of_a_server_without_a_known_number_are_errors() {
        for (number, mark, is_known) in [(9, Some(-7), true), (9, Some(7), false), (0, None, true)]
        {
            let newest = MarkedNumber { number, mark };
            for session in [&SESSION[..], &[]] {
                let row = read(1, newest, &replies(&[session], None)).remove(0);
                assert_eq!(row.is_ok(), is_known, "{newest:?}");
            }
        }
    }
}
