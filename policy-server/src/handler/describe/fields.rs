//! The fields of the type that an argument is deserialized into, without a schema: a derived
//! `Deserialize` names its fields before it asks for a value, so no data is needed.

use serde::{
    Deserializer,
    de::{DeserializeOwned, DeserializeSeed, Error as _, SeqAccess, Visitor, value::Error},
    forward_to_deserialize_any,
};

/// The fields of a struct, or of the structs of a list, that are named like ids. Fields that serde
/// does not name beforehand are not found: nested ones, flattened ones and those of tagged enums.
pub(crate) fn ids_of<T: DeserializeOwned>() -> Vec<&'static str> {
    let mut names = Names { found: Vec::new(), left: LEVELS };
    // It fails where it asks for the first value.
    let _ = T::deserialize(&mut names);
    names.found.retain(|name| is_id(name));
    names.found
}

/// The maximum number of lists, options and wrappers around a struct: a type may contain itself.
const LEVELS: u32 = 8;

/// Whether a name says that its value names an object: `id`, `order_id`, `orderIds`.
fn is_id(name: &str) -> bool {
    let one = name.strip_suffix('s').unwrap_or(name);
    one == "id" || ["_id", "-id", "Id"].iter().any(|end| one.ends_with(end))
}

/// Notes the names of fields, and has no value.
struct Names {
    found: Vec<&'static str>,
    left: u32,
}

impl Names {
    fn descend(&mut self) -> Result<&mut Self, Error> {
        self.left = self.left.checked_sub(1).ok_or_else(|| Error::custom("too deep"))?;
        Ok(self)
    }
}

impl<'de> Deserializer<'de> for &mut Names {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("there is no value"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.found.extend(fields);
        self.deserialize_any(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self.descend()?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self.descend()?)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct tuple tuple_struct map enum identifier ignored_any
    }
}

impl<'de> SeqAccess<'de> for &mut Names {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        seed.deserialize(self.descend()?).map(Some)
    }
}

#[cfg(test)]
mod tests {
    #![allow(dead_code, reason = "the fields are only named")]

    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Move {
        id: u64,
        board_id: Option<u64>,
        #[serde(rename = "to-ids")]
        to: Vec<u64>,
        paid: bool,
        idea: String,
        #[serde(skip)]
        hidden_id: u64,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Renamed {
        order_ids: Vec<u64>,
    }

    #[derive(Deserialize)]
    struct Around(Renamed);

    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Same {
        inner: Renamed,
    }

    #[derive(Deserialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        One { order_id: u64 },
    }

    #[test]
    fn fields_named_like_ids_are_found_without_a_value() {
        assert_eq!(ids_of::<Move>(), ["id", "board_id", "to-ids"]);
        assert_eq!(ids_of::<Renamed>(), ["orderIds"]);
        assert_eq!(ids_of::<Around>(), ["orderIds"]);
        assert_eq!(ids_of::<Same>(), ["orderIds"]);
        assert_eq!(ids_of::<Option<Vec<Renamed>>>(), ["orderIds"]);
    }

    #[derive(Deserialize)]
    struct Tree(Vec<Tree>);

    /// A type that reads nothing.
    struct Nothing;

    impl<'de> Deserialize<'de> for Nothing {
        fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
            Ok(Self)
        }
    }

    #[test]
    fn types_without_an_end_are_left() {
        assert!(ids_of::<Tree>().is_empty());
        assert!(ids_of::<Vec<Nothing>>().is_empty());
    }

    #[test]
    fn what_names_no_fields_has_none() {
        assert!(ids_of::<String>().is_empty());
        assert!(ids_of::<(Renamed, u64)>().is_empty());
        assert!(ids_of::<BTreeMap<String, Renamed>>().is_empty());
        assert!(ids_of::<serde_json::Value>().is_empty());
        assert!(ids_of::<Tagged>().is_empty());
    }
}
