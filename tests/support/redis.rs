//! Redis servers that tests start.

use std::{
    env, fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use redis::Value;
use tokio::sync::OnceCell;

use crate::{disk::for_servers, guard::Guarded, port::Port};

/// How long a server may take to start, on a slow and busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A server of this process, on a port of its own, without keys. What it acknowledges is on the disk.
/// It ends with this process, and its files are removed.
#[derive(Debug)]
pub struct Redis {
    port: Port,
    password: &'static str,
    arguments: Vec<String>,
    files: Guarded,
}

impl Redis {
    /// The server that all tests of this process share.
    pub async fn shared() -> &'static Self {
        static SHARED: OnceCell<Redis> = OnceCell::const_new();
        SHARED.get_or_init(|| Self::start(&[])).await
    }

    /// Starts a server with these settings, `name=value`.
    pub async fn start(settings: &[&str]) -> Self {
        Self::start_on(&for_servers(), settings).await
    }

    /// Starts a server whose files are in a folder of this one.
    pub async fn start_on(disk: &Path, settings: &[&str]) -> Self {
        let (port, files) = place(disk);
        let folder = files.folder();
        let mut all = vec![
            format!("port={}", port.address.port()),
            format!("dir={}", folder.display()),
            format!("pidfile={}", folder.join("pid").display()),
        ];
        let usual = ["bind=127.0.0.1", "requirepass=secret", "save=", "appendonly=yes"];
        let durable = ["appendfsync=always"];
        all.extend(usual.iter().chain(&durable).chain(settings).map(ToString::to_string));
        let arguments = all.iter().flat_map(|setting| {
            let (name, value) = setting.split_once('=').expect("name=value");
            [format!("--{name}"), value.to_owned()]
        });
        Self::at(port, files, "secret", arguments.collect()).await
    }

    /// Starts a sentinel with these lines of its file, which it changes itself.
    pub async fn start_sentinel(password: &'static str, lines: &[String]) -> Self {
        let (port, files) = place(&for_servers());
        let folder = files.folder();
        let file = folder.join("sentinel.conf");
        let usual = format!(
            "port {}\ndir {}\npidfile {}\nbind 127.0.0.1\nrequirepass {password}\n",
            port.address.port(),
            folder.display(),
            folder.join("pid").display(),
        );
        fs::write(&file, usual + &lines.join("\n")).expect("a file");
        let arguments = vec![file.display().to_string(), "--sentinel".to_owned()];
        Self::at(port, files, password, arguments).await
    }

    async fn at(
        port: Port,
        files: Guarded,
        password: &'static str,
        arguments: Vec<String>,
    ) -> Self {
        let server = Self { port, password, arguments, files };
        server.begin().await;
        server
    }

    /// Starts the server again, after [`kill`](Self::kill).
    pub async fn begin(&self) {
        let shell = Command::new("sh");
        self.files.start(shell, "KILL", &program(), &self.arguments);
        let end = Instant::now() + PATIENCE;
        // It refuses commands while it reads its files.
        while self.try_command(&["PING"]).await.is_none() {
            assert!(Instant::now() < end, "the server did not start: {}", self.files.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Kills the server as a crash does: without a shutdown.
    pub fn kill(&self) {
        self.files.stop();
    }

    pub fn is_running(&self) -> bool {
        self.files.is_running()
    }

    pub fn signal(&self, name: &str) {
        let process = fs::read_to_string(self.files.folder().join("pid")).expect("a server");
        let sent = Command::new("kill").args([&format!("-{name}"), process.trim()]).status();
        assert!(sent.expect("kill").success());
    }

    /// Makes the server a replica of another one.
    pub async fn follow(&self, primary: &Self) {
        let port = primary.address().port().to_string();
        self.command(&["REPLICAOF", "127.0.0.1", &port]).await;
    }

    pub fn address(&self) -> SocketAddr {
        self.port.address
    }

    pub fn url(&self) -> String {
        format!("redis://:{}@{}/", self.password, self.port.address)
    }

    /// The URL with a prefix that nothing else uses.
    pub fn prefix(&self) -> String {
        format!("{}?{}", self.url(), parameter())
    }

    /// The result of a command of a user with all permissions.
    pub async fn command(&self, words: &[&str]) -> Value {
        self.try_command(words).await.expect("an answer")
    }

    /// The same, or `None` if it failed.
    pub async fn try_command(&self, words: &[&str]) -> Option<Value> {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        self.run(&words).await.ok()
    }

    /// The result of a command whose words are not text.
    pub async fn run(&self, words: &[&[u8]]) -> redis::RedisResult<Value> {
        let client = redis::Client::open(self.url()).expect("a URL");
        let mut connection = client.get_multiplexed_async_connection().await?;
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(word);
        }
        command.query_async(&mut connection).await
    }
}

/// A parameter of a URL: a prefix that nothing else uses.
pub fn parameter() -> String {
    static PREFIXES: AtomicU32 = AtomicU32::new(0);
    format!("prefix=p{}", PREFIXES.fetch_add(1, Ordering::Relaxed))
}

/// A port, and an empty folder for the server that listens on it.
fn place(disk: &Path) -> (Port, Guarded) {
    let port = Port::reserve();
    let folder = disk.join(format!("policy-redis-{}", port.address.port()));
    (port, Guarded::new(folder))
}

fn program() -> PathBuf {
    let paths = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&paths)
        .flat_map(|path| ["redis-server", "valkey-server"].map(|name| path.join(name)))
        .find(|path| Path::exists(path));
    found.expect("Redis; `cargo xtask test` installs it")
}
