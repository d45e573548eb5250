//! Where the policy of each route is written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use policy_core::route::Level;

/// The source lines that decided the fields of a manifest. They are not part of it, since moved
/// code does not change a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Sources {
    /// The functions of handlers, by method and path such as `GET /orders/{id}`.
    pub handlers: BTreeMap<String, String>,
    /// The locations of these functions, by method and path.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub places: BTreeMap<String, SourceLine>,
    /// The source of each facet that a level states, even if it states `none`, by method and path,
    /// then by the name of the facet. The method of a rule of an object is `*`, and its path the name of
    /// the rule, such as `Order.edit`.
    pub decided: BTreeMap<String, BTreeMap<String, FacetSource>>,
    /// The current entries of run-time lists.
    pub lists: BTreeMap<String, Vec<String>>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SourceLine {
    /// The file, as the compiler names it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

/// The source of a facet: the line that decided.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FacetSource {
    /// The level that states it.
    pub level: Level,
    /// The file, as the compiler names it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

impl Sources {
    /// The source of a facet of a route.
    pub fn get(&self, method: &str, path: &str, facet: &str) -> Option<&FacetSource> {
        self.decided.get(&format!("{method} {path}"))?.get(facet)
    }
}
