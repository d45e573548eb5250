//! The file of a Unix socket.

use std::{
    fs::{self, File, TryLockError},
    io::{self, ErrorKind},
    os::unix::{
        fs::{FileTypeExt, MetadataExt},
        net::UnixListener,
    },
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use socket2::{Domain, SockAddr, Socket, Type};

use super::BACKLOG;

/// The file of a Unix socket that this server has bound. It is removed when this is dropped, unless
/// another file has replaced it.
#[derive(Debug)]
pub(in crate::server) struct SocketFile {
    path: PathBuf,
    /// The device and the inode.
    id: (u64, u64),
}

impl SocketFile {
    /// Binds a socket to a file. A file on which no process listens is replaced.
    ///
    /// # Errors
    ///
    /// A process listens on it, it is a file of another kind, or it cannot be created.
    pub(super) fn bind(path: &Path) -> io::Result<(UnixListener, Self)> {
        match path.as_os_str().as_encoded_bytes() {
            // For an empty name, the kernel would choose one.
            [] => return Err(invalid("the path is missing")),
            [b'@', ..] => {
                let reason = "an abstract name (`@`) has no permissions: write the path of a file";
                return Err(invalid(reason));
            }
            _ => (),
        }
        // The working directory may have changed when the file is removed.
        let path = std::path::absolute(path)?;
        let _alone = lock_folder(&path);
        let listener = match listen(&path) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                remove_stale(&path)?;
                listen(&path)?
            }
            listener => listener?,
        };
        let metadata = fs::symlink_metadata(&path)?;
        Ok((listener, Self { id: (metadata.dev(), metadata.ino()), path }))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _alone = lock_folder(&self.path);
        let found = fs::symlink_metadata(&self.path);
        if found.is_ok_and(|found| (found.dev(), found.ino()) == self.id) {
            // A file that stays is replaced at the next start.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn listen(path: &Path) -> io::Result<UnixListener> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SockAddr::unix(path)?)?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Removes the socket of a process that has ended.
fn remove_stale(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        let reason = "a file with this name exists and is not a socket";
        return Err(io::Error::new(ErrorKind::AlreadyExists, reason));
    }
    let probe = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // Must not block if the queue of the other process is full.
    probe.set_nonblocking(true)?;
    match probe.connect(&SockAddr::unix(path)?) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
        Ok(()) | Err(_) => {
            let reason = "a process listens on this socket, perhaps another instance of this app";
            Err(io::Error::new(ErrorKind::AddrInUse, reason))
        }
    }
}

/// Locks the folder, so that two processes that start together do not each consider the other's
/// socket unused. There is no lock on a file system without locks, and none if another program keeps
/// it, such as a script that locks the folder while it restarts this server.
fn lock_folder(path: &Path) -> Option<File> {
    const ATTEMPTS: u32 = 25;
    /// A server holds the lock for a few calls of the system.
    const PAUSE: Duration = Duration::from_millis(10);
    let folder = File::open(path.parent()?).ok()?;
    for _ in 0..ATTEMPTS {
        match folder.try_lock() {
            Ok(()) => return Some(folder),
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
            Err(TryLockError::Error(_)) => return None,
        }
    }
    None
}

fn invalid(reason: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, reason)
}
