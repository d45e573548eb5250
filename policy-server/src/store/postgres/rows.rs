//! Converts columns.

use std::{error::Error, time::Duration};

use policy_core::{
    session::{Handle, Identity, Record, SessionKey},
    time::Timestamp,
};
use tokio_postgres::{Row, types::FromSql};

use crate::store::{
    Family, Revocation, StoreError, Summary, Ticket,
    history::MarkedNumber,
    shared::{loads::Stored, revocation},
};

/// Numbers above the highest `bigint`, and the end of time, are stored as the highest `bigint`.
pub(super) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(super) fn time(value: Timestamp) -> i64 {
    number(value.millis())
}

fn time_of(value: i64) -> Timestamp {
    match value {
        i64::MAX => Timestamp::MAX,
        value => Timestamp::from_millis(value.unsigned_abs()),
    }
}

/// Reads the columns of a row by their names.
pub(super) struct Columns(pub(super) Row);

impl Columns {
    pub(super) fn get<'a, T: FromSql<'a>>(&'a self, name: &str) -> Result<T, StoreError> {
        self.0.try_get(name).map_err(|error| unexpected(name, &error))
    }

    pub(super) fn number(&self, name: &str) -> Result<u64, StoreError> {
        self.get::<i64>(name).map(i64::unsigned_abs)
    }

    /// A number and its mark.
    pub(super) fn marked_number(&self, name: &str) -> Result<MarkedNumber, StoreError> {
        Ok(MarkedNumber { number: self.number(name)?, mark: self.get("mark")? })
    }

    pub(super) fn time(&self, name: &str) -> Result<Timestamp, StoreError> {
        self.get(name).map(time_of)
    }

    pub(super) fn bytes<const N: usize>(&self, name: &str) -> Result<[u8; N], StoreError> {
        let bytes = self.get::<&[u8]>(name)?;
        bytes.try_into().map_err(|error| unexpected(name, &error))
    }

    pub(super) fn optional_bytes<const N: usize>(
        &self,
        name: &str,
    ) -> Result<Option<[u8; N]>, StoreError> {
        let bytes = self.get::<Option<&[u8]>>(name)?;
        bytes.map(TryInto::try_into).transpose().map_err(|error| unexpected(name, &error))
    }

    pub(super) fn handles(&self, name: &str) -> Result<Vec<Handle>, StoreError> {
        let all = self.get::<Vec<&[u8]>>(name)?.into_iter();
        let all = all.map(|bytes| Ok(Handle(bytes.try_into()?)));
        all.collect::<Result<_, std::array::TryFromSliceError>>()
            .map_err(|error| unexpected(name, &error))
    }

    fn list(&self, name: &str) -> Result<Box<[Box<str>]>, StoreError> {
        Ok(self.get::<Vec<&str>>(name)?.into_iter().map(Box::from).collect())
    }

    pub(super) fn identity(&self, user: &str) -> Result<Identity, StoreError> {
        let mut identity =
            Identity::new(user).roles(self.list("roles")?).scopes(self.list("scopes")?);
        identity.tenant = self.get::<Option<&str>>("tenant")?.map(Into::into);
        Ok(identity)
    }

    pub(super) fn record(&self) -> Result<Record, StoreError> {
        let user = self.get::<Option<&str>>("user_id")?;
        Ok(Record {
            handle: Handle(self.bytes("handle")?),
            identity: user.map(|user| self.identity(user)).transpose()?,
            epoch: self.number("epoch")?,
            version: self.number("version")?,
            created: self.time("created")?,
            authenticated: self.get::<Option<i64>>("authenticated")?.map(time_of),
            rotated: self.time("rotated")?,
            last_seen: self.time("last_seen")?,
            idle_deadline: self.time("idle_deadline")?,
            absolute_deadline: self.time("absolute_deadline")?,
            idle: Duration::from_millis(self.number("idle")?),
            is_remembered: self.get("is_remembered")?,
            binding: self.bytes("binding")?,
            data: self.get::<&[u8]>("data")?.into(),
        })
    }

    /// The session of the row, or the key that replaced its key.
    pub(super) fn stored_session(&self) -> Result<Stored, StoreError> {
        Ok(match self.optional_bytes("moved_to")? {
            Some(key) => Stored::Moved { to: SessionKey(key), until: self.time("moved_until")? },
            None => Stored::Session(self.record()?),
        })
    }

    pub(super) fn summary(&self) -> Result<Summary, StoreError> {
        Ok(Summary {
            handle: Handle(self.bytes("handle")?),
            created: self.time("created")?,
            last_seen: self.time("last_seen")?,
            authenticated: self.get::<Option<i64>>("authenticated")?.map(time_of),
            data: self.get::<&[u8]>("data")?.into(),
        })
    }

    pub(super) fn family(&self) -> Result<Family, StoreError> {
        Ok(Family {
            id: self.bytes("id")?,
            identity: self.identity(self.get("user_id")?)?,
            authenticated: self.time("authenticated")?,
            expires: self.time("expires")?,
            session: self.optional_bytes("session")?.map(Handle),
        })
    }

    pub(super) fn ticket(&self) -> Result<Ticket, StoreError> {
        let token = self.get::<Option<&str>>("token")?;
        let token = token.map(|id| Ok((id.into(), self.time("token_expires")?))).transpose()?;
        Ok(Ticket {
            identity: self.identity(self.get("user_id")?)?,
            authenticated: self.get::<Option<i64>>("authenticated")?.map(time_of),
            session: self.optional_bytes("session")?.map(Handle),
            token,
            cut_offs: self.number("cut_offs")?,
            expires: self.time("expires")?,
        })
    }

    pub(super) fn revocation(&self) -> Result<Revocation, StoreError> {
        let names = (self.get("kind")?, self.get("subject")?, self.get("user_id")?);
        revocation::read(names, self.number("value")?, self.time("value")?)
    }
}

fn unexpected(column: &str, error: &dyn Error) -> StoreError {
    StoreError::new(format!("the column `{column}` of the database: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_time_stays_the_end_of_time() {
        assert_eq!(time_of(time(Timestamp::MAX)), Timestamp::MAX);
        assert_eq!(time_of(time(Timestamp::from_millis(7))), Timestamp::from_millis(7));
    }
}
