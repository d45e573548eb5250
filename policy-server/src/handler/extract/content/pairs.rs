//! Form data, `application/x-www-form-urlencoded`, as serde reads it.

use std::{borrow::Cow, iter::Peekable, vec};

use serde::{
    Deserializer,
    de::{
        Error as _, IntoDeserializer, Visitor,
        value::{Error, MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};

/// The pairs of form data (URL Standard, 5.1), in the order in which they were sent.
///
/// - A sequence takes all values of its name, even if there is only one: `?tag=a&tag=b` is read
///   into `Vec<String>`. Any other type takes one value.
/// - An `Option` is `None` for an empty value, which forms send for a field that was left empty.
pub(super) struct Pairs<'de>(Vec<(Cow<'de, str>, Cow<'de, str>)>);

impl<'de> Pairs<'de> {
    pub(super) fn read(bytes: &'de [u8]) -> Self {
        Self(form_urlencoded::parse(bytes).collect())
    }

    fn grouped(mut self) -> Groups<'de> {
        // The sort is stable, so the values of a name keep their order.
        self.0.sort_by(|(one, _), (other, _)| one.cmp(other));
        Groups(self.0.into_iter().peekable())
    }
}

/// The names with their values.
struct Groups<'de>(Peekable<vec::IntoIter<(Cow<'de, str>, Cow<'de, str>)>>);

impl<'de> Iterator for Groups<'de> {
    type Item = (Values<'de>, Values<'de>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.0.next()?;
        let mut values = Values::one(value);
        while let Some((_, value)) = self.0.next_if(|(other, _)| *other == name) {
            values.others.push(value);
        }
        Some((Values::one(name), values))
    }
}

impl<'de> Deserializer<'de> for Pairs<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(MapDeserializer::new(self.grouped()))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let pairs = self.0.into_iter();
        let pairs = pairs.map(|(name, value)| (Values::one(name), Values::one(value)));
        visitor.visit_seq(MapDeserializer::new(pairs))
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        MapDeserializer::new(self.grouped()).end()?;
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit_struct tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The values of one name, or a name.
struct Values<'de> {
    first: Cow<'de, str>,
    others: Vec<Cow<'de, str>>,
}

impl<'de> Values<'de> {
    fn one(value: Cow<'de, str>) -> Self {
        Self { first: value, others: Vec::new() }
    }

    fn single(self) -> Result<Cow<'de, str>, Error> {
        if self.others.is_empty() {
            Ok(self.first)
        } else {
            Err(Error::custom("occurs more than once"))
        }
    }
}

impl<'de> IntoDeserializer<'de> for Values<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! parsed {
    ($($method:ident: $type:ty,)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            let value: $type = self.single()?.parse().map_err(Error::custom)?;
            value.into_deserializer().$method(visitor)
        })*
    };
}

macro_rules! sequences {
    ($($method:ident($($argument:ident: $type:ty),*),)*) => {
        $(fn $method<V: Visitor<'de>>(
            self,
            $($argument: $type,)*
            visitor: V,
        ) -> Result<V::Value, Error> {
            let values = std::iter::once(self.first).chain(self.others).map(Values::one);
            visitor.visit_seq(SeqDeserializer::new(values))
        })*
    };
}

impl<'de> Deserializer<'de> for Values<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.others.is_empty() {
            true => self.deserialize_str(visitor),
            false => self.deserialize_seq(visitor),
        }
    }

    parsed! {
        deserialize_bool: bool,
        deserialize_i8: i8,
        deserialize_i16: i16,
        deserialize_i32: i32,
        deserialize_i64: i64,
        deserialize_i128: i128,
        deserialize_u8: u8,
        deserialize_u16: u16,
        deserialize_u32: u32,
        deserialize_u64: u64,
        deserialize_u128: u128,
        deserialize_f32: f32,
        deserialize_f64: f64,
    }

    sequences! {
        deserialize_seq(),
        deserialize_tuple(_len: usize),
        deserialize_tuple_struct(_name: &'static str, _len: usize),
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.single()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.first.is_empty() && self.others.is_empty() {
            true => visitor.visit_none(),
            false => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.single()?.into_deserializer().deserialize_enum(name, variants, visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        char bytes byte_buf unit unit_struct map struct identifier
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;
    use serde::{Deserialize, Serialize, de::DeserializeOwned};

    use super::{super::query::parse_pairs, *};

    fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
        parse_pairs(text.as_bytes()).map_err(|mismatch| mismatch.to_string())
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Ids(Vec<u32>);

    #[derive(Debug, PartialEq, Deserialize)]
    struct PageNumber(u32);

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Sort {
        Name,
        Price,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Search {
        tag: Vec<String>,
        id: Option<Ids>,
        kinds: BTreeSet<String>,
        range: Option<(u32, u32)>,
        page: Option<PageNumber>,
        size: Option<u32>,
        sort: Option<Sort>,
        words: Option<String>,
        note: String,
    }

    #[test]
    fn all_values_of_a_name_are_read_into_a_sequence_in_their_order() {
        let search = read::<Search>("tag=b&id=2&kinds=x&tag=a&range=1&id=1&kinds=y&range=5&tag=b");
        let want = Search {
            tag: ["b", "a", "b"].map(str::to_owned).into(),
            id: Some(Ids(vec![2, 1])),
            kinds: ["x", "y"].map(str::to_owned).into(),
            range: Some((1, 5)),
            ..Search::default()
        };
        assert_eq!(search, Ok(want));
        let one = read::<Search>("tag=a&id=7").unwrap();
        assert_eq!((one.tag, one.id), (vec!["a".to_owned()], Some(Ids(vec![7]))));
        assert_eq!(read::<Search>("tag=").unwrap().tag, [""]);
        let of_names = read::<BTreeMap<String, Vec<u8>>>("b=1&a=2&b=3").unwrap();
        assert_eq!(of_names, [("a".to_owned(), vec![2]), ("b".to_owned(), vec![1, 3])].into());
        let in_order = read::<Vec<(String, u8)>>("b=1&a=2&b=3").unwrap();
        assert_eq!(
            in_order,
            [("b", 1), ("a", 2), ("b", 3)].map(|(name, of)| (name.to_owned(), of))
        );
    }

    #[test]
    fn an_option_of_any_type_is_none_for_an_empty_value() {
        let search = read::<Search>("page=&size=&sort=&words=&id=&range=&note=");
        assert_eq!(search, Ok(Search::default()));
        let search = read::<Search>("page=2&size=3&sort=price&words=a&note=").unwrap();
        assert_eq!(search.page, Some(PageNumber(2)));
        assert_eq!((search.size, search.sort), (Some(3), Some(Sort::Price)));
        assert_eq!((search.words.as_deref(), &*search.note), (Some("a"), ""));
    }

    #[test]
    fn errors_name_their_field() {
        for (text, want) in [
            ("size=1&size=2", "`size`: occurs more than once"),
            ("words=&words=", "`words`: occurs more than once"),
            ("sort=name&sort=price", "`sort`: occurs more than once"),
            ("note=a&note=a", "`note`: occurs more than once"),
            ("size=x", "`size`: invalid digit found in string"),
            ("id=1&id=x", "`id[1]`: invalid digit found in string"),
            ("id=1&id=", "`id[1]`: cannot parse integer from empty string"),
        ] {
            assert_eq!(read::<Search>(text).unwrap_err(), want, "{text}");
        }
        let unknown = read::<Search>("sort=size").unwrap_err();
        assert!(unknown.starts_with("`sort`: unknown variant `size`"), "{unknown}");
        // A name without a field may be repeated.
        assert_eq!(read::<Search>("utm=1&utm=2"), Ok(Search::default()));
        assert!(read::<BTreeMap<String, u8>>("a=1&a=2").is_err());
        assert!(read::<()>("a=1").is_err() && read::<()>("").is_ok());
        assert_eq!(read::<Sent>("text=a").unwrap_err(), "missing field `is_on`");
    }

    #[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
    struct Sent {
        #[serde(default)]
        many: Vec<String>,
        #[serde(default)]
        numbers: Vec<i64>,
        maybe: Option<u8>,
        is_on: bool,
        text: String,
    }

    proptest! {
        /// Serialized form data is read back unchanged.
        #[test]
        fn written_pairs_are_read_unchanged(
            many in prop::collection::vec(any::<String>(), 0..4),
            numbers in prop::collection::vec(any::<i64>(), 0..4),
            maybe: Option<u8>,
            is_on: bool,
            text: String,
        ) {
            let sent = Sent { many, numbers, maybe, is_on, text };
            let written = serde_html_form::to_string(&sent).unwrap();
            prop_assert_eq!(read::<Sent>(&written), Ok(sent));
        }
    }
}
