//! `cargo policy show`, `lint` and `diff` about many services.

use std::{fs, path::PathBuf, time::Instant};

use policy_manifest::{Auth, Csrf, Lock, Manifest};
use serde_json::Value;

use crate::{
    fixtures::{self, fleet},
    gate,
    run::{compare, folder, run_at, without_style_and_script},
    schema,
};

fn write_files(name: &str, files: &[(String, String)]) -> PathBuf {
    let files: Vec<_> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
    folder(name, &files)
}

/// The folders `old` and `new` with two versions of a fleet.
fn write_versions(name: &str, old: &[(String, String)], new: &[(String, String)]) -> PathBuf {
    let files = [("old", old), ("new", new)].map(|(folder, files)| {
        let files = files.iter().map(|(path, text)| (format!("{folder}/{path}"), text.clone()));
        files.collect::<Vec<_>>()
    });
    write_files(name, &files.concat())
}

/// Three services and one without a policy of its own.
pub(crate) fn few(name: &str) -> PathBuf {
    let mut files = fleet(3, 4, 0);
    files.push(("team0/target/debug/policy.lock".to_owned(), "broken".to_owned()));
    write_files(name, &files)
}

/// Checks JSON by docs/schema/fleet-1.json. Parts that refer to another schema are checked
/// separately.
fn validate(text: &str) -> Value {
    let mut schema = include_str!("../../../docs/schema/fleet-1.json").to_owned();
    for other in ["manifest-1.json", "diff-1.json"] {
        assert!(schema.contains(other));
        schema = schema.replace(&format!("\"$ref\": \"{other}\""), "\"type\": \"object\"");
    }
    schema::validate(&schema, text)
}

#[test]
fn a_fleet_is_one_table_and_says_who_may_call_whom() {
    let folder = few("fleet-show");
    for (name, line) in [
        ("fleet.txt", "show . --width 160"),
        ("fleet-60.txt", "show . --width 60"),
        ("fleet.md", "show . --format markdown"),
        ("fleet.html", "show . --format html"),
    ] {
        let ran = run_at(&folder, line);
        assert_eq!((ran.code, &*ran.err), (0, ""), "{}", ran.out);
        compare(name, &without_style_and_script(&ran.out));
    }
}

#[test]
fn the_json_of_a_fleet_has_the_policies_and_the_calls() {
    let folder = few("fleet-json");
    let value = validate(&run_at(&folder, "show . --format json").out);
    let services = value["services"].as_array().unwrap();
    let names: Vec<_> = services.iter().map(|service| service["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["s0", "s1", "s2"]);
    for service in services {
        let policy = Manifest::parse(&service["policy"].to_string()).unwrap();
        assert_eq!(policy.routes.len(), 4);
    }
    let calls = value["calls"].as_array().unwrap().iter();
    let calls: Vec<_> = calls
        .map(|call| ["from", "to", "by", "granted"].map(|field| call[field].as_str().unwrap()))
        .collect();
    let origin = ["https://s0.shop.example", "https://s1.shop.example", "https://s2.shop.example"];
    assert_eq!(
        calls,
        [
            ["s0", "s2", "origin", origin[0]],
            ["s0", "s2", "issuer", origin[0]],
            ["s1", "s0", "origin", origin[1]],
            ["s1", "s0", "issuer", origin[1]],
            ["s2", "s0", "origin", origin[2]],
            ["s2", "s1", "origin", origin[2]],
            ["s2", "s1", "issuer", origin[2]],
        ]
    );
}

#[test]
fn a_wildcard_admits_every_service_below_it_and_no_other() {
    let mut files = fleet(3, 2, 0);
    let mut reading = fixtures::hello();
    let policy = r#"{"origins":["https://*.shop.example"],"credentials":true}"#;
    reading.routes[0].cors = serde_json::from_str(policy).unwrap();
    let mut beside = fixtures::hello();
    beside.app.public_origin = Some("https://notshop.example".to_owned());
    files.push(("reading/policy.lock".to_owned(), Lock::new(reading).to_json()));
    files.push(("beside/policy.lock".to_owned(), Lock::new(beside).to_json()));
    let folder = write_files("fleet-wildcard", &files);
    let value = validate(&run_at(&folder, "show . --format json").out);
    let calls = value["calls"].as_array().unwrap().iter();
    let calls: Vec<_> = calls
        .filter(|call| call["to"] == "reading")
        .map(|call| (call["from"].as_str().unwrap(), call["credentials"].as_bool().unwrap()))
        .collect();
    assert_eq!(calls, [("s0", true), ("s1", true), ("s2", true)]);
}

#[test]
fn filters_select_in_all_services() {
    let folder = few("fleet-filter");
    let out = run_at(&folder, "show . --path /v0/** --width 200").out;
    assert!(out.starts_with("3 services: 3 of 12 routes\n"), "{out}");
    let none = run_at(&folder, "show . --path /nowhere");
    assert!(none.err.contains("no route matches"), "{}", none.err);
}

#[test]
fn a_list_names_the_services() {
    let folder = few("fleet-list");
    fs::write(folder.join("ours.txt"), "# ours\nteam0\nteam2/s2/policy.lock\n").unwrap();
    let out = run_at(&folder, "show @ours.txt").out;
    assert!(out.starts_with("2 services: 8 routes\n"), "{out}");
}

#[test]
fn all_unreadable_files_are_named_at_once() {
    let folder = few("fleet-broken");
    fs::write(folder.join("team0/s0/policy.lock"), "{").unwrap();
    fs::write(folder.join("team1/s1/policy.lock"), "[]").unwrap();
    for line in ["show .", "lint .", "diff . ."] {
        let ran = run_at(&folder, line);
        assert_eq!((ran.code, &*ran.out), (2, ""), "{line}");
        assert!(
            ran.err.contains("s0/policy.lock") && ran.err.contains("s1/policy.lock"),
            "{}",
            ran.err
        );
    }
    let both = run_at(&folder, "show . --from HEAD");
    assert_eq!(both.code, 2);
    assert!(both.err.contains("cannot be used with"), "{}", both.err);
}

/// Three services: one with an error, one with a guess, and one without a finding.
fn odd(name: &str) -> PathBuf {
    let mut guess = fixtures::hello();
    let route = guess.routes.first_mut().unwrap();
    route.path = "/debug/env".to_owned();
    route.auth = policy_manifest::Auth::Public;
    guess.app = fixtures::odd().app;
    guess.app.sessions = None;
    let lock = |manifest| Lock::new(manifest).to_json();
    let files = [
        ("a/fine", lock(fixtures::hello())),
        ("a/guess", lock(guess)),
        ("a/wrong", lock(fixtures::odd())),
    ];
    let files = files.map(|(name, text)| (format!("{name}/policy.lock"), text));
    write_files(name, &files)
}

#[test]
fn findings_of_a_fleet_stand_below_their_service_and_the_worst_first() {
    let folder = odd("fleet-lint");
    for format in ["text", "markdown"] {
        let ran = run_at(&folder, &format!("lint . --format {format}"));
        assert_eq!((ran.code, &*ran.err), (1, ""), "{}", ran.out);
        compare(&format!("fleet-lint.{format}"), &ran.out);
    }
    let value = validate(&run_at(&folder, "lint . --format json").out);
    let names: Vec<_> =
        value["services"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["wrong", "guess", "fine"]);
    let sarif: Value = serde_json::from_str(&run_at(&folder, "lint . --format sarif").out).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let message = results[0]["message"]["text"].as_str().unwrap();
    assert!(message.starts_with("wrong: high: "), "{message}");
    assert_eq!(run_at(&folder, "lint a/fine a/guess").code, 0);
    assert_eq!(run_at(&folder, "lint a/fine a/guess --deny low").code, 1);
}

#[test]
fn the_report_of_many_services_is_bounded() {
    let text = Lock::new(fixtures::odd()).to_json();
    let files: Vec<_> =
        (0..100).map(|number| (format!("s{number}/policy.lock"), text.clone())).collect();
    let folder = write_files("fleet-lint-many", &files);
    let out = run_at(&folder, "lint .").out;
    assert!(out.contains("\nand 60 more services with findings\n"), "{out}");
    assert!(out.lines().count() < 40 * 14 + 10, "{}", out.lines().count());
}

#[test]
fn two_versions_of_a_fleet_are_compared_by_service() {
    let mut old = fleet(3, 4, 0);
    let mut new = fleet(3, 4, 0);
    old.push(("gone/policy.lock".to_owned(), Lock::new(fixtures::hello()).to_json()));
    let removed = write_versions("fleet-removed", &old, &new);
    assert_eq!(run_at(&removed, "diff old new").code, 1);
    assert_eq!(run_at(&removed, "diff old new --no-new-access").code, 0);
    assert_eq!(run_at(&removed, "diff old old").code, 0);

    let mut manifest = Lock::parse(&new[1].1).unwrap().manifest;
    manifest.routes[2].csrf = Csrf::Exempt("a test".to_owned());
    manifest.routes[0].limits.body = Some(1 << 30);
    new[1].1 = Lock::new(manifest).to_json();
    let changed = write_versions("fleet-changed", &old, &new);
    assert_eq!(run_at(&changed, "diff old new --no-new-access").code, 1);

    new.push(("added/policy.lock".to_owned(), Lock::new(fixtures::hello()).to_json()));
    let both = write_versions("fleet-both", &old, &new);
    for format in ["text", "markdown"] {
        let ran = run_at(&both, &format!("diff old new --format {format}"));
        assert_eq!((ran.code, &*ran.err), (1, ""), "{}", ran.out);
        let place = both.canonicalize().unwrap().display().to_string();
        compare(&format!("fleet-diff.{format}"), &ran.out.replace(&place, "FOLDER"));
    }
    let value = validate(&run_at(&both, "diff old new --format json").out);
    assert_eq!((&value["added"][0], &value["removed"][0]), (&"added".into(), &"gone".into()));
    assert_eq!(value["services"][0]["name"], "s1");
    assert_eq!(value["services"][0]["comparison"]["verdict"], "same_access");

    // A new service is new access, which no line accepts.
    let added = [fleet(3, 4, 0), vec![new.pop().unwrap()]].concat();
    let added = write_versions("fleet-added", &old, &added);
    let ran = run_at(&added, "diff old new --no-new-access --accepted");
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("`added`, which is new"), "{}", ran.err);
}

/// A line for a later policy would accept it without a review.
#[test]
fn a_service_accepts_nothing_in_advance() {
    let (old, mut new) = (fleet(3, 4, 0), fleet(3, 4, 0));
    let lock = Lock::parse(&new[1].1).unwrap();
    let mut open = lock.manifest.clone();
    open.routes.iter_mut().for_each(|route| route.auth = Auth::Public);
    let accepted = gate::signed(&lock.manifest, &open).accepted;
    assert!(!accepted.is_empty());
    new[1].1 = Lock { accepted, ..lock }.to_json();
    let folder = write_versions("fleet-early", &old, &new);
    assert_eq!(run_at(&folder, "diff old new --no-new-access").code, 0);
    let ran = run_at(&folder, "diff old new --no-new-access --accepted");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains("accepts another policy than the route has"), "{}", ran.err);
}

#[test]
fn names_of_services_write_no_escapes_and_no_markup() {
    let lock = |manifest| Lock::new(manifest).to_json();
    let name = "\u{1b}[31m<b>|x##[error]";
    let folder = write_files(
        "fleet-hostile",
        &[
            (format!("new/{name}/policy.lock"), lock(fixtures::odd())),
            (format!("old/{name}/policy.lock"), lock(fixtures::shop())),
            (format!("old/{name}2/policy.lock"), lock(fixtures::shop())),
        ],
    );
    for line in ["show .", "lint .", "diff old new"] {
        for format in ["text", "markdown", "json", "html", "sarif"] {
            let ran = run_at(&folder, &format!("{line} --format {format}"));
            let is_known = ran.code < 2;
            assert!(is_known || ran.err.contains("invalid value"), "{line} {format}: {}", ran.err);
            assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'), "{line} {format}");
            let has_markup = ["markdown", "html"].contains(&format) && ran.out.contains("<b>");
            assert!(!has_markup, "{line} {format}: {}", ran.out);
            let has_command = ["text", "markdown"].contains(&format) && ran.out.contains("##[");
            assert!(!has_command, "{line} {format}: {}", ran.out);
        }
    }
}

/// 100 services with 200 routes each; a release build is measured with `POLICY_FLEET=100x200`.
#[test]
fn a_large_fleet_is_read_in_time() {
    let size = std::env::var("POLICY_FLEET").unwrap_or_else(|_| "20x50".to_owned());
    let (services, routes) = size.split_once('x').unwrap();
    let (services, routes) = (services.parse().unwrap(), routes.parse().unwrap());
    let [old, new] = [0, 1].map(|version| fleet(services, routes, version));
    let folder = write_versions("fleet-large", &old, &new);
    for line in [
        "show new",
        "show new --format markdown",
        "show new --format json",
        "show new --format html",
        "lint new",
        "lint new --format sarif",
        "diff old new",
        "diff old old",
    ] {
        let begun = Instant::now();
        let ran = run_at(&folder, line);
        let differs = line == "diff old new";
        assert_eq!(ran.code, i32::from(differs), "{line}: {}", ran.err);
        let (taken, length) = (begun.elapsed(), ran.out.len());
        println!("{size} {line}: {taken:?}, {length} bytes");
    }
}
