//! Reading a manifest.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fmt,
};

use policy_core::{
    object::{Condition, ConditionError},
    origin::{HostPattern, OriginPattern},
};
use serde::Deserialize;

use crate::{
    Acceptance, AppFacts, FORMAT, Headers, Lock, Manifest, ManifestRoute, RouteCors, RouteLimits,
    Suppression,
    facets::{WrittenRoute, json, shared_sets::Sets},
};

/// Why a text is not a manifest of this release or an older one, in words.
#[derive(Debug)]
pub struct ReadError(String);

impl ReadError {
    /// It is not JSON, or has fields other than those of a manifest.
    fn malformed(error: &dyn fmt::Display) -> Self {
        Self(format!("this is not a manifest: {error}"))
    }

    /// A route names a set that is not in the file, or a rule of an object that is not.
    pub(crate) fn set_missing(path: &str, field: &str, name: &str) -> Self {
        Self(format!(
            "the route `{path}` has the {field} `{name}`, which the manifest does not have"
        ))
    }

    fn fact(place: &str, expected: &str) -> Self {
        Self(format!("`{place}` is missing or not a possible value: write {expected}"))
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for ReadError {}

/// The beginning of a text, which may be endless.
fn short(text: &str) -> String {
    let start: String = text.chars().take(SHOWN).collect();
    let dots = if start.len() < text.len() { ".." } else { "" };
    start + dots
}

/// The maximum number of pairs of a prefix and a suffix of labels below one host: each pair is a
/// separate set.
const MOST_LABEL_PAIRS: usize = 65_536;

/// The maximum number of bytes of a path.
const LONGEST_PATH: usize = 4_096;

/// The maximum number of methods of a path. Each of its policies is compared with the others.
const MOST_METHODS: usize = 256;

/// The maximum number of bytes of all CORS policies: each route gets a copy of the set that it names.
const MOST_BYTES_OF_SETS: usize = 128 << 20;

/// The maximum number of rules of objects: each is compared with that of another release.
const MOST_RULES: usize = 1_024;

/// The maximum number of bytes of the name of a rule.
const LONGEST_RULE_NAME: usize = 256;

/// The maximum number of objects that a route checks.
const MOST_OBJECTS: usize = 64;

/// The number of characters of a text from a manifest in an error.
const SHOWN: usize = 80;

/// Whether the routes are within the bounds.
fn check_size(routes: &[WrittenRoute], sets: &Sets) -> Result<(), ReadError> {
    let sizes: BTreeMap<&str, usize> =
        sets.cors.iter().map(|(name, set)| (name.as_str(), json(set).len())).collect();
    let mut methods: BTreeMap<&str, usize> = BTreeMap::new();
    let mut bytes: usize = 0;
    for route in routes {
        let path = route.path();
        let of_path = methods.entry(path).or_default();
        *of_path += route.methods().len().max(1);
        bytes += route.cors_set().and_then(|name| sizes.get(name)).unwrap_or(&0);
        let bound = if path.len() > LONGEST_PATH {
            "has a path of over 4,096 bytes"
        } else if *of_path > MOST_METHODS {
            "has over 256 methods: leave the methods out if it serves all"
        } else if route.objects() > MOST_OBJECTS {
            "checks over 64 objects"
        } else if bytes > MOST_BYTES_OF_SETS {
            "and those before it have CORS policies of over 128 MiB in all: use a run-time list for \
             long lists of origins"
        } else {
            continue;
        };
        return Err(ReadError(format!("the route `{}` {bound}", short(path))));
    }
    Ok(())
}

/// Whether the rules of objects are within the bounds, and each has a name and a condition.
fn check_rules(rules: &BTreeMap<String, String>) -> Result<(), ReadError> {
    if rules.len() > MOST_RULES {
        return Err(ReadError::fact("objects", "at most 1,024 rules"));
    }
    for (name, text) in rules {
        let wrong =
            |words: String| ReadError(format!("the object rule `{}`: {words}", short(name)));
        if !is_rule_name(name) {
            let help = "name it after an object and an action, as in `Order.edit`";
            return Err(wrong(help.to_owned()));
        }
        let read: Result<Condition, ConditionError> = text.parse();
        read.map_err(|error| wrong(format!("{}: {}", error.rule.message(), error.help)))?;
    }
    Ok(())
}

/// Whether it names an object and an action. A name is not a path, since acceptances name routes by
/// theirs.
fn is_rule_name(name: &str) -> bool {
    let is_sign = |sign: char| sign.is_whitespace() || sign.is_control() || "/,".contains(sign);
    let parts = name.rsplit_once('.').filter(|_| name.len() <= LONGEST_RULE_NAME);
    parts.is_some_and(|(object, action)| !(object.is_empty() || action.is_empty()))
        && !name.contains(is_sign)
}

fn has_too_many_pairs(cors: &RouteCors) -> bool {
    let mut labels = BTreeMap::<_, [BTreeSet<&str>; 2]>::new();
    for pattern in cors.patterns().iter().filter_map(|text| OriginPattern::parse(text).ok()) {
        if let HostPattern::Label { prefix, suffix } = pattern.hosts() {
            let [prefixes, suffixes] = labels.entry(pattern.host()).or_default();
            prefixes.insert(prefix);
            suffixes.insert(suffix);
        }
    }
    let pairs = |[prefixes, suffixes]: &[BTreeSet<_>; 2]| prefixes.len() * suffixes.len();
    labels.values().map(pairs).sum::<usize>() > MOST_LABEL_PAIRS
}

/// A manifest or a lock file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    app: AppFacts,
    #[serde(default)]
    cors: BTreeMap<String, RouteCors>,
    #[serde(default)]
    limits: BTreeMap<String, RouteLimits>,
    #[serde(default)]
    headers: BTreeMap<String, Headers>,
    #[serde(default)]
    objects: BTreeMap<String, String>,
    accepted: Option<Vec<Acceptance>>,
    suppressed: Option<Vec<Suppression>>,
    routes: Vec<WrittenRoute>,
}

impl Manifest {
    /// Reads a manifest, in its normal form.
    ///
    /// # Errors
    ///
    /// [`ReadError`]: a field that this release does not know is an error, too, since it may
    /// restrict the rest of the policy.
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        let file = File::read(text)?;
        let of_lock_file =
            [("accepted", file.accepted.is_some()), ("suppressed", file.suppressed.is_some())];
        match of_lock_file.iter().find(|(_, is_there)| *is_there) {
            None => file.manifest(),
            Some((name, _)) => {
                Err(ReadError::malformed(&format_args!("it has `{name}`, so it is a lock file")))
            }
        }
    }
}

/// The manifest of a lock file, with its acceptances and suppressions. A manifest is one, too.
pub(super) fn lock(text: &str) -> Result<Lock, ReadError> {
    let mut file = File::read(text)?;
    let mut accepted = file.accepted.take().unwrap_or_default();
    let mut suppressed = file.suppressed.take().unwrap_or_default();
    for acceptance in &accepted {
        if let Some(field) = acceptance.unsigned() {
            return Err(ReadError(format!(
                "the acceptance of `{}` has an empty `{field}`: write into its line in `accepted` who \
                 accepts it and why, such as `\"who\":\"ada\",\"why\":\"the catalogue is public\"`, or \
                 remove the line",
                acceptance.route
            )));
        }
    }
    accepted.sort_unstable();
    suppressed.sort_unstable();
    Ok(Lock { manifest: file.manifest()?, accepted, suppressed })
}

impl File {
    /// Reads a file of a known format.
    fn read(text: &str) -> Result<Self, ReadError> {
        /// The fields that every format has.
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }

        // Editors on Windows begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let malformed = |error: serde_json::Error| ReadError::malformed(&error);
        let Format { format } = serde_json::from_str(text).map_err(malformed)?;
        if format > FORMAT {
            return Err(ReadError(format!(
                "this manifest has format {format}, and this release reads up to {FORMAT}: use the \
                 release that wrote it, or a newer one"
            )));
        }
        let file: Self = serde_json::from_str(text).map_err(malformed)?;
        file.check_facts()?;
        Ok(file)
    }

    /// Checks that the facts of an app have their required fields.
    fn check_facts(&self) -> Result<(), ReadError> {
        let sessions = self.app.sessions.as_ref();
        let issuers = self.app.tokens.iter().flat_map(|tokens| &tokens.accepts);
        let facts = [
            (
                sessions.is_some_and(|facts| facts.cookie.is_empty()),
                "app.sessions.cookie",
                "the name of the cookie",
            ),
            (
                sessions.is_some_and(|facts| {
                    !["strict", "lax", "none"].contains(&facts.same_site.as_str())
                }),
                "app.sessions.same_site",
                "`strict`, `lax` or `none`",
            ),
            (
                issuers.clone().any(|facts| facts.issuer.is_empty()),
                "app.tokens.accepts",
                "each with its `issuer`",
            ),
        ];
        match facts.into_iter().find(|(is_wrong, ..)| *is_wrong) {
            Some((_, place, expected)) => Err(ReadError::fact(place, expected)),
            None => Ok(()),
        }
    }

    /// The manifest in its normal form.
    fn manifest(self) -> Result<Manifest, ReadError> {
        let Self { format, app, cors, limits, headers, objects, routes, .. } = self;
        let sets = Sets { cors, limits, headers };
        check_size(&routes, &sets)?;
        let routes = routes.into_iter().map(|route| route.resolve(&sets));
        let routes = routes.collect::<Result<Vec<_>, _>>()?;
        let is_too_many =
            |route: &&ManifestRoute| route.cors.as_ref().is_some_and(has_too_many_pairs);
        if let Some(route) = routes.iter().find(is_too_many) {
            return Err(ReadError(format!(
                "the origins of `{}` with a `*` inside a label have over {MOST_LABEL_PAIRS} pairs of \
                 what is before and behind it: end them alike, as in `https://*-acme.example.com`",
                route.path
            )));
        }
        check_rules(&objects)?;
        let headers = sets.headers.into_values().map(|set| (set.name(), set)).collect();
        let manifest = Manifest { format, app, headers, objects, routes };
        if let Some((name, path)) =
            manifest.needed_rules().find(|(name, _)| !manifest.objects.contains_key(name))
        {
            return Err(ReadError::set_missing(path, "object rule", &name));
        }
        Ok(manifest.normal())
    }
}
