//! The values of a session, and the log of changes that a request makes to them.

use std::{fmt, sync::Arc};

use serde_json::{Map, Value};

use super::Record;

/// Why the values of a session cannot be read or stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DataError {
    /// They are over [`Record::MAX_DATA`].
    TooLarge,
    /// Lists and objects are nested deeper than 100 levels.
    TooDeep,
    /// The stored bytes are not a JSON object.
    Malformed,
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "the values of a session have at most 64 KiB as JSON",
            Self::TooDeep => "the values of a session have at most 100 levels",
            Self::Malformed => "the stored values of this session are no JSON object",
        })
    }
}

impl std::error::Error for DataError {}

/// A function that edits the values.
type Edit = dyn Fn(&mut Map<String, Value>) + Send + Sync;

/// One change of the values of a session.
///
/// A change records the intention and not the result, so that it can be replayed on values that
/// another request has changed meanwhile. Every change is defined for all values.
#[derive(Clone)]
#[non_exhaustive]
pub enum DataChange {
    /// Sets a key to this value.
    Set(Box<str>, Value),
    /// Removes a key.
    Remove(Box<str>),
    /// Adds to an integer. Anything that is not an integer counts as 0; the sum saturates.
    Incr(Box<str>, i64),
    /// Appends a value to a list and keeps the given number of last entries. Anything that is not a
    /// list counts as an empty one.
    Push(Box<str>, Value, usize),
    /// Keeps only these keys.
    Keep(Arc<[Box<str>]>),
    /// Applies a function, which may be called more than once.
    Update(Arc<Edit>),
}

impl DataChange {
    fn apply(&self, values: &mut Map<String, Value>) {
        match self {
            Self::Set(key, value) => {
                values.insert(String::from(&**key), value.clone());
            }
            Self::Remove(key) => {
                values.remove(&**key);
            }
            Self::Incr(key, by) => {
                let value = values.entry(&**key).or_insert(Value::Null);
                *value = value.as_i64().unwrap_or(0).saturating_add(*by).into();
            }
            Self::Push(key, value, max) => {
                let list = values.entry(&**key).or_insert(Value::Null);
                let mut items = match list.take() {
                    Value::Array(items) => items,
                    _ => Vec::new(),
                };
                items.push(value.clone());
                items.drain(..items.len().saturating_sub(*max));
                *list = items.into();
            }
            Self::Keep(keys) => {
                values.retain(|key, _| keys.iter().any(|kept| **kept == **key));
            }
            Self::Update(edit) => edit(values),
        }
    }
}

impl fmt::Debug for DataChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The values are the application's secrets.
        match self {
            Self::Set(key, _) => write!(f, "Set({key:?}, ..)"),
            Self::Remove(key) => write!(f, "Remove({key:?})"),
            Self::Incr(key, _) => write!(f, "Incr({key:?}, ..)"),
            Self::Push(key, ..) => write!(f, "Push({key:?}, ..)"),
            Self::Keep(keys) => write!(f, "Keep({keys:?})"),
            Self::Update(_) => f.write_str("Update(..)"),
        }
    }
}

/// The values of a session: a JSON object.
///
/// ```
/// use policy_core::session::{DataChange, Data};
///
/// let mut data = Data::read(br#"{"cart":[1],"seen":1}"#).unwrap();
/// data.apply(&[DataChange::Incr("seen".into(), 1), DataChange::Push("cart".into(), 2.into(), 10)]);
/// assert_eq!(&*data.write().unwrap(), br#"{"cart":[1,2],"seen":2}"#);
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct Data(Map<String, Value>);

impl Data {
    /// The deepest nesting of lists and objects, where the outermost object is level 0. serde_json
    /// reads 127 levels, so whatever is stored can be read again.
    const MAX_DEPTH: usize = 100;

    /// Reads stored values.
    ///
    /// # Errors
    ///
    /// The value is not a JSON object.
    pub fn read(stored: &[u8]) -> Result<Self, DataError> {
        if stored.is_empty() {
            return Ok(Self::default());
        }
        // Only this engine writes the stored bytes, so the position of an error is not useful.
        serde_json::from_slice(stored).map(Self).or(Err(DataError::Malformed))
    }

    /// The bytes to store; empty if there are no values.
    ///
    /// # Errors
    ///
    /// The value is too large or too deep.
    pub fn write(&self) -> Result<Box<[u8]>, DataError> {
        if self.0.is_empty() {
            return Ok(Box::default());
        }
        if !self.0.values().all(|value| is_within(value, Self::MAX_DEPTH)) {
            return Err(DataError::TooDeep);
        }
        match serde_json::to_vec(&self.0) {
            Ok(written) if written.len() <= Record::MAX_DATA => Ok(written.into()),
            _ => Err(DataError::TooLarge),
        }
    }

    /// Applies these changes, in order.
    pub fn apply(&mut self, changes: &[DataChange]) {
        for change in changes {
            change.apply(&mut self.0);
        }
    }

    /// The value of a key.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn is_within(value: &Value, levels: usize) -> bool {
    let inner = |value: &Value| levels > 0 && is_within(value, levels - 1);
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(inner),
        Value::Object(members) => levels > 0 && members.values().all(inner),
        _ => true,
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn after(start: Value, change: DataChange) -> Value {
        let Value::Object(values) = start else { unreachable!() };
        let mut data = Data(values);
        data.apply(&[change]);
        Value::Object(data.0)
    }

    #[test]
    fn changes_have_their_effect() {
        let start = || json!({"a": 1, "list": [1, 2, 3], "text": "x"});
        let done = |change| after(start(), change);
        assert_eq!(done(DataChange::Set("a".into(), json!("b")))["a"], "b");
        assert_eq!(done(DataChange::Remove("a".into())), json!({"list": [1, 2, 3], "text": "x"}));
        assert_eq!(done(DataChange::Remove("none".into())), start());
        assert_eq!(done(DataChange::Incr("a".into(), -3))["a"], -2);
        assert_eq!(done(DataChange::Incr("none".into(), 5))["none"], 5);
        assert_eq!(done(DataChange::Incr("text".into(), 5))["text"], 5);
        assert_eq!(done(DataChange::Incr("a".into(), i64::MAX))["a"], i64::MAX);
        assert_eq!(done(DataChange::Push("list".into(), json!(4), 3))["list"], json!([2, 3, 4]));
        assert_eq!(done(DataChange::Push("list".into(), json!(4), 0))["list"], json!([]));
        assert_eq!(done(DataChange::Push("text".into(), json!(4), 3))["text"], json!([4]));
        assert_eq!(done(DataChange::Keep(["a".into(), "none".into()].into())), json!({"a": 1}));
        let edit = |values: &mut Map<String, Value>| drop(values.insert("z".into(), json!(1)));
        assert_eq!(done(DataChange::Update(Arc::new(edit)))["z"], 1);
    }

    #[test]
    fn session_data_must_be_an_object_within_its_limits() {
        let mut data = Data::default();
        assert_eq!(&*data.write().unwrap(), b"");
        data.apply(&[DataChange::Set("k".into(), "x".repeat(Record::MAX_DATA - 8).into())]);
        assert_eq!(data.write().unwrap().len(), Record::MAX_DATA);
        data.apply(&[DataChange::Set("l".into(), Value::Null)]);
        assert_eq!(data.write(), Err(DataError::TooLarge));
        for (levels, deep) in [(Data::MAX_DEPTH, false), (Data::MAX_DEPTH + 1, true)] {
            let mut data = Data::default();
            let value = (0..levels).fold(json!(1), |inner, _| json!([inner]));
            data.apply(&[DataChange::Set("k".into(), value)]);
            let written = data.write();
            assert_eq!(written == Err(DataError::TooDeep), deep, "{levels} levels");
            assert!(deep || Data::read(&written.unwrap()) == Ok(data));
        }
        for malformed in [&b"[]"[..], b"{", b"null", b"{} {}"] {
            assert_eq!(Data::read(malformed), Err(DataError::Malformed));
        }
    }

    #[test]
    fn nothing_prints_values() {
        let change = DataChange::Set("key".into(), "secret".into());
        let mut data = Data::default();
        data.apply(std::slice::from_ref(&change));
        assert_eq!(format!("{change:?} {data:?}"), r#"Set("key", ..) {"key"}"#);
    }

    fn changes(keys: &'static str) -> impl Strategy<Value = Vec<DataChange>> {
        let key = prop::sample::select(keys.split(' ').collect::<Vec<_>>());
        let change = (key, 0..4, -5_i64..5).prop_map(|(key, kind, n)| match kind {
            0 => DataChange::Set(key.into(), n.into()),
            1 => DataChange::Remove(key.into()),
            2 => DataChange::Incr(key.into(), n),
            _ => DataChange::Push(key.into(), n.into(), 3),
        });
        prop::collection::vec(change, 1..8)
    }

    proptest! {
        /// Logs about different keys give the same values in either order. This is why concurrent
        /// writes merge.
        #[test]
        fn logs_about_different_keys_commute(one in changes("a b"), two in changes("c d")) {
            let (mut first, mut second) = (Data::default(), Data::default());
            first.apply(&one);
            first.apply(&two);
            second.apply(&two);
            second.apply(&one);
            prop_assert_eq!(first, second);
        }
    }
}
