//! The recipes of docs/ci.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use policy_manifest::{Csrf, Manifest};
use yaml_rust2::{Yaml, YamlLoader};

use crate::{
    fixtures::{hello, odd, shop},
    gate::signed,
    run::{folder, git, write},
};

fn recipes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/ci")
}

fn yaml(name: &str) -> Yaml {
    let text = fs::read_to_string(recipes().join(name)).unwrap();
    YamlLoader::load_from_str(&text).unwrap().remove(0)
}

#[test]
fn the_recipes_refer_to_existing_files() {
    let action = yaml("action.yml");
    let inputs = action["inputs"].as_hash().unwrap();
    let workflow = yaml("github.yml");
    let steps = workflow["jobs"]["policy"]["steps"].as_vec().unwrap();
    let with = steps.iter().find_map(|step| step["with"].as_hash()).unwrap();
    assert!(with.keys().all(|name| inputs.contains_key(name)), "{with:?}");
    let steps = action["runs"]["steps"].as_vec().unwrap();
    let script = steps.iter().find(|step| step["id"].as_str() == Some("compare")).unwrap();
    // No text from a pull request is part of a script.
    assert!(steps.iter().all(|step| !step["run"].as_str().unwrap_or("").contains("${{")));
    let recipe = fs::read_to_string(recipes().join("recipe.sh")).unwrap();
    for name in ["ALLOW_NEW_ACCESS", "POLICY_OUT"] {
        assert!(!script["env"][name].is_badvalue() && recipe.contains(name), "{name}");
    }
    for file in ["policy-diff.sarif", "policy-lint.sarif", "policy-rules.sarif"] {
        let uploads =
            |step: &Yaml| step["with"]["sarif_file"].as_str().unwrap_or("").ends_with(file);
        assert!(steps.iter().any(uploads) && recipe.contains(file), "{file}");
    }
    assert!(!yaml("gitlab.yml")["policy"]["script"].is_badvalue());
}

/// A repository whose only commit has a policy, and a checkout with another one.
struct Repository(PathBuf);

impl Repository {
    fn new(name: &str, old: &Manifest, new: &str) -> Self {
        let root = folder(&format!("ci-{name}"), &[("policy.lock", &old.to_json())]);
        let repository = Self(root);
        repository.git(&["init", "-q", "-b", "main"]);
        repository.git(&["add", "."]);
        repository.git(&["commit", "-qm", "the shop"]);
        repository.git(&["checkout", "-q", "-b", "change"]);
        repository.write("policy.lock", new);
        // None of these changes what is compared.
        repository.write("target/policy/shop/manifest.json", &old.to_json());
        repository.write(".cargo/config.toml", "[alias]\npolicy = \"version\"\n");
        repository.git(&["add", "."]);
        repository.git(&["commit", "-qm", "a change"]);
        repository
    }

    fn git(&self, arguments: &[&str]) {
        git(&self.0, arguments);
    }

    fn write(&self, path: &str, text: &str) {
        write(&self.0, path, text);
    }

    /// The exit code of the recipe, and what it prints.
    fn recipe(&self, arguments: &[&str], allows: &str) -> (i32, String) {
        let binary = Path::new(env!("CARGO_BIN_EXE_cargo-policy")).parent().unwrap().to_owned();
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths([binary].into_iter().chain(env::split_paths(&path))).unwrap();
        let output = Command::new("bash")
            .arg(recipes().join("recipe.sh"))
            .args(arguments)
            .current_dir(&self.0)
            .env("PATH", path)
            .env("POLICY_OUT", "out")
            .env("ALLOW_NEW_ACCESS", allows)
            .output()
            .unwrap();
        let bytes = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap(), String::from_utf8(bytes).unwrap())
    }

    fn result(&self, name: &str) -> String {
        fs::read_to_string(self.0.join("out").join(name)).unwrap()
    }
}

#[test]
#[ignore = "needs git"]
fn the_recipe_fails_on_access_gains_that_are_not_accepted() {
    let wide = || {
        let mut manifest = shop();
        let routes = manifest.routes.iter_mut().filter(|route| route.path == "/orders");
        routes.for_each(|route| route.csrf = Csrf::Exempt("a test".to_owned()));
        manifest
    };
    let mut narrow = shop();
    narrow.routes.retain(|route| route.path != "/hello");
    for (name, old, new, codes) in [
        ("same", shop(), shop().to_json(), (0, 0)),
        ("narrowed", shop(), narrow.to_json(), (0, 0)),
        ("widened", shop(), wide().to_json(), (1, 1)),
        ("signed", shop(), signed(&shop(), &wide()).to_json(), (1, 0)),
        ("odd", odd(), odd().to_json(), (1, 1)),
        ("unreadable", shop(), "<<<<<<< HEAD\n".to_owned(), (2, 2)),
    ] {
        let repository = Repository::new(name, &old, &new);
        let (code, output) = repository.recipe(&["main"], "false");
        let (allowed, _) = repository.recipe(&["main"], "true");
        assert_eq!((code, allowed), codes, "{name}: {output}");
        if name == "widened" {
            assert!(repository.result("policy.md").contains("### Access is widened"), "{output}");
            let sarif = repository.result("policy-diff.sarif");
            assert!(sarif.contains("\"uri\": \"policy.lock\""), "{sarif}");
        }
    }
}

#[test]
#[ignore = "needs git"]
fn the_recipe_fails_on_names_that_do_not_fit() {
    let new = signed(&hello(), &shop()).to_json();
    let repository = Repository::new("bases", &hello(), &new);
    // A revision that an attacker would prefer as the base of the comparison.
    repository.write("HEAD~1:./policy.lock", &shop().to_json());
    repository.write("policy.other.lock", &new);
    symlink("policy.lock", repository.0.join("policy.link.lock")).unwrap();
    for (arguments, words) in [
        (&[][..], "name the revision"),
        (&[""], "name the revision"),
        (&["HEAD~1"], "is a file of this checkout"),
        (&["no-such-branch"], "git does not have"),
        (&["main", "policy.other.lock"], "git does not have"),
        (&["main", "policy.gone.lock"], "`policy.gone.lock` is no file of this checkout"),
        (&["main", "policy.link.lock"], "`policy.link.lock` is no file of this checkout"),
    ] {
        let (code, output) = repository.recipe(arguments, "true");
        assert!(code == 2 && output.contains(words), "{arguments:?}: {code}: {output}");
    }
    assert_eq!(repository.recipe(&["main"], "true").0, 0);
}

/// A link to the recipe would replace it while it runs, so that its gates never do.
#[test]
#[ignore = "needs git"]
fn the_recipe_writes_through_no_link_of_the_checkout() {
    let repository = Repository::new("links", &shop(), &shop().to_json());
    repository.write("out/kept", "kept");
    for name in ["policy.md", "policy-diff.sarif", "policy-lint.sarif", "policy-rules.sarif"] {
        symlink("kept", repository.0.join("out").join(name)).unwrap();
    }
    let (code, output) = repository.recipe(&["main"], "false");
    assert_eq!((code, repository.result("kept").as_str()), (0, "kept"), "{output}");
    assert!(repository.result("policy-lint.sarif").contains("cargo-policy"), "{output}");
}

#[test]
#[ignore = "needs git"]
fn the_recipe_fails_on_violated_rules() {
    let repository = Repository::new("rules", &shop(), &shop().to_json());
    let rule = |header: &str| {
        format!("[require.a]\nroutes = [\"/hello\"]\nheaders = {{ {header} = \"nosniff\" }}\n")
    };
    repository.write("policy.rules", &rule("x-content-type-options"));
    assert_eq!(repository.recipe(&["main"], "false").0, 0);
    repository.write("policy.rules", &rule("x-own"));
    let (code, output) = repository.recipe(&["main"], "false");
    assert!(code == 1 && output.contains("it has no `x-own`"), "{code}: {output}");
    assert!(repository.result("policy.md").contains("## Rules"), "{output}");
    assert!(repository.result("policy-rules.sarif").contains("require.a"), "{output}");
    // The base has rules, and the checkout has others or none.
    repository.git(&["checkout", "-q", "main"]);
    repository.write("policy.rules", &rule("x-own"));
    repository.git(&["add", "policy.rules"]);
    repository.git(&["commit", "-qm", "rules"]);
    repository.write("policy.rules", "");
    let (code, output) = repository.recipe(&["main"], "false");
    assert!(code == 1 && output.contains("it has no `x-own`"), "{code}: {output}");
    assert_eq!(repository.recipe(&["main"], "true").0, 0);
    repository.git(&["rm", "-qf", "policy.rules"]);
    let (code, output) = repository.recipe(&["main"], "false");
    assert!(code == 2 && output.contains("there is no policy.rules"), "{code}: {output}");
}
