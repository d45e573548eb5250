//! The encoding of rows: a byte for the version of the layout, then the fields in order.
//!
//! Numbers are LEB128; texts and lists are prefixed with their length. A row decodes to `None` if
//! its version is unknown, its length is wrong, or its layout does not fit its contents.

use std::time::Duration;

use policy_core::{
    session::{Handle, Identity, Record, SessionKey},
    time::Timestamp,
};

use crate::store::{Family, Revocation, Ticket, TokenHash};

/// The layout of rows without a tenant, which all releases read.
const VERSION: u8 = 1;

/// The layout of rows with an identity that has a tenant: it follows the scopes.
const WITH_TENANT: u8 = 2;

/// A type that is stored as a row.
pub trait Row: Sized {
    /// Writes the fields.
    fn write(&self, to: &mut Writer);

    /// Reads the fields.
    fn read(from: &mut Reader<'_>) -> Option<Self>;

    /// The user of the row.
    fn identity(&self) -> Option<&Identity> {
        None
    }

    /// The version of its layout.
    fn version(&self) -> u8 {
        let tenant = self.identity().and_then(|identity| identity.tenant.as_ref());
        if tenant.is_some() { WITH_TENANT } else { VERSION }
    }

    /// Encodes the whole row.
    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer(Vec::with_capacity(256));
        writer.byte(self.version());
        self.write(&mut writer);
        writer.0
    }

    /// Decodes a whole row.
    fn decode(row: &[u8]) -> Option<Self> {
        decode_by(row, Self::read)
    }
}

fn decode_by<T: Row>(row: &[u8], read: impl FnOnce(&mut Reader<'_>) -> Option<T>) -> Option<T> {
    let (version, rest) = row.split_first()?;
    let mut reader = Reader { rest, version: *version };
    let value = read(&mut reader)?;
    (value.version() == *version && reader.rest.is_empty()).then_some(value)
}

/// The new key of a session whose key was replaced.
#[derive(Debug, PartialEq, Eq)]
pub struct Successor {
    pub(super) key: SessionKey,
    /// Until then the old key loads the session.
    pub(super) grace: Timestamp,
}

/// A refresh token.
#[derive(Debug, PartialEq, Eq)]
pub struct TokenRow {
    pub(super) family: [u8; 16],
    /// When it was exchanged, and for which token.
    pub(super) used: Option<(Timestamp, TokenHash)>,
}

/// A row that is being written.
#[derive(Debug)]
pub struct Writer(Vec<u8>);

impl Writer {
    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    fn time(&mut self, time: Timestamp) {
        self.number(time.millis());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes(text.as_bytes());
    }

    fn list(&mut self, list: &[Box<str>]) {
        self.number(list.len() as u64);
        list.iter().for_each(|text| self.text(text));
    }

    fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.byte(u8::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }

    fn identity(&mut self, identity: &Identity) {
        self.text(&identity.subject);
        self.list(&identity.roles);
        self.list(&identity.scopes);
        if let Some(tenant) = &identity.tenant {
            self.text(tenant);
        }
    }
}

/// The unread part of a row.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    version: u8,
}

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has room for one bit.
            if shift == 63 && bits > 1 {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn time(&mut self) -> Option<Timestamp> {
        self.number().map(Timestamp::from_millis)
    }

    fn text(&mut self) -> Option<Box<str>> {
        Some(std::str::from_utf8(self.data()?).ok()?.into())
    }

    fn list(&mut self) -> Option<Box<[Box<str>]>> {
        // The vector grows while collecting, so a wrong count allocates nothing.
        (0..self.number()?).map(|_| self.text()).collect()
    }

    /// Bytes with their length in front of them.
    fn data(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.bytes(length)
    }

    fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.byte()? {
            0 => Some(None),
            1 => read(self).map(Some),
            _ => None,
        }
    }

    fn identity(&mut self) -> Option<Identity> {
        let mut identity = Identity::new(self.text()?).roles(self.list()?).scopes(self.list()?);
        if self.version == WITH_TENANT {
            identity.tenant = Some(self.text()?);
        }
        Some(identity)
    }
}

impl Row for Record {
    fn write(&self, to: &mut Writer) {
        to.bytes(&self.handle.0);
        to.option(self.identity.as_ref(), Writer::identity);
        to.number(self.epoch);
        to.number(self.version);
        to.time(self.created);
        to.option(self.authenticated, Writer::time);
        to.time(self.rotated);
        to.time(self.last_seen);
        to.time(self.idle_deadline);
        to.time(self.absolute_deadline);
        to.time(Timestamp::default().after(self.idle));
        to.byte(u8::from(self.is_remembered));
        to.bytes(&self.binding);
        to.number(self.data.len() as u64);
        to.bytes(&self.data);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        let mut record = read_head(from)?;
        record.data = from.data()?.into();
        Some(record)
    }

    fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }
}

/// A session without its values, which may be long and are not copied.
pub(super) fn decode_head(row: &[u8]) -> Option<Record> {
    decode_by(row, |from| {
        let record = read_head(from)?;
        from.data()?;
        Some(record)
    })
}

fn read_head(from: &mut Reader<'_>) -> Option<Record> {
    Some(Record {
        handle: Handle(from.array()?),
        identity: from.option(Reader::identity)?,
        epoch: from.number()?,
        version: from.number()?,
        created: from.time()?,
        authenticated: from.option(Reader::time)?,
        rotated: from.time()?,
        last_seen: from.time()?,
        idle_deadline: from.time()?,
        absolute_deadline: from.time()?,
        idle: Duration::from_millis(from.number()?),
        is_remembered: from.byte()? == 1,
        binding: from.array()?,
        data: Box::default(),
    })
}

impl Row for Successor {
    fn write(&self, to: &mut Writer) {
        to.bytes(&self.key.0);
        to.time(self.grace);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self { key: SessionKey(from.array()?), grace: from.time()? })
    }
}

impl Row for Family {
    fn write(&self, to: &mut Writer) {
        to.bytes(&self.id);
        to.identity(&self.identity);
        to.time(self.authenticated);
        to.time(self.expires);
        to.option(self.session.as_ref(), |to, handle| to.bytes(&handle.0));
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        let mut family = Self::new(from.array()?, from.identity()?, from.time()?, from.time()?);
        family.session = from.option(|from| from.array().map(Handle))?;
        Some(family)
    }

    fn identity(&self) -> Option<&Identity> {
        Some(&self.identity)
    }
}

impl Row for TokenRow {
    fn write(&self, to: &mut Writer) {
        to.bytes(&self.family);
        to.option(self.used.as_ref(), |to, (at, successor)| {
            to.time(*at);
            to.bytes(&successor.0);
        });
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            family: from.array()?,
            used: from.option(|from| Some((from.time()?, TokenHash(from.array()?))))?,
        })
    }
}

impl Row for Revocation {
    fn write(&self, to: &mut Writer) {
        match self {
            Self::Token { id, until } => {
                to.byte(0);
                to.text(id);
                to.time(*until);
            }
            Self::User { user, before } => {
                to.byte(1);
                to.text(user);
                to.number(*before);
            }
            Self::All { before } => {
                to.byte(2);
                to.number(*before);
            }
            Self::Session { user, session, until } => {
                to.byte(3);
                to.text(user);
                to.bytes(&session.0);
                to.time(*until);
            }
            Self::Everyone { before } => {
                to.byte(4);
                to.number(*before);
            }
        }
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(match from.byte()? {
            0 => Self::Token { id: from.text()?, until: from.time()? },
            1 => Self::User { user: from.text()?, before: from.number()? },
            2 => Self::All { before: from.number()? },
            3 => Self::Session {
                user: from.text()?,
                session: Handle(from.array()?),
                until: from.time()?,
            },
            4 => Self::Everyone { before: from.number()? },
            _ => return None,
        })
    }
}

impl Row for Ticket {
    fn write(&self, to: &mut Writer) {
        to.identity(&self.identity);
        to.option(self.authenticated, Writer::time);
        to.option(self.session.as_ref(), |to, handle| to.bytes(&handle.0));
        to.option(self.token.as_ref(), |to, (id, end)| {
            to.text(id);
            to.time(*end);
        });
        to.number(self.cut_offs);
        to.time(self.expires);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            identity: from.identity()?,
            authenticated: from.option(Reader::time)?,
            session: from.option(|from| from.array().map(Handle))?,
            token: from.option(|from| Some((from.text()?, from.time()?)))?,
            cut_offs: from.number()?,
            expires: from.time()?,
        })
    }

    fn identity(&self) -> Option<&Identity> {
        Some(&self.identity)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;

    fn record() -> Record {
        Record {
            handle: Handle([1; 16]),
            identity: Some(Identity::new("ada").roles(["admin", ""]).scopes(["ä:read"])),
            epoch: 0,
            version: u64::MAX,
            created: Timestamp::from_millis(127),
            authenticated: Some(Timestamp::from_millis(128)),
            rotated: Timestamp::MAX,
            last_seen: Timestamp::from_seconds(1_800_000_000),
            idle_deadline: Timestamp::from_millis(16_384),
            absolute_deadline: Timestamp::from_millis(16_383),
            idle: Duration::from_secs(900),
            is_remembered: true,
            binding: [2; 32],
            data: b"{\"a\":1}".as_slice().into(),
        }
    }

    fn reader(rest: &[u8]) -> Reader<'_> {
        Reader { rest, version: VERSION }
    }

    fn comes_back<T: Row + PartialEq + Debug>(value: &T) {
        let row = value.encode();
        assert_eq!(T::decode(&row).as_ref(), Some(value));
        for end in 0..row.len() {
            assert_eq!(T::decode(&row[..end]), None, "cut at {end}");
        }
        assert_eq!(T::decode(&[&row[..], &[0]].concat()), None, "a byte too many");
        let mut newer = row;
        newer[0] = WITH_TENANT + 1;
        assert_eq!(T::decode(&newer), None, "a version that is not known");
    }

    #[test]
    fn every_row_comes_back_and_no_part_of_it_does() {
        let identity = Identity::new("bo");
        let tenant = identity.clone().tenant("acme");
        comes_back(&record());
        comes_back(&Record { identity: Some(tenant.clone()), ..record() });
        comes_back(&Record { identity: None, authenticated: None, data: [].into(), ..record() });
        comes_back(&Successor { key: SessionKey([3; 32]), grace: Timestamp::MAX });
        let (authenticated, expires) = (Timestamp::from_millis(5), Timestamp::from_millis(6));
        let mut family = Family::new([4; 16], identity.clone(), authenticated, expires);
        comes_back(&family);
        family.session = Some(Handle([5; 16]));
        comes_back(&family);
        comes_back(&Family { identity: tenant.clone(), ..family });
        comes_back(&TokenRow { family: [7; 16], used: None });
        let used = Some((Timestamp::from_millis(8), TokenHash([9; 32])));
        comes_back(&TokenRow { family: [7; 16], used });
        comes_back(&Revocation::Token { id: "j".into(), until: Timestamp::from_millis(10) });
        comes_back(&Revocation::User { user: "ada".into(), before: 11 });
        comes_back(&Revocation::All { before: 12 });
        comes_back(&Revocation::Everyone { before: 13 });
        let (user, session, until) = ("ada".into(), Handle([6; 16]), Timestamp::from_millis(14));
        comes_back(&Revocation::Session { user, session, until });
        let mut ticket = Ticket::new(identity, Timestamp::from_millis(15));
        comes_back(&ticket);
        ticket.cut_offs = 300;
        ticket.session = Some(Handle([13; 16]));
        ticket.token = Some(("j".into(), Timestamp::from_millis(14)));
        comes_back(&ticket);
        comes_back(&Ticket { identity: tenant, ..ticket });
    }

    /// The bytes of releases without tenants.
    #[test]
    fn a_row_without_a_tenant_is_written_as_before_there_were_tenants() {
        let identity = Identity::new("bo").roles(["r"]).scopes(["s"]);
        let user = [2, b'b', b'o', 1, 1, b'r', 1, 1, b's'];
        let (five, six) = (Timestamp::from_millis(5), Timestamp::from_millis(6));
        let family = Family::new([4; 16], identity.clone(), five, six);
        assert_eq!(family.encode(), [&[1][..], &[4; 16], &user, &[5, 6, 0]].concat());
        let ticket = Ticket::new(identity.clone(), six);
        assert_eq!(ticket.encode(), [&[1][..], &user, &[0, 0, 0, 0, 6]].concat());
        let session = Record { identity: Some(identity.clone()), ..record() }.encode();
        assert_eq!(session[..27], [&[1][..], &[1; 16], &[1], &user].concat());
        let of_tenant = Record { identity: Some(identity.tenant("acme")), ..record() }.encode();
        assert_eq!((of_tenant[0], of_tenant.len()), (2, session.len() + 5));
    }

    #[test]
    fn the_head_of_a_session_is_all_but_its_values() {
        let of_tenant = Identity::new("ada").tenant("acme");
        let of_tenant = Record { identity: Some(of_tenant), ..record() };
        let head = Record { data: [].into(), ..of_tenant.clone() };
        assert_eq!(decode_head(&of_tenant.encode()), Some(head));
        let row = record().encode();
        assert_eq!(decode_head(&row), Some(Record { data: [].into(), ..record() }));
        for end in 0..row.len() {
            assert_eq!(decode_head(&row[..end]), None, "cut at {end}");
        }
        assert_eq!(decode_head(&[&row[..], &[0]].concat()), None, "a byte too many");
        let mut newer = row;
        newer[0] = WITH_TENANT + 1;
        assert_eq!(decode_head(&newer), None, "a version that is not known");
    }

    #[test]
    fn numbers_come_back_around_each_length() {
        let powers = (0..64).map(|power| 1_u64 << power);
        let around = powers.flat_map(|power| [power - 1, power, power.saturating_add(1)]);
        for number in around.chain([u64::MAX - 1, u64::MAX]) {
            let mut writer = Writer(vec![]);
            writer.number(number);
            let needed = (u64::BITS - number.leading_zeros()).div_ceil(7).max(1);
            assert_eq!(writer.0.len(), needed as usize, "{number}");
            let mut of_all = reader(&writer.0);
            assert_eq!((of_all.number(), of_all.rest.len()), (Some(number), 0));
            for cut in 0..writer.0.len() {
                assert_eq!(reader(&writer.0[..cut]).number(), None, "{number} cut at {cut}");
            }
        }
    }

    #[test]
    fn a_count_that_lies_allocates_nothing() {
        let mut writer = Writer(vec![]);
        writer.number(u64::MAX);
        assert_eq!(reader(&writer.0).list(), None);
        assert_eq!(reader(&writer.0).text(), None);
        // One bit more than a number has.
        assert_eq!(
            reader(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).number(),
            None
        );
    }
}
