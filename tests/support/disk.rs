//! A small disk that tests fill. Mounting one needs root.

use std::{
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
};

/// A file system of its own in memory, unmounted when it is dropped.
#[derive(Debug)]
pub struct Disk {
    folder: PathBuf,
}

impl Disk {
    pub fn with_mebibytes(size: u32) -> Self {
        static DISKS: AtomicU32 = AtomicU32::new(0);
        let number = DISKS.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("policy-disk-{}-{number}", std::process::id()));
        fs::create_dir(&folder).expect("a folder");
        let size = format!("size={size}m,mode=777");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "policy"]).arg(&folder);
        assert!(mount.status().expect("mount").success(), "mounting a disk needs root");
        Self { folder }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Leaves no byte free.
    pub fn fill(&self) {
        let mut file = fs::File::create(self.ballast()).expect("a file");
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    /// Frees what `fill` took.
    pub fn free(&self) {
        fs::remove_file(self.ballast()).expect("a file");
    }

    fn ballast(&self) -> PathBuf {
        self.folder.join("ballast")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: a server may still have it open for a moment.
        let _gone = Command::new("umount").arg("--lazy").arg(&self.folder).status();
        let _gone = fs::remove_dir(&self.folder);
    }
}

/// The folder for the files of servers: in memory, if there is room for all of them. It outlives a
/// server that is killed, and no server waits for a disk that other processes use.
pub fn for_servers() -> PathBuf {
    const NEEDED: u64 = 2048;
    let memory = Path::new("/dev/shm");
    let free = Command::new("df").args(["--output=avail", "--block-size=M"]).arg(memory).output();
    let free = free.ok().and_then(|output| {
        let output = String::from_utf8(output.stdout).ok()?;
        output.lines().nth(1)?.trim().strip_suffix('M')?.parse::<u64>().ok()
    });
    if free.is_some_and(|free| free >= NEEDED) { memory.to_owned() } else { env::temp_dir() }
}
