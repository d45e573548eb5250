//! The response to one request that the policy requires.

use std::collections::BTreeSet;

use http::{HeaderName, Request, header};
use policy_core::{Refusal, cache::Audience, headers::is_page};
use policy_manifest::{
    Cache, Headers, Manifest, ManifestRoute,
    engine::{Decision, Engine, Outcome, RequestCredentials},
};

use super::exchange::{Response, text_of};

#[derive(Debug)]
pub(super) struct Expected<'a> {
    pub(super) decision: Decision,
    route: Option<&'a ManifestRoute>,
    headers: Option<&'a Headers>,
    pub(super) allow: Option<Vec<String>>,
}

/// What `Cache-Control` must contain.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Caching<'a> {
    /// `no-store`, and nothing else.
    NoStore,
    /// No `Cache-Control`, since no policy declares the caching.
    Unsaid,
    /// Nothing that allows more than this policy.
    AtMost(&'a Cache),
    /// No shared cache may keep it.
    Personal,
    /// Anything: the handler sets it.
    Open,
}

impl<'a> Expected<'a> {
    pub(super) fn new(
        manifest: &'a Manifest,
        engine: &'a Engine,
        request: &Request<()>,
        caller: &RequestCredentials,
    ) -> Self {
        let decision = engine.decide(request, caller);
        let route = engine.route(&decision);
        let headers = route.and_then(|route| manifest.headers_of(route));
        let is_listed = decision.outcome == Outcome::Automatic
            || decision.refusal() == Some(Refusal::MethodNotAllowed);
        let allow = is_listed.then(|| allowed_methods(manifest, engine, request.uri().path()));
        Self { decision, route, headers, allow }
    }

    pub(super) fn refusal(&self) -> Option<Refusal> {
        self.decision.refusal()
    }

    pub(super) fn is_reached(&self) -> bool {
        self.decision.outcome == Outcome::Reached
    }

    /// The expected response, in words.
    pub(super) fn words(&self) -> String {
        match self.decision.outcome {
            Outcome::Reached => "the response of the route".to_owned(),
            Outcome::PreflightGranted => "a granted preflight".to_owned(),
            Outcome::Automatic => "204 with `Allow`".to_owned(),
            Outcome::Refused(refusal) => format!("{} {}", refusal.status(), refusal.code()),
        }
    }

    /// The value of a CORS header.
    pub(super) fn cors(&self, name: &HeaderName) -> Option<String> {
        self.decision.cors.get(name).map(text_of)
    }

    /// The request headers that `Vary` must name.
    pub(super) fn vary(&self, response: &Response) -> BTreeSet<String> {
        let of_cors = self.decision.cors.get_all(header::VARY).iter().map(text_of);
        let of_cors: Vec<_> = of_cors.collect();
        let mut names: BTreeSet<_> = of_cors
            .iter()
            .flat_map(|line| line.split(','))
            .map(|name| name.trim().to_ascii_lowercase())
            .collect();
        if self.decision.outcome == Outcome::PreflightGranted {
            return names;
        }
        if let Some(route) = self.route {
            if route.isolation.is_some() {
                let metadata = ["sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest", "origin"];
                names.extend(metadata.map(str::to_owned));
            }
            let declared = route.cache.iter().flat_map(|cache| &cache.vary);
            names.extend(declared.map(|name| name.to_ascii_lowercase()));
        }
        if self.is_reused_without_token(response) {
            names.insert("authorization".to_owned());
        }
        if response.code().is_some() {
            names.insert("accept".to_owned());
        }
        names
    }

    /// Whether a cache may reuse the response to a request with a token for one without, unless `Vary`
    /// says otherwise.
    fn is_reused_without_token(&self, response: &Response) -> bool {
        let requirement = self.route.and_then(|route| route.auth.requirement());
        let takes_token = requirement.is_some_and(|requirement| requirement.token);
        let words = response.words(&header::CACHE_CONTROL);
        let is_reused = words != ["no-store"] && words != ["no-cache", "private"];
        takes_token && is_reused && matches!(self.caching(response.status), Caching::AtMost(_))
    }

    pub(super) fn caching(&self, status: u16) -> Caching<'a> {
        let Some(route) = self.route else { return Caching::Open };
        let declared = route.cache.as_ref().filter(|cache| !cache.control().starts_with(';'));
        let declared = declared.filter(|cache| !cache.control().is_empty());
        match self.decision.outcome {
            Outcome::PreflightGranted => Caching::Open,
            Outcome::Refused(refusal) if refusal.is_uncacheable() => Caching::NoStore,
            Outcome::Refused(_) | Outcome::Automatic if declared.is_some() => Caching::NoStore,
            Outcome::Refused(_) | Outcome::Automatic => Caching::Unsaid,
            Outcome::Reached => match declared {
                Some(cache) if matches!(status, 200 | 203 | 204 | 206 | 304) => {
                    Caching::AtMost(cache)
                }
                _ if self.decision.is_authenticated => Caching::Personal,
                _ => Caching::Open,
            },
        }
    }

    /// The security headers: name, value, and whether the handler may have written another one.
    pub(super) fn security(&self, response: &Response) -> Vec<(&'a str, &'a str, bool)> {
        // The head of a granted preflight is complete.
        if self.decision.outcome == Outcome::PreflightGranted {
            return Vec::new();
        }
        let Some(headers) = self.headers else { return Vec::new() };
        let pages = headers.pages.iter().filter(|_| is_page(&response.headers));
        let all = headers.every.iter().chain(pages);
        let is_own = |name: &str| self.is_reached() && name != "x-content-type-options";
        all.map(|(name, value)| (name.as_str(), value.as_str(), is_own(name))).collect()
    }

    /// Whether something other than a handler of the app responds, which may write any headers.
    pub(super) fn is_service(&self) -> bool {
        self.route.is_some_and(|route| route.kind.is_service())
    }
}

/// The methods that a path serves, as `Allow` lists them.
fn allowed_methods(manifest: &Manifest, engine: &Engine, path: &str) -> Vec<String> {
    let all = manifest.routes.iter().flat_map(|route| &route.methods).map(String::as_str);
    let all: BTreeSet<_> = all.chain(["HEAD"]).collect();
    let served = all.into_iter().filter(|method| engine.serving(method, path).is_some());
    let served: BTreeSet<_> = served.chain(["OPTIONS"]).map(str::to_ascii_lowercase).collect();
    served.into_iter().collect()
}

/// Whether `Cache-Control` with these directives lets caches do no more than a policy does.
pub(super) fn is_within(declared: &Cache, words: &[String]) -> bool {
    let has = |word: &str| words.iter().any(|known| known == word);
    let age = |name: &str| {
        let ages = words.iter().filter_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        // Caches do not agree on what is no number.
        ages.map(|age| age.parse().unwrap_or(i64::MAX)).max()
    };
    let sent = Cache {
        no_store: has("no-store"),
        no_cache: has("no-cache"),
        audience: match (has("private"), has("public")) {
            (true, _) => Audience::Private,
            (false, true) => Audience::Public,
            (false, false) => Audience::Unstated,
        },
        max_age: age("max-age"),
        s_maxage: age("s-maxage"),
        stale_while_revalidate: age("stale-while-revalidate"),
        stale_if_error: age("stale-if-error"),
        // A handler may add it: the response to a request with `Authorization` is then `private`.
        must_revalidate: declared.must_revalidate && has("must-revalidate"),
        immutable: has("immutable"),
        // `Vary` is judged by itself.
        vary: declared.vary.clone(),
    };
    sent.is_within(declared)
}
