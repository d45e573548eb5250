//! The normal form: one value for each meaning.

use policy_core::{
    cors::normalized_method,
    origin::{OriginPattern, OriginSet},
};

use crate::{
    Manifest,
    facets::{Auth, Cors, Origins},
    route::Route,
};

impl Manifest {
    /// The manifest in its normal form: lists are sorted, entries that another one covers are left
    /// out, and methods of a path with the same policy are joined.
    #[must_use]
    pub fn normal(mut self) -> Self {
        self.app.proxies.sort_unstable();
        if let Some(tokens) = &mut self.app.tokens {
            sort(&mut tokens.accepts);
        }
        self.routes.iter_mut().for_each(Route::normalize);
        self.routes.sort_by(|a, b| {
            let key = |route: &Route| (route.path.clone(), route.kind, route.methods.clone());
            key(a).cmp(&key(b))
        });
        let mut routes: Vec<Route> = Vec::with_capacity(self.routes.len());
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
        routes.sort_by(|a, b| (&a.path, a.kind, &a.methods).cmp(&(&b.path, b.kind, &b.methods)));
        self.headers
            .retain(|name, _| routes.iter().any(|route| route.headers.as_ref() == Some(name)));
        self.routes = routes;
        self
    }
}

impl Route {
    fn normalize(&mut self) {
        sort(&mut self.methods);
        sort(&mut self.targets);
        if self.methods.iter().any(|method| method == "GET") {
            self.methods.retain(|method| method != "HEAD");
        }
        if let Auth::Required(requirement) = &mut self.auth {
            for list in [&mut requirement.issuers, &mut requirement.scopes, &mut requirement.roles]
            {
                sort(list);
            }
        }
        if let Some(cors) = &mut self.cors {
            cors.normalize();
        }
        if let Some(cache) = &mut self.cache {
            lower(&mut cache.vary);
        }
    }

    fn differs_by_methods_only(&self, other: &Self) -> bool {
        Self { methods: other.methods.clone(), ..self.clone() } == *other
    }
}

impl Cors {
    fn normalize(&mut self) {
        match &mut self.origins {
            Origins::Listed(patterns) => reduce(patterns),
            Origins::AtRunTime(list) => list.within.iter_mut().for_each(reduce),
        }
        if let Some(methods) = &mut self.methods {
            for method in methods.iter_mut() {
                *method = normalized_method(method).to_owned();
            }
            sort(methods);
        }
        // Both disable caching.
        self.max_age = self.max_age.map(|seconds| seconds.max(0));
        lower(&mut self.headers);
        lower(&mut self.expose);
    }
}

fn sort(list: &mut Vec<String>) {
    list.sort_unstable();
    list.dedup();
}

fn lower(list: &mut Vec<String>) {
    list.iter_mut().for_each(|text| text.make_ascii_lowercase());
    sort(list);
}

/// Leaves out the patterns that others cover.
fn reduce(patterns: &mut Vec<String>) {
    if patterns.iter().any(|pattern| pattern == "*") {
        *patterns = vec!["*".to_owned()];
        return;
    }
    sort(patterns);
    // A list with a text that is not a pattern stays unchanged: it is reported where the manifest
    // is compiled.
    let Ok(set) = OriginSet::new(patterns.iter().map(String::as_str)) else { return };
    patterns.retain(|text| !OriginPattern::parse(text).is_ok_and(|it| set.covers_by_another(&it)));
}
