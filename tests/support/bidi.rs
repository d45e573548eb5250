//! A browser that a test drives over WebDriver BiDi, the same protocol for both engines. Firefox
//! implements it itself, Chromium through chromedriver.

use std::{
    fs,
    io::{BufRead, BufReader, ErrorKind},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use data_encoding::BASE64;
use serde_json::{Value, json};
use tungstenite::{Error, Message, WebSocket, stream::MaybeTlsStream};

use crate::webdriver::{Driver, FLAGS, Failure, Profile, binary};

/// The longest that a command may take, so that a browser that hangs fails the test with a message.
const LIMIT: Duration = Duration::from_secs(180);

/// A running browser. Dropping it ends the browser.
pub struct Bidi {
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
    commands: u64,
    /// The one that the test drives.
    tab: Option<Tab>,
    version: String,
    /// Dropped in this order.
    _process: Process,
    _profile: Profile,
}

/// A tab with cookies and caches of its own.
#[derive(Clone, Debug)]
pub struct Tab {
    context: String,
    /// The user context, which has the cookies and caches.
    container: String,
}

/// The processes that must end with the test.
enum Process {
    /// Chromium is a child process of its driver and ends with the session.
    Chromium {
        driver: Driver,
        session: String,
    },
    Firefox(Child),
}

impl Bidi {
    /// Starts Chromium through chromedriver.
    pub fn chromium(more: &[String], preferences: &Value) -> Result<Self, Failure> {
        let driver = Driver::start()?;
        let profile = Profile::fresh()?;
        let mut flags: Vec<String> = FLAGS.iter().map(|&flag| flag.to_owned()).collect();
        flags.push(format!("--user-data-dir={}", profile.0.display()));
        flags.extend_from_slice(more);
        let mut options = json!({ "args": flags, "prefs": preferences });
        if let Some(binary) = binary("CHROMIUM", &["chromium", "chromium-browser", "google-chrome"])
        {
            options["binary"] = json!(binary);
        }
        let capabilities = json!({ "goog:chromeOptions": options, "webSocketUrl": true });
        let body = json!({ "capabilities": { "alwaysMatch": capabilities } });
        let response = driver.call("POST", "/session", Some(&body))?;
        let session = response["sessionId"].as_str().ok_or("no session")?.to_owned();
        let capabilities = &response["capabilities"];
        let address = capabilities["webSocketUrl"].as_str().ok_or("no address for BiDi")?;
        let version = format!("Chromium {}", capabilities["browserVersion"]);
        let process = Process::Chromium { driver, session };
        let mut browser = Self::connect(address, process, profile, version)?;
        browser.reopen()?;
        Ok(browser)
    }

    /// Starts Firefox itself.
    pub fn firefox(preferences: &[(&str, Value)]) -> Result<Self, Failure> {
        let program =
            binary("FIREFOX", &["firefox-esr", "firefox"]).ok_or("firefox-esr is not installed")?;
        let profile = Profile::fresh()?;
        let lines =
            preferences.iter().map(|(name, value)| format!("user_pref({name:?}, {value});\n"));
        fs::write(profile.0.join("user.js"), lines.collect::<String>())?;
        let child = Command::new(&program)
            .args(["--headless", "--remote-debugging-port", "0"])
            // Firefox refuses to open the pages of extensions otherwise.
            .args(["--remote-allow-system-access", "--profile"])
            .arg(&profile.0)
            .env("HOME", &profile.0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        // From here on, dropping `process` ends Firefox, also after an error.
        let mut process = Process::Firefox(child);
        let Process::Firefox(child) = &mut process else { return Err("no child".into()) };
        let stderr = child.stderr.take().ok_or("no output")?;
        let (sender, receiver) = mpsc::channel();
        // Drains the pipe: Firefox would block once it is full.
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if let Some((_, address)) = line.split_once("BiDi listening on ") {
                    let _gone = sender.send(address.trim().to_owned());
                }
            }
        });
        let address = receiver
            .recv_timeout(LIMIT)
            .map_err(|_late| format!("{} did not start within {LIMIT:?}", program.display()))?;
        let mut browser =
            Self::connect(&format!("{address}/session"), process, profile, String::new())?;
        let capabilities = json!({ "alwaysMatch": { "acceptInsecureCerts": true } });
        let session = browser.call("session.new", &json!({ "capabilities": capabilities }))?;
        browser.version = format!("Firefox {}", session["capabilities"]["browserVersion"]);
        browser.reopen()?;
        Ok(browser)
    }

    fn connect(
        address: &str,
        process: Process,
        profile: Profile,
        version: String,
    ) -> Result<Self, Failure> {
        let (socket, _response) = tungstenite::connect(address)?;
        if let MaybeTlsStream::Plain(stream) = socket.get_ref() {
            stream.set_read_timeout(Some(LIMIT))?;
        }
        Ok(Self { socket, commands: 0, tab: None, version, _process: process, _profile: profile })
    }

    /// Name and version of the engine.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Opens a tab with cookies and caches of its own, as a browser that has visited nothing.
    pub fn reopen(&mut self) -> Result<(), Failure> {
        if let Some(tab) = self.tab.take() {
            self.call("browser.removeUserContext", &json!({ "userContext": tab.container }))?;
        }
        self.open_beside().map(drop)
    }

    /// Opens a separate tab, as for another user, and drives it from now on.
    pub fn open_beside(&mut self) -> Result<Tab, Failure> {
        let container = self.call("browser.createUserContext", &json!({}))?;
        let container = container["userContext"].as_str().ok_or("no user context")?.to_owned();
        let create = json!({ "type": "tab", "userContext": container });
        let tab = self.call("browsingContext.create", &create)?;
        let context = tab["context"].as_str().ok_or("no tab")?.to_owned();
        let tab = Tab { context, container };
        self.tab = Some(tab.clone());
        Ok(tab)
    }

    /// Drives this tab from now on, in front of the others: timers of a page behind are slow.
    pub fn drive(&mut self, tab: &Tab) -> Result<(), Failure> {
        self.tab = Some(tab.clone());
        self.call("browsingContext.activate", &json!({ "context": tab.context })).map(drop)
    }

    /// Sets the size of the page in the tab.
    pub fn resize(&mut self, width: u32, height: u32) -> Result<(), Failure> {
        let viewport = json!({ "width": width, "height": height });
        let resize = json!({ "context": self.context(), "viewport": viewport });
        self.call("browsingContext.setViewport", &resize).map(drop)
    }

    /// Saves what the tab shows as a PNG file.
    pub fn screenshot(&mut self, to: &Path) -> Result<(), Failure> {
        let capture = json!({ "context": self.context() });
        let image = self.call("browsingContext.captureScreenshot", &capture)?;
        let image = image["data"].as_str().ok_or("no image")?;
        Ok(fs::write(to, BASE64.decode(image.as_bytes())?)?)
    }

    fn context(&self) -> Option<&str> {
        self.tab.as_ref().map(|tab| &*tab.context)
    }

    /// Installs the extension in a folder until the browser exits.
    pub fn install(&mut self, folder: &Path) -> Result<(), Failure> {
        let extension = json!({ "type": "path", "path": folder });
        self.call("webExtension.install", &json!({ "extensionData": extension })).map(drop)
    }

    /// Loads a page and waits until it is complete.
    pub fn goto(&mut self, url: &str) -> Result<(), Failure> {
        let navigate = json!({ "context": self.context(), "url": url, "wait": "complete" });
        self.call("browsingContext.navigate", &navigate).map(drop)
    }

    /// Calls an `async` function of the page with one argument and waits for its result. Both are
    /// sent as JSON.
    pub fn run(&mut self, function: &str, input: &Value) -> Result<Value, Failure> {
        let declaration =
            format!("async input => JSON.stringify(await ({function})(JSON.parse(input)) ?? null)");
        let call = json!({
            "functionDeclaration": declaration,
            "arguments": [{ "type": "string", "value": input.to_string() }],
            "awaitPromise": true,
            "target": { "context": self.context() },
        });
        let response = self.call("script.callFunction", &call)?;
        match response["result"]["value"].as_str() {
            Some(text) => Ok(serde_json::from_str(text)?),
            None => Err(format!("the page threw {}", response["exceptionDetails"]["text"]).into()),
        }
    }

    fn call(&mut self, method: &str, params: &Value) -> Result<Value, Failure> {
        self.commands += 1;
        let command = json!({ "id": self.commands, "method": method, "params": params });
        self.socket.send(Message::text(command.to_string()))?;
        let began = Instant::now();
        loop {
            let hangs = || format!("{} did not answer `{method}` within {LIMIT:?}", self.version);
            if began.elapsed() > LIMIT {
                return Err(hangs().into());
            }
            let text = match self.socket.read() {
                Ok(Message::Text(text)) => text,
                Ok(_) => continue,
                // Interrupted by a signal, which the system reports if reads have a time-out
                // (signal(7)).
                Err(Error::Io(error)) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(format!("{}: {error}", hangs()).into()),
            };
            let mut response: Value = serde_json::from_str(&text)?;
            if response["id"] != json!(self.commands) {
                continue;
            }
            return match response["error"].as_str() {
                Some(error) => Err(format!("{method}: {error}: {}", response["message"]).into()),
                None => Ok(response["result"].take()),
            };
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        match self {
            Self::Chromium { driver, session } => {
                // An error here changes nothing: the driver is killed next.
                let _ended = driver.call("DELETE", &format!("/session/{session}"), None);
            }
            Self::Firefox(child) => {
                let _gone = child.kill();
                let _reaped = child.wait();
            }
        }
    }
}
