//! `cargo policy check`.

use std::{fs, path::PathBuf};

use policy_manifest::{Lock, Manifest};

use crate::{
    fixtures,
    run::{Ran, compare, folder, run, run_in, workspace},
};

const RULES: &str = r#"
[public]
routes = ["GET /products/{id}", "/prices", "/hello", "GET /files", "/healthz"]
severity = "low"

[never.readers-write]
routes = ["POST,PUT,DELETE **"]
scopes = ["orders:read"]
why = "an app of a partner has such tokens | <b>"

[never.pages-in-admin]
routes = ["/admin/**"]
origins = ["*"]

[require.rate]
routes = ["POST **"]
rate = "50/min"
severity = "info"

[[except]]
rule = "require.rate"
route = "POST /hooks/payment"
who = "ada"
why = "signed by the provider"
"#;

/// The shop with rules beside it.
fn shop(name: &str, rules: &str) -> PathBuf {
    let (lock, sources) = (Lock::new(fixtures::shop()), fixtures::shop_sources());
    workspace(name, &lock, &sources, &[("rust/shop/policy.rules", rules)])
}

fn check(name: &str, arguments: &[&str], rules: &str) -> Ran {
    run_in(&shop(name, rules), &[&["check"], arguments].concat(), "")
}

#[test]
fn violations_are_written_in_each_format() {
    for format in ["text", "markdown", "json", "sarif", "junit"] {
        let ran = check(&format!("check-{format}"), &["--format", format], RULES);
        assert_eq!((ran.code, ran.err.as_str()), (1, ""), "{}", ran.out);
        let text = ran.out.replace(env!("CARGO_PKG_VERSION"), "0.0.0");
        compare(&format!("check.{format}"), &text);
    }
}

const KEPT: &str = "[require.csrf]\nroutes = [\"POST,PUT,DELETE **\"]\ncsrf = true\n";

#[test]
fn rules_that_hold_and_information_do_not_fail() {
    let ran = check("check-holds", &[], KEPT);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "1 policy checked by 1 rule: nothing is violated\n")
    );
    let info = "[require.rate]\nroutes = [\"POST **\"]\nrate = \"1/d\"\nseverity = \"info\"\n";
    let ran = check("check-info", &[], info);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.ends_with("1 policy checked by 1 rule: 2 violations\n"), "{}", ran.out);
}

#[test]
fn rules_that_match_nothing_fail() {
    let ran = check(
        "check-unused",
        &[],
        &format!("{KEPT}\n[never.a]\nroutes = [\"/b/**\"]\ncallers = [\"token\"]\n"),
    );
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.out.contains("error: `/b/**` selects no route"), "{}", ran.out);
    assert!(ran.out.contains("policy.rules:5"), "{}", ran.out);
}

#[test]
fn mistakes_in_rules_are_reported_with_their_line() {
    let ran = check("check-mistake", &[], "# ours\n[never.a]\nroute = [\"/a\"]\n");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("policy.rules:2: `routes` is missing"), "{}", ran.err);
    let folder = shop("check-absent", "");
    fs::remove_file(folder.join("policy.rules")).unwrap();
    let ran = run_in(&folder, &["check"], "");
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("there is no policy.rules beside the policy of `shop`"),
        "{}",
        ran.err
    );
    assert_eq!(run("check --rules").code, 2);
}

#[test]
fn many_services_are_checked_by_their_own_rules_or_by_common_ones() {
    let lock = |manifest: &Manifest| Lock::new(manifest.clone()).to_json();
    let (shop, hello) = (lock(&fixtures::shop()), lock(&fixtures::hello()));
    let org = "[never.debug]\nroutes = [\"/debug/**\"]\n[never.hello]\nroutes = [\"/hello/**\"]\n";
    let public = "extends = [\"../org.rules\"]\n[public]\nroutes = [\"/hello/{name}\"]\n";
    let folder = folder(
        "check-fleet",
        &[
            ("org.rules", org),
            ("shop/policy.lock", &shop),
            ("shop/policy.rules", "extends = [\"../org.rules\"]"),
            ("hello/policy.lock", &hello),
            ("hello/policy.rules", public),
        ],
    );
    let own = run_in(&folder, &["check", "."], "");
    assert_eq!((own.code, own.err.as_str()), (1, ""), "{}", own.out);
    assert!(own.out.contains("  policy   hello\n  at       GET /hello/{name}\n"), "{}", own.out);
    assert!(own.out.ends_with("2 policies checked by 5 rules: 1 violation\n"), "{}", own.out);
    let common = run_in(&folder, &["check", "--rules", "org.rules", "shop", "hello"], "");
    assert!(common.out.ends_with("2 policies checked by 2 rules: 1 violation\n"), "{}", common.out);
    let junit = run_in(&folder, &["check", "--rules=org.rules", ".", "--format=junit"], "").out;
    assert!(junit.contains("<testsuite name=\"hello\" tests=\"2\" failures=\"1\">"), "{junit}");
    assert!(junit.contains("<testsuite name=\"shop\" tests=\"2\" failures=\"0\">"), "{junit}");
}

#[test]
fn names_that_would_do_harm_are_harmless() {
    let rules = "[never.a]\nroutes = [\"/\\u001b[31m\\n::error::x/**\", \"**\"]\ncallers = [\"token\"]\nwhy = \"\\u001b[2J\\n##[error]<b>&\\\"\"\n";
    let files = [("a.rules", rules)];
    let folder = folder("check-hostile", &files);
    let manifests = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/manifests/");
    for manifest in ["shop.json", "hostile.json"] {
        for format in ["text", "markdown", "json", "sarif", "junit"] {
            let manifest = format!("{manifests}{manifest}");
            let ran = run_in(
                &folder,
                &["check", "--rules", "a.rules", &manifest, "--format", format],
                "",
            );
            assert!(ran.code == 1 || ran.code == 2, "{}", ran.err);
            for text in [&ran.out, &ran.err] {
                let is_harmful = |sign: char| sign.is_control() && sign != '\n';
                assert!(!text.contains(is_harmful), "{text:?}");
                let mut lines = text.lines().map(str::trim_start);
                assert!(!lines.any(|line| line.starts_with("::")), "{text}");
            }
            if format == "junit" && ran.code == 1 {
                let entities = ["&lt;", "&gt;", "&amp;", "&quot;", "&#39;"];
                let body = entities.iter().fold(ran.out.clone(), |text, it| text.replace(it, ""));
                assert!(!body.contains('&') && !body.contains("<b>"), "{}", ran.out);
            }
        }
    }
}
