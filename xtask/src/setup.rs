//! What the tests need besides cargo: found, or installed where that is possible.

use std::{fs, path::Path, process::Command};

use crate::{
    Failure, Outcome,
    command::{self, answers, cargo, program},
    folders,
};

/// A program and where it comes from.
pub(crate) struct Tool {
    /// The names it may have, the usual one first.
    names: &'static [&'static str],
    /// The package of Debian and Ubuntu.
    package: &'static str,
    purpose: &'static str,
}

pub(crate) const CHROMIUM: Tool = Tool {
    names: &["chromium", "chromium-browser", "google-chrome"],
    package: "chromium",
    purpose: "browser tests",
};
pub(crate) const CHROMEDRIVER: Tool =
    Tool { names: &["chromedriver"], package: "chromium-driver", purpose: "browser tests" };
pub(crate) const FIREFOX: Tool = Tool {
    names: &["firefox-esr", "firefox"],
    package: "firefox-esr",
    purpose: "the model of a browser against a second engine",
};
pub(crate) const WEBKIT: Tool = Tool {
    names: &["WebKitWebDriver"],
    package: "webkit2gtk-driver",
    purpose: "the model of a browser against a third engine",
};
/// The tests start Xvfb itself. `is_there` must not call it: it would start with any option.
pub(crate) const XVFB: Tool =
    Tool { names: &["xvfb-run"], package: "xvfb", purpose: "a display for WebKit" };
pub(crate) const GIT: Tool = Tool { names: &["git"], package: "git", purpose: "seeded faults" };
pub(crate) const SLOWHTTPTEST: Tool = Tool {
    names: &["slowhttptest"],
    package: "slowhttptest",
    purpose: "clients that are slow on purpose",
};
pub(crate) const PYTHON: Tool = Tool {
    names: &["python3"],
    package: "python3",
    purpose: "peers of tokens, cookies, caching, HTTP/3 and documents",
};
pub(crate) const NODE: Tool =
    Tool { names: &["node"], package: "nodejs", purpose: "peers of tokens, cookies and documents" };
pub(crate) const CURL: Tool =
    Tool { names: &["curl"], package: "curl", purpose: "a client of HTTP/1.1 and HTTP/2" };
pub(crate) const H2LOAD: Tool =
    Tool { names: &["h2load"], package: "nghttp2-client", purpose: "a client of HTTP/2" };
pub(crate) const NGINX: Tool =
    Tool { names: &["nginx"], package: "nginx", purpose: "a proxy in front of the server" };
pub(crate) const HAPROXY: Tool =
    Tool { names: &["haproxy"], package: "haproxy", purpose: "a sender of the PROXY protocol" };
/// `promtool` is in the same package.
pub(crate) const PROMETHEUS: Tool =
    Tool { names: &["prometheus"], package: "prometheus", purpose: "a reader of metrics" };
/// Debian has its programs in a folder for each version.
pub(crate) const POSTGRES: Tool = Tool {
    names: &[
        "postgres",
        "/usr/lib/postgresql/18/bin/postgres",
        "/usr/lib/postgresql/17/bin/postgres",
        "/usr/lib/postgresql/16/bin/postgres",
        "/usr/lib/postgresql/15/bin/postgres",
        "/usr/lib/postgresql/14/bin/postgres",
    ],
    package: "postgresql",
    purpose: "a store of several instances",
};
pub(crate) const REDIS: Tool = Tool {
    names: &["redis-server", "valkey-server"],
    package: "redis-server",
    purpose: "a store of several instances",
};
pub(crate) const IMG2WEBP: Tool =
    Tool { names: &["img2webp"], package: "webp", purpose: "the recording of the quickstart" };
pub(crate) const NPM: Tool = Tool { names: &["npm"], package: "npm", purpose: "packages of Node" };

/// The third-party libraries that tokens, cookies, caching, HTTP/3 and documents are tested
/// against, and their dependencies.
const PYTHON_PACKAGES: &[&str] = &[
    "CacheControl==0.14.4",
    "PyJWT==2.15.1",
    "aioquic==1.7.2",
    "cryptography==50.0.2",
    "openapi-spec-validator==0.9.0",
    "requests==2.34.2",
    "schemathesis==4.32.5",
    "websockets==17.4",
];
const NODE_PACKAGES: &[&str] = &[AXE.0, "@redocly/cli@2.77.0", "jose@6.2.17", "tough-cookie@6.1.0"];

/// A client in TypeScript, whose packages a lock file of its own names.
const CLIENT: &str = "examples/tasks/client";

/// axe, which checks the accessibility of a page, runs in the page, so its content is pinned byte
/// for byte.
const AXE: (&str, &str) = (
    "axe-core@4.14.1",
    "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
);

impl Tool {
    fn is_there(&self) -> bool {
        // Nginx has only the short option.
        let says =
            |name: &&str| ["--version", "-v"].map(|flag| answers(&mut program(name, &[flag])));
        self.names.iter().any(|name| says(name).contains(&true) || explains_itself(name))
    }
}

/// Whether a program prints its usage, for programs that succeed with neither option.
fn explains_itself(name: &str) -> bool {
    let usage = format!("Usage: {name}");
    let output = program(name, &["-h"]).output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(&usage))
}

/// Makes sure that every tool is there: installs packages as root on Debian and Ubuntu.
///
/// # Errors
///
/// Names what is missing and the command that installs it.
pub(crate) fn require(tools: &[Tool]) -> Outcome {
    components()?;
    let missing = missing(tools);
    if missing.is_empty() {
        println!("nothing is missing");
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    if !may_install() {
        return Err(not_there(&missing, &packages, ""));
    }
    apt_get(&["update", "--quiet"])?;
    apt_get(&[&["install", "--yes", "--quiet", "--no-install-recommends"], &*packages].concat())?;
    let missing = self::missing(tools);
    if missing.is_empty() {
        return Ok(());
    }
    Err(not_there(&missing, &packages, " after installing packages"))
}

/// Installs third-party libraries below `target/interop`, from where the machine gets packages.
///
/// # Errors
///
/// The packages cannot be installed.
pub(crate) fn peers() -> Outcome {
    let folder = folders::target().join("interop");
    let stamp = folder.join("installed");
    let wanted = [PYTHON_PACKAGES, NODE_PACKAGES].concat().join("\n");
    let client = folders::root().join(CLIENT);
    let lock = client.join("package-lock.json");
    let wanted = wanted + &fs::read_to_string(&lock).map_err(Failure::with_path("read", &lock))?;
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    // An incomplete installation, or one of other versions.
    let _none = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(Failure::with_path("create", &folder))?;
    let (python, node) = (folder.join("python"), folder.join("node"));
    let environment = python.to_string_lossy();
    if !answers(&mut program("python3", &["-m", "venv", &environment])) {
        // Debian has it in a package of its own.
        if may_install() {
            apt_get(&["update", "--quiet"])?;
            apt_get(&["install", "--yes", "--quiet", "--no-install-recommends", "python3-venv"])?;
        }
        command::run(&mut program("python3", &["-m", "venv", "--clear", &environment]))?;
    }
    let pip = python.join("bin/pip");
    let install = ["install", "--quiet", "--disable-pip-version-check"];
    command::run(&mut program(&pip.to_string_lossy(), &[&install, PYTHON_PACKAGES].concat()))?;
    let prefix = node.to_string_lossy();
    let install = ["install", "--no-audit", "--no-fund", "--prefix", &prefix];
    command::run(&mut program("npm", &[&install, NODE_PACKAGES].concat()))?;
    let of_client = folder.join("tasks-client");
    fs::create_dir(&of_client).map_err(Failure::with_path("create", &of_client))?;
    for file in ["package.json", "package-lock.json"] {
        let (from, to) = (client.join(file), of_client.join(file));
        fs::copy(&from, &to).map_err(Failure::with_path("copy", &from))?;
    }
    let prefix = of_client.to_string_lossy();
    command::run(&mut program("npm", &["ci", "--no-audit", "--no-fund", "--prefix", &prefix]))?;
    // npm compares it with what it downloaded.
    let lock = node.join("package-lock.json");
    let lock = fs::read_to_string(&lock).map_err(Failure::with_path("read", &lock))?;
    let (package, integrity) = AXE;
    if !lock.contains(integrity) {
        return Err(Failure::new(format!("what was installed as {package} is not {integrity}")));
    }
    fs::write(&stamp, wanted).map_err(Failure::with_path("write", &stamp))
}

/// Formatter and linter belong to the toolchain, but not every way to install it includes them.
///
/// # Errors
///
/// They cannot be installed.
pub(crate) fn components() -> Outcome {
    if answers(&mut cargo(&["fmt", "--version"])) && answers(&mut cargo(&["clippy", "--version"])) {
        return Ok(());
    }
    let mut rustup = program("rustup", &["component", "add", "rustfmt", "clippy"]);
    command::run(&mut rustup).map_err(|failure| {
        Failure::new(format!(
            "{failure}
rustfmt or clippy is missing
help: install both for the toolchain that \
             rust-toolchain.toml names"
        ))
    })
}

/// A cargo tool, which is installed below the target folder if it is missing.
pub(crate) fn cargo_tool(name: &str, version: &str) -> Outcome<Command> {
    let folder = folders::target().join("tools").join(format!("{name}-{version}"));
    let executable = folder.join("bin").join(name);
    if !executable.is_file() {
        let folder = folder.to_string_lossy();
        let install = ["install", name, "--locked", "--version", version, "--root", &folder];
        command::run(&mut cargo(&install))?;
    }
    Ok(program(&executable.to_string_lossy(), &[]))
}

fn missing(tools: &[Tool]) -> Vec<&Tool> {
    tools.iter().filter(|tool| !tool.is_there()).collect()
}

fn not_there(missing: &[&Tool], packages: &[&str], when: &str) -> Failure {
    let names: Vec<String> = missing
        .iter()
        .filter_map(|tool| Some(format!("{} ({})", tool.names.first()?, tool.purpose)))
        .collect();
    Failure::new(format!(
        "missing{when}: {}\nhelp: run `sudo apt-get install --yes {}`, or install them as your \
         system does",
        names.join(", "),
        packages.join(" "),
    ))
}

fn may_install() -> bool {
    let root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    // Ubuntu has this file too.
    root && Path::new("/etc/debian_version").exists()
}

fn apt_get(arguments: &[&str]) -> Outcome {
    let mut command = program("apt-get", arguments);
    command::run(command.env("DEBIAN_FRONTEND", "noninteractive"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOWHERE: Tool =
        Tool { names: &["no-such-program"], package: "no-such-package", purpose: "a test" };

    #[test]
    fn a_missing_tool_is_named_with_the_command_that_installs_it() {
        let tools = [NOWHERE, GIT];
        let missing = missing(&tools);
        assert_eq!(
            not_there(&missing, &["no-such-package"], "").to_string(),
            "missing: no-such-program (a test)\nhelp: run `sudo apt-get install --yes \
             no-such-package`, or install them as your system does"
        );
    }
}
