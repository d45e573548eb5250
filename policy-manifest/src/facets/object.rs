//! `#[object]` and `derive(Object)`: rights on the objects that a route names.

use policy_core::object::ObjectExemption;
use serde::{Deserialize, Serialize};

use super::{FacetEntry, FromPolicy, is_default};
use crate::Manifest;

/// The objects that a route checks, or why it checks none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RouteObjects {
    /// The reason for which it takes path parameters without an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub none: Option<String>,
    /// The objects, in the order in which they are checked.
    #[serde(default, skip_serializing_if = "is_default")]
    pub uses: Vec<ObjectUse>,
}

/// An object that a route checks for one action.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectUse {
    /// The type of the object.
    pub object: String,
    /// The action.
    pub action: String,
    /// Where its key comes from.
    pub key: ObjectKey,
}

/// Where the key of an object comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ObjectKey {
    /// This parameter of the path.
    Parameter(String),
    /// The handler, which has it from a body for example.
    Handler,
    /// There is none: the handler lists all objects with which the caller may do this.
    List,
}

impl RouteObjects {
    /// No objects, for this reason.
    pub fn exempt(reason: impl Into<String>) -> Self {
        Self { none: Some(reason.into()), uses: Vec::new() }
    }
}

impl FromPolicy<ObjectExemption> for RouteObjects {
    fn from_policy(policy: &ObjectExemption, _: &mut Manifest) -> Self {
        Self::exempt(policy.reason())
    }
}

pub(super) const FACET: FacetEntry = FacetEntry {
    name: "object",
    attribute: "object",
    about: "rights on the objects that a route names",
    why: "Checking an identifier apart from the object that it names is easily forgotten, and then \
          every user can read and change the objects of all others (OWASP API1).",
    ..FacetEntry::NONE
};
