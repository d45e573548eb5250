//! `cargo policy new`: services from templates.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::run::{folder, run_in};

const TEMPLATES: [&str; 2] = ["api", "spa"];

/// The tree that holds this package, and the services that tests make.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The paths of all files in a folder.
fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found
}

#[test]
fn a_new_service_is_all_of_its_template_with_its_name() {
    let home = folder("new-complete", &[]);
    fs::create_dir_all(&home).unwrap();
    for template in TEMPLATES {
        let name = format!("my-{template}");
        let ran = run_in(&home, &["new", "--template", template, &name], "");
        assert_eq!((ran.code, &*ran.err), (0, ""), "{}", ran.out);
        let of_template = files(&root().join("templates").join(template));
        let of_template: BTreeSet<String> =
            of_template.into_iter().map(|path| path.replace(".liquid", "")).collect();
        assert_eq!(files(&home.join(&name)), of_template);
        for path in of_template {
            let text = fs::read_to_string(home.join(&name).join(&path)).unwrap();
            assert!(!text.contains("{{") && !text.contains("{%"), "{path}: {text}");
        }
        let manifest = fs::read_to_string(home.join(&name).join("Cargo.toml")).unwrap();
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{manifest}");
        let main = fs::read_to_string(home.join(&name).join("src/main.rs")).unwrap();
        assert!(main.contains(&format!("use my_{template}::")), "{main}");
    }
}

#[test]
fn nothing_is_overwritten_and_package_names_are_checked() {
    let home = folder("new-refused", &[("there/kept", "kept")]);
    for (name, words) in [
        ("there", "`there` cannot be written: File exists"),
        ("async", "`async` cannot be the name of a package"),
        ("policy-server", "`policy-server` cannot be the name of a package"),
        ("My", "`My` cannot be the name of a package"),
        ("7up", "`7up` cannot be the name of a package"),
        ("a b", "`a b` cannot be the name of a package"),
        ("a/..", "`` cannot be the name of a package"),
    ] {
        let ran = run_in(&home, &["new", "--template", "api", name], "");
        assert_eq!((ran.code, &*ran.out), (2, ""), "{name}");
        assert!(ran.err.contains(words) && ran.err.contains("help: "), "{name}: {}", ran.err);
    }
    assert_eq!(files(&home), BTreeSet::from(["there/kept".to_owned()]));
    let ran = run_in(&home, &["new", "api"], "");
    assert!(ran.err.contains("--template <TEMPLATE>"), "{}", ran.err);
}

/// As a user builds them, but by this tree in place of a registry: with its lock file and profiles,
/// and in one target folder, so that what the services share is built once.
#[test]
#[ignore = "builds the server twice: cargo xtask long tutorial"]
fn new_services_pass_their_own_tests() {
    let root = root();
    let home = folder("new-services", &[]);
    fs::create_dir_all(&home).unwrap();
    for template in TEMPLATES {
        let ran = run_in(&home, &["new", "--template", template, template], "");
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    let manifest = format!(
        "[workspace]\nmembers = [\"api\", \"spa\"]\nresolver = \"3\"\n\n\
         [patch.crates-io]\npolicy-server.path = {0:?}\n\n\
         [profile.dev]\ndebug = false\n",
        root.join("policy-server"),
    );
    fs::write(home.join("Cargo.toml"), manifest).unwrap();
    fs::copy(root.join("Cargo.lock"), home.join("Cargo.lock")).unwrap();
    let output = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["test", "--workspace", "--quiet", "--target-dir"])
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("new-target"))
        .current_dir(&home)
        // It would refuse to write a lock file of policies.
        .env_remove("CI")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
    for template in TEMPLATES {
        assert!(home.join(template).join("policy.lock").is_file(), "{template}");
    }
}
