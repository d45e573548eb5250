//! Headless Chromium, driven through chromedriver (W3C WebDriver).
//!
//! Uses plain HTTP/1.1 over a blocking socket, which is all that WebDriver needs.
#![expect(
    clippy::indexing_slicing,
    reason = "an index into a JSON value gives null where there is nothing"
)]

use std::{
    env,
    error::Error,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{self, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use data_encoding::BASE64;
use serde_json::{Value, json};

use super::{output::Output, port::Port, process::ChildProcess};

/// Why the browser failed to do what the test asked.
pub type Failure = Box<dyn Error + Send + Sync>;

/// The longest that a command may take, generous for a busy machine, so that a browser that hangs
/// fails the test; scripts get a second less.
pub(crate) const LIMIT: Duration = Duration::from_secs(180);

/// No background traffic, and nothing that needs a desktop or a kernel feature that containers
/// lack. QUIC is off, so that the test chooses the protocol.
pub const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1200,1200",
];

/// A running browser with one window. Dropping it ends the browser and its driver.
#[derive(Debug)]
pub struct Browser {
    driver: Driver,
    session: String,
    /// Removed after the driver has ended.
    _profile: Profile,
}

impl Browser {
    /// Starts a browser with a fresh profile.
    pub fn start() -> Result<Self, Failure> {
        Self::with(&[], &json!({}))
    }

    /// Starts a browser with more flags, and with preferences in its profile.
    pub fn with(more: &[String], preferences: &Value) -> Result<Self, Failure> {
        let driver = Driver::start()?;
        let profile = Profile::fresh()?;
        let mut flags: Vec<String> = FLAGS.iter().map(|&flag| flag.to_owned()).collect();
        // This flag would have precedence over that one.
        flags.retain(|flag| {
            flag != "--disable-quic" || !more.iter().any(|more| more == "--enable-quic")
        });
        flags.push(format!("--user-data-dir={}", profile.0.display()));
        flags.extend_from_slice(more);
        let mut options = json!({ "args": flags, "prefs": preferences });
        if let Some(binary) = binary("CHROMIUM", &["chromium", "chromium-browser", "google-chrome"])
        {
            options["binary"] = json!(binary);
        }
        let capabilities = json!({
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL" },
            "timeouts": { "script": (LIMIT - Duration::from_secs(1)).as_millis() as u64 },
        });
        let body = json!({ "capabilities": { "alwaysMatch": capabilities } });
        let session = driver.call("POST", "/session", Some(&body))?;
        let session = text(&session["sessionId"])?;
        Ok(Self { driver, session, _profile: profile })
    }

    /// Loads a page and waits until it is complete.
    pub fn goto(&self, url: &str) -> Result<(), Failure> {
        self.post("url", &json!({ "url": url })).map(drop)
    }

    pub fn url(&self) -> Result<String, Failure> {
        text(&self.get("url")?)
    }

    /// Waits until an expression of the page is true.
    pub fn wait_for(&self, expression: &str) -> Result<(), Failure> {
        let wait = format!(
            "while (!({expression})) await new Promise(resolve => setTimeout(resolve, 20));"
        );
        let waited = self.run(&wait, &Value::Null);
        waited.map(drop).map_err(|error| format!("waiting for `{expression}`: {error}").into())
    }

    pub fn title(&self) -> Result<String, Failure> {
        text(&self.get("title")?)
    }

    /// Runs the body of an `async` function in the page and waits for its result; `input` is its
    /// parameter.
    pub fn run(&self, function: &str, input: &Value) -> Result<Value, Failure> {
        let script = format!(
            "const input = arguments[0], done = arguments[1];
             (async () => {{ {function} }})().then(
                 value => done({{ value: value === undefined ? null : value }}),
                 error => done({{ threw: String(error) }}));"
        );
        let body = json!({ "script": script, "args": [input] });
        let mut response = self.post("execute/async", &body)?;
        match response["threw"].as_str() {
            Some(error) => Err(format!("the page threw {error}").into()),
            None => Ok(response["value"].take()),
        }
    }

    /// Runs a script that may navigate away, without waiting for the next page.
    pub fn leave(&self, script: &str, input: &Value) -> Result<(), Failure> {
        let script = format!("const input = arguments[0]; {script}");
        self.post("execute/sync", &json!({ "script": script, "args": [input] })).map(drop)
    }

    /// The cookies that requests of the page carry, `HttpOnly` ones included.
    pub fn cookies(&self) -> Result<Vec<Value>, Failure> {
        Ok(self.get("cookie")?.as_array().ok_or("no cookies")?.clone())
    }

    /// Sets a cookie for the page's host, without the checks of cookie prefixes.
    pub fn add_cookie(&self, cookie: &Value) -> Result<(), Failure> {
        self.post("cookie", &json!({ "cookie": cookie })).map(drop)
    }

    /// Deletes the cookies that requests of the page carry.
    pub fn forget_cookies(&self) -> Result<(), Failure> {
        let path = format!("/session/{}/cookie", self.session);
        self.driver.call("DELETE", &path, None).map(drop)
    }

    /// The visible text of the first element that matches the selector.
    pub fn text_of(&self, selector: &str) -> Result<String, Failure> {
        let query = json!({ "using": "css selector", "value": selector });
        let found = self.post("element", &query)?;
        let ids = found.as_object().ok_or("no element")?;
        let id = ids.values().next().and_then(Value::as_str).ok_or("no element")?;
        text(&self.get(&format!("element/{id}/text"))?)
    }

    /// Presses keys one after the other, as a user does: characters, and those that WebDriver encodes
    /// as one.
    pub fn press(&self, keys: &str) -> Result<(), Failure> {
        let actions = keys.chars().flat_map(|key| {
            ["keyDown", "keyUp"].map(|action| json!({ "type": action, "value": key }))
        });
        let actions: Vec<_> = actions.collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": actions });
        self.post("actions", &json!({ "actions": [keyboard] })).map(drop)
    }

    /// Sets the size of the page; a phone is narrower than a window may be.
    pub fn resize(&self, width: u32, height: u32) -> Result<(), Failure> {
        let params =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", &params)
    }

    /// Delays each response by this, as a distant server would.
    pub fn slow_down(&self, milliseconds: u32) -> Result<(), Failure> {
        self.devtools("Network.enable", &json!({}))?;
        let params = json!({
            "offline": false, "latency": milliseconds,
            "downloadThroughput": -1, "uploadThroughput": -1,
        });
        self.devtools("Network.emulateNetworkConditions", &params)
    }

    /// Saves a screenshot of the window as a PNG file.
    pub fn screenshot(&self, to: &Path) -> Result<(), Failure> {
        let image = text(&self.get("screenshot")?)?;
        Ok(fs::write(to, BASE64.decode(image.as_bytes())?)?)
    }

    /// The console messages that contain a text, once there are this many. A message arrives some
    /// time after its cause.
    pub fn console_with(&self, what: &str, count: usize) -> Result<Vec<String>, Failure> {
        let begun = Instant::now();
        let mut lines = Vec::new();
        loop {
            lines.extend(self.console()?);
            if lines.iter().filter(|line| line.contains(what)).count() >= count {
                return Ok(lines);
            }
            if begun.elapsed() > LIMIT {
                return Err(format!("not {count} lines with `{what}`: {lines:#?}").into());
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The console messages since the last call, including those of pages.
    pub fn console(&self) -> Result<Vec<String>, Failure> {
        let log = self.post("se/log", &json!({ "type": "browser" }))?;
        log.as_array().ok_or("no log")?.iter().map(|entry| text(&entry["message"])).collect()
    }

    /// A command of the DevTools protocol.
    fn devtools(&self, command: &str, params: &Value) -> Result<(), Failure> {
        self.post("goog/cdp/execute", &json!({ "cmd": command, "params": params })).map(drop)
    }

    fn get(&self, command: &str) -> Result<Value, Failure> {
        self.driver.call("GET", &format!("/session/{}/{command}", self.session), None)
    }

    fn post(&self, command: &str, body: &Value) -> Result<Value, Failure> {
        self.driver.call("POST", &format!("/session/{}/{command}", self.session), Some(body))
    }

    /// Submits a form from the page as the user would: a navigation of the whole window.
    pub fn submit(&self, url: &str) -> Result<(), Failure> {
        const SUBMIT: &str = "
            const form = document.createElement('form');
            form.method = 'post';
            form.action = input;
            form.innerHTML = '<input name=\"to\" value=\"mallory\">';
            document.body.append(form);
            form.submit();";
        self.leave(SUBMIT, &Value::from(url))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // An error here changes nothing: the driver is killed next.
        let _ended = self.driver.call("DELETE", &format!("/session/{}", self.session), None);
    }
}

/// The process of a driver: chromedriver, unless something else was started.
#[derive(Debug)]
pub struct Driver {
    process: ChildProcess,
    port: Port,
}

impl Driver {
    pub fn start() -> Result<Self, Failure> {
        let program =
            binary("CHROMEDRIVER", &["chromedriver"]).ok_or("chromedriver is not installed")?;
        // A port of its own choice is free on `::1` only, and it ends if `127.0.0.1` has it taken.
        let port = Port::reserve();
        let process = Command::new(&program)
            .arg(format!("--port={}", port.address.port()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        // From here on, dropping `driver` ends the process, also after an error.
        let mut driver = Self { process: ChildProcess(process), port };
        let stdout = driver.process.0.stdout.take().ok_or("no output")?;
        let (stdout, until) = (Output::new(stdout), Instant::now() + LIMIT);
        let late = |_| format!("{} did not start within {LIMIT:?}", program.display());
        let mut printed = String::new();
        while let Some(line) = stdout.line(until).map_err(late)? {
            // `ChromeDriver was started successfully on port 41234.`
            if line.contains("started successfully") {
                return Ok(driver);
            }
            printed.push_str(&line);
        }
        Err(format!("{} ended at once: {printed}", program.display()).into())
    }

    /// A process that listens at a port of the loopback interface, or will soon.
    pub(crate) fn new(process: ChildProcess, port: Port) -> Self {
        Self { process, port }
    }

    /// Sends a command on its own connection and returns the `value` of its response.
    pub fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut stream = TcpStream::connect(self.port.address)?;
        stream.set_read_timeout(Some(LIMIT))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.port.address,
            body.len()
        )?;
        let mut response: Value = serde_json::from_slice(&response_body(stream)?)?;
        match response["value"].get("error") {
            Some(error) => {
                let message = response["value"]["message"].as_str().unwrap_or_default();
                let first = message.lines().next().unwrap_or_default();
                Err(format!("{method} {path}: {error}: {first}").into())
            }
            None => Ok(response["value"].take()),
        }
    }
}

/// The browser's profile: a folder of its own, so that tests share no state.
#[derive(Debug)]
pub struct Profile(pub PathBuf);

impl Profile {
    pub fn fresh() -> Result<Self, Failure> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("policy-browser-{}-{count}", process::id()));
        // Left over from an earlier process with the same id.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        // The browser's last processes may still be writing.
        for _ in 0..20 {
            if fs::remove_dir_all(&self.0).is_ok() || !self.0.exists() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The body of an HTTP/1.1 response with `Content-Length`, which drivers always send.
fn response_body(stream: TcpStream) -> Result<Vec<u8>, Failure> {
    let mut reader = BufReader::new(stream);
    let mut length = None;
    let mut line = String::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = Some(value.trim().parse()?);
        }
    }
    let mut body = vec![0; length.ok_or("a response without a length")?];
    reader.read_exact(&mut body)?;
    Ok(body)
}

/// The program that the environment variable names, or the first of `names` on the search path.
pub fn binary(variable: &str, names: &[&str]) -> Option<PathBuf> {
    if let Some(path) = env::var_os(variable) {
        return Some(path.into());
    }
    let path = env::var_os("PATH")?;
    names
        .iter()
        .flat_map(|name| env::split_paths(&path).map(move |folder| folder.join(name)))
        .find(|file| file.is_file())
}

fn text(value: &Value) -> Result<String, Failure> {
    Ok(value.as_str().ok_or_else(|| format!("not a text: {value}"))?.to_owned())
}
