//! Refresh tokens, revocations and tickets within a write transaction.

use policy_core::{session::Handle, time::Timestamp};
use redb::{
    MultimapTable, MultimapTableDefinition, ReadTransaction, ReadableMultimapTable, ReadableTable,
    Table, TableDefinition, WriteTransaction,
};

use super::{
    codec::{Row, TokenRow},
    deadlines::{Deadlines, Entry, Fate, Purge},
    owned_rows::OwnedRows,
    writer::Effect,
};
use crate::store::{
    CreateFamily, Family, Refresh, RefreshOutcome, Revocation, Revoked, Ticket, TokenHash,
};

const FAMILIES: TableDefinition<'_, &[u8; 16], &[u8]> = TableDefinition::new("families");

/// The families of each user.
const OWNERS: MultimapTableDefinition<'_, &str, &[u8; 16]> =
    MultimapTableDefinition::new("family_users");

/// The tokens of each family, used or not.
const FAMILY_TOKENS: MultimapTableDefinition<'_, &[u8; 16], &[u8; 32]> =
    MultimapTableDefinition::new("family_tokens");

const TOKENS: TableDefinition<'_, &[u8; 32], &[u8]> = TableDefinition::new("tokens");

/// Revocations by their position in the sequence.
pub(super) const REVOCATIONS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("revocations");

/// The position of the revocation in force, by its name.
const REVOKED: TableDefinition<'_, &[u8], u64> = TableDefinition::new("revoked");

/// The last position that was assigned, under 0.
pub(super) const SEQUENCE: TableDefinition<'_, u64, u64> = TableDefinition::new("sequence");

const TICKETS: TableDefinition<'_, &[u8; 32], &[u8]> = TableDefinition::new("tickets");

const DEADLINES: TableDefinition<'_, &[u8], ()> = TableDefinition::new("token_deadlines");

/// What an entry in the deadlines is about.
const FAMILY: u8 = 0;
/// Only in files of releases without a list of the tokens of each family.
const TOKEN: u8 = 1;
const REVOCATION: u8 = 2;
const TICKET: u8 = 3;

/// The most tokens of an ended family that one step of a purge removes.
const REMOVED_AT_ONCE: usize = 32;

/// The live family of a token, used or not.
pub(super) fn family_of(
    transaction: &ReadTransaction,
    token: TokenHash,
) -> Result<Option<Family>, redb::Error> {
    let row = transaction.open_table(TOKENS)?.get(&token.0)?;
    let Some(row) = row.and_then(|row| TokenRow::decode(row.value())) else { return Ok(None) };
    let family = transaction.open_table(FAMILIES)?.get(&row.family)?;
    Ok(family.and_then(|row| Family::decode(row.value())))
}

pub(super) struct TokenTables<'t> {
    families: OwnedRows<'t, 16>,
    family_tokens: MultimapTable<'t, &'static [u8; 16], &'static [u8; 32]>,
    tokens: Table<'t, &'static [u8; 32], &'static [u8]>,
    revocations: Table<'t, u64, &'static [u8]>,
    revoked: Table<'t, &'static [u8], u64>,
    sequence: Table<'t, u64, u64>,
    tickets: Table<'t, &'static [u8; 32], &'static [u8]>,
    deadlines: Deadlines<'t>,
    pub(super) effect: Effect,
}

impl<'t> TokenTables<'t> {
    pub(super) fn open(transaction: &'t WriteTransaction) -> Result<Self, redb::Error> {
        Ok(Self {
            families: OwnedRows::open(transaction, FAMILIES, OWNERS)?,
            family_tokens: transaction.open_multimap_table(FAMILY_TOKENS)?,
            tokens: transaction.open_table(TOKENS)?,
            revocations: transaction.open_table(REVOCATIONS)?,
            revoked: transaction.open_table(REVOKED)?,
            sequence: transaction.open_table(SEQUENCE)?,
            tickets: transaction.open_table(TICKETS)?,
            deadlines: Deadlines::new(transaction.open_table(DEADLINES)?),
            effect: Effect::None,
        })
    }

    /// `None` if the token exists.
    pub(super) fn create_family(
        &mut self,
        request: &CreateFamily,
    ) -> Result<Option<bool>, redb::Error> {
        let CreateFamily { family, token, began } = request;
        if self.tokens.get(&token.0)?.is_some() {
            return Ok(None);
        }
        let ended = match family.session {
            Some(session) => self.place(&name_of_session(session))?,
            None => 0,
        };
        let is_known = *began <= self.last()?;
        if *began < self.cut_off(&family.identity.subject)?.max(ended) || !is_known {
            return Ok(Some(false));
        }
        self.make_room(&family.identity.subject)?;
        self.families.insert(&family.id, &family.encode(), Some(&family.identity.subject))?;
        self.deadlines.add(family.expires, FAMILY, &family.id)?;
        self.insert_token(*token, family)?;
        Ok(Some(true))
    }

    /// `None` if the successor exists.
    pub(super) fn refresh(
        &mut self,
        request: Refresh,
    ) -> Result<Option<RefreshOutcome>, redb::Error> {
        let Refresh { token, successor, grace, limit, now, until } = request;
        let Some(row) = self.token(token)? else {
            return Ok(Some(RefreshOutcome::Unknown));
        };
        let Some(family) = self.family(&row.family)?.filter(|family| now < family.expires) else {
            return Ok(Some(RefreshOutcome::Dead));
        };
        let count = self.family_tokens.get(&family.id)?.len();
        match row.used {
            None if self.tokens.get(&successor.0)?.is_some() => Ok(None),
            // One of the tokens is unused.
            None if limit.is_some_and(|limit| count > u64::from(limit)) => {
                self.end_with_access(&family, until)?;
                Ok(Some(RefreshOutcome::Dead))
            }
            None => {
                let used = TokenRow { family: family.id, used: Some((now, successor)) };
                self.tokens.insert(&token.0, used.encode().as_slice())?;
                self.insert_token(successor, &family)?;
                Ok(Some(RefreshOutcome::Done(family)))
            }
            Some((at, successor)) if now.since(at) < grace => {
                Ok(Some(match self.steps_to_unused(successor)? {
                    Some(steps) => RefreshOutcome::Again { family, steps },
                    None => RefreshOutcome::Overtaken,
                }))
            }
            Some(_) => {
                self.end_with_access(&family, until)?;
                Ok(Some(RefreshOutcome::Reused(family)))
            }
        }
    }

    /// How many steps the unused token is after a used one; `None` above the maximum. `token` is
    /// the successor of the used one.
    fn steps_to_unused(&self, mut token: TokenHash) -> Result<Option<u32>, redb::Error> {
        for steps in 1..=RefreshOutcome::MAX_STEPS {
            let Some(row) = self.token(token)? else { return Ok(None) };
            let Some((_, successor)) = row.used else { return Ok(Some(steps)) };
            token = successor;
        }
        Ok(None)
    }

    /// The revocation of its access tokens is needed until `until`.
    pub(super) fn end_family(
        &mut self,
        token: TokenHash,
        until: impl FnOnce(&Family) -> Timestamp,
    ) -> Result<Option<Family>, redb::Error> {
        let Some(row) = self.token(token)? else {
            return Ok(None);
        };
        let Some(family) = self.family(&row.family)? else {
            return Ok(None);
        };
        self.end_with_access(&family, until(&family))?;
        Ok(Some(family))
    }

    /// Ends a family and revokes its access tokens.
    fn end_with_access(&mut self, family: &Family, until: Timestamp) -> Result<(), redb::Error> {
        self.remove_family(family)?;
        self.revoke(Revocation::access_tokens(family.id, until)).map(drop)
    }

    /// Ends the families of a user, or those that began in one session. Returns their ids.
    fn end_families(
        &mut self,
        user: &str,
        session: Option<Handle>,
    ) -> Result<Vec<[u8; 16]>, redb::Error> {
        let mut ended = vec![];
        for id in self.families.keys_of(user)? {
            match self.family(&id)? {
                Some(family) if session.is_some() && family.session != session => continue,
                Some(family) => self.remove_family(&family)?,
                // Written by a later release.
                None => drop(self.families.remove(&id, Some(user))?),
            }
            ended.push(id);
        }
        Ok(ended)
    }

    /// Ends all families, and returns how many. Their tokens are dead without them; the next purge removes them.
    fn end_all_families(&mut self) -> Result<u64, redb::Error> {
        let mut all = vec![];
        for row in self.families.rows.iter()? {
            let (id, row) = row?;
            all.push((*id.value(), Family::decode(row.value())));
        }
        for (id, family) in &all {
            match family {
                Some(family) => self.remove_family(family)?,
                None => drop(self.families.remove(id, None)?),
            }
        }
        Ok(all.len() as u64)
    }

    pub(super) fn revoke(&mut self, mut revocation: Revocation) -> Result<Revoked, redb::Error> {
        let (before, families) = match &revocation {
            Revocation::User { user, .. } => (self.cut_off(user)?, self.end_families(user, None)?),
            Revocation::Session { user, session, until } => {
                let families = self.end_families(user, Some(*session))?;
                for family in &families {
                    self.revoke(Revocation::access_tokens(*family, *until))?;
                }
                (0, families)
            }
            Revocation::Everyone { .. } | Revocation::All { .. } => (self.last()?, vec![]),
            Revocation::Token { .. } => (0, vec![]),
        };
        let name = name(&revocation);
        let existing = self.revoked.get(name.as_slice())?.map(|place| place.value());
        if let Some(place) = existing {
            if let Some(existing) = self.revocation(place)? {
                revocation.cover(&existing);
            }
            // An instance that has read it reads the wider one later.
            self.revocations.remove(place)?;
        }
        let place = self.last()? + 1;
        self.sequence.insert(0, place)?;
        self.revocations.insert(place, revocation.encode().as_slice())?;
        self.revoked.insert(name.as_slice(), place)?;
        if let Some(until) = revocation.until() {
            self.deadlines.add(until, REVOCATION, &place.to_be_bytes())?;
        }
        self.effect = Effect::Durable;
        let mut revoked = Revoked::new(place, before, families);
        if matches!(revocation, Revocation::Everyone { .. }) {
            revoked.ended = self.end_all_families()?;
        }
        Ok(revoked)
    }

    /// The last position that was assigned.
    fn last(&self) -> Result<u64, redb::Error> {
        Ok(self.sequence.get(0)?.map_or(0, |last| last.value()))
    }

    /// The position of the last cut-off of a user or of everyone.
    fn cut_off(&self, user: &str) -> Result<u64, redb::Error> {
        Ok(self.place(&encode_name(b'u', user.as_bytes()))?.max(self.place(b"e")?))
    }

    /// The position of the revocation with this name, 0 if there is none.
    fn place(&self, name: &[u8]) -> Result<u64, redb::Error> {
        Ok(self.revoked.get(name)?.map_or(0, |place| place.value()))
    }

    pub(super) fn put_ticket(
        &mut self,
        hash: TokenHash,
        ticket: &Ticket,
    ) -> Result<(), redb::Error> {
        self.tickets.insert(&hash.0, ticket.encode().as_slice())?;
        self.deadlines.add(ticket.expires, TICKET, &hash.0)?;
        self.effect = Effect::Durable;
        Ok(())
    }

    pub(super) fn take_ticket(
        &mut self,
        hash: TokenHash,
        now: Timestamp,
    ) -> Result<Option<Ticket>, redb::Error> {
        let ticket = self.tickets.remove(&hash.0)?.map(|row| Ticket::decode(row.value()));
        if ticket.is_some() {
            self.effect = Effect::Durable;
        }
        Ok(ticket.flatten().filter(|ticket| now < ticket.expires))
    }

    /// Removes a family that expired or ended, and some of its tokens.
    fn purge_family(&mut self, id: &[u8]) -> Result<Fate, redb::Error> {
        let Ok(id) = id.try_into() else {
            return Ok(Fate::Gone);
        };
        let owner = self.family(id)?.map(|family| family.identity.subject);
        let was_there = self.families.remove(id, owner.as_deref())?;
        let mut tokens = vec![];
        for token in self.family_tokens.get(id)?.take(REMOVED_AT_ONCE + 1) {
            tokens.push(*token?.value());
        }
        for token in tokens.iter().take(REMOVED_AT_ONCE) {
            self.tokens.remove(token)?;
            self.family_tokens.remove(id, token)?;
        }
        Ok(match tokens.len() {
            0 if !was_there => Fate::Gone,
            0..=REMOVED_AT_ONCE => Fate::Removed,
            // In the next step.
            _ => Fate::Lives(Timestamp::default()),
        })
    }

    fn purge_revocation(&mut self, place: &[u8]) -> Result<bool, redb::Error> {
        let Ok(place) = place.try_into().map(u64::from_be_bytes) else {
            return Ok(false);
        };
        if let Some(revocation) = self.revocation(place)? {
            self.revoked.remove(name(&revocation).as_slice())?;
        }
        Ok(self.revocations.remove(place)?.is_some())
    }

    fn token(&self, hash: TokenHash) -> Result<Option<TokenRow>, redb::Error> {
        Ok(self.tokens.get(&hash.0)?.and_then(|row| TokenRow::decode(row.value())))
    }

    fn family(&self, id: &[u8; 16]) -> Result<Option<Family>, redb::Error> {
        Ok(self.families.rows.get(id)?.and_then(|row| Family::decode(row.value())))
    }

    fn revocation(&self, place: u64) -> Result<Option<Revocation>, redb::Error> {
        Ok(self.revocations.get(place)?.and_then(|row| Revocation::decode(row.value())))
    }

    fn insert_token(&mut self, token: TokenHash, family: &Family) -> Result<(), redb::Error> {
        let row = TokenRow { family: family.id, used: None }.encode();
        self.tokens.insert(&token.0, row.as_slice())?;
        self.family_tokens.insert(&family.id, &token.0)?;
        self.effect = Effect::Durable;
        Ok(())
    }

    /// Ends the oldest families of a user, until there is room for one more.
    fn make_room(&mut self, user: &str) -> Result<(), redb::Error> {
        let ids = self.families.keys_of(user)?;
        let excess = (ids.len() + 1).saturating_sub(Family::MAX_PER_USER);
        if excess == 0 {
            return Ok(());
        }
        let mut families = vec![];
        for id in &ids {
            families.extend(self.family(id)?);
        }
        families.sort_by_key(|family| (family.authenticated, family.id));
        for family in families.iter().take(excess) {
            self.remove_family(family)?;
        }
        Ok(())
    }

    /// Removes a family. Its tokens are dead without it; the next purge removes them.
    fn remove_family(&mut self, family: &Family) -> Result<(), redb::Error> {
        self.families.remove(&family.id, Some(&family.identity.subject))?;
        self.deadlines.remove(family.expires, FAMILY, &family.id)?;
        self.deadlines.add(Timestamp::default(), FAMILY, &family.id)
    }
}

impl<'t> Purge<'t> for TokenTables<'t> {
    fn deadlines(&mut self) -> (&mut Deadlines<'t>, &mut Effect) {
        (&mut self.deadlines, &mut self.effect)
    }

    /// These deadlines never move, so a row that is due is dead.
    fn purge_entry(&mut self, entry: &Entry, _now: Timestamp) -> Result<Fate, redb::Error> {
        let hash = <&[u8; 32]>::try_from(entry.id.as_slice());
        let was_there = match (entry.kind, hash) {
            (FAMILY, _) => return self.purge_family(&entry.id),
            (REVOCATION, _) => self.purge_revocation(&entry.id)?,
            (TOKEN, Ok(hash)) => self.tokens.remove(hash)?.is_some(),
            (TICKET, Ok(hash)) => self.tickets.remove(hash)?.is_some(),
            _ => false,
        };
        Ok(if was_there { Fate::Removed } else { Fate::Gone })
    }
}

/// The kind and the subject of a revocation.
fn name(revocation: &Revocation) -> Vec<u8> {
    match revocation {
        Revocation::Token { id, .. } => encode_name(b't', id.as_bytes()),
        Revocation::Session { session, .. } => name_of_session(*session),
        Revocation::User { user, .. } => encode_name(b'u', user.as_bytes()),
        Revocation::Everyone { .. } => encode_name(b'e', b""),
        Revocation::All { .. } => encode_name(b'a', b""),
    }
}

fn name_of_session(session: Handle) -> Vec<u8> {
    encode_name(b's', &session.0)
}

fn encode_name(kind: u8, subject: &[u8]) -> Vec<u8> {
    [&[kind], subject].concat()
}
