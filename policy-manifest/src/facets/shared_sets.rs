//! Sets that routes share, in the text of a manifest: each is written once, with a name.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};

use crate::{
    Headers, Manifest, ReadError, RouteCors, RouteLimits,
    facets::{is_default, json},
};

/// The name of the set that most routes have.
const USUAL: &str = "usual";

/// The names of the sets of a manifest, by the field of a route and its JSON text there.
pub(crate) struct Names(BTreeMap<(&'static str, String), String>);

impl Names {
    /// The names of the sets that more than one route has, and of all security headers. A name is that
    /// of the first path with the set, so that it stays when the set changes.
    pub(crate) fn of(manifest: &Manifest) -> Self {
        /// A set, the number of routes with it, and the first of their paths.
        type Uses = BTreeMap<String, (usize, usize, String)>;

        let (mut cors, mut limits, mut headers) = (Uses::new(), Uses::new(), Uses::new());
        for (index, route) in manifest.routes.iter().enumerate() {
            let count = |uses: &mut Uses, text: String| {
                uses.entry(text).or_insert_with(|| (0, index, route.path.clone())).0 += 1;
            };
            route.cors.iter().for_each(|set| count(&mut cors, json(set)));
            route.headers.iter().for_each(|name| count(&mut headers, json(name)));
            if !is_default(&route.limits) {
                count(&mut limits, json(&route.limits));
            }
        }
        let mut names = BTreeMap::new();
        for (field, uses, least) in
            [("cors", cors, 2), ("limits", limits, 2), ("headers", headers, 1)]
        {
            let mut sets: Vec<_> = uses.into_iter().collect();
            sets.retain(|(_, (count, ..))| *count >= least);
            sets.sort_by_key(|(_, (_, first, _))| *first);
            let most = sets.iter().map(|(_, (count, ..))| *count).max().unwrap_or_default();
            let mut taken: BTreeMap<String, usize> = BTreeMap::new();
            for (text, (count, _, path)) in sets {
                let is_usual = count == most && !taken.contains_key(USUAL);
                let name = if is_usual { USUAL } else { &path };
                let times = taken.entry(name.to_owned()).or_default();
                *times += 1;
                let name = match *times {
                    1 => name.to_owned(),
                    times => format!("{name} {times}"),
                };
                names.insert((field, text), name);
            }
        }
        Self(names)
    }

    /// The text of a field of a route: its name, if it is a set with one.
    pub(crate) fn shown(&self, field: &'static str, text: String) -> String {
        let key = (field, text);
        self.0.get(&key).map_or(key.1, json)
    }

    /// The sets of a field, each with its name, in the order of names.
    pub(crate) fn sets(&self, field: &'static str) -> BTreeMap<&str, &str> {
        let sets = self.0.iter().filter(|((of, _), _)| *of == field);
        sets.map(|((_, text), name)| (name.as_str(), text.as_str())).collect()
    }
}

/// The sets of a text, by name.
#[derive(Default)]
pub(crate) struct Sets {
    pub(crate) cors: BTreeMap<String, RouteCors>,
    pub(crate) limits: BTreeMap<String, RouteLimits>,
    pub(crate) headers: BTreeMap<String, Headers>,
}

/// A field of a route in a text: a set, or the name of one.
#[derive(Default)]
pub(crate) enum Shared<T> {
    #[default]
    Absent,
    Name(String),
    Set(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrSet<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for NameOrSet<T> {
            type Value = Shared<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a set, or the name of one")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Shared::Name(name.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Shared::Set)
            }
        }

        deserializer.deserialize_any(NameOrSet(PhantomData))
    }
}

/// A field of a route as it was written.
pub(crate) trait Written<T> {
    /// Its value.
    fn resolve(self, sets: &Sets, path: &str) -> Result<T, ReadError>;
}

impl<T> Written<T> for T {
    fn resolve(self, _sets: &Sets, _path: &str) -> Result<T, ReadError> {
        Ok(self)
    }
}

impl Written<Option<RouteCors>> for Shared<RouteCors> {
    fn resolve(self, sets: &Sets, path: &str) -> Result<Option<RouteCors>, ReadError> {
        named(self, "cors", &sets.cors, path)
    }
}

impl Written<RouteLimits> for Shared<RouteLimits> {
    fn resolve(self, sets: &Sets, path: &str) -> Result<RouteLimits, ReadError> {
        Ok(named(self, "limits", &sets.limits, path)?.unwrap_or_default())
    }
}

impl Written<Option<String>> for Shared<Headers> {
    fn resolve(self, sets: &Sets, path: &str) -> Result<Option<String>, ReadError> {
        Ok(named(self, "headers", &sets.headers, path)?.map(|set| set.name()))
    }
}

fn named<T: Clone>(
    shared: Shared<T>,
    field: &'static str,
    sets: &BTreeMap<String, T>,
    path: &str,
) -> Result<Option<T>, ReadError> {
    match shared {
        Shared::Absent => Ok(None),
        Shared::Set(set) => Ok(Some(set)),
        Shared::Name(name) => match sets.get(&name) {
            Some(set) => Ok(Some(set.clone())),
            None => Err(ReadError::SetMissing { path: path.to_owned(), field, name }),
        },
    }
}
