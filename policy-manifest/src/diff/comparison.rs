//! Compares two apps place by place, and merges the places that differ alike.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
};

use super::{
    cells::{self, Sketch},
    error::DiffError,
    finding::Axis,
    group::{Group, Unit},
    located::{self, Indices},
    places::{self, Region, RequestedMethod, class_of},
    probe::{self, Credentials},
    senders::Atoms,
    side::Side,
};
use crate::{ManifestRoute, RouteLimits};

pub(super) struct Comparison<'a> {
    sides: (&'a Side, &'a Side),
    /// The number of the policy of each route, equal for equal policies.
    policies: (Vec<usize>, Vec<usize>),
    /// Whether routes with equal policies are equal.
    is_same_app: bool,
    of_requests: HashMap<String, Rc<Vec<Rc<Sketch>>>>,
    /// By the method and the number of the tables.
    of_preflights: HashMap<(String, usize), Rc<Vec<Rc<Sketch>>>>,
    /// The number of each text of tables.
    tables: HashMap<String, usize>,
    /// Keyed by the policies that distinguish them: a list of origins is read once for all methods.
    atoms: HashMap<[BTreeSet<usize>; 2], Rc<Atoms>>,
    groups: BTreeMap<String, Group>,
}

/// What preflights for a region depend on.
struct Preflights {
    /// The number of the text of its tables.
    tables: usize,
    /// The origins that its routes distinguish.
    atoms: Rc<Atoms>,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(sides: (&'a Side, &'a Side)) -> Self {
        let mut known = HashMap::new();
        let mut numbers = |side: &Side| policy_numbers(&side.manifest.routes, &mut known);
        let policies = (numbers(sides.0), numbers(sides.1));
        let is_same_app = sides.0.is_same_app(sides.1);
        Self {
            sides,
            policies,
            is_same_app,
            of_requests: HashMap::new(),
            of_preflights: HashMap::new(),
            tables: HashMap::new(),
            atoms: HashMap::new(),
            groups: BTreeMap::new(),
        }
    }

    pub(super) fn run(mut self) -> Result<Vec<Group>, DiffError> {
        for region in places::regions(self.sides.0, self.sides.1)? {
            let preflights = self.preflights(&region);
            for method in places::methods(&region, self.sides) {
                self.compare(&region, &method, preflights.as_ref());
            }
        }
        let tunnel = Region {
            found: (None, None),
            path: String::new(),
            template: String::new(),
            has_slash: false,
        };
        self.compare(&tunnel, &RequestedMethod::Method("CONNECT".to_owned()), None);
        Ok(self.groups.into_values().collect())
    }

    fn policy(&self, routes: Indices) -> Indices {
        let of = |policies: &[usize], index: Option<usize>| policies.get(index?).copied();
        (of(&self.policies.0, routes.0), of(&self.policies.1, routes.1))
    }

    fn is_same(&self, routes: Indices) -> bool {
        let (old, new) = self.policy(routes);
        old == new && (self.is_same_app || old.is_none())
    }

    fn compare(
        &mut self,
        region: &Region,
        requested: &RequestedMethod,
        preflights: Option<&Preflights>,
    ) {
        let method = requested.name().to_owned();
        let class = class_of(&method).to_owned();
        let routes = self.serving_routes(region, &method);
        let place =
            cells::PathMethods { method: &method, path: &region.path, class: &class, routes };
        let redirected = self.redirected(region);
        let mut sketches: Vec<Rc<Sketch>> = Vec::new();
        if !self.is_same(routes) {
            let key = format!("{class} {:?} {redirected:?}", self.policy(routes));
            let sides = self.sides;
            let atoms = self.atoms(routes.0.as_slice(), routes.1.as_slice());
            let known = self.of_requests.entry(key);
            let found = known.or_insert_with(|| shared(cells::requests(sides, place, &atoms)));
            sketches.extend(found.iter().cloned());
        }
        if let Some(Preflights { tables, atoms }) = preflights {
            let sides = self.sides;
            let known = self.of_preflights.entry((method.clone(), *tables));
            let routes = located::routes(sides, region.found, &method);
            let place = cells::PathMethods { routes, ..place };
            let found = known.or_insert_with(|| shared(cells::preflights(sides, place, atoms)));
            sketches.extend(found.iter().cloned());
        }
        for axis in Axis::ALL {
            let of_axis: Vec<Rc<Sketch>> =
                sketches.iter().filter(|sketch| sketch.axis == axis).cloned().collect();
            if of_axis.is_empty() {
                continue;
            }
            let words = of_axis.iter().map(|sketch| sketch.identity()).collect::<Vec<_>>();
            let key = format!("{axis:?} {}", words.join("\n"));
            let unit = Unit {
                found: region.found,
                method: requested.clone(),
                path: region.path.clone(),
                template: region.template.clone(),
                has_slash: region.has_slash,
                routes: located::routes(self.sides, region.found, &method),
                taken: routes,
                sketches: of_axis,
            };
            let group = self.groups.entry(key).or_insert_with(|| Group { axis, units: Vec::new() });
            group.units.push(unit);
        }
    }

    /// The origins that some routes of the two apps distinguish.
    fn atoms(&mut self, of_old: &[usize], of_new: &[usize]) -> Rc<Atoms> {
        let (old, new) = self.sides;
        // One route of each policy.
        let distinct = |policies: &[usize], routes: &[usize]| -> BTreeMap<usize, usize> {
            routes.iter().filter_map(|index| Some((*policies.get(*index)?, *index))).collect()
        };
        let of_old = distinct(&self.policies.0, of_old);
        let of_new = distinct(&self.policies.1, of_new);
        let key = [&of_old, &of_new].map(|routes| routes.keys().copied().collect());
        let atoms = self.atoms.entry(key).or_insert_with(|| {
            let policies = of_old.values().filter_map(|index| old.cors(Some(*index)));
            let policies =
                policies.chain(of_new.values().filter_map(|index| new.cors(Some(*index))));
            Rc::new(Atoms::new(policies, [&old.identity.origin, &new.identity.origin]))
        });
        Rc::clone(atoms)
    }

    /// The routes that get a request; none if they do not take its encoded slash.
    fn serving_routes(&self, region: &Region, method: &str) -> Indices {
        let (old, new) = self.sides;
        let of = |side: &Side| {
            let target = (method, region.path.as_str());
            let credentials = Credentials::default();
            let request =
                probe::request(target, &probe::Sender::default(), &credentials, &side.identity);
            side.engine.inspect(&request, &credentials.caller()).route
        };
        (of(old), of(new))
    }

    /// A redirected path has no route, but differs from a path that no route serves.
    fn redirected(&self, region: &Region) -> Indices {
        let number = |side: &Side, found: Option<usize>| {
            found.filter(|number| side.engine.is_redirected(*number))
        };
        (number(self.sides.0, region.found.0), number(self.sides.1, region.found.1))
    }

    /// What preflights for all methods of a region share; `None` if both apps answer them alike.
    fn preflights(&mut self, region: &Region) -> Option<Preflights> {
        if region.found == (None, None) || region.has_slash {
            return None;
        }
        let text = format!("{} {:?}", self.tables(region)?, self.redirected(region));
        let next = self.tables.len();
        let tables = *self.tables.entry(text).or_insert(next);
        let all = |side: &Side, path: Option<usize>| -> Vec<usize> {
            let methods = path.map(|path| side.engine.methods_of(path)).unwrap_or_default();
            methods.iter().map(|served| served.route).collect()
        };
        let (old, new) = self.sides;
        let atoms = self.atoms(&all(old, region.found.0), &all(new, region.found.1));
        Some(Preflights { tables, atoms })
    }

    /// All facts on which preflights for a region depend; `None` if they are the same for both.
    fn tables(&self, region: &Region) -> Option<String> {
        let table = |side: &Side, policies: &[usize], path: Option<usize>| {
            let methods = path.map(|path| side.engine.methods_of(path)).unwrap_or_default();
            let numbers = methods.iter().map(|served| {
                let policy = policies.get(served.route).copied().unwrap_or_default();
                format!("{} {policy}", served.method)
            });
            numbers.collect::<Vec<_>>().join(",")
        };
        let old = table(self.sides.0, &self.policies.0, region.found.0);
        let new = table(self.sides.1, &self.policies.1, region.found.1);
        (old != new || !self.is_same_app).then(|| format!("{old};{new}"))
    }
}

fn shared(sketches: Vec<Sketch>) -> Rc<Vec<Rc<Sketch>>> {
    Rc::new(sketches.into_iter().map(Rc::new).collect())
}

/// The number of the policy of each route, equal for equal policies. Those that are known keep theirs.
pub(crate) fn policy_numbers(
    routes: &[ManifestRoute],
    known: &mut HashMap<String, usize>,
) -> Vec<usize> {
    let numbers = routes.iter().map(|route| {
        let next = known.len();
        *known.entry(policy_text(route)).or_insert(next)
    });
    numbers.collect()
}

/// The parts of a policy that decide about requests.
fn policy_text(route: &ManifestRoute) -> String {
    let bare = ManifestRoute {
        path: String::new(),
        methods: Vec::new(),
        targets: Vec::new(),
        cache: None,
        headers: None,
        limits: RouteLimits::default(),
        ..route.clone()
    };
    serde_json::to_string(&bare).unwrap_or_default()
}

impl Sketch {
    /// A text that is equal for findings with the same description.
    fn identity(&self) -> String {
        format!(
            "{} {:?} {:?} {:?} {} {:?}",
            self.senders.words(),
            self.callers,
            self.gains,
            self.facets,
            self.is_preflight,
            self.severity
        )
    }
}
