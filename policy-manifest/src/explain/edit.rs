//! The smallest edit of a policy that lets a request through, and everything else that it opens.

use http::Request;

use super::{is_let_through, method_of};
use crate::{
    Change, FacetSource, Manifest, ManifestRoute, RouteKind, Sources,
    changes::changes,
    engine::{Engine, RequestCredentials},
    facets::{self, RefusedRequest},
};

/// An edit of the attributes of a route.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SuggestedEdit {
    /// The edits in words, such as `cors: add the origin "https://app.example"`.
    pub steps: Vec<String>,
    /// Where the edited attribute is written, or the route's handler.
    pub source: Option<FacetSource>,
    /// All changes by the edit: in addition to this request, everything that is allowed with it.
    pub changes: Vec<Change>,
    /// The policy after the edit.
    pub manifest: Manifest,
}

/// Edits the facets that refuse, one after the other. An engine of the edited policy confirms the
/// result.
pub(super) fn find(
    manifest: &Manifest,
    sources: &Sources,
    request: &Request<()>,
    caller: &RequestCredentials,
) -> Option<SuggestedEdit> {
    let own = manifest.app.public_origin.as_deref();
    let original = Engine::new(manifest).ok()?;
    let (method, path) = (method_of(request), request.uri().path().to_owned());
    let place = original.serving(&method, &path)?.clone();
    let mut steps = Vec::new();
    let (mut edited, mut source) = (manifest.clone(), None);
    for _ in 0..6 {
        let engine = Engine::new(&edited).ok()?;
        let Err(refusal) = is_let_through(&engine, own, request, caller) else {
            let changes = changes(manifest, &edited).ok()?;
            return (!steps.is_empty()).then_some(SuggestedEdit {
                steps,
                source,
                changes,
                manifest: edited,
            });
        };
        let mut route = engine.serving(&method, &path)?.clone();
        // The facet whose edit is the smallest that lets the request through.
        let refused = RefusedRequest { refusal, request, caller };
        let (facet, step) = facets::ALL
            .iter()
            .find_map(|facet| Some((facet.name, (facet.relax)(&mut route, refused)?)))?;
        if steps.contains(&step) {
            return None;
        }
        source = source.or_else(|| sources.get(&method, &place.path, facet).cloned());
        steps.push(step);
        edited = replaced(edited, &place, &route, &method, sources);
    }
    None
}

/// The policy with another one for a route and for the other routes of its handler, which share its
/// attributes.
fn replaced(
    mut manifest: Manifest,
    place: &ManifestRoute,
    route: &ManifestRoute,
    method: &str,
    sources: &Sources,
) -> Manifest {
    let handler = |method: &str, path: &str| sources.handlers.get(&format!("{method} {path}"));
    let is_whole = place.kind != RouteKind::Handler;
    // If HEAD has no separate policy, GET serves it.
    let method = if place.methods.iter().any(|known| known == method) { method } else { "GET" };
    let own = handler(method, &place.path);
    let is_edited = |found: &ManifestRoute, known: &str| {
        let is_same = found.path == place.path
            && match is_whole {
                true => found.kind == place.kind && found.methods == place.methods,
                false => known == method,
            };
        is_same || (own.is_some() && handler(known, &found.path) == own)
    };
    let mut routes = Vec::with_capacity(manifest.routes.len() + 1);
    for known in manifest.routes {
        let (inside, outside): (Vec<_>, Vec<_>) =
            known.methods.iter().cloned().partition(|method| is_edited(&known, method));
        let is_bare =
            known.methods.is_empty() && known.path == place.path && known.kind == place.kind;
        if !inside.is_empty() || is_bare {
            routes.push(ManifestRoute {
                path: known.path.clone(),
                methods: inside,
                ..route.clone()
            });
        }
        if !outside.is_empty() || (known.methods.is_empty() && !is_bare) {
            routes.push(ManifestRoute { methods: outside, ..known });
        }
    }
    manifest.routes = routes;
    manifest.normal()
}
