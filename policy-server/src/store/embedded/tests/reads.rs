//! How much of the file a query reads.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use super::*;
use crate::store::{Limit, LimitPolicy, embedded::crash::open_with};

/// A database in memory that counts what is read of it.
#[derive(Clone, Debug, Default)]
struct CountingBackend {
    inside: Arc<redb::backends::InMemoryBackend>,
    reads: Arc<AtomicU64>,
    bytes: Arc<AtomicU64>,
}

impl redb::StorageBackend for CountingBackend {
    fn len(&self) -> io::Result<u64> {
        self.inside.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.reads.fetch_add(1, Relaxed);
        self.bytes.fetch_add(out.len() as u64, Relaxed);
        self.inside.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inside.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.inside.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.inside.write(offset, data)
    }
}

/// How often a query reads the file, and how many bytes.
async fn reads_among(sessions: u32) -> [(u64, u64); 2] {
    let backend = CountingBackend::default();
    let (reads, bytes) = (Arc::clone(&backend.reads), Arc::clone(&backend.bytes));
    // Without a page cache, every access is a read.
    let store = open_with(backend, 0).unwrap();
    let long = |number: u32| {
        let mut record = record(Some("ada"), 0);
        record.handle.0[..4].copy_from_slice(&number.to_le_bytes());
        record.created = NOW.after(Duration::from_millis(number.into()));
        record.data = vec![b' '; 60_000].into();
        let mut key = key(1);
        key.0[..4].copy_from_slice(&number.to_le_bytes());
        CreateSession::new(key, record, NOW)
    };
    let responses: Vec<_> = (0..sessions).map(|number| store.create(long(number))).collect();
    for response in responses {
        assert_eq!(response.await.unwrap(), SessionCreated::Done { evicted: vec![] });
    }
    let handle = long(sessions / 2).record.handle;
    let counted = || (reads.swap(0, Relaxed), bytes.swap(0, Relaxed));
    counted();
    assert!(store.identity("ada", handle, NOW).await.unwrap().is_some());
    let of_one = counted();
    let limit = Limit { sessions: sessions + 1, policy: LimitPolicy::EvictOldest };
    let login = long(sessions).limit(limit);
    assert_eq!(store.create(login).await.unwrap(), SessionCreated::Done { evicted: vec![] });
    [of_one, counted()]
}

#[tokio::test]
async fn a_question_about_one_session_reads_no_other_of_its_user() {
    let few = reads_among(20).await;
    let many = reads_among(400).await;
    for ((reads_few, bytes_few), (reads_many, bytes_many)) in few.into_iter().zip(many) {
        // A tree of twenty times as many rows has two levels more at most, in each table.
        assert!(reads_many <= reads_few + 24, "{few:?} {many:?}");
        // Less than one more session.
        assert!(bytes_many < bytes_few + 60_000, "{few:?} {many:?}");
    }
    let (_, bytes_of_one) = few[0];
    assert!((60_000..120_000).contains(&bytes_of_one), "one session is read: {few:?}");
}
