//! The processor time of a thread, which a busy machine changes less than wall-clock time.

use std::{fs, io, time::Duration};

/// The processor time of this thread so far, from Linux.
pub(crate) fn on_processor() -> io::Result<Duration> {
    let times = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = times.split(' ').next().and_then(|time| time.parse().ok());
    nanoseconds.map(Duration::from_nanos).ok_or_else(|| io::ErrorKind::InvalidData.into())
}
