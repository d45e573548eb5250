//! The changes between two manifests, facet by facet: access that is opened, and access that is
//! removed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, ptr,
};

use policy_core::path::PathTemplate;

use crate::{
    Manifest,
    algebra::ConditionWitness,
    engine::{Engine, EngineError},
    example_paths::ExamplePaths,
    facets::{
        self, Direction, ManifestRoute, RouteKind, Side,
        facts::{Facts as _, order},
        rule_change, set, sets,
    },
    lints::{is_forgeable, name},
    templates::{Template, crossings, most_crossings},
};

/// The methods by which fallbacks are compared.
pub(super) const USUAL: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "QUERY", "OPTIONS", "TRACE"];

/// One change of one facet of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The path template, `app` for facts about the app as a whole, or the name of a rule of an object,
    /// such as `Order.edit`.
    pub path: String,
    /// The methods that change alike; empty for the app and for rules.
    pub methods: Vec<String>,
    /// The name of the facet, or `route` if a route was added or removed.
    pub facet: &'static str,
    /// Its effect on access.
    pub direction: Direction,
    /// The change in words, such as ``origins gain `https://*.example.com` ``.
    pub words: String,
    /// The callers who gain by the change of a rule of an object, and the objects; `None` if there are none, or the
    /// rule is too large to tell.
    pub gained: Option<ConditionWitness>,
}

impl Change {
    /// The route as acceptances name it: methods and path.
    pub fn route(&self) -> String {
        match self.methods.as_slice() {
            [] => self.path.clone(),
            methods => format!("{} {}", methods.join(","), self.path),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.direction {
            Direction::Opens => "opens",
            Direction::Narrows => "narrows",
            Direction::OpensAndNarrows => "opens and narrows",
            Direction::Shifts => "changes",
        };
        write!(f, "{mark}: {}: {}: {}", self.route(), self.facet, self.words)
    }
}

/// The changes from one manifest to another, in the order of paths. It is empty exactly if both
/// have the same meaning.
///
/// Rules of objects are compared separately, and a route by the rules of its objects.
///
/// A path that only one of them lists is compared with the route that serves it in the other: a
/// mount around it, the fallback, or nothing. So are its spellings with an encoded slash, which it hides from
/// a rest that takes them.
///
/// # Errors
///
/// One of the two is not a policy that the engine accepts.
///
/// ```
/// use policy_manifest::{Auth, Manifest, RouteRequirement, ManifestRoute, changes};
///
/// let of = |auth| {
///     let mut manifest = Manifest::new();
///     manifest.routes.push(ManifestRoute::handler("/orders", ["GET"], auth));
///     manifest
/// };
/// let session = Auth::Required(RouteRequirement { session: true, ..RouteRequirement::default() });
/// let changes = changes(&of(session), &of(Auth::Public)).unwrap();
/// assert_eq!(changes.len(), 1);
/// assert!(changes[0].direction.opens());
/// assert_eq!(changes[0].to_string(), "opens: GET /orders: auth: was `session`, is `public`");
/// ```
pub fn changes(old: &Manifest, new: &Manifest) -> Result<Vec<Change>, EngineError> {
    let (old, new) = (old.clone().normal(), new.clone().normal());
    Ok(between([&old, &new], [&Engine::new(&old)?, &Engine::new(&new)?]))
}

/// The changes between two manifests in their normal form.
pub(super) fn between([old, new]: [&Manifest; 2], engines: [&Engine; 2]) -> Vec<Change> {
    let of_app = old.app.changes(&new.app).into_iter().map(|(fact, direction, words)| {
        let words = match fact {
            "sessions" => words + &forgeable_words(old, new),
            _ => words,
        };
        Change { path: "app".to_owned(), ..change(fact, direction, words) }
    });
    let of_rules = old.objects.iter().filter_map(|(name, before)| {
        let (direction, words, gained) = rule_change(name, before, new.objects.get(name)?)?;
        Some(Change { path: name.clone(), gained, ..change("object", direction, words) })
    });
    let mut found: Vec<_> = of_app.chain(of_rules).collect();
    let (subjects, is_complete) = subjects([old, new]);
    if !is_complete {
        let words = "too many of its new or removed paths hide others";
        found.push(Change { path: "app".to_owned(), ..change("route", Direction::Opens, words) });
    }
    for subject in subjects {
        let mut of_path: Vec<Change> = Vec::new();
        // Methods that the same two routes serve are compared once.
        let mut compared: BTreeMap<_, Vec<Change>> = BTreeMap::new();
        for method in subject.methods() {
            let routes = engines.map(|engine| engine.serving(method, &subject.example));
            let slashes = subject.slashes(method, engines);
            let of_routes = compared.entry((routes.map(|it| it.map(ptr::from_ref)), slashes));
            let of_routes = of_routes.or_insert_with(|| {
                let [before, after] = routes;
                route_changes(
                    before.map(|route| Side { manifest: old, route }),
                    after.map(|route| Side { manifest: new, route }),
                    slashes,
                )
            });
            for mut change in of_routes.iter().cloned() {
                change.path.clone_from(&subject.path);
                let same = |known: &&mut Change| {
                    (known.facet, known.direction, &known.words)
                        == (change.facet, change.direction, &change.words)
                };
                match of_path.iter_mut().find(same) {
                    Some(known) => known.methods.push(method.to_owned()),
                    None => {
                        change.methods = vec![method.to_owned()];
                        of_path.push(change);
                    }
                }
            }
        }
        for change in &mut of_path {
            change.methods.retain(|method| !method.is_empty());
        }
        found.extend(of_path);
    }
    found
}

/// The most forgeable routes that are named.
const SHOWN_FORGEABLE: usize = 8;

/// The routes that a changed session cookie makes forgeable, in words; empty without any.
fn forgeable_words(old: &Manifest, new: &Manifest) -> String {
    // The same routes with the old cookie: changes of a route itself are reported there.
    let before = Manifest { app: old.app.clone(), ..Manifest::new() };
    let routes = new.routes.iter().filter(|route| {
        is_forgeable(new, route).is_some() && is_forgeable(&before, route).is_none()
    });
    let names: Vec<String> = routes.map(|route| format!("`{}`", name(route))).collect();
    let (first, rest) = names.split_at(names.len().min(SHOWN_FORGEABLE));
    let more = match rest.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match first.is_empty() {
        true => String::new(),
        false => format!(
            "; pages of any site can then send requests of their visitors to {}{more}",
            first.join(", ")
        ),
    }
}

/// The paths whose parameters were renamed: no other change reports that the text of a manifest
/// changes, but not its meaning.
pub(super) fn renamed(old: &Manifest, new: &Manifest) -> Vec<Change> {
    let forms = |manifest: &Manifest| -> BTreeMap<String, String> {
        manifest.routes.iter().map(|route| (form(route), route.path.clone())).collect()
    };
    let (old, new) = (forms(old), forms(new));
    let both = new.into_iter().filter_map(|(form, path)| Some((old.get(&form)?, path)));
    let renamed = both.filter(|(before, path)| *before != path).map(|(before, path)| {
        let words = format!("its path was `{before}`");
        Change { path, ..change("route", Direction::Shifts, words) }
    });
    renamed.collect()
}

/// The changes of the route that serves one method of a path, and of the encoded slashes that it takes.
fn route_changes(
    old: Option<Side<'_>>,
    new: Option<Side<'_>>,
    slashes: Option<Direction>,
) -> Vec<Change> {
    let (old, new) = match (old, new) {
        (None, None) => return Vec::new(),
        (None, Some(new)) => return vec![change("route", came(new.route), came_words(new.route))],
        (Some(_), None) => return vec![change("route", Direction::Narrows, "it is gone")],
        (Some(old), Some(new)) => (old, new),
    };
    let mut found = Vec::new();
    let mut note = |facet: &'static str, found_change: Option<(Direction, String)>| {
        let changed = found_change.map(|(direction, words)| change(facet, direction, words));
        found.extend(changed);
    };
    let [before, after] = [old.route, new.route];
    if before.kind != after.kind {
        let words = format!("was a {:?}, is a {:?}", before.kind, after.kind).to_lowercase();
        let direction = match (before.kind, after.kind) {
            (RouteKind::NotFound, _) => came(after),
            (_, RouteKind::NotFound) => Direction::Narrows,
            _ => Direction::Shifts,
        };
        note("route", Some((direction, words)));
    }
    note("route", slashes.map(|direction| (direction, "encoded slashes".to_owned())));
    note("route", sets(&set(&before.targets), &set(&after.targets)));
    note("target", before.target.change(&after.target));
    note("handler", before.handler.change(&after.handler));
    note("layers", order::unordered_list(&before.layers, &after.layers));
    for facet in facets::ALL {
        note(facet.name, (facet.change)(old, new));
    }
    found
}

fn change(facet: &'static str, direction: Direction, words: impl Into<String>) -> Change {
    let (path, methods, words) = (String::new(), Vec::new(), words.into());
    Change { path, methods, facet, direction, words, gained: None }
}

/// Whether a new route opens access: it does, unless it requires a credential, and has CSRF
/// protection if browsers send the credential automatically.
fn came(route: &ManifestRoute) -> Direction {
    match facets::ALL.iter().any(|facet| (facet.is_open)(route)) {
        true => Direction::Opens,
        false => Direction::Shifts,
    }
}

fn came_words(route: &ManifestRoute) -> String {
    let mut words = format!("it is new, `{}`", route.auth);
    if let Some(cors) = &route.cors {
        words += &format!(", shared with {}", cors.region());
        if cors.credentials {
            words += " with credentials";
        }
    }
    words
}

/// The paths of two manifests, in their order, and whether these are all.
fn subjects([old, new]: [&Manifest; 2]) -> (Vec<Subject>, bool) {
    let example_paths = ExamplePaths::new(old.routes.iter().chain(&new.routes));
    let mut subjects: BTreeMap<String, Subject> = BTreeMap::new();
    for route in old.routes.iter().chain(&new.routes) {
        let new_subject = || Subject::new(&route.path, &route.template(), &example_paths);
        let subject = subjects.entry(form(route)).or_insert_with(new_subject);
        subject.methods.extend(route.methods.clone());
    }
    let forms = [old, new].map(path_forms);
    for (manifest, own) in [old, new].into_iter().zip(&forms) {
        if !manifest.routes.iter().any(|route| route.kind == RouteKind::Fallback) {
            continue;
        }
        // It serves every method of a path that only the other manifest lists.
        let others = subjects
            .iter_mut()
            .filter(|(form, _)| form.starts_with('/') && !own.contains_key(*form));
        for (_, subject) in others {
            // HEAD is served as GET is; the empty name stands for methods without a name here.
            let methods = USUAL.into_iter().filter(|method| *method != "HEAD").chain([""]);
            subject.methods.extend(methods.map(str::to_owned));
        }
    }
    let hidden = hidden(&forms);
    let is_complete = hidden.is_some();
    for (form, methods) in hidden.into_iter().flatten() {
        let new_subject = || Subject::new(&form, &form, &example_paths);
        subjects.entry(form.clone()).or_insert_with(new_subject).methods.extend(methods);
    }
    (subjects.into_values().collect(), is_complete)
}

/// The methods of each path of a manifest, by its form.
type PathForms = BTreeMap<String, BTreeSet<String>>;

fn path_forms(manifest: &Manifest) -> PathForms {
    let mut forms = PathForms::new();
    for route in &manifest.routes {
        let form = form(route);
        if form.starts_with('/') {
            forms.entry(form).or_default().extend(route.methods.iter().cloned());
        }
    }
    forms
}

/// The paths that a template which only one manifest has shares with templates of the other: a new path
/// hides them from an old one, and a removed path leaves them to one. Each has the methods of both.
/// `None` if they are too many.
fn hidden([of_old, of_new]: &[PathForms; 2]) -> Option<Vec<(String, BTreeSet<String>)>> {
    let mut hidden = Vec::new();
    for (ones, others) in [(of_old, of_new), (of_new, of_old)] {
        let changed = ones.keys().filter(|form| !others.contains_key(*form));
        let changed: Vec<Template> = changed.map(|form| Template::parse(form)).collect();
        let templates: Vec<Template> = others.keys().map(|form| Template::parse(form)).collect();
        let most = most_crossings(&changed, &templates);
        for (one, other, both) in crossings(&changed, &templates, most)? {
            let methods = [ones.get(&one.text()), others.get(&other.text())];
            hidden.push((both.text(), methods.into_iter().flatten().flatten().cloned().collect()));
        }
    }
    Some(hidden)
}

/// A path that one of two manifests lists, or that two of their templates share.
struct Subject {
    /// The path as written.
    path: String,
    /// A path that it matches.
    example: String,
    /// Its spellings with an encoded slash, and those of longer paths.
    coded: Vec<String>,
    methods: BTreeSet<String>,
}

impl Subject {
    fn new(path: &str, template: &str, example_paths: &ExamplePaths) -> Self {
        let example = example_paths.path_of(template);
        let (mut coded, longer) = example_paths.with_slashes(&example);
        coded.extend(longer);
        Self { path: path.to_owned(), example, coded, methods: BTreeSet::new() }
    }

    /// The effect on encoded slashes, which one app refuses and the route of the path takes in the other.
    fn slashes(&self, method: &str, [old, new]: [&Engine; 2]) -> Option<Direction> {
        let gains = |less: &Engine, more: &Engine| {
            let route = |path: &str| more.serving(method, path).map(ptr::from_ref);
            self.coded.iter().any(|coded| {
                less.takes_slashes(method, coded) == Some(false)
                    && more.takes_slashes(method, coded) == Some(true)
                    && route(coded) == route(&self.example)
            })
        };
        Direction::from_effects(gains(old, new), gains(new, old))
    }

    /// Its methods; an empty one if every method is served alike.
    fn methods(&self) -> impl Iterator<Item = &str> {
        let all = self.methods.is_empty().then_some("");
        self.methods.iter().map(String::as_str).chain(all)
    }
}

/// The form of the template of a route, which is equal for paths that match alike.
fn form(route: &ManifestRoute) -> String {
    let template = route.template();
    match route.kind {
        RouteKind::Tunnel | RouteKind::Fallback | RouteKind::NotFound => format!("{template}:"),
        _ => PathTemplate::parse(&template).map(|parsed| parsed.form()).unwrap_or_default(),
    }
}
