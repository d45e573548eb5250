use super::*;
use crate::{Auth, samples::object_rules};

fn object_use(object: &str, action: &str, key: &str) -> ObjectUse {
    let key = match key {
        "handler" => ObjectKey::Handler,
        "list" => ObjectKey::List,
        name => ObjectKey::Parameter(name.to_owned()),
    };
    ObjectUse { object: object.to_owned(), action: action.to_owned(), key }
}

fn app(path: &str, none: Option<&str>, uses: &[ObjectUse]) -> Manifest {
    let mut manifest = Manifest::new();
    let mut route = ManifestRoute::handler(path, ["GET"], Auth::Public);
    let none = none.map(str::to_owned);
    route.object = Some(RouteObjects { none, ..RouteObjects::new(uses.to_vec()) });
    manifest.routes.push(route);
    manifest.objects = object_rules(&[
        ("Order.view", "owner(user) | same(team)"),
        ("Order.edit", "owner(user)"),
        ("Order.change", "same(team) & owner(user)"),
        ("Order.own", "owner(user)"),
        ("Board.view", "authenticated"),
    ]);
    manifest
}

fn changed(old: &Manifest, new: &Manifest) -> Option<String> {
    let [old, new] = [old, new].map(|it| Side { manifest: it, route: &it.routes[0] });
    change(old, new).map(|(direction, words)| format!("{direction:?}: {words}"))
}

#[test]
fn a_changed_check_opens_or_narrows_by_its_rules() {
    let path = "/orders/{id}";
    let [view, edit] = ["view", "edit"].map(|action| object_use("Order", action, "id"));
    let app = |none, uses: &[ObjectUse]| app(path, none, uses);
    for (old, new, words) in [
        (
            app(None, &[]),
            app(Some("all may"), &[]),
            "Opens: takes path parameters without an object: \"all may\"",
        ),
        (
            app(Some("all may"), &[]),
            app(None, &[]),
            "Narrows: takes no path parameter without an object any more",
        ),
        (app(Some("a"), &[]), app(Some("b"), &[]), "Shifts: the reason was \"a\", is \"b\""),
        (
            app(None, &[]),
            app(None, std::slice::from_ref(&view)),
            "Narrows: checks `Order` by `id` for `view`",
        ),
        (
            app(None, &[view.clone(), edit.clone()]),
            app(None, std::slice::from_ref(&view)),
            "Opens: does not check `Order` by `id` for `edit` any more",
        ),
        (
            app(None, std::slice::from_ref(&edit)),
            app(None, std::slice::from_ref(&view)),
            "Opens: checks `Order` by `id` for `view`, no longer for `edit`: callers of the \
             same `team` who are not the `user` may now reach it",
        ),
        (
            app(None, std::slice::from_ref(&edit)),
            app(None, &[object_use("Order", "change", "id")]),
            "Narrows: checks `Order` by `id` for `change`, no longer for `edit`: callers of \
             another `team` who are the `user` may no longer reach it",
        ),
        (
            app(None, std::slice::from_ref(&edit)),
            app(None, &[object_use("Order", "own", "id")]),
            "Shifts: checks `Order` by `id` for `own`, no longer for `edit`: for the same \
             callers and objects",
        ),
        (
            app(None, std::slice::from_ref(&view)),
            app(None, &[object_use("Board", "view", "id")]),
            "OpensAndNarrows: checks `Board` by `id` for `view`; does not check `Order` by \
             `id` for `view` any more",
        ),
        (
            app(None, &[object_use("Order", "view", "handler")]),
            app(None, &[object_use("Order", "view", "list")]),
            "OpensAndNarrows: does not check `Order` by its handler for `view` any more; \
             checks lists of `Order` for `view`",
        ),
        (
            app(None, &[view.clone(), object_use("Board", "view", "list")]),
            app(None, &[object_use("Board", "view", "list"), view.clone()]),
            "Shifts: checks its objects in another order",
        ),
        (
            app(None, std::slice::from_ref(&edit)),
            app(None, &[object_use("Order", "missing", "id")]),
            "OpensAndNarrows: checks `Order` by `id` for `missing`, no longer for `edit`: it \
             cannot be shown that nobody may now reach it; it cannot be shown that nobody may \
             no longer reach it",
        ),
    ] {
        assert_eq!(changed(&old, &new).as_deref(), Some(words));
        assert_eq!(changed(&new, &new), None);
    }
}

#[test]
fn an_unchecked_id_opens() {
    let of = |names: &[&str]| {
        let mut app = app("/orders", None, &[]);
        let fields = names.iter().map(|name| (*name).to_owned());
        app.routes[0].object.as_mut().unwrap().fields = fields.collect();
        app
    };
    let changed = |old, new| changed(&of(old), &of(new));
    assert_eq!(
        changed(&["a_id"], &["a_id", "b_id", "id"]).as_deref(),
        Some("Opens: takes `b_id`, `id` from clients without an object")
    );
    assert_eq!(
        changed(&["id"], &[]).as_deref(),
        Some("Narrows: takes `id` from clients without an object no more")
    );
}

#[test]
fn a_longer_interval_opens_and_a_shorter_narrows() {
    let of = |key, recheck_ms| {
        let mut app = app("/orders/{id}", None, &[object_use("Order", "view", key)]);
        app.routes[0].object.as_mut().unwrap().recheck_ms = recheck_ms;
        app
    };
    for (old, new, words) in [
        (None, Some(120_000), Some("Opens: checks open streams every 2m, no longer every 1m")),
        (Some(120_000), None, Some("Narrows: checks open streams every 1m, no longer every 2m")),
        (None, Some(1500), Some("Narrows: checks open streams every 1500ms, no longer every 1m")),
        (None, Some(60_000), None),
    ] {
        assert_eq!(changed(&of("id", old), &of("id", new)).as_deref(), words);
        assert_eq!(changed(&of("list", old), &of("list", new)), None);
    }
    let mut stated = of("id", Some(60_000));
    normalize(&mut stated.routes[0]);
    assert_eq!(stated, of("id", None));
}

#[test]
fn names_of_parameters_are_no_part_of_a_policy() {
    let old = app("/a/{b}/{c}", None, &[object_use("Order", "view", "c")]);
    let same = app("/a/{x}/{y}", None, &[object_use("Order", "view", "y")]);
    assert_eq!(changed(&old, &same), None);
    let other = app("/a/{x}/{y}", None, &[object_use("Order", "view", "x")]);
    assert!(changed(&old, &other).unwrap().starts_with("OpensAndNarrows"));
}

#[test]
fn the_change_of_a_rule_says_who_gains_and_who_loses() {
    for (old, new, words) in [
        (
            "owner(user)",
            "owner(user) | same(team)",
            "Opens: callers of the same `team` who are not the `user` may now edit it: \
             `owner(user)` -> `owner(user) | same(team)`",
        ),
        (
            "same(team)",
            "!locked & same(team)",
            "Narrows: callers of the same `team` may no longer edit it if it is `locked`: \
             `same(team)` -> `!locked & same(team)`",
        ),
        (
            "role(\"a\")",
            "role(\"b\")",
            "OpensAndNarrows: callers without the role `a` with the role `b` may now edit it; \
             callers with the role `a` without the role `b` may no longer edit it: \
             `role(\"a\")` -> `role(\"b\")`",
        ),
        (
            "owner(a)",
            "authenticated & owner(a)",
            "Shifts: for the same callers and objects: `owner(a)` -> `authenticated & owner(a)`",
        ),
    ] {
        let (direction, found, _) = rule_change("Order.edit", old, new).unwrap();
        assert_eq!(format!("{direction:?}: {found}"), words);
    }
    assert_eq!(rule_change("Order.edit", "owner(a)", "owner(a)"), None);
}

#[test]
fn a_table_shows_objects_and_the_reason_for_none() {
    let sets = BTreeMap::new();
    let cell = |manifest: &Manifest| {
        cell(ShownRoute { route: &manifest.routes[0], sources: None, header_sets: &sets })
    };
    let uses = [
        object_use("Order", "edit", "id"),
        object_use("Board", "view", "handler"),
        object_use("Board", "view", "list"),
    ];
    let entries = ["Order: edit by id", "Board: view by the handler", "Board: view in lists"];
    let expected = Cell::list(entries.map(str::to_owned));
    assert_eq!(cell(&app("/", None, &uses)), expected);
    let mut often = app("/", None, &uses[..1]);
    often.routes[0].object.as_mut().unwrap().recheck_ms = Some(10_000);
    let entries = ["Order: edit by id", "again every 10s"].map(str::to_owned);
    assert_eq!(cell(&often), Cell::list(entries));
    let exempt = Cell::plain("none: all may").with_tone(Tone::Risk);
    assert_eq!(cell(&app("/", Some("all may"), &[])), exempt);
}
