//! `#[object]` and `derive(Object)`: rights on the objects that a route names.

use policy_core::object::ObjectExemption;
use serde::{Deserialize, Serialize};

use super::{FacetEntry, FromPolicy, ManifestRoute, is_default};
use crate::Manifest;

/// The action whose rule decides whether a caller learns that an object exists.
pub(crate) const VIEW: &str = "view";

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

impl ObjectUse {
    /// The name of the rule of its action, such as `Order.edit`.
    ///
    /// ```
    /// use policy_manifest::{ObjectKey, ObjectUse};
    ///
    /// let edit = ObjectUse {
    ///     object: "Order".to_owned(),
    ///     action: "edit".to_owned(),
    ///     key: ObjectKey::Parameter("id".to_owned()),
    /// };
    /// assert_eq!(edit.rule(), "Order.edit");
    /// ```
    pub fn rule(&self) -> String {
        format!("{}.{}", self.object, self.action)
    }

    /// The names of the rules that have to hold, in the order in which they are checked: a caller who may
    /// not view an object may do nothing with it.
    pub(crate) fn rules(&self) -> impl Iterator<Item = String> {
        let rule = self.rule();
        let view = format!("{}.{VIEW}", self.object);
        let own = (rule != view).then_some(rule);
        [view].into_iter().chain(own)
    }
}

impl Manifest {
    /// The names of the rules of objects that its routes need, each with the path of the route.
    pub(crate) fn needed_rules(&self) -> impl Iterator<Item = (String, &str)> {
        let routes = self.routes.iter().filter_map(|route| Some((route, route.object.as_ref()?)));
        routes.flat_map(|(route, objects)| {
            let rules = objects.uses.iter().flat_map(ObjectUse::rules);
            rules.map(|rule| (rule, route.path.as_str()))
        })
    }
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
    normalize,
    ..FacetEntry::NONE
};

fn normalize(route: &mut ManifestRoute) {
    route.object.take_if(|objects| is_default(objects));
}
