//! `cargo policy lint`.

use std::path::PathBuf;

use policy_core::Lint;
use policy_manifest::{Lock, Sources, Suppression};
use serde_json::Value;

use crate::{
    fixtures,
    run::{Ran, compare, run, run_in, workspace},
};

fn suppression(lint: &str, route: Option<&str>, until: Option<&str>) -> Suppression {
    Suppression {
        lint: lint.to_owned(),
        route: route.map(str::to_owned),
        who: "ada".to_owned(),
        why: "it is meant".to_owned(),
        until: until.map(|day| day.parse().unwrap()),
    }
}

fn shop(name: &str, sources: &Sources, suppressed: Vec<Suppression>) -> PathBuf {
    let lock = Lock { suppressed, ..Lock::new(fixtures::odd()) };
    workspace(name, &lock, sources, &[])
}

fn linted(name: &str, arguments: &[&str], suppressed: Vec<Suppression>) -> Ran {
    let folder = shop(name, &fixtures::shop_sources(), suppressed);
    run_in(&folder, &[&["lint"], arguments].concat(), "")
}

#[test]
fn findings_are_written_in_each_format() {
    for format in ["text", "markdown", "json", "sarif"] {
        let ran = linted(&format!("odd-{format}"), &["--format", format], Vec::new());
        assert_eq!((ran.code, ran.err.as_str()), (1, ""), "{}", ran.out);
        let text = ran.out.replace(env!("CARGO_PKG_VERSION"), "0.0.0");
        compare(&format!("odd-lint.{format}"), &text);
    }
}

#[test]
fn an_app_without_oddities_has_no_findings() {
    let ran = run("lint --from hello.json");
    assert_eq!((ran.code, ran.out.as_str()), (0, "this policy has no oddities\n"));
}

#[test]
fn suppressed_findings_do_not_fail() {
    let until = Some("9999-12-31");
    let suppressed = vec![
        suppression("lint.insecure-origins", None, until),
        suppression("lint.cookie-of-domain", Some("app"), None),
    ];
    let ran = linted("suppressed", &[], suppressed.clone());
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.ends_with("of which 0 fail; 3 suppressed\n"), "{}", ran.out);
    let ran = linted("suppressed-json", &["--format", "json"], suppressed.clone());
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["suppressed"][0]["suppressed_by"]["who"], "ada");
    let ran = linted("suppressed-sarif", &["--format", "sarif"], suppressed);
    let sarif: Value = serde_json::from_str(&ran.out).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let suppressions = results.iter().filter(|result| result.get("suppressions").is_some());
    assert_eq!(suppressions.count(), 3);
}

#[test]
fn a_suppression_that_does_not_hold_fails() {
    for (name, line, lint) in [
        ("expired", suppression("lint.cookie-of-domain", None, Some("2026-01-01")), "expired"),
        ("unused", suppression("lint.open-tunnel", None, None), "unused"),
        (
            "unsigned",
            Suppression { why: String::new(), ..suppression("lint.own-origin", None, None) },
            "unsigned",
        ),
    ] {
        let others = suppression("lint.insecure-origins", None, None);
        let ran = linted(name, &["--format", "json"], vec![line, others]);
        let json: Value = serde_json::from_str(&ran.out).unwrap();
        let code = format!("lint.suppression-{lint}");
        let mut findings = json["findings"].as_array().unwrap().iter();
        let finding = findings.find(|finding| finding["lint"] == code).unwrap();
        assert_eq!((ran.code, &finding["error"]), (1, &Value::Bool(true)), "{}", ran.out);
    }
}

#[test]
fn deny_fails_on_less_severe_and_heuristic_findings() {
    let suppressed = || {
        vec![
            suppression("lint.insecure-origins", None, None),
            suppression("lint.cookie-of-domain", None, None),
        ]
    };
    for (deny, code) in [("high", 1), ("medium", 1), ("low", 1), ("info", 1)] {
        let ran = linted("denied", &["--deny", deny], suppressed());
        assert_eq!(ran.code, code, "{deny}: {}", ran.out);
    }
    let all = Lint::ALL.iter().filter(|lint| !lint.is_about_suppressions());
    let all: Vec<_> = all.map(|lint| suppression(lint.code(), None, None)).collect();
    let used = |line: &Suppression| {
        !matches!(line.lint.as_str(), "lint.own-origin" | "lint.jsonp-beside-cors")
    };
    let ran = linted("denied-few", &["--format", "json"], all.into_iter().filter(used).collect());
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    let mut findings = json["findings"].as_array().unwrap().iter();
    let unused = |finding: &&Value| finding["lint"] != "lint.suppression-unused";
    let left: Vec<_> =
        findings.by_ref().filter(unused).map(|finding| &finding["severity"]).collect();
    assert_eq!(left, ["low", "info"], "{}", ran.out);
}

#[test]
fn without_sources_a_finding_is_at_its_route_in_the_lock_file() {
    let folder = shop("no-sources", &Sources::default(), Vec::new());
    let ran = run_in(&folder, &["lint", "--format", "json"], "");
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    let mut findings = json["findings"].as_array().unwrap().iter();
    let own = findings.find(|finding| finding["lint"] == "lint.own-origin").unwrap();
    assert_eq!(own["line"]["file"], "rust/shop/policy.lock");
    let lock = std::fs::read_to_string(folder.join("policy.lock")).unwrap();
    let line = usize::try_from(own["line"]["line"].as_u64().unwrap()).unwrap();
    assert_eq!(lock.lines().nth(line - 1), Some("      \"path\": \"/products/{id}\","));
}

#[test]
fn an_invalid_policy_is_an_error() {
    let ran = run("lint --from hostile.json");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("breaks a rule"), "{}", ran.err);
    let folder = shop("merged", &Sources::default(), Vec::new());
    std::fs::write(folder.join("policy.lock"), "<<<<<<< ours").unwrap();
    let ran = run_in(&folder, &["lint"], "");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("policy.lock"), "{}", ran.err);
    // The policy itself is still known.
    assert_eq!(run_in(&folder, &["show"], "").code, 0);
}
