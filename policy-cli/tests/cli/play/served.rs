//! The command, as a process.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

/// A running playground; dropping it ends it.
pub(crate) struct Playground {
    child: Child,
    /// Its address, such as `http://127.0.0.1:8642/`.
    pub(crate) url: String,
}

impl Playground {
    pub(crate) fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cargo-policy"))
            .args(["policy", "play"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split([' ', ',']).find(|word| word.starts_with("http://"));
        Self { child, url: url.unwrap().to_owned() }
    }

    /// The response to a request with this host, and with these lines and content.
    fn ask(&self, request: &str, host: &str, more: &str) -> String {
        let address = self.url.trim_start_matches("http://").trim_end_matches('/');
        let host = if host.is_empty() { address } else { host };
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "{request} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{more}")
            .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }
}

impl Drop for Playground {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_command_serves_its_page_to_this_machine_alone() {
    let playground = Playground::start();
    assert!(playground.url.starts_with("http://127.0.0.1:"), "{}", playground.url);
    let page = playground.ask("GET /", "", "\r\n");
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(page.contains("content-type: text/html"), "{page}");
    let csp = page.lines().find(|line| line.starts_with("content-security-policy: ")).unwrap();
    assert!(csp.contains("default-src 'none'; script-src 'self'; style-src 'self'"), "{csp}");
    assert!(!csp.contains("unsafe") && csp.contains("frame-ancestors 'none'"), "{csp}");
    // Inline code would not run.
    assert!(!page.contains("<style") && !page.contains(" style=") && !page.contains(" onclick="));
    for file in ["/play.css", "/play.js", "/icon.svg", "/scenes"] {
        let file = playground.ask(&format!("GET {file}"), "", "\r\n");
        assert!(file.starts_with("HTTP/1.1 200"), "{file}");
    }
    // A name that an attacker lets point to this machine.
    let rebound = playground.ask("GET /", "evil.test", "\r\n");
    assert!(rebound.starts_with("HTTP/1.1 421"), "{rebound}");
    let foreign =
        "sec-fetch-site: cross-site\r\nsec-fetch-mode: cors\r\norigin: https://evil.test\r\n";
    let body = "content-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    let foreign = playground.ask("POST /decide", "", &format!("{foreign}{body}"));
    assert!(foreign.starts_with("HTTP/1.1 403"), "{foreign}");
    let malformed = playground.ask("POST /decide", "", body);
    assert!(malformed.starts_with("HTTP/1.1 4"), "{malformed}");
    let long = "content-type: application/json\r\ncontent-length: 100000\r\n\r\n";
    let long = playground.ask("POST /decide", "", long);
    assert!(long.starts_with("HTTP/1.1 413"), "{long}");
}

#[test]
fn a_deep_text_is_answered() {
    let playground = Playground::start();
    let source = format!("#[get({})] async fn f() {{}}", "return ".repeat(500));
    let question = serde_json::json!({
        "source": source, "origin": "https://a.example", "same_site": "lax", "attacker": "null", "route": 0,
    });
    let question = question.to_string();
    let head =
        format!("content-type: application/json\r\ncontent-length: {}\r\n\r\n", question.len());
    let response = playground.ask("POST /decide", "", &format!("{head}{question}"));
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let playground = Playground::start();
    let port = playground.url.trim_end_matches('/').rsplit(':').next().unwrap();
    let ran = crate::run::run(&format!("play --port {port}"));
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains(port), "{}", ran.err);
}
