//! The routes as a manifest, for programs.

use policy_manifest::Manifest;

use super::filter::Selected;
use crate::escape::printable_json;

/// The canonical text of a manifest with these routes.
pub(super) fn render(manifest: &Manifest, selected: &[Selected<'_>]) -> String {
    let mut shown = manifest.clone();
    shown.routes = selected.iter().map(|selected| selected.route.clone()).collect();
    printable_json(&shown.to_json())
}
