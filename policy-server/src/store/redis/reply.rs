//! Reads the replies of scripts.

use std::vec;

use policy_core::{
    session::{Handle, Identity},
    time::Timestamp,
};
use redis::Value;

use crate::store::{
    Family, Revocation, StoreError, Summary, history::MarkedNumber, shared::revocation,
};

/// The highest number that Lua counts exactly. Larger numbers and the end of time are stored as this one.
const HIGHEST: u64 = (1 << 53) - 1;

pub(super) fn number(value: u64) -> u64 {
    value.min(HIGHEST)
}

pub(super) fn time(value: Timestamp) -> u64 {
    number(value.millis())
}

pub(super) fn time_of(value: u64) -> Timestamp {
    if value >= HIGHEST { Timestamp::MAX } else { Timestamp::from_millis(value) }
}

/// Roles or scopes as one value.
pub(super) fn list(all: &[Box<str>]) -> String {
    serde_json::json!(all).to_string()
}

fn strange(what: &str, value: &Value) -> StoreError {
    let kind = match value {
        Value::Nil => "nothing",
        Value::Int(_) => "a number",
        Value::BulkString(_) | Value::SimpleString(_) => "a text",
        Value::Array(_) => "a list",
        _ => "something else",
    };
    StoreError::new(format!("the server returned {kind} in place of {what}"))
}

/// A reply that is a number.
pub(super) fn as_number(value: &Value) -> Result<u64, StoreError> {
    let number = match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        Value::BulkString(digits) => {
            str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok())
        }
        _ => None,
    };
    number.ok_or_else(|| strange("a number", value))
}

pub(super) fn as_bool(value: &Value) -> Result<bool, StoreError> {
    Ok(as_number(value)? == 1)
}

pub(super) fn as_bytes(value: Value) -> Result<Vec<u8>, StoreError> {
    match value {
        Value::BulkString(bytes) => Ok(bytes),
        value => Err(strange("bytes", &value)),
    }
}

pub(super) fn as_array<const N: usize>(value: Value) -> Result<[u8; N], StoreError> {
    let bytes = as_bytes(value)?;
    let length = bytes.len();
    bytes.try_into().map_err(|_bytes: Vec<u8>| {
        StoreError::new(format!("the server returned {length} bytes in place of {N}"))
    })
}

pub(super) fn as_text(value: Value) -> Result<String, StoreError> {
    String::from_utf8(as_bytes(value)?).map_err(StoreError::new)
}

/// Reads the items of a list in order.
pub(super) struct Items(vec::IntoIter<Value>);

impl Items {
    pub(super) fn new(value: Value) -> Result<Self, StoreError> {
        match value {
            Value::Array(all) => Ok(Self(all.into_iter())),
            value => Err(strange("a list", &value)),
        }
    }

    /// A list, or `None` for nil.
    pub(super) fn new_or_nil(value: Value) -> Result<Option<Self>, StoreError> {
        match value {
            Value::Nil => Ok(None),
            value => Self::new(value).map(Some),
        }
    }

    pub(super) fn next(&mut self) -> Result<Value, StoreError> {
        self.0.next().ok_or_else(|| StoreError::new("the server returned too short a list"))
    }

    fn optional(&mut self) -> Result<Option<Value>, StoreError> {
        Ok(match self.next()? {
            Value::Nil => None,
            value => Some(value),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    pub(super) fn rest(self) -> vec::IntoIter<Value> {
        self.0
    }

    pub(super) fn bytes(&mut self) -> Result<Box<[u8]>, StoreError> {
        as_bytes(self.next()?).map(Into::into)
    }

    pub(super) fn number(&mut self) -> Result<u64, StoreError> {
        as_number(&self.next()?)
    }

    /// A number and its mark.
    pub(super) fn marked_number(&mut self) -> Result<MarkedNumber, StoreError> {
        let (number, mark) = (self.number()?, self.text()?);
        Ok(MarkedNumber { number, mark: mark.parse().ok() })
    }

    pub(super) fn time(&mut self) -> Result<Timestamp, StoreError> {
        self.number().map(time_of)
    }

    pub(super) fn optional_time(&mut self) -> Result<Option<Timestamp>, StoreError> {
        self.optional()?.map(|value| as_number(&value).map(time_of)).transpose()
    }

    pub(super) fn text(&mut self) -> Result<String, StoreError> {
        as_text(self.next()?)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], StoreError> {
        as_array(self.next()?)
    }

    pub(super) fn handles(&mut self) -> Result<Vec<Handle>, StoreError> {
        let handles = Self::new(self.next()?)?.rest();
        handles.map(|one| as_array(one).map(Handle)).collect()
    }

    fn list(&mut self) -> Result<Box<[Box<str>]>, StoreError> {
        match self.optional()? {
            None => Ok(Box::default()),
            Some(value) => serde_json::from_slice(&as_bytes(value)?).map_err(StoreError::new),
        }
    }

    /// A user with their roles, scopes and tenant, if there is a user.
    pub(super) fn identity(&mut self) -> Result<Option<Identity>, StoreError> {
        let user = self.optional()?.map(as_text).transpose()?;
        let (roles, scopes) = (self.list()?, self.list()?);
        let tenant = self.optional()?.map(as_text).transpose()?;
        Ok(user.map(|user| {
            let mut identity = Identity::new(user).roles(roles).scopes(scopes);
            identity.tenant = tenant.map(Into::into);
            identity
        }))
    }

    pub(super) fn summary(&mut self) -> Result<Summary, StoreError> {
        Ok(Summary {
            handle: Handle(self.array()?),
            created: self.time()?,
            last_seen: self.time()?,
            authenticated: self.optional_time()?,
            data: as_bytes(self.next()?)?.into(),
        })
    }

    /// A family: all its fields in order.
    pub(super) fn family(&mut self) -> Result<Family, StoreError> {
        let id = self.array()?;
        let identity = self.identity()?;
        let identity = identity.ok_or_else(|| StoreError::new("a family has no user"))?;
        let (authenticated, expires) = (self.time()?, self.time()?);
        let mut family = Family::new(id, identity, authenticated, expires);
        family.session = self.optional()?.map(as_array).transpose()?.map(Handle);
        Ok(family)
    }

    /// A revocation: its name and its row.
    pub(super) fn revocation(&mut self) -> Result<Revocation, StoreError> {
        let (name, row) = (self.text()?, self.text()?);
        let (kind, subject) = name.split_once(':').unwrap_or_default();
        let (value, user) = row.split_once(' ').unwrap_or_default();
        let value: u64 = value.parse().map_err(StoreError::new)?;
        revocation::read((kind, subject, user), value, time_of(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_time_stays_the_end_of_time() {
        assert_eq!(time_of(time(Timestamp::MAX)), Timestamp::MAX);
        assert_eq!(time_of(time(Timestamp::from_millis(7))), Timestamp::from_millis(7));
    }

    #[test]
    fn an_unexpected_reply_is_an_error_that_names_it() {
        let says = |error: StoreError, part: &str| assert!(error.to_string().contains(part));
        says(as_number(&Value::Nil).unwrap_err(), "nothing in place of a number");
        says(as_array::<2>(Value::BulkString(vec![1])).unwrap_err(), "1 bytes in place of 2");
        says(Items::new(Value::Int(1)).err().unwrap(), "a number in place of a list");
        says(Items::new(Value::Array(vec![])).unwrap().number().unwrap_err(), "too short");
    }
}
