//! Programs that end with this one, however it ends, and whose files are removed then.

use std::{
    env,
    fs::{self, DirBuilder},
    io::{self, BufRead, BufReader, Write},
    net::{Ipv4Addr, SocketAddr},
    os::unix::{
        fs::{DirBuilderExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{ChildStdin, Command, Stdio},
    sync::Arc,
};

use tokio::net::TcpSocket;

/// Prints the number of the program, and ends it when the input ends: then this process is gone, and
/// so are the files. `stop` and `kill` end it before, and leave them.
const SCRIPT: &str = r#"folder=$1; signal=$2; shift 2
"$@" >>"$folder/log" 2>&1 & program=$!
echo $program
read -r order
case $order in stop) signal=TERM;; kill) signal=KILL;; esac
kill -"$signal" $program 2>/dev/null
wait $program 2>/dev/null
[ -n "$order" ] || rm -rf "$folder""#;

/// How to start a program.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(&'static str, String)>,
    /// For its files; its log is one of them.
    pub(crate) folder: Arc<Folder>,
    /// The signal that ends it when this process is gone.
    pub(crate) last_signal: &'static str,
    /// User and group, if not ours.
    pub(crate) user: Option<(u32, u32)>,
}

impl Launch {
    pub(crate) fn start(&self) -> io::Result<Process> {
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT, "sh"]).arg(&self.folder.0).arg(self.last_signal);
        shell.arg(&self.program).args(&self.arguments);
        shell.envs(self.environment.iter().map(|(name, value)| (name, value)));
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).current_dir("/");
        // Ctrl-C is for us alone.
        shell.process_group(0);
        if let Some((user, group)) = self.user {
            shell.uid(user).gid(group);
        }
        let mut shell = shell.spawn()?;
        let (Some(orders), Some(output)) = (shell.stdin.take(), shell.stdout.take()) else {
            return Err(io::Error::other("a shell without its input and output"));
        };
        let mut number = String::new();
        BufReader::new(output).read_line(&mut number)?;
        Ok(Process { shell, orders, number: number.trim().to_owned() })
    }

    /// The text of its log.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.0.join("log")).unwrap_or_default()
    }
}

/// A running program, ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    shell: std::process::Child,
    orders: ChildStdin,
    number: String,
}

impl Process {
    /// Sends a signal to it and its children: a server may consist of several processes.
    pub(crate) fn signal(&self, name: &str) -> io::Result<()> {
        let children = Command::new("pgrep").args(["-P", &self.number]).output()?.stdout;
        let children = String::from_utf8_lossy(&children).into_owned();
        for process in [&*self.number].into_iter().chain(children.split_whitespace()) {
            // A child may have ended meanwhile.
            Command::new("kill").args([&format!("-{name}"), process]).status()?;
        }
        Ok(())
    }

    /// Ends it as a crash of its machine does: at once, in the middle of whatever it does.
    pub(crate) fn kill(self) -> io::Result<()> {
        self.signal("KILL")?;
        self.end("kill\n")
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn stop(self) -> io::Result<()> {
        self.end("stop\n")
    }

    fn end(mut self, order: &str) -> io::Result<()> {
        self.orders.write_all(order.as_bytes())?;
        drop(self.orders);
        self.shell.wait().map(drop)
    }
}

/// A port of this machine that the system gives to no other process while this value exists. A
/// server can still listen on it by number: both sockets allow that, and this one never listens.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) address: SocketAddr,
    _socket: TcpSocket,
}

impl Port {
    pub(crate) fn reserve() -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        Ok(Self { address: socket.local_addr()?, _socket: socket })
    }
}

/// A folder for the files of a program, removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// An empty one, which only this user may enter: it has the password of the store.
    pub(crate) fn new(port: &Port, user: Option<(u32, u32)>) -> io::Result<Arc<Self>> {
        let path = env::temp_dir().join(format!("policy-cluster-{}", port.address.port()));
        // Left over from a run that was killed.
        let _none = fs::remove_dir_all(&path);
        DirBuilder::new().mode(0o700).create(&path)?;
        if let Some((user, group)) = user {
            chown(&path, Some(user), Some(group))?;
        }
        Ok(Arc::new(Self(path)))
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The shell of a program that ends now does the same.
        let _gone = fs::remove_dir_all(&self.0);
    }
}

/// The first of these programs that is in a folder of `PATH`.
pub(crate) fn in_path(names: &[&str]) -> Option<PathBuf> {
    let paths = env::var_os("PATH").unwrap_or_default();
    let mut candidates =
        env::split_paths(&paths).flat_map(|path| names.iter().map(move |name| path.join(name)));
    candidates.find(|path| Path::exists(path))
}
