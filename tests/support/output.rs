//! What a process prints, line by line and by a deadline.

use std::{
    io::{self, BufRead, BufReader, Read},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

/// An output of a process. It is read as it comes and to its end, so that the process never waits
/// for a reader.
#[derive(Debug)]
pub struct Output(Receiver<String>);

impl Output {
    pub fn of(stream: impl Read + Send + 'static) -> Self {
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            while stream.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                let _nobody_asks = sender.send(String::from_utf8_lossy(&line).into_owned());
                line.clear();
            }
        });
        Self(lines)
    }

    /// The next line with its end, or nothing where the output has ended.
    ///
    /// # Errors
    ///
    /// There was none until then.
    pub fn line(&self, until: Instant) -> io::Result<Option<String>> {
        match self.0.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => Ok(Some(line)),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// All that is left of the output of a process that has ended. One that it started may still
    /// hold it open, so even this has a deadline.
    pub fn rest(&self) -> String {
        let until = Instant::now() + Duration::from_secs(60);
        let mut text = String::new();
        while let Ok(Some(line)) = self.line(until) {
            text.push_str(&line);
        }
        text
    }
}
