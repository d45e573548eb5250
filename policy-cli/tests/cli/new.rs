//! `cargo policy new`: services from templates.

use std::{
    collections::BTreeSet,
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use policy_tests::{folder::Folder, image::Image, port::Port};

use crate::run::{folder, run_in};

const TEMPLATES: [&str; 2] = ["api", "spa"];

/// The tree that holds this package, and the services that tests make.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

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
        ("type", "`type` cannot be the name of a package"),
        ("yield", "`yield` cannot be the name of a package"),
        ("tracing-subscriber", "`tracing-subscriber` cannot be the name of a package"),
        ("build", "`build` cannot be the name of a package"),
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

#[test]
fn a_new_service_depends_on_a_clone_a_repository_or_the_release() {
    let home = folder("new-source", &[]);
    fs::create_dir_all(&home).unwrap();
    let clone = fs::canonicalize(root()).unwrap();
    let clone = clone.to_str().unwrap();
    let path = format!("policy-server = {{ path = \"{clone}/policy-server\"");
    for (name, arguments, dependency) in [
        // This binary was built in a clone, which is still there.
        ("built", &[][..], &*path),
        ("path", &["--policy-path", clone], &path),
        (
            "git",
            &["--git", "https://git.example/policy"],
            "policy-server = { git = \"https://git.example/policy\"",
        ),
    ] {
        let new = [&["new", "--template", "spa", name], arguments].concat();
        let ran = run_in(&home, &new, "");
        assert_eq!((ran.code, &*ran.err), (0, ""), "{}", ran.out);
        let read = |file: &str| fs::read_to_string(home.join(name).join(file)).unwrap();
        let manifest = read("Cargo.toml");
        // A dependency of the service, and of its tests.
        assert_eq!(manifest.matches(dependency).count(), 2, "{manifest}");
        let copy =
            format!("\nWORKDIR /service\nCOPY --from=policy [\".\", \"{clone}\"]\nCOPY . .\n");
        let build = format!("\ndocker build --build-context policy={clone} -t {name} .\n");
        let is_clone = name != "git";
        assert_eq!(read("Dockerfile").contains(&copy), is_clone);
        assert_eq!(read("README.md").replace('\'', "").contains(&build), is_clone);
        assert!(is_clone || read("README.md").contains("\ndocker build -t git .\n"));
        assert!(ran.out.contains(&format!("\n  cd {name}\n  cargo test\n")), "{}", ran.out);
    }
    let ran = run_in(&home, &["new", "--template", "api", "x", "--policy-path", "built"], "");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("`built` is no clone of Policy"), "{}", ran.err);
}

/// cargo refuses a package below a workspace that is neither a member nor excluded.
#[test]
fn a_service_below_a_workspace_is_to_be_excluded() {
    let workspace = "[workspace]\nresolver = \"3\"\n";
    let home = Folder::new().unwrap();
    let manifest = fs::canonicalize(home.path()).unwrap().join("Cargo.toml");
    fs::write(&manifest, "# no [workspace]\n").unwrap();
    let ran = run_in(home.path(), &["new", "--template", "api", "services/stock"], "");
    assert!(ran.code == 0 && !ran.out.contains("workspace.exclude"), "{}{}", ran.out, ran.err);
    fs::write(&manifest, workspace).unwrap();
    let ran = run_in(home.path(), &["new", "--template", "api", "services/orders"], "");
    let line = format!(
        "\ncargo needs `services/orders`, or a folder around it, in `workspace.exclude` of {}\n",
        manifest.display()
    );
    assert!(ran.code == 0 && ran.out.contains(&line), "{}{}", ran.out, ran.err);
    fs::write(&manifest, format!("{workspace}exclude = [\"services/orders\"]\n")).unwrap();
    let cargo = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(home.path().join("services/orders"))
        .output()
        .unwrap();
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
}

#[test]
fn paths_in_commands_are_quoted() {
    let clone = [("ada's/Cargo.toml", "[workspace]"), ("ada's/policy-server/Cargo.toml", "")];
    let home = folder("new-quoted", &clone);
    let new = ["new", "--template", "api", "my shop/orders", "--policy-path", "ada's"];
    let ran = run_in(&home, &new, "");
    assert_eq!((ran.code, &*ran.err), (0, ""), "{}", ran.out);
    assert!(ran.out.contains("\n  cd 'my shop/orders'\n"), "{}", ran.out);
    let readme = fs::read_to_string(home.join("my shop/orders/README.md")).unwrap();
    let clone = fs::canonicalize(home.join("ada's")).unwrap().display().to_string();
    let context = format!("--build-context policy='{}' ", clone.replace('\'', r"'\''"));
    assert!(readme.contains(&context), "{readme}");
}

/// The blocks of commands in the README's chapter about the start.
fn start_of_readme() -> [String; 2] {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let chapter = readme.split("\n## ").find(|chapter| chapter.starts_with("Start\n")).unwrap();
    let blocks = chapter.split("\n```sh\n").skip(1);
    let blocks = blocks.map(|rest| rest.split_once("\n```").unwrap().0.to_owned());
    blocks.collect::<Vec<_>>().try_into().unwrap()
}

/// A folder outside of this tree with a clone in it, which is this tree.
struct Home {
    folder: Folder,
    /// The folder that is searched first for programs.
    programs: PathBuf,
}

impl Home {
    fn new(programs: PathBuf) -> Self {
        let folder = Folder::new().unwrap();
        std::os::unix::fs::symlink(root(), folder.path().join("policy")).unwrap();
        Self { folder, programs }
    }

    /// The commands by which the README starts a service of a template. The clone is there.
    fn commands(template: &str) -> String {
        let [commands, _] = start_of_readme();
        let (clone, commands) = commands.split_once('\n').unwrap();
        assert!(clone.starts_with("git clone https://"), "{clone}");
        let other = commands.replace("--template spa", &format!("--template {template}"));
        assert_eq!(other == commands, template == "spa", "{commands}");
        other
    }

    /// Runs them as they are written.
    fn runs(&self, commands: &str, variables: &[(&str, &OsStr)]) {
        let own = env::var_os("PATH").unwrap_or_default();
        let path = [self.programs.clone()].into_iter().chain(env::split_paths(&own));
        let mut shell = Command::new("sh");
        shell.args(["-ec", commands]).current_dir(self.folder.path());
        shell.env("PATH", env::join_paths(path).unwrap()).envs(variables.iter().copied());
        // It would refuse to write a lock file of policies.
        let output = shell.env_remove("CI").output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{commands}\n{}", String::from_utf8_lossy(&text));
    }
}

/// Checks without compiling that the crates are found, with nothing patched.
#[test]
fn the_commands_of_the_readme_make_services_whose_crates_are_found() {
    let install = "cargo install --path policy/policy-cli\n";
    let find = "cargo generate-lockfile";
    let recipes = TEMPLATES.map(|template| {
        let commands = Home::commands(template);
        assert!(commands.starts_with(install) && commands.ends_with("\ncargo test"), "{commands}");
        commands.replace(install, "").replace("cargo test", find)
    });
    let [_, added] = start_of_readme();
    let extended = format!("cargo new notes\ncd notes\n{added}\n{find}");
    for commands in recipes.into_iter().chain([extended]) {
        let command = Path::new(env!("CARGO_BIN_EXE_cargo-policy"));
        let home = Home::new(command.parent().unwrap().to_owned());
        home.runs(&commands, &[]);
        let lock = fs::read_to_string(home.folder.path().join("notes/Cargo.lock")).unwrap();
        let mut packages = lock.split("\n[[package]]\n");
        let found = packages.find(|package| package.starts_with("name = \"policy-server\""));
        assert!(!found.unwrap().contains("source = "), "it is not that of the clone");
    }
}

/// Follows the README to the letter, then builds the image of the Dockerfile, as the README of the
/// service says.
#[test]
#[ignore = "builds the server twice, and needs root: cargo xtask long tutorial"]
fn new_services_pass_their_own_tests_and_their_images_are_healthy() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new-target");
    for template in TEMPLATES {
        let installed = Folder::new().unwrap();
        let home = Home::new(installed.path().join("bin"));
        let variables = [
            ("CARGO_INSTALL_ROOT", installed.path().as_os_str()),
            ("CARGO_TARGET_DIR", target.as_os_str()),
            // LTO takes minutes, and only makes the command faster.
            ("CARGO_PROFILE_RELEASE_LTO", OsStr::new("off")),
        ];
        home.runs(&Home::commands(template), &variables);
        let service = home.folder.path().join("notes");
        assert!(service.join("policy.lock").is_file(), "{template}");
        is_an_image(&service, &target.join("debug/notes"));
    }
}

fn is_an_image(service: &Path, program: &Path) {
    let read = |file: &str| fs::read_to_string(service.join(file)).unwrap();
    let (readme, dockerfile) = (read("README.md"), read("Dockerfile"));
    let image = || Image::build(&dockerfile, service, program);
    let port = Port::reserve().address.port();
    let listen = format!("0.0.0.0:{port}");

    // Its secret is made in the first lines of the README, and given to the image by its name alone.
    let (_, run) = readme.split_once("\ndocker run ").unwrap();
    let run = run.split_once("\n```").unwrap().0.replace("\\\n", " ");
    let words: Vec<&str> = run.split_whitespace().collect();
    let variables = words.split(|word| *word == "-e").skip(1).filter_map(<[&str]>::first).copied();
    let (stated, secret): (Vec<&str>, Vec<&str>) = variables.partition(|word| word.contains('='));
    let secret = secret.first().unwrap();
    let export = readme.lines().find(|line| line.starts_with("export ")).unwrap();
    let show = format!("{export}; printf %s \"${secret}\"");
    let value = Command::new("sh").args(["-c", &show]).output().unwrap().stdout;
    let value = String::from_utf8(value).unwrap();
    let image = || image().with("LISTEN", &listen).with(secret, &value);

    // Without the variables it does not start, and says which they are.
    let mut known = image();
    for word in &stated {
        let (name, value) = word.split_once('=').unwrap();
        let error = known.start().err().unwrap();
        assert!(error.contains(&format!("\n- {name}=")), "no `{name}` in: {error}");
        // The peer is this machine, not a Docker network.
        known = known.with(name, if name == "TRUSTED_PROXIES" { "127.0.0.1" } else { value });
    }
    let _running = known.start().unwrap();
    let curl = readme.lines().find(|line| line.starts_with("curl ") && line.contains("Host:"));
    let curl = curl.unwrap().replace("8080", &port.to_string());
    let curl = curl.replacen("curl", "curl -sS --fail --max-time 30", 1);
    let output = Command::new("sh").args(["-c", &curl]).output().unwrap();
    assert!(output.status.success(), "{curl}: {}", String::from_utf8_lossy(&output.stderr));
}
