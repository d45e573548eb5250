//! `#[jsonp]`: public data as scripts.

use policy_core::{
    Refusal,
    gates::Gate,
    jsonp::{Grammar, JsonpPolicy},
};
use serde::{Deserialize, Serialize};

use super::{Cell, Column, Direction, FacetEntry, FromPolicy, ManifestRoute, Side, Tone, is_false};
use crate::Manifest;

/// Responses that are scripts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Jsonp {
    /// The parameter of the query that names the function.
    pub callback: String,
    /// Whether the name may have dots.
    #[serde(default, skip_serializing_if = "is_false")]
    pub dotted: bool,
}

impl FromPolicy<JsonpPolicy> for Jsonp {
    fn from_policy(policy: &JsonpPolicy, _: &mut Manifest) -> Self {
        let spec = policy.spec();
        Self { callback: spec.callback.to_owned(), dotted: spec.grammar == Grammar::Dotted }
    }
}

const COLUMN: Column = Column { position: 7, is_rare: true, shares: true, ..Column::new("JSONP") };

pub(super) const FACET: FacetEntry = FacetEntry {
    name: "jsonp",
    attribute: "jsonp",
    about: "public data as scripts",
    gates: &[Gate::Target],
    why: "A script is readable by every page that loads it, with whatever credentials the \
         browser sends along. So a script may contain only public data.",
    columns: &[(COLUMN, |subject| match &subject.route.jsonp {
        Some(jsonp) => Cell::plain(format!("callback in {}", jsonp.callback)).with_tone(Tone::Open),
        None => Cell::nothing(),
    })],
    refusals: |requests, found| {
        found.extend(requests.route.jsonp.as_ref().map(|_| Refusal::CallbackInvalid));
    },
    is_open,
    change,
    ..FacetEntry::NONE
};

fn is_open(route: &ManifestRoute) -> bool {
    route.jsonp.is_some()
}

fn change(old: Side<'_>, new: Side<'_>) -> Option<(Direction, String)> {
    let direction = match (&old.route.jsonp, &new.route.jsonp) {
        (old, new) if old == new => return None,
        (None, _) => Direction::Opens,
        (_, None) => Direction::Narrows,
        _ => Direction::Shifts,
    };
    Some((direction, "scripts for pages of any origin".to_owned()))
}
