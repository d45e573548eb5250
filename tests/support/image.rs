//! The last stage of a Dockerfile, run without an engine for containers: its files, with their owners, in
//! a folder, and its program in there as its user. Needs root.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    folder::Folder,
    output::Output,
    process::{ChildProcess, succeeds},
};

/// The longest that a program may take until it is healthy.
const LIMIT: Duration = Duration::from_secs(60);

/// Where an image looks for programs.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Programs of Debian's image that instructions and health checks call.
const TOOLS: [&str; 3] = ["/bin/sh", "/usr/bin/bash", "/usr/bin/install"];

/// The contents of a Dockerfile's image.
pub struct Image {
    root: Folder,
    work: PathBuf,
    user: String,
    environment: BTreeMap<String, String>,
    health: Vec<String>,
    program: Vec<String>,
}

impl Image {
    /// Follows the last stage. What it copies from another stage is the program, and everything else it
    /// takes from a folder.
    pub fn build(dockerfile: &str, context: &Path, program: &Path) -> Self {
        let mut image = Self {
            root: Folder::new().expect("a folder"),
            work: PathBuf::from("/"),
            user: "0:0".to_owned(),
            environment: BTreeMap::from([("PATH".to_owned(), PATH.to_owned())]),
            health: Vec::new(),
            program: Vec::new(),
        };
        let temporary = image.create_folder(Path::new("/tmp"));
        fs::set_permissions(temporary, fs::Permissions::from_mode(0o1777)).expect("a folder");
        TOOLS.iter().for_each(|tool| image.install(Path::new(tool), Path::new(tool)));
        for (instruction, rest) in last_stage(dockerfile) {
            image.follow(&instruction, &rest, context, program);
        }
        image
    }

    /// Sets a variable, as `docker run -e` does.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Starts the program, and waits until it is healthy.
    ///
    /// # Errors
    ///
    /// The program ended before; the error is its output.
    pub fn start(&self) -> Result<ChildProcess, String> {
        let mut command = self.command(&self.program);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut container = ChildProcess(child.spawn().expect("chroot"));
        let output = Output::new(container.0.stderr.take().expect("its errors"));
        assert!(!self.health.is_empty(), "the image has no health check");
        let begun = Instant::now();
        loop {
            if container.0.try_wait().expect("its status").is_some() {
                return Err(output.rest());
            }
            if self.command(&self.health).output().expect("chroot").status.success() {
                return Ok(container);
            }
            assert!(begun.elapsed() < LIMIT, "it is not healthy after {LIMIT:?}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn follow(&mut self, instruction: &str, rest: &str, context: &Path, program: &Path) {
        match instruction {
            "COPY" => {
                let (from, to) = rest.rsplit_once(' ').expect("two paths");
                let to = self.work.join(to);
                match from.split_once("--from=build ") {
                    Some(_) => self.install(program, &to),
                    None => {
                        let from = context.join(from).join(".");
                        let to = self.create_folder(&to);
                        succeeds(Command::new("cp").arg("-r").args([from, to]));
                    }
                }
            }
            "RUN" => succeeds(&mut self.command(&["/bin/sh", "-c", rest])),
            "WORKDIR" => {
                self.work = self.work.join(rest);
                self.create_folder(&self.work);
            }
            // A new volume has the contents of its folder.
            "VOLUME" => drop(self.create_folder(Path::new(rest))),
            "USER" => rest.clone_into(&mut self.user),
            "ENV" => {
                for (name, value) in rest.split_whitespace().filter_map(|it| it.split_once('=')) {
                    self.environment.insert(name.to_owned(), value.to_owned());
                }
            }
            "EXPOSE" => (),
            "HEALTHCHECK" => self.health = words(rest.split_once("CMD ").expect("a command").1),
            "CMD" => self.program = words(rest),
            other => panic!("what does `{other} {rest}` do?"),
        }
    }

    /// A command that runs in the image.
    fn command(&self, words: &[impl AsRef<str>]) -> Command {
        let mut command = Command::new("chroot");
        command.args(["--groups=", &format!("--userspec={}", self.user)]).arg(self.root.path());
        command.args(["/bin/sh", "-c", "cd \"$0\" && exec \"$@\""]).arg(&self.work);
        command.args(words.iter().map(AsRef::as_ref));
        command.env_clear().envs(&self.environment).stdin(Stdio::null());
        command
    }

    /// The path on this machine of a path in the image.
    fn at(&self, path: &Path) -> PathBuf {
        self.root.path().join(path.strip_prefix("/").expect("an absolute path"))
    }

    /// Makes a folder that root owns.
    fn create_folder(&self, path: &Path) -> PathBuf {
        let folder = self.at(path);
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    /// Copies a program of this machine, and the libraries that it loads.
    fn install(&self, from: &Path, to: &Path) {
        let loaded = Command::new("ldd").arg(from).output().expect("ldd");
        let loaded = String::from_utf8_lossy(&loaded.stdout).into_owned();
        let libraries = loaded.split_whitespace().filter(|word| word.starts_with('/'));
        let libraries = libraries.map(Path::new).map(|library| (library, library));
        for (from, to) in libraries.chain([(from, to)]) {
            self.create_folder(to.parent().expect("a folder"));
            fs::copy(from, self.at(to)).expect("a program");
        }
    }
}

/// The instructions behind the last `FROM`.
fn last_stage(dockerfile: &str) -> Vec<(String, String)> {
    let lines = dockerfile.lines().filter(|line| !line.starts_with('#'));
    let text = lines.flat_map(|line| [line, "\n"]).collect::<String>().replace("\\\n", " ");
    let (_, stage) = text.rsplit_once("\nFROM ").expect("a stage behind that of the build");
    let instructions = stage.lines().skip(1).filter_map(|line| line.split_once(' '));
    instructions.map(|(name, rest)| (name.to_owned(), rest.trim().to_owned())).collect()
}

/// The words of a command in brackets.
fn words(json: &str) -> Vec<String> {
    serde_json::from_str(json).expect("words in brackets")
}
