//! Folders for one test.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicUsize, Ordering},
};

/// A temporary folder, removed when it is dropped.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// An empty folder.
    pub fn new() -> io::Result<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("policy-test-{}-{count}", process::id()));
        // Left over from an earlier process with the same id.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    /// A folder with these files.
    pub fn with(files: &[(&str, &str)]) -> io::Result<Self> {
        let folder = Self::new()?;
        for (path, text) in files {
            let file = folder.0.join(path);
            file.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(file, text)?;
        }
        Ok(folder)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.0);
    }
}
