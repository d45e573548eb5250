//! `#[cors]`: which pages of other origins may read responses.

use http::header;
use policy_core::{
    Refusal,
    cors::{self, CorsSpec, normalized_method},
    gates::Gate,
    origin::{OriginPattern, OriginSet},
};
use serde::{Deserialize, Serialize};

use super::{
    Cell, Column, Direction, Effects, FacetEntry, ManifestRoute, RefusedRequest, ShownRoute, Side,
    Tone,
    facts::{region, regions},
    is_default, is_false, lower, sort, texts,
};
use crate::{Manifest, algebra::OriginRegion};

/// Which pages of other origins may read responses.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RouteCors {
    /// The origins.
    pub origins: RouteOrigins,
    /// Whether requests may include cookies.
    #[serde(default, skip_serializing_if = "is_false")]
    pub credentials: bool,
    /// The methods that a preflight allows, if they are not those that are served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub methods: Option<Vec<String>>,
    /// Request headers beyond the derived ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    /// Response headers that a page may read beyond the safelisted ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expose: Vec<String>,
    /// Seconds for which a browser may keep a preflight response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age: Option<i64>,
    /// The risks that it states.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dangers: Dangers,
}

/// The origins of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum RouteOrigins {
    /// These origins and patterns; `*` is every origin.
    Listed(Vec<String>),
    /// A list that is given at run time.
    AtRunTime(RuntimeOrigins),
}

/// A list of origins that is given at run time.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeOrigins {
    /// Its name.
    pub list: String,
    /// The patterns that bound the list; without them it may name any origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Vec<String>>,
    /// The path parameter that selects one of several lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The risks that a CORS policy states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Dangers {
    /// Credentials for origins that are not `https`.
    #[serde(skip_serializing_if = "is_false")]
    pub insecure_origins: bool,
    /// Credentials for every name below a public suffix.
    #[serde(skip_serializing_if = "is_false")]
    pub public_suffix: bool,
}

impl RouteCors {
    /// A policy that states only its origins: without credentials, for the methods that are served.
    pub fn new(origins: RouteOrigins) -> Self {
        Self {
            origins,
            credentials: false,
            methods: None,
            headers: Vec::new(),
            expose: Vec::new(),
            max_age: None,
            dangers: Dangers::default(),
        }
    }

    /// The patterns that the policy states: its origins, or the bound of a list.
    pub(crate) fn patterns(&self) -> &[String] {
        match &self.origins {
            RouteOrigins::Listed(patterns) => patterns,
            RouteOrigins::AtRunTime(list) => list.within.as_deref().unwrap_or_default(),
        }
    }

    /// The list of origins that is given at run time, if it is.
    pub(crate) fn list(&self) -> Option<&RuntimeOrigins> {
        match &self.origins {
            RouteOrigins::Listed(_) => None,
            RouteOrigins::AtRunTime(list) => Some(list),
        }
    }

    /// The origins that it grants, or may grant at run time.
    ///
    /// ```
    /// use policy_manifest::{RouteCors, RouteOrigins};
    ///
    /// let cors = RouteCors::new(RouteOrigins::Listed(vec!["https://*.shop.example".to_owned()]));
    /// assert!(cors.region().contains(b"https://app.shop.example"));
    /// ```
    pub fn region(&self) -> OriginRegion {
        match self.list() {
            Some(RuntimeOrigins { within: None, .. }) => OriginRegion::all(),
            _ => region(self.patterns()),
        }
    }

    fn normalize(&mut self) {
        match &mut self.origins {
            RouteOrigins::Listed(patterns) => reduce(patterns),
            RouteOrigins::AtRunTime(list) => list.within.iter_mut().for_each(reduce),
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

impl From<&CorsSpec<'_>> for RouteCors {
    fn from(spec: &CorsSpec<'_>) -> Self {
        let origins = match spec.origins {
            cors::Origins::Listed(origins) => RouteOrigins::Listed(texts(origins)),
            cors::Origins::AtRunTime { name, within, by } => {
                let (list, by) = (name.to_owned(), by.map(str::to_owned));
                RouteOrigins::AtRunTime(RuntimeOrigins { list, within: within.map(texts), by })
            }
        };
        Self {
            origins,
            credentials: spec.credentials,
            methods: spec.methods.map(texts),
            headers: texts(spec.headers),
            expose: texts(spec.expose),
            max_age: spec.max_age,
            dangers: Dangers {
                insecure_origins: spec.dangerous_insecure_origins,
                public_suffix: spec.dangerous_public_suffix,
            },
        }
    }
}

/// The origins whose pages may read responses.
pub const ORIGINS: Column = Column {
    position: 1,
    absent: Some("none: no page of another origin reads responses"),
    shares: true,
    ..Column::new("Origins")
};

/// Whether they may send cookies.
pub const CREDENTIALS: Column = Column { position: 2, ..Column::new("Credentials") };

pub(super) const FACET: FacetEntry = FacetEntry {
    name: "cors",
    attribute: "cors",
    about: "which pages may read responses",
    gates: &[Gate::Cors],
    why: "A browser lets a page of another origin read a response only if the response says \
         so. A policy that grants too much gives the data of a logged-in user to other \
         pages; one that grants too little fails only in the browser, and the log does not \
         show it. So origins are written as browsers send them and compared byte for byte, \
         and entries that no browser honours are refused.",
    links: &[
        ("Fetch, the CORS protocol", "https://fetch.spec.whatwg.org/#http-cors-protocol"),
        (
            "MDN, Cross-Origin Resource Sharing",
            "https://developer.mozilla.org/docs/Web/HTTP/Guides/CORS",
        ),
    ],
    columns: &[(ORIGINS, origins), (CREDENTIALS, credentials)],
    normalize: |route| route.cors.iter_mut().for_each(RouteCors::normalize),
    relax,
    is_open,
    change,
    ..FacetEntry::NONE
};

/// The gates 5 and 8 admit the pages of a shared origin as well.
fn relax(route: &mut ManifestRoute, refused: RefusedRequest<'_>) -> Option<String> {
    let needs_credentials = match refused.refusal {
        Refusal::PreflightOrigin | Refusal::WebSocketOrigin | Refusal::CrossSite => {
            refused.request.headers().contains_key(header::COOKIE)
        }
        Refusal::CsrfOrigin => true,
        _ => return None,
    };
    let origin = refused.request.headers().get(header::ORIGIN)?.to_str().ok()?;
    share(route, origin, needs_credentials)
}

/// Shares a route with one more origin.
fn share(route: &mut ManifestRoute, origin: &str, with_credentials: bool) -> Option<String> {
    OriginPattern::parse(origin).ok()?;
    let cors = route.cors.get_or_insert_with(|| RouteCors::new(RouteOrigins::Listed(Vec::new())));
    let (patterns, words) = match &mut cors.origins {
        RouteOrigins::Listed(patterns) => (patterns, "origins".to_owned()),
        RouteOrigins::AtRunTime(list) => {
            // Without a bound, the entries of the list decide, not an attribute.
            (list.within.as_mut()?, format!("the bound of the list `{}`", list.list))
        }
    };
    let is_granted = patterns.iter().any(|pattern| pattern == origin);
    let mut step = format!("cors: add {origin:?} to {words}");
    if is_granted {
        step = "cors: keep the origins".to_owned();
    } else {
        patterns.push(origin.to_owned());
    }
    if with_credentials && !cors.credentials {
        cors.credentials = true;
        step += ", and `credentials`";
    }
    Some(step)
}

fn is_open(route: &ManifestRoute) -> bool {
    route.cors.as_ref().is_some_and(|cors| cors.credentials)
}

fn change(from: Side<'_>, to: Side<'_>) -> Option<(Direction, String)> {
    let [old, new] = [from, to].map(|side| side.route.cors.as_ref());
    let nothing = OriginRegion::default();
    let (before, after) =
        (old.map_or(nothing.clone(), RouteCors::region), new.map_or(nothing, RouteCors::region));
    let (gained, lost) = (after.difference(&before), before.difference(&after));
    let mut found = Effects::default();
    if !gained.is_empty() {
        found.add(Direction::Opens, format!("origins gain `{gained}`"));
    }
    if !lost.is_empty() {
        found.add(Direction::Narrows, format!("origins lose `{lost}`"));
    }
    let (Some(old), Some(new)) = (old, new) else {
        if !found.words.is_empty() && new.is_some_and(|new| new.credentials) {
            found.words.push("with credentials".to_owned());
        }
        return found.change(", ");
    };
    if old.credentials != new.credentials {
        match new.credentials {
            true => found.add(Direction::Opens, "credentials are allowed"),
            false => found.add(Direction::Narrows, "credentials are not allowed any more"),
        }
    } else if new.credentials && to.route.is_ambient() && !from.route.is_ambient() {
        found.add(Direction::Opens, "credentials that browsers send are taken now");
    }
    match (&old.methods, &new.methods) {
        (Some(old), Some(new)) => found.add_lists("methods", old, new),
        (None, None) => (),
        (None, Some(_)) => {
            found.narrows |= lists_too_few(new, from.route);
            found.words.push("methods are listed".to_owned());
        }
        (Some(_), None) => {
            found.opens |= lists_too_few(old, to.route);
            found.words.push("methods are those that are served".to_owned());
        }
    }
    found.add_lists("request headers", &old.headers, &new.headers);
    found.add_lists("exposed headers", &old.expose, &new.expose);
    if let Some((direction, change)) = list_change((old, from.manifest), (new, to.manifest)) {
        found.add(direction, change);
    }
    for (name, before, after) in [
        ("max_age", format!("{:?}", old.max_age), format!("{:?}", new.max_age)),
        ("dangers", format!("{:?}", old.dangers), format!("{:?}", new.dangers)),
    ] {
        if before != after {
            found.words.push(format!("{name} was {before}, is {after}"));
        }
    }
    found.change(", ")
}

/// Whether a policy that lists methods refuses a preflight that it allows without them: for a method that
/// the route serves, or for the type of its body.
fn lists_too_few(cors: &RouteCors, route: &ManifestRoute) -> bool {
    let has = |names: &[String], name: &str| {
        names.iter().any(|listed| listed == name || (listed == "*" && !cors.credentials))
    };
    let methods = cors.methods.as_deref().unwrap_or_default();
    let has_type = has(&cors.headers, "content-type");
    let is_refused = |method: &String| match method.as_str() {
        "GET" | "HEAD" => false,
        // No page needs permission for it (Fetch, CORS-safelisted method).
        "POST" => !has_type,
        method => !has_type || !has(methods, method),
    };
    // A fallback without methods serves all of them.
    route.methods.is_empty() || route.methods.iter().any(is_refused)
}

/// What it does to take the origins from another list, beyond the bounds of the lists.
fn list_change(
    old: (&RouteCors, &Manifest),
    new: (&RouteCors, &Manifest),
) -> Option<(Direction, String)> {
    let (before, after) = (list_words(old.0), list_words(new.0));
    if before == after {
        return None;
    }
    let words = format!("list was {before}, is {after}");
    Some(match (entries(old), entries(new)) {
        (Some(old), Some(new)) => match regions(old, new) {
            Some((direction, change)) => (direction, format!("{words}: entries {change}")),
            None => (Direction::Shifts, words),
        },
        // The new list has no origin outside of its bound, which was compared.
        (Some(_), None) if old.0.list().is_none() => (Direction::Shifts, words),
        _ => (Direction::Opens, format!("{words}: it cannot be shown to be as strict")),
    })
}

/// The origins of a policy, if the code lists them.
fn entries<'a>((cors, manifest): (&'a RouteCors, &'a Manifest)) -> Option<&'a [String]> {
    let Some(list) = cors.list() else { return Some(cors.patterns()) };
    let facts = manifest.app.lists.get(&list.list)?;
    (facts.source.is_none() && list.by.is_none()).then_some(facts.origins.as_slice())
}

fn list_words(cors: &RouteCors) -> String {
    match &cors.origins {
        RouteOrigins::Listed(_) => "constant".to_owned(),
        RouteOrigins::AtRunTime(RuntimeOrigins { list, by: None, .. }) => format!("`{list}`"),
        RouteOrigins::AtRunTime(RuntimeOrigins { list, by: Some(by), .. }) => {
            format!("`{list}` by `{{{by}}}`")
        }
    }
}

/// The pages that may read responses. The entries of a list that is given at run time come from the
/// last test run.
fn origins(ShownRoute { route, sources, .. }: ShownRoute<'_>) -> Cell {
    let Some(RouteCors { origins, .. }) = &route.cors else { return Cell::nothing() };
    match origins {
        RouteOrigins::Listed(patterns) => {
            let is_any = patterns.iter().any(|pattern| pattern == "*");
            let tone = if is_any { Tone::Open } else { Tone::Plain };
            let words = |pattern: &String| match pattern.as_str() {
                "*" => "* (any)".to_owned(),
                _ => pattern.clone(),
            };
            Cell::list(patterns.iter().map(words)).with_tone(tone)
        }
        RouteOrigins::AtRunTime(list) => {
            let mut words = vec![match &list.by {
                Some(by) => format!("list {} by {{{by}}}", list.list),
                None => format!("list {}", list.list),
            }];
            match &list.within {
                Some(patterns) => words.push(format!("within {}", patterns.join(" "))),
                None => words.push("without bound".to_owned()),
            }
            let known = sources.filter(|_| list.by.is_none());
            if let Some(entries) = known.and_then(|sources| sources.lists.get(&list.list)) {
                let entries = entries.join(" ");
                words.push(format!("now {}", if entries.is_empty() { "empty" } else { &entries }));
            }
            Cell::list(words)
        }
    }
}

fn credentials(ShownRoute { route, .. }: ShownRoute<'_>) -> Cell {
    let Some(cors) = &route.cors else { return Cell::nothing() };
    if !cors.credentials {
        return Cell::plain("no");
    }
    let mut words = vec!["yes".to_owned()];
    if cors.dangers.insecure_origins {
        words.push("also over http".to_owned());
    }
    if cors.dangers.public_suffix {
        words.push("for a public suffix".to_owned());
    }
    let tone = if words.len() > 1 { Tone::Risk } else { Tone::Plain };
    Cell::list(words).with_tone(tone)
}

/// Leaves out the patterns that others cover.
pub(crate) fn reduce(patterns: &mut Vec<String>) {
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
