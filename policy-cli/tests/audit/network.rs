//! The app behind a proxy, and the command that audits it.

use std::{fs, net::SocketAddr, path::PathBuf, process::Command};

use policy_server::{Tls, TrustedProxies};
use policy_tests::{
    authority::Authority,
    folder::Folder,
    http::{Running, soon},
    program::Program,
};
use serde_json::Value;

use crate::app::{HOST, PROXY, app};

/// A folder with the certificate of the host, the authority behind it, and the manifest of the app.
pub(crate) struct Files(Folder);

impl Files {
    pub(crate) fn new() -> Self {
        let files = Self(Folder::new().unwrap());
        let authority = Authority::new();
        let leaf = authority.issue(&[HOST]);
        let both = leaf.certificate.clone() + &leaf.key;
        for (name, text) in [
            ("ca.pem", authority.pem()),
            ("host.pem", leaf.certificate),
            ("host.key", leaf.key),
            ("both.pem", both),
            ("manifest.json", app().manifest().to_json()),
        ] {
            fs::write(files.path(name), text).unwrap();
        }
        files
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a credential, and returns the argument that names it.
    pub(crate) fn source(&self, name: &str, credential: &str) -> String {
        let file = self.path(name);
        fs::write(&file, credential).unwrap();
        format!("file:{}", file.display())
    }
}

/// The app, and what is in front of it.
pub(crate) struct Deployment {
    pub(crate) files: Files,
    _server: Running,
    _proxy: Option<Program>,
    address: SocketAddr,
}

impl Deployment {
    /// The app alone, which serves TLS itself.
    pub(crate) async fn direct() -> Self {
        let files = Files::new();
        let tls = Tls::files(files.path("host.pem"), files.path("host.key"));
        let server = Running::start(app().tls(tls)).await;
        Self { address: server.address, files, _server: server, _proxy: None }
    }

    /// Behind nginx, with these lines in its `location` block, and these beside its `server` block.
    pub(crate) async fn behind_nginx(location: &str, http: &str) -> Self {
        let (files, server) = Self::behind().await;
        let usual = [
            ("proxy_pass", format!("http://{}", server.address)),
            ("proxy_set_header Host", "$host".to_owned()),
            ("proxy_set_header X-Forwarded-For", "$proxy_add_x_forwarded_for".to_owned()),
            ("proxy_set_header X-Forwarded-Proto", "$scheme".to_owned()),
        ];
        let location = location.replace("UPSTREAM", &server.address.to_string());
        let usual = usual.iter().filter(|(name, _)| !location.contains(name));
        let usual: String = usual.map(|(name, value)| format!("{name} {value};\n")).collect();
        let configuration = format!(
            "{http}
             server {{
                 listen ADDRESS ssl;
                 ssl_certificate {};
                 ssl_certificate_key {};
                 location / {{
                     proxy_bind {PROXY};
                     proxy_http_version 1.1;
                     {usual}
                     {location}
                 }}
             }}",
            files.path("host.pem").display(),
            files.path("host.key").display(),
        );
        let proxy = Program::nginx(&configuration).await;
        Self { address: proxy.address, files, _server: server, _proxy: Some(proxy) }
    }

    /// Behind HAProxy, with these lines.
    pub(crate) async fn behind_haproxy(lines: &str) -> Self {
        let (files, server) = Self::behind().await;
        let reports = if lines.contains("X-Forwarded-For") { "" } else { "option forwardfor" };
        let configuration = format!(
            "global
                 expose-experimental-directives
             defaults
                 mode http
                 timeout connect 10s
                 timeout client 30s
                 timeout server 30s
             listen front
                 bind ADDRESS ssl crt {}
                 {reports}
                 http-request set-header X-Forwarded-Proto https if {{ ssl_fc }}
                 {lines}
                 server app {} source {PROXY}\n",
            files.path("both.pem").display(),
            server.address,
        );
        let proxy = Program::haproxy(&configuration).await;
        Self { address: proxy.address, files, _server: server, _proxy: Some(proxy) }
    }

    async fn behind() -> (Files, Running) {
        let proxies = TrustedProxies::new([PROXY]).x_forwarded();
        (Files::new(), Running::start(app().behind(proxies)).await)
    }

    /// Audits it, with these additional arguments.
    pub(crate) async fn audit(&self, arguments: &[&str]) -> Audited {
        let mut command = audit_of(&format!("https://{HOST}"), self.address, &self.files);
        command.args(arguments);
        run(command).await
    }

    /// The codes of an audit's findings.
    pub(crate) async fn codes(&self, arguments: &[&str]) -> Vec<String> {
        let audited = self.audit(arguments).await;
        let codes = audited.codes();
        assert_eq!(audited.code, i32::from(!codes.is_empty()), "{}", audited.err);
        codes
    }

    /// The argument with a file that logs a user in.
    pub(crate) fn login(&self) -> [String; 2] {
        let file = self.files.path("login.curl");
        let line = format!(
            "curl 'https://{HOST}/login' -H 'origin: https://{HOST}' --data-raw 'name=ada' --compressed\n"
        );
        fs::write(&file, line).unwrap();
        ["--login".to_owned(), file.display().to_string()]
    }

    /// The value of a session cookie, and a token, of a user who has just logged in.
    pub(crate) async fn log_in(&self) -> (String, String) {
        let ca = self.files.path("ca.pem");
        let to = format!("{HOST}:443:{}:{}", self.address.ip(), self.address.port());
        let post = async |path: &str, cookie: &str| {
            let mut curl = Command::new("curl");
            curl.args(["-sS", "-i", "--max-time", "20", "--cacert"]).arg(&ca);
            curl.args(["--connect-to", &to, "-X", "POST", "-d", "name=ada"]);
            curl.args([
                "-H",
                &format!("origin: https://{HOST}"),
                "-H",
                &format!("cookie: {cookie}"),
            ]);
            curl.arg(format!("https://{HOST}{path}"));
            run(curl).await.out
        };
        let response = post("/login", "").await;
        let line = response.lines().find(|line| line.to_lowercase().starts_with("set-cookie: "));
        let cookie = line.unwrap_or_else(|| panic!("{response}"));
        let cookie = cookie.split_once(": ").unwrap().1.split(';').next().unwrap().to_owned();
        let token = post("/tokens", &cookie).await.split("\r\n\r\n").last().unwrap().to_owned();
        (cookie, token)
    }
}

/// The command that audits an origin at an address.
pub(crate) fn audit_of(origin: &str, address: SocketAddr, files: &Files) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-policy"));
    command.args(["audit", origin, "--rate", "1000", "--format", "json"]);
    command.arg("--connect").arg(address.to_string());
    command.arg("--ca").arg(files.path("ca.pem"));
    command.arg("--from").arg(files.path("manifest.json"));
    command
}

/// What a command wrote.
pub(crate) struct Audited {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Audited {
    /// The report, which follows its schema.
    pub(crate) fn report(&self) -> Value {
        let schema = include_str!("../../../docs/schema/audit-1.json");
        let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
        let report: Value =
            serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.err));
        let errors: Vec<_> =
            validator.iter_errors(&report).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
        report
    }

    pub(crate) fn codes(&self) -> Vec<String> {
        let report = self.report();
        let findings = report["findings"].as_array().unwrap().iter();
        let codes: Vec<_> =
            findings.map(|finding| finding["code"].as_str().unwrap().to_owned()).collect();
        // Shown if the test fails.
        println!("{}", self.out);
        codes
    }
}

/// Runs a command to its end, while servers of this thread keep running.
pub(crate) async fn run(mut command: Command) -> Audited {
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = soon(output).await.unwrap();
    Audited {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}
