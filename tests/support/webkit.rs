//! A browser with WebKit that a test drives: WebKitGTK's MiniBrowser in a display without a screen,
//! through WebKitWebDriver (W3C WebDriver).

use std::{
    io::ErrorKind,
    net::TcpStream,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    output::Output,
    port::Port,
    process::ChildProcess,
    webdriver::{Driver, Failure, LIMIT, Profile, binary},
};

/// A running browser. Dropping it ends the browser.
#[derive(Debug)]
pub struct WebKit {
    /// The port of the proxy.
    proxy: u16,
    session: Option<String>,
    version: String,
    /// Dropped in this order.
    driver: Driver,
    _display: Display,
    _profile: Profile,
}

impl WebKit {
    /// Starts a browser that reaches every host through the SOCKS proxy at a port of the loopback
    /// interface, since it has no other way to resolve the names of tests, and that trusts any
    /// certificate.
    pub fn start(proxy: u16) -> Result<Self, Failure> {
        let display = Display::start()?;
        let profile = Profile::fresh()?;
        let driver = start_driver(&display, &profile)?;
        let mut browser = Self {
            proxy,
            session: None,
            version: String::new(),
            driver,
            _display: display,
            _profile: profile,
        };
        browser.reopen()?;
        Ok(browser)
    }

    /// Name and version of the engine.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Starts the browser again, as one that has visited nothing: each session has its own data.
    pub fn reopen(&mut self) -> Result<(), Failure> {
        self.end()?;
        let arguments = [
            "--automation".to_owned(),
            // By scripts that no user started.
            "--javascript-can-open-windows-automatically=true".to_owned(),
            format!("--proxy=socks://127.0.0.1:{}", self.proxy),
        ];
        let capabilities = json!({
            "acceptInsecureCerts": true,
            "webkitgtk:browserOptions": { "args": arguments },
            "timeouts": { "script": (LIMIT - Duration::from_secs(1)).as_millis() as u64 },
        });
        let body = json!({ "capabilities": { "alwaysMatch": capabilities } });
        let response = self.driver.call("POST", "/session", Some(&body))?;
        self.session = Some(response["sessionId"].as_str().ok_or("no session")?.to_owned());
        self.version = format!("WebKitGTK {}", response["capabilities"]["browserVersion"]);
        Ok(())
    }

    /// Loads a page and waits until it is complete.
    pub fn goto(&mut self, url: &str) -> Result<(), Failure> {
        self.post("url", &json!({ "url": url })).map(drop)
    }

    /// Calls an `async` function of the page with one argument and waits for its result. Both are
    /// sent as JSON.
    pub fn run(&mut self, function: &str, input: &Value) -> Result<Value, Failure> {
        let script = format!(
            "const [input, done] = arguments;
             (async () => ({function})(JSON.parse(input)))().then(
                 value => done({{ value: JSON.stringify(value ?? null) }}),
                 error => done({{ threw: String(error) }}));"
        );
        let body = json!({ "script": script, "args": [input.to_string()] });
        let response = self.post("execute/async", &body)?;
        match response["value"].as_str() {
            Some(text) => Ok(serde_json::from_str(text)?),
            None => Err(format!("the page threw {}", response["threw"]).into()),
        }
    }

    fn post(&self, command: &str, body: &Value) -> Result<Value, Failure> {
        let session = self.session.as_deref().ok_or("no session")?;
        self.driver.call("POST", &format!("/session/{session}/{command}"), Some(body))
    }

    fn end(&mut self) -> Result<(), Failure> {
        match self.session.take() {
            Some(session) => {
                self.driver.call("DELETE", &format!("/session/{session}"), None).map(drop)
            }
            None => Ok(()),
        }
    }
}

impl Drop for WebKit {
    fn drop(&mut self) {
        // An error here changes nothing: the browser ends with its display.
        let _ended = self.end();
    }
}

fn start_driver(display: &Display, profile: &Profile) -> Result<Driver, Failure> {
    let program =
        binary("WEBKITDRIVER", &["WebKitWebDriver"]).ok_or("WebKitWebDriver is not installed")?;
    let port = Port::reserve();
    let address = port.address;
    let process = Command::new(&program)
        .arg(format!("--port={}", address.port()))
        .env("DISPLAY", &display.name)
        .env("HOME", &profile.0)
        .env("XDG_RUNTIME_DIR", &profile.0)
        // No services of a desktop, and nothing is drawn.
        .env("DBUS_SESSION_BUS_ADDRESS", "disabled:")
        .env("GIO_USE_VFS", "local")
        .env("GSETTINGS_BACKEND", "memory")
        .env("NO_AT_BRIDGE", "1")
        .env("WEBKIT_DISABLE_COMPOSITING_MODE", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // From here on, dropping `driver` ends the process, also after an error.
    let driver = Driver::new(ChildProcess(process), port);
    let until = Instant::now() + LIMIT;
    // It prints nothing when it listens.
    loop {
        match TcpStream::connect(address) {
            Ok(_stream) => return Ok(driver),
            Err(error)
                if error.kind() == ErrorKind::ConnectionRefused && Instant::now() < until =>
            {
                thread::sleep(Duration::from_millis(20));
            }
            Err(error) => return Err(format!("{}: {error}", program.display()).into()),
        }
    }
}

/// A display without a screen.
#[derive(Debug)]
struct Display {
    process: ChildProcess,
    name: String,
}

impl Display {
    fn start() -> Result<Self, Failure> {
        let program = binary("XVFB", &["Xvfb"]).ok_or("Xvfb is not installed")?;
        let process = Command::new(&program)
            // The first free number, which it prints.
            .args(["-displayfd", "1", "-screen", "0", "1200x1200x24", "-nolisten", "tcp"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut display = Self { process: ChildProcess(process), name: String::new() };
        let stdout = Output::new(display.process.0.stdout.take().ok_or("no output")?);
        let number = stdout.line(Instant::now() + LIMIT)?;
        display.name = format!(":{}", number.ok_or("Xvfb ended at once")?.trim());
        Ok(display)
    }
}
