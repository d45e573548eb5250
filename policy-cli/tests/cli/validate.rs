//! `cargo policy validate`, and manifests that other programs have written.

use std::{path::Path, process::Command};

use policy_manifest::{Acceptance, Lock};

use crate::{
    fixtures::shop,
    run::{folder, run_in},
};

#[test]
fn a_file_is_valid_if_every_command_can_read_it() {
    let lock = Lock::new(shop()).to_json();
    let line = |policy: &str| Acceptance {
        route: "GET /me".to_owned(),
        policy: policy.to_owned(),
        who: "ada".to_owned(),
        why: "launch".to_owned(),
    };
    let stale = Lock { accepted: vec![line("0123456789ab")], ..Lock::new(shop()) }.to_json();
    let folder = folder(
        "validate",
        &[
            ("good/policy.lock", &lock),
            (
                "rule/policy.lock",
                &lock.replace("https://app.shop.example", "https://App.shop.example"),
            ),
            ("stale/policy.lock", &stale),
            ("field/policy.lock", &lock.replacen("\"session\":true", "\"captcha\":true", 1)),
            ("cookie.lock", r#"{"format":1,"app":{"sessions":{"store":"memory"}},"routes":[]}"#),
        ],
    );
    for (file, code, words) in [
        ("good", 0, "good: valid, "),
        ("good/policy.lock", 0, "valid, "),
        ("rule", 1, "rule: "),
        ("stale", 1, "accepts another policy than the route has: {\"route\":\"GET /me\""),
        ("field", 2, "unknown field `captcha`"),
        ("cookie.lock", 2, "`app.sessions.cookie` is missing"),
        ("nowhere", 2, "nowhere"),
    ] {
        let ran = run_in(&folder, &["validate", file], "");
        assert_eq!(ran.code, code, "{file}: {}{}", ran.out, ran.err);
        assert!(
            format!("{}{}", ran.out, ran.err).contains(words),
            "{file}: {}{}",
            ran.out,
            ran.err
        );
    }
    let all = run_in(&folder, &["validate", "good", "stale"], "");
    assert_eq!((all.code, all.out.lines().count()), (1, 2), "{}", all.out);
}

#[test]
#[ignore = "needs python3"]
fn a_script_in_another_language_writes_a_manifest_that_all_commands_judge() {
    let script = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/manifest.py"));
    let written = Command::new("python3").arg(script).output().unwrap();
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let text = String::from_utf8(written.stdout).unwrap();
    // A page of any subdomain may order, and the admin's route needs no role.
    let other = text.replace("https://app.shop.example", "https://*.shop.example");
    let folder = folder("validate-python", &[("policy.lock", &*text), ("new.lock", &other)]);
    let run = |arguments: &[&str]| run_in(&folder, arguments, "");
    let valid = run(&["validate", "policy.lock", "new.lock"]);
    assert_eq!(valid.code, 0, "{}{}", valid.out, valid.err);
    let table = run(&["show", "--from", "policy.lock"]);
    assert!(
        table.code == 0 && table.out.contains("/admin/users/{id}"),
        "{}{}",
        table.out,
        table.err
    );
    let linted = run(&["lint", "--from", "policy.lock"]);
    assert_eq!(linted.code, 0, "{}{}", linted.out, linted.err);
    let compared = run(&["diff", "policy.lock", "new.lock", "--no-new-access"]);
    assert_eq!(compared.code, 1, "{}{}", compared.out, compared.err);
    assert!(compared.out.contains("WIDENED high"), "{}", compared.out);
}
