//! A reader who does what the chapters say, in a folder of their own.

use std::{fs, os::unix::fs::symlink, path::PathBuf, process::Command, time::Instant};

use policy_tests::{
    folder::Folder,
    port::Port,
    webdriver::{Browser, Failure},
};
use serde_json::json;

use super::{
    chapter::{self, Block, Part, quoted_after},
    root,
    service::Service,
    source::Sources,
};

/// Mistakes that chapters ask to try: the chapter and its sentence, the item with the old and the
/// new text, and the message of the compiler.
const MISTAKES: &[[&str; 6]] = &[
    [
        "hello",
        "the compiler says that no argument takes the parameter",
        "hello",
        "(name: String)",
        "(nobody: String)",
        "no argument takes this path parameter",
    ],
    ["hello", "Remove the line and it does not compile", "hello", "#[auth(public)]\n", "", "auth"],
    [
        "team",
        "on a public one, the argument does not compile",
        "add",
        "#[auth(session)]",
        "#[auth(public)]",
        "Principal",
    ],
    [
        "page",
        "write `\"*\"` in place of the origins",
        "PAGES",
        "\"https://tasks.example\", \"http://localhost:3000\"",
        "\"*\"",
        "cors.",
    ],
    [
        "page",
        "`\"https://tasks.example/\"` with a slash",
        "PAGES",
        "\"https://tasks.example\"",
        "\"https://tasks.example/\"",
        "cors.",
    ],
];

/// The ports that the chapters name.
const NAMED: [&str; 3] = ["8080", "3000", "4000"];

/// A port that is not mistaken for one of those.
fn free_port() -> Port {
    loop {
        let port = Port::reserve();
        if !NAMED.iter().any(|named| port.address.port().to_string().contains(named)) {
            return port;
        }
    }
}

pub(super) struct Reader {
    /// Outside of the repository, with a clone in it, which is this tree.
    folder: Folder,
    pub(super) sources: Sources,
    service: Option<Service>,
    /// The ports that the chapters name, and the free ones of this machine that replace them.
    ports: [(&'static str, Port); 3],
    /// The start time, until the first response.
    began: Option<Instant>,
    last_output: String,
}

impl Reader {
    pub(super) fn new() -> Self {
        let folder = Folder::new().expect("a folder");
        symlink(root(), folder.path().join("policy")).expect("a clone");
        Self {
            folder,
            sources: Sources::default(),
            service: None,
            ports: NAMED.map(|named| (named, free_port())),
            began: Some(Instant::now()),
            last_output: String::new(),
        }
    }

    /// A text of a chapter, with ports that are free.
    pub(super) fn here(&self, text: &str) -> String {
        self.ports.iter().fold(text.to_owned(), |text, (named, port)| {
            text.replace(named, &port.address.port().to_string())
        })
    }

    pub(super) fn port(&self, named: &str) -> u16 {
        self.here(named).parse().expect("a port")
    }

    pub(super) fn project(&self) -> PathBuf {
        self.folder.path().join("team-tasks")
    }

    /// A command in the folder of the service, or above it as long as there is none.
    pub(super) fn command(&self, script: &str) -> Command {
        let project = self.project();
        let mut command = Command::new("sh");
        command.args(["-c", script]).env_remove("CI");
        command.current_dir(if project.is_dir() { &project } else { self.folder.path() });
        command
    }

    /// Runs the first commands of a chapter, which make the project, without building it.
    pub(super) fn begins(&self, name: &str) {
        let first = chapter::read(&super::chapter(name)).into_iter().find_map(|part| match part {
            Part::Block(block) if block.language == "sh" => Some(block.text),
            Part::Block(_) | Part::Prose(_) => None,
        });
        let first = first.expect("commands");
        let lines = first.lines().filter(|line| !line.starts_with("git clone "));
        let script: String = lines.flat_map(|line| [line, "\n"]).collect();
        let script = format!("set -e; exec 2>&1; {script}\ncargo generate-lockfile");
        let output = self.command(&script).output().expect("a shell");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }

    /// Reads a chapter and does what it says.
    pub(super) fn chapter(&mut self, name: &str) {
        println!("{name}.md");
        for part in chapter::read(&super::chapter(name)) {
            match part {
                Part::Block(block) => self.block(&block),
                Part::Prose(prose) => {
                    for sentence in prose.split(". ") {
                        self.sentence(sentence);
                    }
                    for mistake in MISTAKES {
                        if mistake[0] == name && prose.contains(mistake[1]) {
                            self.make(mistake);
                        }
                    }
                }
            }
        }
        self.serve();
    }

    fn sentence(&mut self, sentence: &str) {
        if self.sources.edit(sentence) {
            println!("    {sentence}");
            self.stop();
        } else if sentence == "Stop the service and start it again" {
            println!("    {sentence}");
            self.stop();
            self.serve();
        }
    }

    fn block(&mut self, block: &Block) {
        if self.sources.put(block) {
            println!("    {}", block.above);
            self.stop();
            return;
        }
        match &*block.language {
            // The service is not on the Internet.
            "sh" if block.text.contains("\ncargo policy audit https://") => (),
            "sh" => self.shell(&block.text),
            "text" => {
                for line in block.text.lines().filter(|line| *line != "...") {
                    let is_there =
                        self.last_output.lines().any(|printed| printed.trim_end() == line);
                    assert!(is_there, "no `{line}` in: {}", self.last_output);
                }
            }
            other => panic!("what is to be done with this ({other})? {}", block.text),
        }
    }

    /// Runs the lines of a block. A comment alone in its line is done by hand.
    fn shell(&mut self, text: &str) {
        if text.contains("cargo run") {
            self.stop();
        }
        if ["curl ", "npm start"].iter().any(|call| text.contains(call)) {
            self.serve();
        }
        let mut lines = Vec::new();
        for line in text.lines() {
            match line.strip_prefix("# ") {
                None if line.starts_with("git clone ") => (),
                None => lines.push(line),
                Some(comment) => {
                    self.run(&std::mem::take(&mut lines));
                    self.sentence(comment);
                    self.stop();
                }
            }
        }
        self.run(&lines);
    }

    fn run(&mut self, lines: &[&str]) {
        if lines.is_empty() {
            return;
        }
        self.write();
        let script = lines.iter().flat_map(|line| [line, "\nprintf '\\n@@@ %s\\n' $?\n"]);
        let script = self.here(&format!("exec 2>&1\n{}", script.collect::<String>()));
        let output = self.command(&script).output().expect("a shell");
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut rest = &*output;
        for line in lines {
            let (text, after) = rest.split_once("\n@@@ ").unwrap_or_else(|| panic!("{output}"));
            let (status, after) = after.split_once('\n').expect("a status");
            rest = after;
            println!("    $ {line}");
            expect(line, status == "0", text);
            if line.starts_with("curl ")
                && let Some(began) = self.began.take()
            {
                println!("from nothing to the first answer: {} s", began.elapsed().as_secs());
            }
            self.last_output = text.to_owned();
        }
    }

    /// Writes the files, where they have changed.
    pub(super) fn write(&self) {
        for (path, text) in self.sources.files() {
            let (file, text) = (self.project().join(path), self.here(text));
            if fs::read_to_string(&file).is_ok_and(|written| written == text) {
                continue;
            }
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(&file, text).expect("a file");
        }
    }

    fn serve(&mut self) {
        if self.service.is_none() {
            self.write();
            println!("    $ cargo run");
            let service = Service::start(&mut self.command("exec cargo run"));
            self.service = Some(service);
        }
    }

    pub(super) fn stop(&mut self) {
        self.service = None;
    }

    /// Makes a mistake, reads what the compiler says and undoes it.
    fn make(&mut self, [_, sentence, name, old, new, message]: &[&str; 6]) {
        let before = self.sources.clone();
        self.sources.change_item(name, old, new);
        self.write();
        let output = self.command("cargo build 2>&1").output().expect("a shell");
        let text = String::from_utf8_lossy(&output.stdout);
        println!("    {sentence}");
        let error = text.split("\nerror").nth(1).unwrap_or_else(|| panic!("no error: {text}"));
        println!("      error{}", error.lines().next().unwrap_or_default());
        assert!(!output.status.success() && error.contains(message), "no `{message}`: {text}");
        self.sources = before;
    }

    /// Checks in a browser what the chapter on the page says.
    pub(super) fn uses_the_page(&mut self) {
        self.write();
        let text = fs::read_to_string(super::chapter("page")).expect("a chapter");
        let command = quoted_after(&text, "a server for the page:").expect("a command");
        let address = "http://localhost:3000";
        assert!(text.contains(&format!("<{address}>")), "the page is elsewhere");
        let start = |named| {
            let command = self.here(&command.replace("3000", named));
            Service::start_at(&mut self.command(&format!("exec {command}")), self.port(named))
        };
        let pages = start("3000");
        let browser = Browser::start().expect("a browser");
        add_a_task(&browser, &self.here(address)).expect("the page");
        drop(pages);

        let _pages = start("4000");
        println!("    a page of {} cannot log in", self.here("http://localhost:4000"));
        browser.goto(&self.here("http://localhost:4000")).expect("a page");
        log_in(&browser).expect("a form");
        browser
            .wait_for("/fetch/.test(document.getElementById('status').textContent)")
            .expect("an error");
        browser.console_with("blocked by CORS policy", 1).expect("the console");
    }
}

/// Logs in, adds a task and sees it.
pub(super) fn add_a_task(browser: &Browser, url: &str) -> Result<(), Failure> {
    println!("    open {url}, log in, add a task");
    browser.goto(url)?;
    log_in(browser)?;
    let is_done = "!document.getElementById('status').textContent.includes('grace')";
    browser.wait_for(is_done)?;
    browser.run(
        "document.querySelector('#add input').value = 'read the guide';
         document.querySelector('#add button').click();",
        &json!(null),
    )?;
    let is_there = "document.querySelector('ul').textContent.includes('read the guide (grace)')";
    browser.wait_for(&format!("{is_there} || document.getElementById('status').textContent"))?;
    let status = browser.text_of("#status")?;
    if status.is_empty() {
        return Ok(());
    }
    Err(format!("{status}: {:#?}", browser.console()?).into())
}

fn log_in(browser: &Browser) -> Result<(), Failure> {
    let fill = "const form = document.getElementById('login');
        form.elements.name.value = 'grace';
        form.elements.password.value = 'hopper';
        form.querySelector('button').click();";
    browser.run(fill, &json!(null)).map(drop)
}

/// Fails if a command did not do what the comment after it says: `401: ..`, `fails: ..`, or nothing
/// if it succeeds.
fn expect(line: &str, succeeded: bool, output: &str) {
    let (command, comment) = line.split_once("# ").unwrap_or((line, ""));
    assert_eq!(succeeded, !comment.starts_with("fails"), "{line}\n{output}");
    // A command that is meant to fail is still meant to compile.
    assert!(!output.contains("could not compile"), "{line}\n{output}");
    if !command.contains("curl -i ") {
        return;
    }
    let status = output.lines().find_map(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3));
    let status = status.unwrap_or_else(|| panic!("{line}: no response: {output}"));
    match comment.get(..3) {
        Some(stated) => assert_eq!(stated, status, "{line}\n{output}"),
        None => assert!(status.starts_with('2'), "{line}\n{output}"),
    }
    // A problem by a handler has no code.
    let has_code = output.contains("\"code\":");
    assert_eq!(has_code, status >= "400" && !comment.contains("yours"), "{line}\n{output}");
    let is_problem = output.contains("content-type: application/problem+json");
    assert_eq!(is_problem, status >= "400", "{line}\n{output}");
    // What else the comment names: a place in the body, a header.
    for place in comment.split(' ').filter(|word| word.starts_with('/')) {
        assert!(output.contains(place), "{line}\n{output}");
    }
    if let Some((name, value)) = quoted_after(comment, "with").and_then(|it| it.split_once(": ")) {
        let header = format!("{}: {value}", name.to_lowercase());
        assert!(output.lines().any(|line| line.trim_end() == header), "{line}\n{output}");
    }
}
