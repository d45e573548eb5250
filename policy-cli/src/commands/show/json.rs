//! The routes as a manifest, for programs.

use policy_manifest::Manifest;

use super::filter::Selected;
use crate::escape::printable_json;

/// The canonical text of a manifest with these routes.
pub(super) fn render(manifest: &Manifest, selected: &[Selected<'_>]) -> String {
    printable_json(&select_routes(manifest, selected).to_json())
}

/// A manifest with these routes, and what they use.
pub(super) fn select_routes(manifest: &Manifest, selected: &[Selected<'_>]) -> Manifest {
    let mut manifest = manifest.clone();
    manifest.routes = selected.iter().map(|selected| selected.route.clone()).collect();
    manifest.normal()
}
