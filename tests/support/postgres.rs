//! PostgreSQL servers that tests start.

use std::{
    env,
    ffi::OsStr,
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use tokio::sync::OnceCell;
use tokio_postgres::NoTls;

use crate::{disk::for_servers, guard::Guarded, port::Port};

/// How long a server may take to start, on a slow and busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// A server of this process, on a port of its own, with an empty database. It ends with this process,
/// and its files are removed.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    port: Port,
    options: Vec<String>,
    files: Guarded,
}

impl Postgres {
    /// The server that all tests of this process share.
    pub async fn shared() -> &'static Self {
        static SHARED: OnceCell<Postgres> = OnceCell::const_new();
        SHARED.get_or_init(|| Self::start(&[])).await
    }

    /// Starts a server with these settings, `name=value`.
    pub async fn start(settings: &[&str]) -> Self {
        Self::start_on(&for_servers(), settings).await
    }

    /// Starts a server whose files are in a folder of this one.
    pub async fn start_on(disk: &Path, settings: &[&str]) -> Self {
        let server = Self::in_folder_of(disk, settings);
        let password = server.files.folder().join("password");
        fs::write(&password, "secret").expect("a file");
        give_to_server(&password);
        let mut initdb = as_server(&server.programs.join("initdb"));
        initdb.args(["--auth=scram-sha-256", "--username=policy", "--encoding=UTF8", "--no-sync"]);
        initdb.arg(format!("--pwfile={}", password.display()));
        server.make_data(&mut initdb);
        server.begin().await;
        server
    }

    /// Starts a standby of this server, to which it streams what it writes.
    pub async fn standby(&self) -> Self {
        let standby = Self::in_folder_of(&for_servers(), &[]);
        let mut copy = as_server(&standby.programs.join("pg_basebackup"));
        copy.args(["--checkpoint=fast", "--no-sync", "--write-recovery-conf"]);
        standby.make_data(copy.arg("--dbname").arg(self.url()));
        standby.begin().await;
        standby
    }

    /// Waits until this standby has caught up with its primary, then cuts it off from later changes.
    pub async fn cut_off_from(&self, primary: &Self) {
        let client = primary.client().await;
        let row = client.query_one("SELECT pg_current_wal_lsn()::text", &[]).await;
        let last: String = row.expect("a position").get(0);
        self.comes_to(&format!("SELECT pg_last_wal_replay_lsn() >= '{last}'::pg_lsn")).await;
        self.sql("ALTER SYSTEM SET primary_conninfo = ''").await;
        self.sql("SELECT pg_reload_conf()").await;
        self.comes_to("SELECT NOT EXISTS (SELECT FROM pg_stat_wal_receiver)").await;
    }

    /// Makes this standby a primary, whatever the state of its former primary.
    pub async fn promote(&self) {
        self.sql("SELECT pg_promote()").await;
        self.comes_to("SELECT NOT pg_is_in_recovery()").await;
    }

    /// Waits until a query returns true.
    async fn comes_to(&self, query: &str) {
        let client = self.client().await;
        let end = Instant::now() + PATIENCE;
        while !client.query_one(query, &[]).await.expect("a row").get::<_, bool>(0) {
            assert!(Instant::now() < end, "it did not come to `{query}` within {PATIENCE:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// A server without data, in a folder of its own.
    fn in_folder_of(disk: &Path, settings: &[&str]) -> Self {
        let port = Port::reserve();
        let folder = disk.join(format!("policy-postgres-{}", port.address.port()));
        let files = Guarded::new(folder);
        give_to_server(files.folder());
        let mut options: Vec<String> = [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "max_connections=300",
            "logging_collector=off",
            // A killed server leaves nothing outside of its folder.
            "dynamic_shared_memory_type=mmap",
            &format!("port={}", port.address.port()),
        ]
        .map(str::to_owned)
        .into();
        options.extend(settings.iter().map(ToString::to_string));
        Self { programs: programs(), port, options, files }
    }

    /// Runs a program that makes the files of the server.
    fn make_data(&self, program: &mut Command) {
        let output = program.arg("--pgdata").arg(self.files.folder().join("data")).output();
        let output = output.expect("a program of PostgreSQL");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Starts the server again, after [`kill`](Self::kill).
    pub async fn begin(&self) {
        let end = Instant::now() + PATIENCE;
        while !self.try_to_begin().await {
            assert!(Instant::now() < end, "the server did not start: {}", self.files.log());
        }
    }

    async fn try_to_begin(&self) -> bool {
        let data = self.files.folder().join("data");
        let options = self.options.iter().flat_map(|option| ["-c", option]).map(OsStr::new);
        let arguments = [OsStr::new("-D"), data.as_os_str()].into_iter().chain(options);
        let server = self.programs.join("postgres");
        let shell = as_server(Path::new("sh"));
        self.files.start(shell, "QUIT", &server, arguments);
        let end = Instant::now() + PATIENCE / 4;
        while Instant::now() < end {
            if tokio_postgres::connect(&self.url(), NoTls).await.is_ok() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // The shared memory of the previous server may have been in use.
        self.files.stop();
        false
    }

    /// Kills the server as a crash of the machine does: without a shutdown.
    pub fn kill(&self) {
        // Unless it has given up already.
        if self.files.folder().join("data/postmaster.pid").exists() {
            self.signal("KILL");
        }
        self.files.stop();
    }

    /// Sends a signal to the server and all its processes.
    pub fn signal(&self, name: &str) {
        let file =
            fs::read_to_string(self.files.folder().join("data/postmaster.pid")).expect("a server");
        let main = file.lines().next().expect("its number").trim().to_owned();
        let children = Command::new("ps").args(["-o", "pid=", "--ppid", &main]).output();
        let children = children.expect("ps").stdout;
        let children = String::from_utf8_lossy(&children).into_owned();
        for process in [&*main].into_iter().chain(children.split_whitespace()) {
            // A child may have ended meanwhile.
            let _ = Command::new("kill").args([&format!("-{name}"), process]).status();
        }
    }

    pub fn url(&self) -> String {
        format!("postgres://policy:secret@{}/postgres", self.port.address)
    }

    /// The URL of the database at whichever of the two servers accepts writes.
    pub fn url_with(&self, other: &Self) -> String {
        let (one, other) = (self.port.address, other.port.address);
        format!("postgres://policy:secret@{one},{other}/postgres?target_session_attrs=read-write")
    }

    /// The URL of an empty schema that nothing else uses.
    pub fn schema(&self) -> String {
        static SCHEMAS: AtomicU32 = AtomicU32::new(0);
        format!("{}?schema=s{}", self.url(), SCHEMAS.fetch_add(1, Ordering::Relaxed))
    }

    /// Executes statements as the owner of everything.
    pub async fn sql(&self, statements: &str) {
        let client = self.client().await;
        client.batch_execute(statements).await.expect("a statement");
    }

    /// A connection as the owner of everything.
    pub async fn client(&self) -> tokio_postgres::Client {
        let (client, connection) =
            tokio_postgres::connect(&self.url(), NoTls).await.expect("a connection");
        tokio::spawn(connection);
        client
    }
}

/// Where the programs of the server are: Debian has them in a folder for each version.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let numbered = versions.filter_map(|version| {
        let number: u32 = version.file_name().to_str()?.parse().ok()?;
        let programs = version.path().join("bin");
        programs.join("initdb").exists().then_some((number, programs))
    });
    let newest = numbered.max().map(|(_, programs)| programs);
    newest.unwrap_or_else(|| {
        let paths = env::var_os("PATH").unwrap_or_default();
        let found = env::split_paths(&paths).find(|path| path.join("initdb").exists());
        found.expect("PostgreSQL; `cargo xtask test` installs it")
    })
}

/// PostgreSQL does not run as root: its own user, where this process is root.
fn server_user() -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt;
    let me = fs::metadata("/proc/self").expect("/proc").uid();
    if me != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("the users");
    let line = users.lines().find(|line| line.starts_with("postgres:"));
    let mut fields = line.expect("the user `postgres`").split(':').skip(2);
    let mut number = || fields.next().and_then(|field| field.parse().ok()).expect("a number");
    Some((number(), number()))
}

fn give_to_server(path: &Path) {
    if let Some((user, group)) = server_user() {
        std::os::unix::fs::chown(path, Some(user), Some(group)).expect("to be root");
    }
}

fn as_server(program: &Path) -> Command {
    let mut command = Command::new(program);
    if let Some((user, group)) = server_user() {
        command.uid(user).gid(group);
    }
    command.current_dir("/").env("LC_ALL", "C.UTF-8");
    command
}
