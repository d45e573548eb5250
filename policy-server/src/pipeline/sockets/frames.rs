//! Frames of WebSockets (RFC 6455 5.2): the parts that limits and Close frames need.

use bytes::BytesMut;

/// The longest head: two bytes, a length of eight, and a mask of four.
const HEAD: usize = 14;

/// The longest payload of a control frame (RFC 6455 5.5).
const CONTROL: u64 = 125;

const CLOSE: u8 = 0x8;
const PONG: u8 = 0xA;

/// The server's ping. Its payload distinguishes the pong to it from others.
pub(super) const PING: &[u8; 8] = b"\x89\x06policy";
const PING_PAYLOAD: &[u8] = b"policy";

/// The position within the frames of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frames {
    /// The bytes of a head that is not complete.
    head: [u8; HEAD],
    head_len: usize,
    /// The number of bytes of a payload that are still to come.
    payload: u64,
}

/// The head of a frame.
#[derive(Clone, Copy, Debug)]
struct Head {
    bytes: [u8; HEAD],
    len: usize,
    payload: u64,
}

impl Head {
    fn first(&self) -> u8 {
        self.bytes.first().copied().unwrap_or_default()
    }

    fn is_final(&self) -> bool {
        self.first() & 0x80 != 0
    }

    fn opcode(&self) -> u8 {
        self.first() & 0x0f
    }

    fn is_control(&self) -> bool {
        self.opcode() >= CLOSE
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

impl Frames {
    /// Whether a frame has ended and none has begun.
    pub(super) fn is_between(&self) -> bool {
        self.head_len == 0 && self.payload == 0
    }

    /// How many of the bytes belong to the frame that has begun.
    pub(super) fn rest_of_frame(&self, bytes: &[u8]) -> usize {
        let (mut frames, mut len) = (*self, 0);
        while !frames.is_between() && len < bytes.len() {
            len += frames.step(bytes.get(len..).unwrap_or_default()).0;
        }
        len
    }

    /// Passes all of these bytes, and tells whether a Close frame is among them.
    pub(super) fn pass(&mut self, mut bytes: &[u8]) -> bool {
        let mut has_close = false;
        while !bytes.is_empty() {
            let (len, head) = self.step(bytes);
            has_close |= head.is_some_and(|head| head.opcode() == CLOSE);
            bytes = bytes.get(len..).unwrap_or_default();
        }
        has_close
    }

    /// Passes bytes of one payload, or of one head, which is returned when it is complete. At least
    /// one byte is passed.
    fn step(&mut self, bytes: &[u8]) -> (usize, Option<Head>) {
        if self.payload > 0 {
            let len = usize::try_from(self.payload).unwrap_or(usize::MAX).min(bytes.len());
            self.payload -= len as u64;
            return (len, None);
        }
        for (index, byte) in bytes.iter().enumerate() {
            if let Some(next) = self.head.get_mut(self.head_len) {
                *next = *byte;
                self.head_len += 1;
            }
            if let Some(head) = self.complete() {
                (self.head_len, self.payload) = (0, head.payload);
                return (index + 1, Some(head));
            }
        }
        (bytes.len(), None)
    }

    /// The head, if it is complete.
    fn complete(&self) -> Option<Head> {
        let [_, second, length @ ..] = &self.head;
        if self.head_len < 2 {
            return None;
        }
        let extended = match second & 0x7f {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let len = 2 + extended + if second & 0x80 != 0 { 4 } else { 0 };
        if self.head_len < len {
            return None;
        }
        let payload = match extended {
            0 => u64::from(second & 0x7f),
            _ => length.iter().take(extended).fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
        };
        Some(Head { bytes: self.head, len, payload })
    }
}

/// What a client sends: heads are held back until they are complete, so that the handler sees no
/// part of a frame that it must not read.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    frames: Frames,
    /// The length of the message that has begun, all its fragments together.
    message: u64,
    pub(super) limit: u64,
    /// A pong that may be the one to the server's ping.
    held: Vec<u8>,
    is_holding: bool,
    /// Whether a ping of the server is still unanswered.
    pub(super) awaits_pong: bool,
    /// Whether passing has stopped.
    is_refused: bool,
    pub(super) has_closed: bool,
}

/// A message is longer than the limit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

impl Incoming {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Stops passing. Returns whether the bytes that were passed on end with a frame.
    pub(super) fn refuse(&mut self) -> bool {
        let is_between = self.is_refused || self.is_holding || self.frames.payload == 0;
        self.is_refused = true;
        is_between
    }

    /// Passes these bytes on to `handler`, up to a message that is too large.
    pub(super) fn pass(
        &mut self,
        mut bytes: &[u8],
        handler: &mut BytesMut,
    ) -> Result<(), TooLarge> {
        let mut passed = Ok(());
        while !bytes.is_empty() {
            let (len, head) = self.frames.step(bytes);
            let (now, later) = bytes.split_at_checked(len).unwrap_or((bytes, &[]));
            bytes = later;
            match head {
                Some(head) => {
                    self.has_closed |= head.opcode() == CLOSE;
                    if self.is_refused {
                        continue;
                    }
                    if self.count(&head).is_err() {
                        self.is_refused = true;
                        passed = Err(TooLarge);
                        continue;
                    }
                    self.is_holding = self.awaits_pong
                        && head.opcode() == PONG
                        && head.payload == PING_PAYLOAD.len() as u64;
                    if self.is_holding {
                        self.held.extend_from_slice(head.bytes());
                    } else {
                        handler.extend_from_slice(head.bytes());
                    }
                }
                None if self.is_refused || self.frames.head_len > 0 => (),
                None if self.is_holding => self.held.extend_from_slice(now),
                None => handler.extend_from_slice(now),
            }
            if self.is_holding && self.frames.is_between() {
                self.is_holding = false;
                let held = std::mem::take(&mut self.held);
                if is_own_pong(&held) {
                    self.awaits_pong = false;
                } else {
                    handler.extend_from_slice(&held);
                }
            }
        }
        passed
    }

    /// Counts a frame. A control frame belongs to no message, and is short.
    fn count(&mut self, head: &Head) -> Result<(), TooLarge> {
        if head.is_control() {
            return if head.payload <= CONTROL { Ok(()) } else { Err(TooLarge) };
        }
        // Also counts a message that begins before the last one has ended, which is an error.
        let message = self.message.checked_add(head.payload).ok_or(TooLarge)?;
        if message > self.limit {
            return Err(TooLarge);
        }
        self.message = if head.is_final() { 0 } else { message };
        Ok(())
    }
}

/// Whether a frame of a client, which is masked, is the pong to the server's ping.
fn is_own_pong(frame: &[u8]) -> bool {
    let Some((_, [m0, m1, m2, m3, payload @ ..])) = frame.split_at_checked(2) else { return false };
    let mask = [m0, m1, m2, m3].into_iter().cycle();
    payload.iter().zip(mask).map(|(byte, mask)| byte ^ mask).eq(PING_PAYLOAD.iter().copied())
}

/// A Close frame (RFC 6455 5.5.1) of the server.
pub(super) fn close(code: u16, reason: &str) -> Vec<u8> {
    close_frame(code, reason, 0)
}

/// The same as if a client had sent it: masked, with a mask that changes nothing.
pub(super) fn close_of_client(code: u16, reason: &str) -> Vec<u8> {
    close_frame(code, reason, 0x80)
}

fn close_frame(code: u16, reason: &str, masked: u8) -> Vec<u8> {
    // Codes are short; a control frame has at most 125 bytes.
    let reason = reason.as_bytes().get(..reason.len().min(123)).unwrap_or_default();
    let len = u8::try_from(reason.len() + 2).unwrap_or(2);
    let mut frame = vec![0x80 | CLOSE, masked | len];
    if masked != 0 {
        frame.extend([0; 4]);
    }
    frame.extend(code.to_be_bytes());
    frame.extend(reason);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A masked frame, as clients send it.
    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![first];
        match payload.len() {
            len @ 0..=125 => frame.push(0x80 | len as u8),
            len => {
                frame.push(0x80 | 126);
                frame.extend((len as u16).to_be_bytes());
            }
        }
        let mask = [1, 2, 3, 4];
        frame.extend(mask);
        frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        frame
    }

    #[test]
    fn frames_are_passed_on_as_they_are_however_they_are_cut() {
        let frames = [
            frame(0x01, b"frag"),
            frame(0x89, b"ping"),
            frame(0x80, &[7; 300]),
            frame(0x8A, b"policy"),
            frame(0x82, b""),
        ]
        .concat();
        for size in 1..=frames.len() {
            let (mut incoming, mut passed) = (Incoming::new(304), BytesMut::new());
            for piece in frames.chunks(size) {
                assert_eq!(incoming.pass(piece, &mut passed), Ok(()), "{size}");
            }
            assert_eq!(passed, frames, "{size}");
            assert!(incoming.refuse() && incoming.frames.is_between());
        }
    }

    #[test]
    fn the_pong_to_our_ping_is_not_passed_on_and_others_are() {
        let (other, own) = (frame(0x8A, b"theirs"), frame(0x8A, b"policy"));
        let all = [&*other, &*own, &*own].concat();
        for size in 1..=all.len() {
            let (mut incoming, mut passed) = (Incoming::new(1), BytesMut::new());
            incoming.awaits_pong = true;
            for piece in all.chunks(size) {
                assert_eq!(incoming.pass(piece, &mut passed), Ok(()));
            }
            assert_eq!(passed, [&*other, &*own].concat(), "{size}");
            assert!(!incoming.awaits_pong);
        }
    }

    #[test]
    fn no_fragment_of_a_too_large_message_is_passed_on() {
        for (frames, allowed) in [
            (vec![frame(0x82, &[0; 10])], 1),
            (vec![frame(0x82, &[0; 11])], 0),
            (vec![frame(0x02, &[0; 6]), frame(0x80, &[0; 4]), frame(0x82, &[0; 10])], 3),
            (vec![frame(0x02, &[0; 6]), frame(0x89, &[0; 125]), frame(0x00, &[0; 5])], 2),
            // A message that begins within another one.
            (vec![frame(0x02, &[0; 6]), frame(0x02, &[0; 5])], 1),
            (vec![frame(0x89, &[0; 126])], 0),
            (vec![vec![0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]], 0),
        ] {
            let (all, want) = (frames.concat(), frames[..allowed].concat());
            for size in 1..=all.len() {
                let (mut incoming, mut passed) = (Incoming::new(10), BytesMut::new());
                let refused =
                    all.chunks(size).any(|piece| incoming.pass(piece, &mut passed).is_err());
                assert_eq!(refused, allowed < frames.len(), "{size} {frames:?}");
                assert_eq!(passed, want, "{size}");
                assert!(incoming.refuse());
            }
        }
    }

    #[test]
    fn the_end_of_a_frame_is_found_and_so_is_a_close_frame() {
        let all = [&[0x82, 3, 1, 2, 3][..], &close(1008, "gone"), &[0x81, 0]].concat();
        let mut frames = Frames::default();
        assert_eq!(frames.rest_of_frame(&all), 0);
        assert!(!frames.pass(&all[..1]));
        assert_eq!(frames.rest_of_frame(&all[1..]), 4);
        assert!(!frames.pass(&all[1..5]) && frames.is_between());
        assert!(frames.pass(&all[5..6 + 1]) && !frames.is_between());
        assert_eq!(close(1008, "gone"), b"\x88\x06\x03\xf0gone");
        assert_eq!(close_of_client(1001, ""), b"\x88\x82\0\0\0\0\x03\xe9");
        assert_eq!(close(1008, &"x".repeat(200)).len(), 127);
        let mut frames = Frames::default();
        assert!(!frames.pass(PING) && frames.is_between());
    }
}
