//! Limits received HTTP/2 frames that belong to no request.
//!
//! The parser replies to SETTINGS and PING and drops PRIORITY without a limit, although each costs
//! more to handle than to send.

use std::io;

use crate::server::activity::Activity;

/// How many bytes of such frames a client may send beyond what its requests and their responses
/// account for: 20,000 PINGs. Keeping a connection open for an hour takes a hundredth of that.
const CREDIT: u32 = 256 * 1024;

/// The client's preface (RFC 9113 3.4).
const PREFACE_LEN: u32 = 24;
/// The length of a frame header (RFC 9113 4.1).
const HEAD_LEN: usize = 9;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;

/// Parses the frame headers of one connection.
#[derive(Debug)]
pub(in crate::server) struct Frames {
    head: [u8; HEAD_LEN],
    /// The number of header bytes read so far.
    begun: usize,
    /// The remaining bytes of a payload.
    rest: u32,
    is_of_request: bool,
    debt: u32,
}

/// The classification of some bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Weight {
    /// The content of requests.
    useful: u32,
    /// Everything about the connection itself.
    overhead: u32,
}

impl Frames {
    /// Starts at the preface.
    pub(in crate::server) fn new() -> Self {
        Self { head: [0; HEAD_LEN], begun: 0, rest: PREFACE_LEN, is_of_request: true, debt: 0 }
    }

    /// Counts received bytes, and records them. A client that floods its connection loses it (RFC
    /// 9113 10.5).
    pub(in crate::server) fn count(&mut self, bytes: &[u8], activity: &Activity) -> io::Result<()> {
        let weight = self.read(bytes);
        if self.are_too_many() {
            return Err(io::Error::other("too many frames that belong to no request"));
        }
        if activity.gives_up_too_much() {
            return Err(io::Error::other("too many requests that the client gave up"));
        }
        if weight.useful > 0 {
            activity.read();
        }
        activity.owes(weight.overhead);
        Ok(())
    }

    fn read(&mut self, mut bytes: &[u8]) -> Weight {
        let mut weight = Weight::default();
        while !bytes.is_empty() {
            if self.rest == 0 {
                bytes = self.read_head(bytes, &mut weight);
                continue;
            }
            let here = (self.rest as usize).min(bytes.len());
            let len = u32::try_from(here).unwrap_or(self.rest);
            if self.is_of_request {
                weight.useful += len;
            } else {
                weight.overhead += len;
            }
            self.rest -= len;
            bytes = bytes.get(here..).unwrap_or_default();
        }
        self.debt = self.debt.saturating_add(weight.overhead).saturating_sub(weight.useful);
        weight
    }

    fn read_head<'a>(&mut self, bytes: &'a [u8], weight: &mut Weight) -> &'a [u8] {
        let missing = (HEAD_LEN - self.begun).min(bytes.len());
        let (here, behind) = bytes.split_at_checked(missing).unwrap_or((bytes, &[]));
        if let Some(room) = self.head.get_mut(self.begun..self.begun + here.len()) {
            room.copy_from_slice(here);
        }
        self.begun += here.len();
        if self.begun == HEAD_LEN {
            let [high, middle, low, kind, ..] = self.head;
            self.begun = 0;
            self.rest = u32::from_be_bytes([0, high, middle, low]);
            self.is_of_request = matches!(kind, DATA | HEADERS | CONTINUATION) && self.rest > 0;
            if !self.is_of_request {
                weight.overhead += HEAD_LEN as u32;
            }
        }
        behind
    }

    /// Counts sent bytes. A reply to PING is as long as the PING, so it counts half.
    pub(in crate::server) fn wrote(&mut self, bytes: usize) {
        self.debt = self.debt.saturating_sub(u32::try_from(bytes / 2).unwrap_or(u32::MAX));
    }

    /// Whether the client exceeded the limit.
    fn are_too_many(&self) -> bool {
        self.debt > CREDIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: u8 = 4;
    const PING: u8 = 6;

    fn frame(kind: u8, len: usize) -> Vec<u8> {
        let [_, high, middle, low] = (len as u32).to_be_bytes();
        let mut frame = vec![high, middle, low, kind, 0, 0, 0, 0, 1];
        frame.resize(HEAD_LEN + len, b'x');
        frame
    }

    #[test]
    fn frames_are_recognized_in_pieces_of_any_size() {
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        for (kind, len) in [(SETTINGS, 0), (HEADERS, 300), (DATA, 70_000), (PING, 8), (DATA, 0)] {
            bytes.extend(frame(kind, len));
        }
        for piece in [1, 2, 7, 9, 64, bytes.len()] {
            let mut frames = Frames::new();
            let mut total = Weight::default();
            for piece in bytes.chunks(piece) {
                let weight = frames.read(piece);
                total.useful += weight.useful;
                total.overhead += weight.overhead;
            }
            let useful = PREFACE_LEN + 300 + 70_000;
            assert_eq!(total, Weight { useful, overhead: 9 + 17 + 9 }, "pieces of {piece}");
        }
    }

    #[test]
    fn distinguishes_a_flood_from_frames_of_requests() {
        let flooded = |kind, len, written| {
            let mut frames = Frames::new();
            frames.read(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
            for _ in 0..100_000 {
                frames.read(&frame(kind, len));
                frames.wrote(written);
            }
            frames.are_too_many()
        };
        // Each with its reply.
        assert!(flooded(PING, 8, 17));
        assert!(flooded(SETTINGS, 0, 9));
        // PRIORITY has no reply, and a WINDOW_UPDATE by one byte lets one byte be sent.
        assert!(flooded(2, 5, 0));
        assert!(flooded(8, 4, 10));
        assert!(flooded(DATA, 0, 0));
        // A WINDOW_UPDATE for every 50 bytes sent.
        assert!(!flooded(8, 4, 59));
        assert!(!flooded(HEADERS, 1, 0));
        assert!(!flooded(DATA, 1, 0));
    }
}
