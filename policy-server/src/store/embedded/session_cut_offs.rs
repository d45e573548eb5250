//! The cut-offs of users and of everyone: what ends all their sessions at once, or changes their
//! rights.

use policy_core::{
    session::{Identity, Record, SessionKey},
    time::Timestamp,
};
use redb::{ReadableTable, TableDefinition};

use super::{
    codec::decode_head,
    session_rows::{living, stored_head},
    session_tables::SessionTables,
    writer::Effect,
};
use crate::store::{CutOff, RevokeUser};

/// The number of the last cut-off of each user.
pub(super) const CUT_OFFS: TableDefinition<'_, &str, u64> =
    TableDefinition::new("session_cut_offs");

/// The numbers of the newest cut-off, and of the last one of everyone.
pub(super) const NUMBERS: TableDefinition<'_, u64, u64> =
    TableDefinition::new("session_cut_off_numbers");
pub(super) const NEWEST: u64 = 0;
const EVERYONE: u64 = 1;

impl SessionTables<'_> {
    pub(super) fn revoke_user(&mut self, request: RevokeUser<'_>) -> Result<CutOff, redb::Error> {
        let RevokeUser { user, keep, rights, now } = request;
        let (before, epoch) = (self.epoch(Some(user))?, self.next_cut_off()?);
        self.cut_offs.insert(user, epoch)?;
        if let Some(rights) = rights {
            let changed = self.change_rights(user, rights, epoch, now)?;
            return Ok(CutOff::new(changed, before, epoch));
        }
        let keep = keep.map(|keep| self.current(&keep, Some(now))).transpose()?;
        let mut ended = 0;
        for key in self.keys_of(user)? {
            if keep == Some(key)
                && let Some(mut record) = living(&self.sessions.rows, &key, now)?
            {
                record.epoch = epoch;
                self.replace(&key, &record)?;
                continue;
            }
            match stored_head(&self.sessions.rows, &key)? {
                Some(record) => {
                    self.remove(&key, &record)?;
                    ended += u64::from(!record.is_expired(now));
                }
                // Also removes a row that cannot be read.
                None => drop(self.sessions.remove(&key.0, Some(user))?),
            }
        }
        Ok(CutOff::new(ended, before, epoch))
    }

    /// Gives all live sessions of a user these rights, under the epoch of their cut-off.
    fn change_rights(
        &mut self,
        user: &str,
        rights: &Identity,
        epoch: u64,
        now: Timestamp,
    ) -> Result<u64, redb::Error> {
        let mut changed = 0;
        for key in self.keys_of(user)? {
            if let Some(mut record) = living(&self.sessions.rows, &key, now)? {
                record.identity = Some(rights.clone());
                record.epoch = epoch;
                // This keeps requests that read the old rights from writing them again.
                record.version += 1;
                self.replace(&key, &record)?;
                changed += 1;
            }
        }
        Ok(changed)
    }

    pub(super) fn revoke_everyone(&mut self, now: Timestamp) -> Result<CutOff, redb::Error> {
        let number = self.next_cut_off()?;
        self.numbers.insert(EVERYONE, number)?;
        // Their numbers are lower.
        self.cut_offs.retain(|_, _| false)?;
        let mut owned = vec![];
        for row in self.sessions.rows.iter()? {
            let (key, row) = row?;
            if decode_head(row.value()).is_none_or(|record| record.user().is_some()) {
                owned.push(SessionKey(*key.value()));
            }
        }
        let mut ended = 0;
        for key in owned {
            match stored_head(&self.sessions.rows, &key)? {
                Some(record) => {
                    self.remove(&key, &record)?;
                    ended += u64::from(!record.is_expired(now));
                }
                None => drop(self.sessions.remove(&key.0, None)?),
            }
        }
        Ok(CutOff::new(ended, number - 1, number))
    }

    /// Draws the number of a cut-off.
    fn next_cut_off(&mut self) -> Result<u64, redb::Error> {
        let number = self.number(NEWEST)? + 1;
        self.numbers.insert(NEWEST, number)?;
        self.effect = Effect::Durable;
        Ok(number)
    }

    pub(super) fn number(&self, kind: u64) -> Result<u64, redb::Error> {
        Ok(self.numbers.get(kind)?.map_or(0, |number| number.value()))
    }

    /// Whether the user of a record was cut off after the cut-off that a request knew, or the
    /// request knew a cut-off that does not exist.
    pub(super) fn is_cut_off(
        &self,
        record: &Record,
        began: Option<u64>,
    ) -> Result<bool, redb::Error> {
        Ok(match began {
            Some(began) => began < self.epoch(record.user())? || began > self.number(NEWEST)?,
            None => false,
        })
    }

    pub(super) fn epoch(&self, user: Option<&str>) -> Result<u64, redb::Error> {
        match user {
            Some(user) => {
                let of_user = self.cut_offs.get(user)?.map_or(0, |epoch| epoch.value());
                Ok(of_user.max(self.number(EVERYONE)?))
            }
            None => Ok(0),
        }
    }
}
