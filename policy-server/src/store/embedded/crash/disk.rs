//! A disk in memory that crashes, or fails for a while, and the store on it.

use std::{
    io, mem,
    sync::{Arc, Mutex, OnceLock},
};

use redb::{Builder, StorageBackend};

use crate::store::{
    AnonymousLimit, StoreError,
    embedded::{EmbeddedStore, Open, Shared, file},
};

/// Which of the writes since the last sync are on disk after the crash: the system may write them
/// in any order.
#[derive(Clone, Copy, Debug)]
pub(in crate::store::embedded) enum Survive {
    None,
    All,
    Even,
    Odd,
}

#[derive(Debug)]
enum Write {
    Bytes(u64, Vec<u8>),
    Length(u64),
}

impl Write {
    fn apply(&self, image: &mut Vec<u8>) {
        match self {
            Self::Bytes(at, bytes) => {
                let at = usize::try_from(*at).unwrap();
                let end = at + bytes.len();
                // The crash may have lost the growth of the file.
                if image.len() < end {
                    image.resize(end, 0);
                }
                image[at..end].copy_from_slice(bytes);
            }
            Self::Length(length) => {
                let length = usize::try_from(*length).unwrap();
                image.truncate(length);
                // Faster than `resize`, which fills byte by byte without optimisation and takes
                // most of the test.
                image.extend_from_slice(&vec![0; length - image.len()]);
            }
        }
    }
}

/// What fails until the disk works again.
#[derive(Clone, Copy, Debug)]
pub(in crate::store::embedded) enum Trouble {
    /// Every write and sync.
    Broken,
    /// Every write beyond the first page, which exists already: the disk is full.
    Full,
}

const PAGE: u64 = 4096;

#[derive(Debug, Default)]
struct State {
    trouble: Option<(Trouble, usize)>,
    /// What a reader sees.
    image: Vec<u8>,
    synced: Vec<u8>,
    unsynced: Vec<Write>,
    steps: usize,
    crash_at: usize,
    /// How often it was read, and how many bytes.
    reads: (u64, u64),
}

impl State {
    /// Counts a write up to this byte, or a sync. From `crash_at` on, every call fails.
    fn step(&mut self, end: u64) -> io::Result<()> {
        self.steps += 1;
        if self.steps >= self.crash_at {
            return Err(io::Error::other("crashed"));
        }
        match self.trouble {
            Some((Trouble::Broken, from)) if self.steps > from => Err(io::Error::other("broken")),
            Some((Trouble::Full, from)) if self.steps > from && end > PAGE => {
                Err(io::ErrorKind::StorageFull.into())
            }
            _ => Ok(()),
        }
    }

    fn write(&mut self, write: Write) -> io::Result<()> {
        let end = match &write {
            Write::Bytes(at, bytes) => at + bytes.len() as u64,
            Write::Length(length) if *length > self.image.len() as u64 => *length,
            Write::Length(_) => 0,
        };
        self.step(end)?;
        write.apply(&mut self.image);
        self.unsynced.push(write);
        Ok(())
    }
}

/// A disk in memory that crashes, or is full for a while, and counts what is read of it.
#[derive(Clone, Debug)]
pub(in crate::store::embedded) struct Disk(Arc<Mutex<State>>);

impl Disk {
    pub(in crate::store::embedded) fn new(image: Vec<u8>, crash_at: usize) -> Self {
        let state = State { synced: image.clone(), image, crash_at, ..State::default() };
        Self(Arc::new(Mutex::new(state)))
    }

    pub(super) fn steps(&self) -> usize {
        self.0.lock().unwrap().steps
    }

    /// How often it was read since the last call, and how many bytes.
    pub(in crate::store::embedded) fn take_reads(&self) -> (u64, u64) {
        mem::take(&mut self.0.lock().unwrap().reads)
    }

    /// Begins to fail after this many more writes.
    pub(in crate::store::embedded) fn fail_after(&self, writes: usize, trouble: Trouble) {
        let state = &mut *self.0.lock().unwrap();
        state.trouble = Some((trouble, state.steps + writes));
    }

    pub(in crate::store::embedded) fn work(&self) {
        self.0.lock().unwrap().trouble = None;
    }

    pub(in crate::store::embedded) fn after_crash(&self, survive: Survive) -> Vec<u8> {
        let state = self.0.lock().unwrap();
        let mut image = state.synced.clone();
        for (index, write) in state.unsynced.iter().enumerate() {
            let is_written = match survive {
                Survive::None => false,
                Survive::All => true,
                Survive::Even => index % 2 == 0,
                Survive::Odd => index % 2 == 1,
            };
            if is_written {
                write.apply(&mut image);
            }
        }
        // As for a real file.
        if file::is_unfinished(image.get(..file::HEAD).unwrap_or(&image), image.len() as u64) {
            image.clear();
        }
        image
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().image.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = &mut *self.0.lock().unwrap();
        state.reads.0 += 1;
        state.reads.1 += out.len() as u64;
        let at = usize::try_from(offset).unwrap();
        let bytes = state.image.get(at..at + out.len());
        out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.lock().unwrap().write(Write::Length(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        let state = &mut *self.0.lock().unwrap();
        state.step(0)?;
        state.unsynced.drain(..).for_each(|write| write.apply(&mut state.synced));
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().write(Write::Bytes(offset, data.to_vec()))
    }
}

pub(in crate::store::embedded) fn open(disk: Disk) -> Result<EmbeddedStore, String> {
    open_with(disk, EmbeddedStore::PAGE_CACHE)
}

pub(in crate::store::embedded) fn open_with(
    disk: Disk,
    page_cache: usize,
) -> Result<EmbeddedStore, String> {
    let opener = move |_| {
        let mut builder = Builder::new();
        let database = builder.set_cache_size(page_cache).create_with_backend(disk.clone());
        let database = database.map_err(StoreError::new)?;
        file::check_format(&database).map_err(StoreError::new)?;
        Ok(database)
    };
    let open = Open::start(Box::new(opener), AnonymousLimit::default());
    let open = open.map_err(|error| error.to_string())?;
    Ok(EmbeddedStore(Arc::new(Shared {
        path: "memory".into(),
        page_cache: EmbeddedStore::PAGE_CACHE,
        anonymous: AnonymousLimit::default(),
        opening: Mutex::new(()),
        open: OnceLock::from(open),
    })))
}
