//! The store of the instances: a server that this example starts, or one that runs already.

use std::{
    fs, io,
    net::SocketAddr,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use data_encoding::HEXLOWER;
use policy_server::Random;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::process::{Folder, Launch, Port, in_path};

/// The kind of store.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Postgres,
    Redis,
    /// A URL.
    Elsewhere(String),
}

/// A server of our own, with nothing in it.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) launch: Launch,
    /// With a password that was drawn for it.
    pub(crate) url: String,
    port: Port,
    is_ready: Ready,
}

/// How a server says that it is ready.
#[derive(Debug)]
enum Ready {
    /// `pg_isready` says it.
    Program(PathBuf),
    /// It responds to the first text with the second.
    Words(String, &'static str),
}

impl Server {
    pub(crate) fn postgres() -> io::Result<Self> {
        let programs = postgres_programs()
            .ok_or_else(|| missing("PostgreSQL", "apt-get install postgresql"))?;
        let (port, password) = (Port::reserve()?, password()?);
        let user = postgres_user()?;
        let folder = Folder::new(&port, user)?;
        let password_file = folder.join("password");
        fs::write(&password_file, &password)?;
        let data = folder.join("data");
        let launch = |program: &str, arguments: &[&str]| Launch {
            program: programs.join(program),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            environment: vec![("LC_ALL", "C.UTF-8".to_owned())],
            folder: Arc::clone(&folder),
            last_signal: "QUIT",
            user,
        };
        if let Some((user, group)) = user {
            std::os::unix::fs::chown(&password_file, Some(user), Some(group))?;
        }
        let password_argument = format!("--pwfile={}", password_file.display());
        let data = data.to_string_lossy();
        let usual = ["--auth=scram-sha-256", "--username=policy", "--encoding=UTF8", "--no-sync"];
        run(&launch("initdb", &[&usual[..], &[&*password_argument, "--pgdata", &*data]].concat()))?;
        let number = format!("port={}", port.address.port());
        let settings = ["-c", &*number, "-c", "listen_addresses=127.0.0.1"];
        let no_files = ["-c", "unix_socket_directories="];
        Ok(Self {
            launch: launch("postgres", &[&["-D", &*data][..], &settings, &no_files].concat()),
            url: format!("postgres://policy:{password}@{}/postgres", port.address),
            port,
            is_ready: Ready::Program(programs.join("pg_isready")),
        })
    }

    pub(crate) fn redis() -> io::Result<Self> {
        let program = in_path(&["redis-server", "valkey-server"])
            .ok_or_else(|| missing("Redis", "apt-get install redis-server"))?;
        let (port, password) = (Port::reserve()?, password()?);
        let folder = Folder::new(&port, None)?;
        let number = port.address.port().to_string();
        let path = folder.join("");
        let path = path.to_string_lossy();
        // Every user of the machine can read the arguments of a program.
        let settings = folder.join("settings");
        fs::write(&settings, format!("requirepass {password}\n"))?;
        // What it acknowledges is on the disk.
        let options = [
            ["--port", &*number],
            ["--bind", "127.0.0.1"],
            ["--dir", &*path],
            ["--save", ""],
            ["--appendonly", "yes"],
            ["--appendfsync", "always"],
        ];
        let mut arguments = vec![settings.to_string_lossy().into_owned()];
        arguments.extend(options.concat().into_iter().map(str::to_owned));
        let launch = Launch {
            program,
            arguments,
            environment: Vec::new(),
            folder: Arc::clone(&folder),
            last_signal: "KILL",
            user: None,
        };
        Ok(Self {
            launch,
            url: format!("redis://:{password}@{}/", port.address),
            is_ready: Ready::Words(format!("AUTH {password}\r\nPING\r\n"), "+OK\r\n+PONG\r\n"),
            port,
        })
    }

    /// Whether it takes commands; while it starts, it may accept connections and refuse those.
    pub(crate) async fn is_ready(&self) -> bool {
        match &self.is_ready {
            Ready::Program(program) => {
                let mut command = Command::new(program);
                let port = self.port.address.port().to_string();
                command.args(["--quiet", "--host=127.0.0.1", "--port", &*port]);
                command.status().is_ok_and(|status| status.success())
            }
            Ready::Words(question, answer) => {
                says(self.port.address, question, answer).await.unwrap_or_default()
            }
        }
    }
}

async fn says(address: SocketAddr, question: &str, answer: &str) -> io::Result<bool> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(question.as_bytes()).await?;
    let mut reply = vec![0; answer.len()];
    stream.read_exact(&mut reply).await?;
    Ok(reply == answer.as_bytes())
}

/// Runs a program to its end.
fn run(launch: &Launch) -> io::Result<()> {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(&launch.program);
    command.args(&launch.arguments).envs(launch.environment.iter().cloned()).current_dir("/");
    if let Some((user, group)) = launch.user {
        command.uid(user).gid(group);
    }
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    let (program, error) = (launch.program.display(), String::from_utf8_lossy(&output.stderr));
    Err(io::Error::other(format!("{program} failed: {error}")))
}

fn password() -> io::Result<String> {
    let bytes: [u8; 16] = Random::system().draw().map_err(io::Error::other)?;
    Ok(HEXLOWER.encode(&bytes))
}

fn missing(what: &str, command: &str) -> io::Error {
    io::Error::other(format!(
        "{what} is not installed: run `{command}`, or name a store that runs already, as \
         `cargo run -p cluster -- postgres://user:password@host/database`"
    ))
}

/// Debian has the programs of PostgreSQL in a folder for each version.
fn postgres_programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let numbered = versions.filter_map(|version| {
        let number: u32 = version.file_name().to_str()?.parse().ok()?;
        let programs = version.path().join("bin");
        programs.join("initdb").exists().then_some((number, programs))
    });
    let newest = numbered.max().map(|(_, programs)| programs);
    newest.or_else(|| in_path(&["initdb"])?.parent().map(Path::to_owned))
}

/// PostgreSQL does not run as root: its own user, where this process is root.
fn postgres_user() -> io::Result<Option<(u32, u32)>> {
    if fs::metadata("/proc/self").map_or(1, |me| me.uid()) != 0 {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd")?;
    let line = users.lines().find(|line| line.starts_with("postgres:")).unwrap_or_default();
    let mut fields = line.split(':').skip(2).map(str::parse);
    match (fields.next(), fields.next()) {
        (Some(Ok(user)), Some(Ok(group))) => Ok(Some((user, group))),
        _ => Err(io::Error::other(
            "PostgreSQL does not run as root, and there is no user `postgres`: run \
             `adduser --system --group postgres`, or this as another user",
        )),
    }
}
