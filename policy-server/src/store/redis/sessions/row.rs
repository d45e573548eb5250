//! The row of a session, which each request reads.

use std::time::Duration;

use policy_core::{
    session::{Handle, Identity, Record, SessionKey},
    time::Timestamp,
};

use super::super::{
    link::{Item, Replies, number as resp_number},
    reply::time_of,
};
use crate::store::StoreError;

/// What is stored under a key.
pub(super) enum Row {
    Session {
        record: Record,
        /// The last cut-off of everyone.
        everyone: u64,
    },
    /// A rotation replaced the key, and it leads to this one for so long.
    Moved {
        to: SessionKey,
        until: Timestamp,
    },
    Nothing,
}

/// The commands that read a row, up to the key of the session and from there on: `HGETALL` reads the row,
/// and then `HGET` the last cut-off of everyone.
///
/// Two commands are not one step of the server, and need not be. The row comes first: if it was of a live
/// session, and no cut-off of everyone is later than it by the second command, then the session was live
/// at the first one. If one is later, the session is dead at the second one, and stays so.
pub(in super::super) struct ReadRow {
    before: Box<[u8]>,
    after: Box<[u8]>,
}

impl ReadRow {
    /// How many replies there are.
    pub(in super::super) const REPLIES: usize = 2;

    /// For the keys that begin with this.
    pub(in super::super) fn new(prefix: &str) -> Self {
        let text = |text: &str| format!("${}\r\n{text}\r\n", text.len());
        let length = prefix.len() + "s:".len() + size_of::<SessionKey>();
        let before = format!("*2\r\n{}${length}\r\n{prefix}s:", text("HGETALL"));
        let numbers = text(&format!("{prefix}numbers"));
        let after = format!("\r\n*3\r\n{}{numbers}{}", text("HGET"), text("everyone"));
        Self { before: before.into_bytes().into(), after: after.into_bytes().into() }
    }

    /// Appends the commands that read the row of this key.
    pub(in super::super) fn write(&self, key: &SessionKey, commands: &mut Vec<u8>) {
        commands.extend_from_slice(&self.before);
        commands.extend_from_slice(&key.0);
        commands.extend_from_slice(&self.after);
    }
}

impl Row {
    pub(super) fn read(replies: &Replies) -> Result<Self, StoreError> {
        let mut rest = &*replies.bytes;
        let fields = Fields::take(&mut rest)?;
        if fields.handle.is_some() {
            let everyone = text(&mut rest)?.map_or(Ok(0), number)?;
            return Ok(Self::Session { record: fields.record()?, everyone });
        }
        let Some(to) = fields.moved_to else { return Ok(Self::Nothing) };
        let until = fields.moved_until.map_or(Ok(0), number)?;
        Ok(Self::Moved { to: SessionKey(array(to)?), until: time_of(until) })
    }
}

/// A row as it is stored.
#[derive(Default)]
struct Fields<'a> {
    handle: Option<&'a [u8]>,
    user: Option<&'a [u8]>,
    roles: Option<&'a [u8]>,
    scopes: Option<&'a [u8]>,
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
    /// Takes a list of names and values.
    fn take(bytes: &mut &'a [u8]) -> Result<Self, StoreError> {
        let Item::List(words) = next(bytes)? else { return Err(strange("a session is no list")) };
        let mut fields = Self::default();
        for _ in 0..words / 2 {
            let (name, value) = (text(bytes)?, text(bytes)?);
            let field = match name.unwrap_or_default() {
                b"handle" => &mut fields.handle,
                b"user" => &mut fields.user,
                b"roles" => &mut fields.roles,
                b"scopes" => &mut fields.scopes,
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
                // Of a later release.
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

    /// A user, if there is one, with their roles and scopes.
    fn identity(&self) -> Result<Option<Identity>, StoreError> {
        let Some(user) = self.user else { return Ok(None) };
        let user = str::from_utf8(user).map_err(StoreError::new)?;
        Ok(Some(Identity::new(user).roles(list(self.roles)?).scopes(list(self.scopes)?)))
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
        _ => Err(strange("a field of a session is no text")),
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
    resp_number(digits).ok_or_else(|| strange("a field of a session is no number"))
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
    use super::*;

    /// Replies as a server would write them.
    fn replies(fields: &[(&str, &str)], everyone: Option<&str>) -> Replies {
        let text = |text: &str| format!("${}\r\n{text}\r\n", text.len());
        let row: String = fields.iter().map(|(name, value)| text(name) + &text(value)).collect();
        let everyone = everyone.map_or_else(|| "$-1\r\n".to_owned(), text);
        let bytes = format!("*{}\r\n{row}{everyone}", fields.len() * 2);
        Replies { bytes: bytes.into_bytes(), has_error: false }
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
        let Row::Session { record, everyone } = Row::read(&replies(&SESSION, None)).unwrap() else {
            panic!("a session")
        };
        assert_eq!((everyone, record.epoch, record.version), (0, 3, 4));
        assert_eq!(record.identity, Some(Identity::new("").roles(["admin"])));
        assert_eq!(record.absolute_deadline, Timestamp::MAX);
        assert_eq!((record.authenticated, record.is_remembered), (None, true));
        let Row::Session { record, everyone } =
            Row::read(&replies(&SESSION[..12], Some("9"))).unwrap()
        else {
            panic!("a session")
        };
        assert_eq!((everyone, record.identity), (9, None));
        let moved = replies(&[("moved_to", KEY), ("moved_until", "11")], None);
        let Row::Moved { to, until } = Row::read(&moved).unwrap() else { panic!("it leads on") };
        assert_eq!((&to.0[..], until), (KEY.as_bytes(), Timestamp::from_millis(11)));
        assert!(matches!(Row::read(&replies(&[], Some("9"))).unwrap(), Row::Nothing));
    }

    #[test]
    fn a_strange_row_is_an_error_that_says_what_it_is() {
        let says = |replies: &Replies, part: &str| {
            let error = Row::read(replies).err().expect(part).to_string();
            assert!(error.contains(part), "{error}");
        };
        says(&replies(&SESSION[..11], None), "lacks a field");
        says(&replies(&[("handle", "0123")], None), "4 bytes in place of 16");
        says(&replies(&SESSION, Some("x")), "no number");
        says(&Replies { bytes: b":1\r\n$-1\r\n".to_vec(), has_error: false }, "no list");
        let whole = replies(&SESSION, None);
        let bytes = whole.bytes[..whole.bytes.len() - 1].to_vec();
        says(&Replies { bytes, has_error: false }, "no end");
    }
}
