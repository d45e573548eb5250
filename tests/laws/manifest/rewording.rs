//! The same manifest in other words, and manifests that differ in one thing.

use policy_manifest::{Auth, Csrf, Manifest, ManifestRoute};
use proptest::{collection::vec, prelude::*, sample::Index};

use super::generate::wordy;

/// How a manifest is rewritten.
#[derive(Clone, Debug)]
pub(super) struct Rewording {
    order: Vec<Index>,
    /// A route for each method.
    is_split: bool,
    /// HEAD beside each GET.
    lists_head: bool,
    is_wordy: bool,
    is_backward: bool,
}

pub(super) fn rewording() -> impl Strategy<Value = Rewording> + Clone {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (vec(any::<Index>(), 8), flags).prop_map(
        |(order, (is_split, lists_head, is_wordy, is_backward))| Rewording {
            order,
            is_split,
            lists_head,
            is_wordy,
            is_backward,
        },
    )
}

impl Rewording {
    pub(super) fn apply(&self, manifest: &Manifest) -> Manifest {
        let mut manifest = manifest.clone();
        let heads: Vec<String> = manifest
            .routes
            .iter()
            .filter(|route| has(route, "HEAD"))
            .map(|route| route.path.clone())
            .collect();
        let mut routes = Vec::new();
        for mut route in std::mem::take(&mut manifest.routes) {
            // HEAD of a path may have a policy of its own.
            if self.lists_head && has(&route, "GET") && !heads.contains(&route.path) {
                route.methods.push("HEAD".to_owned());
            }
            if self.is_wordy {
                route.cors = route.cors.as_ref().map(wordy);
            }
            if self.is_backward {
                say_twice(&mut route);
            }
            if self.is_split && route.methods.len() > 1 {
                routes.extend(route.methods.iter().map(|method| {
                    let mut one = route.clone();
                    one.methods = vec![method.clone()];
                    one
                }));
            } else {
                routes.push(route);
            }
        }
        for (at, index) in self.order.iter().enumerate() {
            let (at, other) = (at % routes.len(), index.index(routes.len()));
            routes.swap(at, other);
        }
        manifest.routes = routes;
        manifest
    }
}

fn has(route: &ManifestRoute, method: &str) -> bool {
    route.methods.iter().any(|own| own == method)
}

/// Reverses the methods, and repeats the lists of the callers in reverse order.
fn say_twice(route: &mut ManifestRoute) {
    route.methods.reverse();
    if let Auth::Required(required) = &mut route.auth {
        for list in [&mut required.issuers, &mut required.scopes, &mut required.roles] {
            let backward: Vec<_> = list.iter().rev().cloned().collect();
            list.splice(..0, backward);
        }
    }
}

/// One thing that another manifest states differently.
#[derive(Clone, Debug)]
pub(super) struct Change {
    route: Index,
    other: Index,
    kind: usize,
}

const KINDS: [fn(&mut ManifestRoute, &ManifestRoute); 9] = [
    |route, other| route.auth = other.auth.clone(),
    |route, other| route.csrf = other.csrf.clone(),
    |route, other| route.cors = other.cors.clone(),
    |route, other| route.isolation = other.isolation,
    |route, other| route.limits = other.limits,
    |route, _| route.auth = Auth::Public,
    |route, _| route.csrf = Csrf::Exempt("none".to_owned()),
    |route, _| drop(route.methods.pop()),
    |route, _| {
        if let Some(cors) = &mut route.cors {
            cors.credentials = false;
            cors.max_age = Some(5);
        }
    },
];

pub(super) fn change() -> impl Strategy<Value = Change> + Clone {
    (any::<Index>(), any::<Index>(), 0..KINDS.len() + 2).prop_map(|(route, other, kind)| Change {
        route,
        other,
        kind,
    })
}

impl Change {
    pub(super) fn apply(&self, manifest: &Manifest) -> Manifest {
        let mut manifest = manifest.clone();
        let other = manifest.routes[self.other.index(manifest.routes.len())].clone();
        let index = self.route.index(manifest.routes.len());
        match KINDS.get(self.kind) {
            Some(change) => change(&mut manifest.routes[index], &other),
            None if self.kind == KINDS.len() => manifest.app.trace ^= true,
            None => manifest.app.public_origin = None,
        }
        manifest
    }
}
