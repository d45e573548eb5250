//! Wrong uses: exit code 2, and words that say what to do.

use std::{
    fs::{self, File},
    path::Path,
};

use crate::{
    fixtures,
    run::{folder, git, run, run_at, run_in},
};

#[test]
fn an_acceptance_without_a_name_or_a_reason_is_refused() {
    let text = fixtures::shop().to_json();
    for (who, why, missing) in [("", "launch", "who"), ("ada", " ", "why")] {
        let line = format!(
            r#""accepted": [{{"route":"GET /a","policy":"0","who":"{who}","why":"{why}"}}],"#
        );
        let lock = text.replacen("\"routes\"", &format!("{line}\n  \"routes\""), 1);
        let folder =
            folder(&format!("unsigned-{missing}"), &[("policy.lock", &*lock), ("b", &text)]);
        for line in ["show --from policy.lock", "lint --from policy.lock", "diff policy.lock b"] {
            let ran = run_at(&folder, line);
            let words = format!("the acceptance of `GET /a` has an empty `{missing}`: write into");
            assert!(ran.code == 2 && ran.err.contains(&words), "{line}: {}", ran.err);
        }
    }
}

/// Writes a sparse file beyond the bound.
fn write_large(path: &Path) {
    File::create(path).unwrap().set_len((64 << 20) + 1).unwrap();
}

#[test]
fn unreadable_input_is_an_error_with_its_fix() {
    let home = folder("unreadable", &[]);
    fs::create_dir_all(&home).unwrap();
    let file = home.join("latin1.json");
    fs::write(&file, b"{\"f\": \"\xe9\"}").unwrap();
    let not_utf8 = format!("show --from {}", file.display());
    let large = home.join("large");
    write_large(&large);
    let large = large.display();
    let har = format!("explain --har {large} --from shop.json");
    let audit = "audit https://api.shop.example --plan --from shop.json";
    let session = format!("{audit} --session file:{large}");
    let login = format!("{audit} --login {large}");
    for (line, words) in [
        ("show --from nowhere.json", &["no file `nowhere.json`", "name a manifest"][..]),
        ("show --from HEAD:nowhere.json", &["git does not have", "REVISION:PATH"]),
        ("show --from no-such-revision", &["no policy.lock in a revision", "HEAD~1"]),
        ("show --from --", &["required"]),
        ("show --from=--help", &["there is no file `--help`"]),
        ("show --from=--output=x:y", &["there is no file"]),
        ("show --from .", &["is a folder", "policy.lock"]),
        ("show --from -", &["standard input is empty", "pipe a manifest"]),
        ("show --from ../../Cargo.toml", &["this is not a manifest", "write it again"]),
        (&not_utf8, &["cannot be read", "UTF-8"]),
        (&har, &["it is longer than 64 MiB"]),
        (&session, &["it is longer than 64 MiB"]),
        (&login, &["it is longer than 64 MiB"]),
        ("show --manifest-path nowhere/Cargo.toml", &["cargo finds no package", "--manifest-path"]),
        ("show -p nobody", &["no package `nobody`", "`policy-cli`"]),
        ("show -p policy-core", &["has no policy yet", "`cargo test -p policy-core`"]),
        ("show --from hello.json --origin https://a.example/", &["an origin is scheme", "remove"]),
        ("show --from hello.json --anonymous --role a", &["cannot be used with"]),
        ("show --from hello.json --format xml", &["possible values: text, markdown, json, html"]),
        ("shwo", &["show"]),
        ("code cors.any-origin-with-credential", &["did you mean `cors.any-origin-with-cred"]),
        ("code", &["<CODE>"]),
        ("man --out nowhere", &["cannot be written", "an existing folder"]),
    ] {
        let ran = run(line);
        assert_eq!((ran.code, &*ran.out), (2, ""), "{line}: {}", ran.err);
        for words in words {
            assert!(ran.err.contains(words), "{line}: {}", ran.err);
        }
    }
}

#[test]
fn newer_and_broken_manifests_are_not_shown() {
    let text = fixtures::shop().to_json();
    for (from, to, words) in [
        ("\"format\": 1", "\"format\": 9", "has format 9"),
        ("\"path\"", "\"pfad\"", "unknown field `pfad`"),
        ("{", "<<<<<<< HEAD\n{", "a merge left both sides"),
        ("\"headers\": \"usual\"", "\"headers\": \"own\"", "the headers `own`, which the manifest"),
    ] {
        assert!(text.contains(from), "{from}");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let ran = run_in(folder, &["show", "--from", "-"], &text.replacen(from, to, 1));
        assert_eq!((ran.code, &*ran.out), (2, ""), "{}", ran.err);
        assert!(ran.err.contains(words), "{}", ran.err);
    }
}

#[test]
fn a_workspace_with_several_apps_asks_for_a_name() {
    let lock = fixtures::hello().to_json();
    let [one, two] =
        ["one", "two"].map(|name| format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n"));
    let both = [
        ("Cargo.toml", "[workspace]\nmembers = [\"one\", \"two\"]\nresolver = \"3\"\n"),
        ("one/Cargo.toml", &*one),
        ("one/src/lib.rs", ""),
        ("two/Cargo.toml", &*two),
        ("two/src/lib.rs", ""),
        ("one/policy.lock", &*lock),
        ("two/policy.lock", &*lock),
    ];
    let none = run_in(&folder("none", both.split_at(5).0), &["show"], "");
    assert!(none.code == 2 && none.err.contains("`one`, `two`"), "{}", none.err);
    let only = run_in(&folder("only", both.split_at(6).0), &["show"], "");
    assert!(only.code == 0 && only.out.starts_with("one: "), "{}", only.err);
    let all = folder("all", &both);
    let several = run_in(&all, &["show"], "");
    assert!(several.code == 2 && several.err.contains("`one`, `two`"), "{}", several.err);
    assert!(run_in(&all, &["show", "-p", "two"], "").out.starts_with("two: "));
    assert!(run_in(&all.join("two"), &["show"], "").out.starts_with("two: "));
}

#[test]
fn a_package_with_several_apps_asks_for_a_name() {
    let lock = fixtures::hello().to_json();
    let cargo = "[package]\nname = \"app\"\nedition = \"2024\"\n\n[workspace]\n";
    let all = [
        ("Cargo.toml", cargo),
        ("src/lib.rs", ""),
        ("policy.public.lock", &*lock),
        ("target/policy/app/staff/manifest.json", &*lock),
        ("policy.lock", &*lock),
    ];
    let one = run_in(&folder("one-app", all.split_at(3).0), &["show"], "");
    assert!(one.out.starts_with("public: 1 route\n"), "{}{}", one.out, one.err);
    assert!(one.err.contains("policy.public.lock; `cargo test -p app`"), "{}", one.err);
    let two = folder("two-apps", all.split_at(4).0);
    let either = run_in(&two, &["show"], "");
    assert!(either.code == 2 && either.err.contains("`public`, `staff`"), "{}", either.err);
    let staff = run_in(&two, &["show", "--app", "staff"], "");
    assert!(staff.out.starts_with("staff: 1 route\n") && staff.err.is_empty(), "{}", staff.err);
    let other = run_in(&two, &["show", "--app", "other"], "");
    assert!(other.code == 2 && other.err.contains("`public`, `staff`"), "{}", other.err);
    let unnamed = run_in(&folder("three-apps", &all), &["show"], "");
    assert!(unnamed.out.starts_with("app: 1 route\n"), "{}", unnamed.err);
}

#[test]
#[ignore = "needs git"]
fn a_revision_has_the_lock_file_of_the_package() {
    let lock = fixtures::hello().to_json();
    let cargo = "[package]\nname = \"app\"\nedition = \"2024\"\n\n[workspace]\n";
    let files = [
        ("a/Cargo.toml", cargo),
        ("a/src/lib.rs", ""),
        ("a/policy.lock", &*lock),
        ("a/policy.old.lock", &*lock),
    ];
    let root = folder("revision", &files);
    write_large(&root.join("large"));
    for arguments in [&["init", "-q"][..], &["add", "."], &["commit", "-qm", "a"]] {
        git(&root, arguments);
    }
    let app = root.join("a");
    for file in ["policy.lock", "policy.old.lock"] {
        fs::remove_file(app.join(file)).unwrap();
    }
    for input in ["HEAD", "HEAD:a/policy.lock"] {
        let ran = run_in(&app, &["show", "--from", input], "");
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.out.starts_with(&format!("{input}: 1 route\n")), "{}", ran.out);
    }
    let missing = run_in(&app, &["show", "--from", "HEAD~1"], "");
    assert!(missing.code == 2 && missing.err.contains("HEAD~1"), "{}", missing.err);
    let large = run_in(&app, &["show", "--from", "HEAD:large"], "");
    assert!(large.code == 2 && large.err.contains("it is longer than 64 MiB"), "{}", large.err);
    for (arguments, code, words) in [
        (["--app", "old"], 0, ""),
        (["--app", "other"], 2, "git has no policy.other.lock"),
        (["-p", "other"], 2, "this workspace has no package `other`"),
    ] {
        let ran = run_in(&app, &[&["show", "--from", "HEAD"], &arguments[..]].concat(), "");
        assert!(ran.code == code && ran.err.contains(words), "{arguments:?}: {}", ran.err);
    }
    // The lock file of HEAD has no name, so it may belong to neither of these two apps.
    for name in ["admin", "shop"] {
        fs::write(app.join(format!("policy.{name}.lock")), &lock).unwrap();
    }
    let several = run_in(&app, &["show", "--from", "HEAD"], "");
    assert!(several.code == 2 && several.err.contains("`admin`, `shop`"), "{}", several.err);
}
