//! `#[isolation]`: which pages may load responses, by Fetch Metadata.

use std::cmp::Ordering;

use policy_core::{Refusal, gates::Gate, isolation::Isolation, route::CompiledFacets};

use super::{Cell, Column, Direction, FacetEntry, FromPolicy, ManifestRoute, Side};
use crate::Manifest;

impl FromPolicy<Isolation> for Isolation {
    fn from_policy(policy: &Isolation, _: &mut Manifest) -> Self {
        *policy
    }
}

const COLUMN: Column =
    Column { position: 6, is_secondary: true, is_rare: true, ..Column::new("Isolation") };

pub(super) const FACET: FacetEntry = FacetEntry {
    name: "isolation",
    attribute: "isolation",
    about: "which pages may load a response",
    gates: &[Gate::FetchMetadata],
    why: "Other pages can load a response as an image, a script or a frame, and learn from \
         its size or its time. Fetch Metadata says which page a request comes from, before \
         anything is read.",
    links: &[("Fetch Metadata Request Headers", "https://www.w3.org/TR/fetch-metadata/")],
    columns: &[(COLUMN, |subject| {
        name(subject.route.isolation).map_or_else(Cell::nothing, Cell::plain)
    })],
    enforce,
    refusals: |requests, found| found.extend(requests.route.isolation.map(|_| Refusal::CrossSite)),
    change,
    ..FacetEntry::NONE
};

fn enforce<'a>(route: &'a ManifestRoute, policies: &mut CompiledFacets<'a>) {
    policies.isolation = route.isolation.as_ref();
}

fn change(old: Side<'_>, new: Side<'_>) -> Option<(Direction, String)> {
    let [old, new] = [old, new].map(|side| side.route.isolation);
    let laxness = |isolation| match isolation {
        Some(Isolation::SameOrigin) => 0,
        Some(Isolation::SameSite) => 1,
        None => 2,
    };
    let direction = match laxness(new).cmp(&laxness(old)) {
        Ordering::Greater => Direction::Opens,
        Ordering::Less => Direction::Narrows,
        Ordering::Equal => return None,
    };
    let words = |isolation| name(isolation).unwrap_or("none");
    Some((direction, format!("was {}, is {}", words(old), words(new))))
}

fn name(isolation: Option<Isolation>) -> Option<&'static str> {
    isolation.map(|isolation| match isolation {
        Isolation::SameOrigin => "same-origin",
        Isolation::SameSite => "same-site",
    })
}
