//! `#[object]` and `derive(Object)`: rights on the objects that a route names.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use policy_core::{
    Refusal,
    object::{Condition, ObjectPolicy},
    path::PathTemplate,
};
use serde::{Deserialize, Serialize};

use super::{
    Cell, Column, Direction, Effects, FacetEntry, FromPolicy, ManifestRoute, MethodRequests,
    ShownRoute, Side, Tone, is_default, millis, millis_in_words,
};
use crate::{
    Manifest,
    algebra::{ConditionWitness, Implication, implies},
};

/// The action whose rule decides whether a caller learns that an object exists.
const VIEW: &str = "view";

/// The objects that a route checks, or why it checks none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RouteObjects {
    /// The reason for which it takes path parameters without an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub none: Option<String>,
    /// The objects, in the order in which they are checked.
    #[serde(default, skip_serializing_if = "is_default")]
    pub uses: Vec<ObjectUse>,
    /// The fields of its body or its query that are named like ids, if the route may know its caller and
    /// takes no object but those of its path.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fields: BTreeSet<String>,
    /// How often the objects of an open stream are checked again, in milliseconds, if that is not
    /// [`ObjectPolicy::INTERVAL`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck_ms: Option<u64>,
}

/// An object that a route checks for one action.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectUse {
    /// The type of the object.
    pub object: String,
    /// The action.
    pub action: String,
    /// Where its key comes from.
    pub key: ObjectKey,
}

/// Where the key of an object comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ObjectKey {
    /// This parameter of the path.
    Parameter(String),
    /// The handler, which has it from a body for example.
    Handler,
    /// There is none: the handler lists all objects on which the caller may do this.
    List,
}

impl ObjectUse {
    /// The name of the rule of its action, such as `Order.edit`.
    ///
    /// ```
    /// use policy_manifest::{ObjectKey, ObjectUse};
    ///
    /// let edit = ObjectUse {
    ///     object: "Order".to_owned(),
    ///     action: "edit".to_owned(),
    ///     key: ObjectKey::Parameter("id".to_owned()),
    /// };
    /// assert_eq!(edit.rule(), "Order.edit");
    /// ```
    pub fn rule(&self) -> String {
        format!("{}.{}", self.object, self.action)
    }

    /// The names of the rules that have to hold, in the order in which they are checked: a caller who may
    /// not view an object may do nothing with it.
    pub(crate) fn rules(&self) -> impl Iterator<Item = String> {
        let rule = self.rule();
        let view = format!("{}.{VIEW}", self.object);
        let own = (rule != view).then_some(rule);
        [view].into_iter().chain(own)
    }

    /// The object and where its key comes from, in words.
    pub(crate) fn place(&self) -> String {
        match &self.key {
            ObjectKey::Parameter(name) => format!("`{}` by `{name}`", self.object),
            ObjectKey::Handler => format!("`{}` by its handler", self.object),
            ObjectKey::List => format!("lists of `{}`", self.object),
        }
    }
}

impl Manifest {
    /// The condition of the rule of this name; `None` if there is none, or its text is no condition.
    pub(crate) fn condition(&self, rule: &str) -> Option<Condition> {
        self.objects.get(rule)?.parse().ok()
    }

    /// The condition that is true if all these uses of one object are allowed.
    pub(crate) fn rule_of<'a>(
        &self,
        uses: impl IntoIterator<Item = &'a ObjectUse>,
    ) -> Option<Condition> {
        let rules = uses.into_iter().flat_map(ObjectUse::rules);
        let conditions = rules.map(|rule| self.condition(&rule));
        conditions.collect::<Option<Vec<_>>>().map(Condition::All)
    }

    /// The names of the rules of objects that its routes need, each with the path of the route.
    pub(crate) fn needed_rules(&self) -> impl Iterator<Item = (String, &str)> {
        let routes = self.routes.iter().filter_map(|route| Some((route, route.object.as_ref()?)));
        routes.flat_map(|(route, objects)| {
            let rules = objects.uses.iter().flat_map(ObjectUse::rules);
            rules.map(|rule| (rule, route.path.as_str()))
        })
    }
}

impl RouteObjects {
    /// No objects, for this reason.
    pub fn exempt(reason: impl Into<String>) -> Self {
        Self::from_attribute(Some(reason.into()), ObjectPolicy::INTERVAL)
    }

    /// The policy of a route that uses these objects.
    pub fn new(uses: impl IntoIterator<Item = ObjectUse>) -> Self {
        Self { uses: uses.into_iter().collect(), ..Self::default() }
    }

    /// The policy that an attribute states: the reason of an exemption, and the interval at which the
    /// objects of open streams are checked.
    pub fn from_attribute(none: Option<String>, interval: Duration) -> Self {
        let is_default = interval == ObjectPolicy::INTERVAL;
        Self { none, recheck_ms: (!is_default).then(|| millis(interval)), ..Self::default() }
    }

    /// The interval of checks of open streams in milliseconds, if there is an object to check.
    fn interval(&self) -> Option<u64> {
        let is_loaded = |it: &ObjectUse| matches!(it.key, ObjectKey::Parameter(_));
        let interval = || self.recheck_ms.unwrap_or_else(|| millis(ObjectPolicy::INTERVAL));
        self.uses.iter().any(is_loaded).then(interval)
    }
}

impl FromPolicy<ObjectPolicy> for RouteObjects {
    fn from_policy(policy: &ObjectPolicy, _: &mut Manifest) -> Self {
        Self::from_attribute(policy.reason().map(str::to_owned), policy.interval())
    }
}

const COLUMN: Column = Column::new("Objects");

pub(super) const FACET: FacetEntry = FacetEntry {
    name: "object",
    attribute: "object",
    about: "rights on the objects that a route names",
    why: "Checking an identifier apart from the object that it names is easily forgotten, and then \
          every user can read and change the objects of all others (OWASP API1).",
    links: &[(
        "OWASP API1:2023 Broken Object Level Authorization",
        "https://owasp.org/API-Security/editions/2023/en/0xa1-broken-object-level-authorization/",
    )],
    columns: &[(COLUMN, cell)],
    normalize,
    refusals,
    is_open,
    change,
    ..FacetEntry::NONE
};

fn refusals(MethodRequests { manifest, route, .. }: MethodRequests<'_>, found: &mut Vec<Refusal>) {
    let uses = route.object.iter().flat_map(|objects| &objects.uses);
    for it in uses.filter(|it| it.key != ObjectKey::List) {
        found.push(Refusal::ObjectNotFound);
        if it.action != VIEW {
            found.push(Refusal::ObjectDenied);
        }
        let mut rules = it.rules().filter_map(|rule| manifest.condition(&rule));
        if rules.any(|rule| rule.asks_engine()) {
            found.push(Refusal::EngineUnavailable);
        }
    }
}

fn normalize(route: &mut ManifestRoute) {
    if let Some(objects) = &mut route.object {
        objects.recheck_ms.take_if(|interval| *interval == millis(ObjectPolicy::INTERVAL));
    }
    route.object.take_if(|objects| is_default(objects));
}

/// A reviewer has to accept that nothing checks what a path names.
fn is_open(route: &ManifestRoute) -> bool {
    route.object.as_ref().is_some_and(|objects| objects.none.is_some())
}

fn cell(ShownRoute { route, .. }: ShownRoute<'_>) -> Cell {
    let Some(objects) = &route.object else { return Cell::nothing() };
    let RouteObjects { none, uses, recheck_ms, .. } = objects;
    let uses = uses.iter().map(|it| {
        let key = match &it.key {
            ObjectKey::Parameter(name) => format!("by {name}"),
            ObjectKey::Handler => "by the handler".to_owned(),
            ObjectKey::List => "in lists".to_owned(),
        };
        format!("{}: {} {key}", it.object, it.action)
    });
    let again = recheck_ms.map(|millis| format!("again every {}", millis_in_words(millis)));
    let reason = none.iter().map(|reason| format!("none: {reason}"));
    let tone = if none.is_some() { Tone::Risk } else { Tone::Plain };
    Cell::list(uses.chain(again).chain(reason)).with_tone(tone)
}

fn change(old: Side<'_>, new: Side<'_>) -> Option<(Direction, String)> {
    if old.route.object == new.route.object {
        return None;
    }
    let empty = RouteObjects::default();
    let [before, after] = [old, new].map(|side| side.route.object.as_ref().unwrap_or(&empty));
    let mut found = Effects::default();
    match (&before.none, &after.none) {
        (None, Some(reason)) => {
            let words = format!("takes path parameters without an object: {reason:?}");
            found.add(Direction::Opens, words);
        }
        (Some(_), None) => {
            let words = "takes no path parameter without an object any more";
            found.add(Direction::Narrows, words);
        }
        (Some(before), Some(after)) if before != after => {
            found.words.push(format!("the reason was {before:?}, is {after:?}"));
        }
        _ => (),
    }
    let [of_old, of_new] = [old, new].map(by_place);
    for place in of_old.keys().chain(of_new.keys()).collect::<BTreeSet<_>>() {
        let uses = |of: &BTreeMap<_, Vec<_>>| of.get(place).cloned().unwrap_or_default();
        found.compare((old, uses(&of_old)), (new, uses(&of_new)));
    }
    found.compare_fields(&before.fields, &after.fields);
    found.compare_intervals(before.interval(), after.interval());
    let [before, after] =
        [old, new].map(|side| uses_of(side).map(|(place, it)| (place, &it.action)));
    if found.words.is_empty() && !before.eq(after) {
        found.words.push("checks its objects in another order".to_owned());
    }
    // The names of parameters are no part of a policy.
    found.change("; ")
}

/// A type of objects, and where the key of one comes from: a parameter by its position.
type Place<'a> = (&'a str, ObjectKey);

fn uses_of<'a>(side: Side<'a>) -> impl Iterator<Item = (Place<'a>, &'a ObjectUse)> {
    let template = PathTemplate::parse(&side.route.path).ok();
    let uses = side.route.object.iter().flat_map(|objects| &objects.uses);
    uses.map(move |it| {
        let position =
            |name: &String| template.as_ref()?.parameters().position(|parameter| parameter == name);
        let key = match &it.key {
            ObjectKey::Parameter(name) => {
                let position = position(name).map(|position| position.to_string());
                ObjectKey::Parameter(position.unwrap_or_else(|| name.clone()))
            }
            key => key.clone(),
        };
        ((it.object.as_str(), key), it)
    })
}

fn by_place<'a>(side: Side<'a>) -> BTreeMap<Place<'a>, Vec<&'a ObjectUse>> {
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (place, it) in uses_of(side) {
        found.entry(place).or_default().push(it);
    }
    found
}

impl Effects {
    /// Compares the actions for which one object is checked.
    fn compare(
        &mut self,
        (old, before): (Side<'_>, Vec<&ObjectUse>),
        (new, after): (Side<'_>, Vec<&ObjectUse>),
    ) {
        let without = |uses: &[&ObjectUse], others: &[&ObjectUse]| -> Vec<ObjectUse> {
            let has = |it: &ObjectUse| others.iter().any(|other| other.action == it.action);
            uses.iter().filter(|it| !has(it)).map(|it| (*it).clone()).collect()
        };
        let (gone, come) = (without(&before, &after), without(&after, &before));
        let actions = |uses: &[ObjectUse]| {
            let actions = uses.iter().map(|it| format!("`{}`", it.action));
            actions.collect::<Vec<_>>().join(" and ")
        };
        let place = |uses: &[ObjectUse]| uses.first().map(ObjectUse::place).unwrap_or_default();
        match (gone.is_empty(), come.is_empty()) {
            (true, true) => (),
            (false, true) => {
                self.opens = true;
                let words = format!("does not check {} for {}", place(&gone), actions(&gone));
                self.words.push(words + " any more");
            }
            (true, false) => {
                let words = format!("checks {} for {}", place(&come), actions(&come));
                self.add(Direction::Narrows, words);
            }
            (false, false) => {
                let conditions = old.manifest.rule_of(&gone).zip(new.manifest.rule_of(&come));
                let what = format!("checks {} for {}", place(&come), actions(&come));
                let words = format!("{what}, no longer for {}", actions(&gone));
                let (compared, _) = self.compare_conditions(conditions.as_ref(), "reach it");
                self.words.push(format!("{words}: {compared}"));
            }
        }
    }

    /// Compares the ids that nothing checks.
    fn compare_fields(&mut self, before: &BTreeSet<String>, after: &BTreeSet<String>) {
        let (come, gone) = (after.difference(before), before.difference(after));
        for (direction, names, end) in
            [(Direction::Opens, come, ""), (Direction::Narrows, gone, " no more")]
        {
            let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
            if !names.is_empty() {
                let names = names.join(", ");
                self.add(direction, format!("takes {names} from clients without an object{end}"));
            }
        }
    }

    /// Compares how often open streams are checked, where both have objects.
    fn compare_intervals(&mut self, before: Option<u64>, after: Option<u64>) {
        let Some((before, after)) = before.zip(after).filter(|(before, after)| before != after)
        else {
            return;
        };
        let direction = if before < after { Direction::Opens } else { Direction::Narrows };
        let [before, after] = [before, after].map(millis_in_words);
        self.add(direction, format!("checks open streams every {after}, no longer every {before}"));
    }

    /// Compares two conditions; without them, nothing can be said. Returns words, and who gains.
    fn compare_conditions(
        &mut self,
        conditions: Option<&(Condition, Condition)>,
        what: &str,
    ) -> (String, Option<ConditionWitness>) {
        let [gained, lost] = match conditions {
            None => [Implication::Unknown, Implication::Unknown],
            Some((old, new)) => [implies(new, old), implies(old, new)],
        };
        self.opens |= gained != Implication::Holds;
        self.narrows |= lost != Implication::Holds;
        let words = |implication: &Implication, verb| match implication {
            Implication::Holds => None,
            Implication::Fails(witness) => Some(witness.who(&format!(" {verb} {what}"))),
            Implication::Unknown => Some(format!("it cannot be shown that nobody {verb} {what}")),
        };
        let words = [words(&gained, "may now"), words(&lost, "may no longer")];
        let words = words.into_iter().flatten().collect::<Vec<_>>().join("; ");
        let gained = match gained {
            Implication::Fails(witness) => Some(witness),
            Implication::Holds | Implication::Unknown => None,
        };
        match words.is_empty() {
            true => ("for the same callers and objects".to_owned(), gained),
            false => (words, gained),
        }
    }
}

/// What the change of a rule of this name does to access, in words, and who gains; `None` if both are the
/// same text.
pub(crate) fn rule_change(
    name: &str,
    old: &str,
    new: &str,
) -> Option<(Direction, String, Option<ConditionWitness>)> {
    if old == new {
        return None;
    }
    let action = name.rsplit_once('.').map_or(name, |(_, action)| action);
    let mut found = Effects::default();
    let conditions = old.parse().ok().zip(new.parse().ok());
    let (words, gained) = found.compare_conditions(conditions.as_ref(), &format!("{action} it"));
    let direction =
        Direction::from_effects(found.opens, found.narrows).unwrap_or(Direction::Shifts);
    Some((direction, format!("{words}: `{old}` -> `{new}`"), gained))
}

#[cfg(test)]
mod tests;
