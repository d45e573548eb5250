//! The normal form: one value for each meaning.

use std::{cmp::Ordering, collections::BTreeSet};

use policy_core::object::Condition;

use crate::{
    Manifest,
    facets::{self, ManifestRoute, reduce, sort},
};

impl Manifest {
    /// The manifest in its normal form: lists are sorted, entries that another one covers are left
    /// out, and methods of a path with the same policy are joined.
    #[must_use]
    pub fn normal(mut self) -> Self {
        self.app.proxies.sort_unstable();
        if let Some(tokens) = &mut self.app.tokens {
            tokens.accepts.sort_unstable_by(|a, b| a.issuer.cmp(&b.issuer));
            for issuer in &mut tokens.accepts {
                [&mut issuer.required, &mut issuer.roles, &mut issuer.scopes]
                    .into_iter()
                    .for_each(sort);
            }
        }
        self.app.lists.values_mut().for_each(|list| reduce(&mut list.origins));
        self.routes.iter_mut().for_each(ManifestRoute::normalize);
        self.routes.sort_by(in_order);
        let mut routes: Vec<ManifestRoute> = Vec::with_capacity(self.routes.len());
        for route in std::mem::take(&mut self.routes) {
            let same_path = routes.iter_mut().rev().take_while(|known| known.path == route.path);
            match same_path.into_iter().find(|known| known.differs_by_methods_only(&route)) {
                Some(known) => {
                    known.methods.extend(route.methods);
                    known.normalize();
                }
                None => routes.push(route),
            }
        }
        routes.sort_by(in_order);
        let used: BTreeSet<&String> = routes.iter().filter_map(|it| it.headers.as_ref()).collect();
        self.headers.retain(|name, _| used.contains(name));
        self.routes = routes;
        let used: BTreeSet<String> = self.needed_rules().map(|(rule, _)| rule).collect();
        self.objects.retain(|name, _| used.contains(name));
        for text in self.objects.values_mut() {
            // A text that is no condition stays, for the reader to refuse.
            if let Ok(condition) = text.parse::<Condition>() {
                *text = condition.to_string();
            }
        }
        self
    }
}

fn in_order(one: &ManifestRoute, other: &ManifestRoute) -> Ordering {
    (&one.path, one.kind, &one.methods).cmp(&(&other.path, other.kind, &other.methods))
}

impl ManifestRoute {
    fn normalize(&mut self) {
        sort(&mut self.methods);
        sort(&mut self.targets);
        self.handler.takes.sort_unstable();
        self.handler.takes.dedup();
        self.handler.problems.sort_unstable();
        self.handler.problems.dedup();
        if self.methods.iter().any(|method| method == "GET") {
            self.methods.retain(|method| method != "HEAD");
        }
        facets::ALL.iter().for_each(|facet| (facet.normalize)(self));
    }

    fn differs_by_methods_only(&self, other: &Self) -> bool {
        Self { methods: other.methods.clone(), ..self.clone() } == *other
    }
}
