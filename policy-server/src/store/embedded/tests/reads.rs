//! How much of the file a query reads.

use super::*;
use crate::store::{
    Limit, LimitPolicy,
    embedded::crash::{Disk, open_with},
};

/// How often a query reads the file, and how many bytes.
async fn reads_among(sessions: u32) -> [(u64, u64); 2] {
    let disk = Disk::new(Vec::new(), usize::MAX);
    // Without a page cache, every access is a read.
    let store = open_with(disk.clone(), 0).unwrap();
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
    disk.take_reads();
    assert!(store.identity("ada", handle, NOW).await.unwrap().is_some());
    let of_one = disk.take_reads();
    let limit = Limit { sessions: sessions + 1, policy: LimitPolicy::EvictOldest };
    let login = long(sessions).limit(limit);
    assert_eq!(store.create(login).await.unwrap(), SessionCreated::Done { evicted: vec![] });
    [of_one, disk.take_reads()]
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
