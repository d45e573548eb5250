//! Sets that routes share, in the text of a manifest: each is written once, with a name.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    marker::PhantomData,
};

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

/// The named sets of a manifest: a field of a route and its text there lead to the name and the
/// text of the set.
pub(crate) struct Names(BTreeMap<(&'static str, String), (String, String)>);

/// A set, with what names it.
struct Use {
    text: String,
    routes: usize,
    /// The first of its routes, and the path of that.
    first: usize,
    path: String,
}

impl Names {
    /// The names of the sets that more than one route has, and of all security headers. The
    /// most used set is `usual`; each other one is named after the first path that has it, so that
    /// the name stays when the set changes.
    pub(crate) fn from_manifest(manifest: &Manifest) -> Self {
        let mut uses: BTreeMap<&'static str, BTreeMap<String, Use>> = BTreeMap::new();
        for (first, route) in manifest.routes.iter().enumerate() {
            let mut count = |field, key: String, text: String| {
                let path = route.path.clone();
                let new = || Use { text, routes: 0, first, path };
                uses.entry(field).or_default().entry(key).or_insert_with(new).routes += 1;
            };
            if let Some(cors) = route.cors.as_ref().map(json) {
                count("cors", cors.clone(), cors);
            }
            if !is_default(&route.limits) {
                let limits = json(&route.limits);
                count("limits", limits.clone(), limits);
            }
            if let Some((name, set)) = route.headers.as_ref().zip(manifest.headers_of(route)) {
                count("headers", json(name), json(set));
            }
        }
        let mut names = BTreeMap::new();
        for (field, sets) in uses {
            let least = if field == "headers" { 1 } else { 2 };
            let mut sets: Vec<_> = sets.into_iter().filter(|(_, it)| it.routes >= least).collect();
            sets.sort_by_key(|(_, set)| set.first);
            let most = sets.iter().map(|(_, set)| set.routes).max();
            let mut taken: BTreeSet<String> = BTreeSet::new();
            for (key, Use { text, routes, path, .. }) in sets {
                let is_usual = Some(routes) == most && !taken.contains(USUAL);
                let mut name = if is_usual { USUAL.to_owned() } else { path.clone() };
                let mut number = 1;
                while !taken.insert(name.clone()) {
                    number += 1;
                    name = format!("{path} {number}");
                }
                names.insert((field, key), (name, text));
            }
        }
        Self(names)
    }

    /// The text of a field of a route, or its name if it is a set with one.
    pub(crate) fn name_or_text(&self, field: &'static str, text: String) -> String {
        let key = (field, text);
        self.0.get(&key).map_or(key.1, |(name, _)| json(name))
    }

    /// The names of the sets of a field and their texts, in the order of names.
    pub(crate) fn sets(&self, field: &'static str) -> BTreeMap<&str, &str> {
        let sets = self.0.iter().filter(|((of, _), _)| *of == field);
        sets.map(|(_, (name, text))| (name.as_str(), text.as_str())).collect()
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
pub(crate) enum SetReference<T> {
    #[default]
    Absent,
    Name(String),
    Set(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for SetReference<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrSet<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for NameOrSet<T> {
            type Value = SetReference<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a set, or the name of one")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Self::Value, E> {
                Ok(SetReference::Name(name.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(SetReference::Set)
            }
        }

        deserializer.deserialize_any(NameOrSet(PhantomData))
    }
}

/// A field of a route as it was written.
pub(crate) trait Resolve<T> {
    /// Its value.
    fn resolve(self, sets: &Sets, path: &str) -> Result<T, ReadError>;
}

impl<T> Resolve<T> for T {
    fn resolve(self, _sets: &Sets, _path: &str) -> Result<T, ReadError> {
        Ok(self)
    }
}

impl Resolve<Option<RouteCors>> for SetReference<RouteCors> {
    fn resolve(self, sets: &Sets, path: &str) -> Result<Option<RouteCors>, ReadError> {
        resolve_set(self, "cors", &sets.cors, path)
    }
}

impl Resolve<RouteLimits> for SetReference<RouteLimits> {
    fn resolve(self, sets: &Sets, path: &str) -> Result<RouteLimits, ReadError> {
        Ok(resolve_set(self, "limits", &sets.limits, path)?.unwrap_or_default())
    }
}

impl Resolve<Option<String>> for SetReference<Headers> {
    fn resolve(self, sets: &Sets, path: &str) -> Result<Option<String>, ReadError> {
        Ok(resolve_set(self, "headers", &sets.headers, path)?.map(|set| set.name()))
    }
}

fn resolve_set<T: Clone>(
    shared: SetReference<T>,
    field: &'static str,
    sets: &BTreeMap<String, T>,
    path: &str,
) -> Result<Option<T>, ReadError> {
    match shared {
        SetReference::Absent => Ok(None),
        SetReference::Set(set) => Ok(Some(set)),
        SetReference::Name(name) => match sets.get(&name) {
            Some(set) => Ok(Some(set.clone())),
            None => Err(ReadError::set_missing(path, field, &name)),
        },
    }
}
