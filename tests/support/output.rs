//! The output of a process, line by line and with a deadline.

use std::{
    io::{self, BufRead, BufReader, Read},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

/// An output of a process. A thread reads it to its end, so that the process never blocks on a full
/// pipe.
#[derive(Debug)]
pub struct Output(Receiver<String>);

impl Output {
    pub fn new(stream: impl Read + Send + 'static) -> Self {
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

    /// The next line with its end, or `None` at the end of the output.
    ///
    /// # Errors
    ///
    /// There was no line until the deadline.
    pub fn line(&self, until: Instant) -> io::Result<Option<String>> {
        match self.0.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => Ok(Some(line)),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// The rest of the output of a process that has ended. A child of that process may still hold
    /// it open, so this has a deadline too.
    pub fn rest(&self) -> String {
        let until = Instant::now() + Duration::from_secs(60);
        let mut text = String::new();
        while let Ok(Some(line)) = self.line(until) {
            text.push_str(&line);
        }
        text
    }
}
