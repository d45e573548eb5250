//! `cargo policy diff`: what it prints, and its exit codes.

use std::{fs, path::PathBuf};

use policy_manifest::{Auth, Csrf, Manifest, ManifestRoute, RouteOrigins, RouteRequirement};
use serde_json::{Value, json};

use crate::{
    fixtures::{shop, shop_sources},
    run::{Ran, compare, folder, git, package, run_in},
    schema::validate,
};

/// The shop after a pull request: every page of its domain may order, refunds need no role, what
/// partners read is gone, and bodies may be longer.
fn changed_shop() -> Manifest {
    let mut manifest = shop();
    for route in &mut manifest.routes {
        match (route.path.as_str(), &mut route.auth, &mut route.cors) {
            ("/orders", _, Some(cors)) => {
                cors.origins = RouteOrigins::Listed(vec!["https://*.shop.example".to_owned()]);
            }
            ("/admin/refunds/{id}", Auth::Required(requirement), _) => requirement.roles.clear(),
            ("/products/{id}", ..) => route.limits.body = Some(1 << 22),
            _ => (),
        }
    }
    manifest.routes.retain(|route| route.path != "/prices");
    manifest
}

fn compared(name: &str, old: &Manifest, new: &Manifest, arguments: &[&str]) -> Ran {
    let files = [("old.json", &*old.to_json()), ("new.json", &*new.to_json())];
    let arguments = [&["diff", "old.json", "new.json"], arguments].concat();
    run_in(&folder(name, &files), &arguments, "")
}

#[test]
fn a_comparison_names_gainers_gains_and_reasons() {
    for (format, file) in [("text", "diff.txt"), ("markdown", "diff.md")] {
        let ran = compared("diff-text", &shop(), &changed_shop(), &["--format", format]);
        assert_eq!(ran.code, 1, "{}", ran.err);
        compare(file, &ran.out);
    }
}

#[test]
fn the_exit_code_says_whether_the_gate_refuses() {
    let strict = |change: &dyn Fn(&mut Manifest)| {
        let mut manifest = shop();
        change(&mut manifest);
        manifest
    };
    let narrowed = strict(&|shop| shop.routes.retain(|route| route.path != "/hello"));
    let limits = strict(&|shop| shop.routes[0].limits.body = Some(1 << 30));
    let limited = strict(&|shop| shop.routes[0].limits.body = Some(1 << 10));
    let unprotected = strict(&|shop| shop.routes[0].headers = None);
    let widened = strict(&|shop| {
        let exempt = Csrf::Exempt("a test".to_owned());
        let routes = shop.routes.iter_mut().filter(|route| route.path == "/orders");
        routes.for_each(|route| route.csrf = exempt.clone());
    });
    let new = strict(&|shop| {
        shop.routes.push(ManifestRoute::handler("/new", ["POST"], Auth::Public));
    });
    for (name, manifest, codes) in [
        ("same", shop(), (0, 0)),
        ("narrowed", narrowed, (1, 0)),
        ("limits", limits, (1, 1)),
        ("limited", limited, (1, 0)),
        ("unprotected", unprotected, (1, 1)),
        ("widened", widened, (1, 1)),
        ("new", new, (1, 1)),
    ] {
        let name = format!("diff-{name}");
        let ran = compared(&name, &shop(), &manifest, &[]);
        let gate = compared(&name, &shop(), &manifest, &["--no-new-access"]);
        assert_eq!((ran.code, gate.code), codes, "{name}: {}{}", ran.out, gate.err);
        assert_eq!(gate.err.contains("--no-new-access"), codes.1 == 1, "{}", gate.err);
        assert_eq!(ran.out.contains("nothing differs"), codes.0 == 0, "{}", ran.out);
    }
}

#[test]
fn unreadable_input_is_an_error_and_not_an_empty_diff() {
    let text = shop().to_json();
    let newer = text.replace("\"format\": 1", "\"format\": 9");
    let broken = text.replace("https://api.shop.example", "http://api.shop.example");
    let files =
        [("a.json", &*text), ("newer.json", &*newer), ("broken.json", &*broken), ("empty", "")];
    let folder = folder("diff-unreadable", &files);
    for (arguments, words) in [
        (&["a.json", "nowhere.json"][..], "there is no file `nowhere.json`"),
        (&["nowhere.json", "a.json"], "there is no file `nowhere.json`"),
        (&["a.json", "newer.json"], "has format 9"),
        (&["a.json", "broken.json"], "the new manifest breaks a rule"),
        (&["broken.json", "a.json"], "the old manifest breaks a rule"),
        (&["a.json", "empty"], "this is not a manifest"),
        (&["a.json", "-"], "standard input is empty"),
        (&["-", "-"], "cannot be both"),
        (&["a.json", "a.json", "a.json"], "unexpected argument"),
    ] {
        for gate in [None, Some("--no-new-access")] {
            let arguments: Vec<_> = ["diff"].iter().chain(arguments).copied().chain(gate).collect();
            let ran = run_in(&folder, &arguments, "");
            assert_eq!((ran.code, &*ran.out), (2, ""), "{arguments:?}: {}", ran.err);
            assert!(ran.err.contains(words), "{arguments:?}: {}", ran.err);
        }
    }
}

/// A wider bound opens nothing until the list names an origin.
#[test]
fn a_wider_bound_of_a_list_counts_if_the_list_names_the_origin() {
    let bounded = |within: &str| {
        let mut manifest = shop();
        for cors in manifest.routes.iter_mut().filter_map(|route| route.cors.as_mut()) {
            if let RouteOrigins::AtRunTime(list) = &mut cors.origins {
                list.within = Some(vec![within.to_owned()]);
            }
        }
        manifest
    };
    let (old, new) = (bounded("https://a.partner.example"), bounded("https://*.partner.example"));
    let words = "after: reaches the handler, granted if the list `partners` names the origin";
    let text = compared("diff-list", &old, &new, &[]).out;
    assert!(text.contains(words), "{text}");
    let ran = compared("diff-list", &old, &new, &["--format", "json"]);
    let value: Value = serde_json::from_str(&ran.out).unwrap();
    let witness = &value["findings"][0]["cases"][0]["witness"];
    assert_eq!(
        (&witness["before"]["if_listed"], &witness["after"]["if_listed"]),
        (&Value::Null, &json!("partners"))
    );
}

#[test]
fn the_json_follows_its_schema() {
    for (old, new, verdict) in [
        (shop(), changed_shop(), "widened_and_narrowed"),
        (changed_shop(), shop(), "widened_and_narrowed"),
        (shop(), shop(), "equal"),
    ] {
        let ran = compared("diff-json", &old, &new, &["--format", "json"]);
        let value = validate(include_str!("../../../docs/schema/diff-1.json"), &ran.out);
        assert_eq!(value["verdict"], verdict);
        assert_eq!(value["findings"] == Value::Array(Vec::new()), verdict == "equal");
    }
}

/// The package of the shop, with its lock file and what its tests wrote.
fn shop_package(name: &str, manifest: &Manifest) -> PathBuf {
    let more = [
        (".gitignore", "target\n"),
        (".git/HEAD", "ref: refs/heads/main"),
        ("policy.lock", &shop().to_json()),
    ];
    package(name, manifest, &shop_sources(), &more)
}

#[test]
fn sarif_names_the_lines_that_decide() {
    let folder = shop_package("diff-sarif", &changed_shop());
    let ran = run_in(&folder, &["diff", "policy.lock", "--format", "sarif"], "");
    assert_eq!(ran.code, 1, "{}", ran.err);
    let sarif: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let line_of = |words: &str| {
        let is_it = |result: &&Value| {
            result["message"]["text"].as_str().is_some_and(|text| text.contains(words))
        };
        let result = results.iter().find(is_it).unwrap();
        let at = &result["locations"][0]["physicalLocation"];
        let line = at["region"]["startLine"].as_u64().unwrap();
        (
            result["level"].as_str().unwrap().to_owned(),
            format!("{}:{line}", at["artifactLocation"]["uri"].as_str().unwrap()),
        )
    };
    let level = |level: &str, line: &str| (level.to_owned(), line.to_owned());
    assert_eq!(line_of("https://*.shop.example"), level("error", "src/main.rs:44"));
    assert_eq!(line_of("/admin/refunds/{id}"), level("warning", "src/admin.rs:31"));
    assert_eq!(line_of("/prices"), level("note", "policy.lock:86"));
}

#[test]
fn sarif_names_the_lock_file_of_an_app_with_a_name() {
    let lock = changed_shop().to_json();
    let folder = folder(
        "diff-named-lock",
        &[
            (".git/HEAD", "ref: refs/heads/main"),
            ("old.json", &shop().to_json()),
            ("api/Cargo.toml", "[package]\nname = \"api\"\nedition = \"2024\"\n\n[workspace]\n"),
            ("api/src/lib.rs", ""),
            ("api/policy.shop.lock", &lock),
            ("api/policy.admin.lock", &shop().to_json()),
        ],
    );
    let line = lock.lines().position(|line| line.contains("\"path\": \"/orders\"")).unwrap() + 1;
    let place = json!({
        "artifactLocation": { "uri": "api/policy.shop.lock", "uriBaseId": "%SRCROOT%" },
        "region": { "startLine": line },
    });
    for named in [["--app", "shop"].as_slice(), &["policy.shop.lock"]] {
        let arguments = [&["diff", "../old.json", "--format", "sarif"], named].concat();
        let ran = run_in(&folder.join("api"), &arguments, "");
        assert_eq!(ran.code, 1, "{}", ran.err);
        let sarif: Value = serde_json::from_str(&ran.out).unwrap();
        let mut results = sarif["runs"][0]["results"].as_array().unwrap().iter();
        let is_it = |result: &&Value| result.to_string().contains("POST /orders\"");
        let result = results.find(is_it).unwrap();
        assert_eq!(result["locations"][0]["physicalLocation"], place, "{named:?}");
    }
}

#[test]
fn names_do_no_harm() {
    let harm = "\u{1b}[31m` | <b> \u{202e}\n```\n";
    let of = |roles: Vec<String>| {
        let mut manifest = shop();
        let requirement = RouteRequirement { session: true, roles, ..RouteRequirement::default() };
        let mut route = ManifestRoute::handler("/harm", ["POST"], Auth::Required(requirement));
        route.csrf = Csrf::Exempt(harm.to_owned());
        manifest.routes.push(route);
        manifest
    };
    let (old, new) = (of(vec!["a".to_owned()]), of(vec![harm.to_owned()]));
    for format in ["text", "markdown"] {
        let ran = compared("diff-harm", &old, &new, &["--format", format]);
        assert_eq!(ran.code, 1, "{}", ran.err);
        let is_harm = |character: char| {
            (character.is_control() && character != '\n') || character == '\u{202e}'
        };
        assert_eq!(ran.out.chars().find(|character| is_harm(*character)), None, "{}", ran.out);
        assert!(format == "text" || !ran.out.contains("<b>"), "{}", ran.out);
    }
}

#[test]
#[ignore = "needs git"]
fn the_last_commit_is_compared_with_now() {
    let root = shop_package("diff-git", &shop());
    git(&root, &["init", "-q"]);
    git(&root, &["add", "."]);
    git(&root, &["commit", "-qm", "a"]);
    let same = run_in(&root, &["diff"], "");
    assert_eq!(same.code, 0, "{}{}", same.out, same.err);
    let written = root.join("target/policy/shop/manifest.json");
    fs::write(&written, changed_shop().to_json()).unwrap();
    let changed = run_in(&root, &["diff"], "");
    assert!(changed.code == 1 && changed.out.contains("src/main.rs:44, app"), "{}", changed.out);
    // Without a test run, the lock file counts.
    fs::remove_file(written).unwrap();
    assert_eq!(run_in(&root, &["diff", "HEAD"], "").code, 0);
    fs::write(root.join("policy.lock"), "<<<<<<< HEAD\n").unwrap();
    assert_eq!(run_in(&root, &["diff"], "").code, 2);
}
