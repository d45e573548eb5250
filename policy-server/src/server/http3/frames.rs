//! The frames of a stream (RFC 9114 7), cut so that the HTTP/3 library above never holds more of
//! them than one piece.
//!
//! The library keeps a frame of any length until it is complete, and reads on while it gives out
//! parts of what it has: a client could make it keep as much as it likes. It also takes a DATA
//! frame without content for the end of a body, and a DATA frame that is cut off for a whole one.
//! What it is given here leaves no room for that.

use bytes::{Buf, Bytes, BytesMut};

use super::section::{self, Section, SectionFault};

const DATA: u64 = 0x00;
const HEADERS: u64 = 0x01;
const CANCEL_PUSH: u64 = 0x03;
const SETTINGS: u64 = 0x04;
const GOAWAY: u64 = 0x07;
const MAX_PUSH_ID: u64 = 0x0d;

/// The most bytes of a frame of the control stream that means something. Settings are some
/// numbers, all others are one.
const CONTROL_LIMIT: usize = 4096;

/// In place of a frame that may not be where it is: a frame that may be nowhere, which the
/// library answers as the other has to be (RFC 9114 4.1 and 7.2.8).
const FORBIDDEN: &[u8] = b"\x06\x00";
/// In place of a frame that was cut off.
const CUT_OFF: &[u8] = b"\x01";
/// In place of a section that cannot be decoded: one without a prefix.
const UNDECODABLE: &[u8] = b"\x01\x00";

/// What a stream is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Request,
    Control,
}

/// What ends a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The request is malformed (RFC 9114 4.1.2).
    Malformed,
    /// A section is over the limit, so there is nothing but 431 to answer.
    TooLarge,
    /// The client sends what has no meaning, without an end.
    Excessive,
}

/// What the library is given next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Whole(Bytes),
    /// The head of a DATA frame, and then its content.
    Data(Bytes, Bytes),
}

/// Reads the frames of one stream.
#[derive(Debug)]
pub(super) struct Frames {
    purpose: Purpose,
    /// The most bytes of a section, and of all that has no meaning.
    limit: usize,
    /// Which section comes next.
    section: Section,
    ignored: usize,
    within: Within,
}

#[derive(Debug)]
enum Within {
    /// The type and the length of a frame, as far as they came.
    Head(BytesMut),
    Data(u64),
    Ignored(u64),
    /// A frame that is given on as a whole, and where its content begins.
    Kept {
        frame: BytesMut,
        head: usize,
        missing: usize,
    },
}

impl Frames {
    pub(super) fn new(purpose: Purpose, limit: usize) -> Self {
        let (section, within) = (Section::Head, Within::Head(BytesMut::new()));
        Self { purpose, limit, section, ignored: 0, within }
    }

    /// The next piece of what came; `None` when all of it is used up.
    ///
    /// # Errors
    ///
    /// The stream ends here.
    pub(super) fn read(&mut self, input: &mut Bytes) -> Result<Option<Piece>, Fault> {
        while !input.is_empty() {
            match &mut self.within {
                Within::Head(head) => {
                    head.extend_from_slice(&input.split_to(1));
                    if let Some((kind, length)) = head_of(head) {
                        let head = std::mem::take(head);
                        if let Some(piece) = self.begin(kind, length, head)? {
                            return Ok(Some(piece));
                        }
                    }
                }
                Within::Data(missing) => {
                    let content = take(input, missing);
                    if *missing == 0 {
                        self.within = Within::Head(BytesMut::new());
                    }
                    return Ok(Some(Piece::Data(data_head(content.len()), content)));
                }
                Within::Ignored(missing) => {
                    let content = take(input, missing);
                    if *missing == 0 {
                        self.within = Within::Head(BytesMut::new());
                    }
                    self.ignore(content.len())?;
                }
                Within::Kept { frame, missing, .. } => {
                    let content = input.split_to(input.len().min(*missing));
                    *missing -= content.len();
                    frame.extend_from_slice(&content);
                    if *missing == 0 {
                        return self.complete().map(Some);
                    }
                }
            }
        }
        Ok(None)
    }

    /// What is given at the end of the stream, before the end itself.
    pub(super) fn end(&mut self) -> Option<Bytes> {
        if matches!(&self.within, Within::Head(head) if head.is_empty()) {
            return None;
        }
        self.within = Within::Head(BytesMut::new());
        Some(Bytes::from_static(CUT_OFF))
    }

    fn begin(&mut self, kind: u64, length: u64, head: BytesMut) -> Result<Option<Piece>, Fault> {
        let limit = match (self.purpose, kind) {
            (Purpose::Request, DATA) => {
                if length > 0 {
                    self.within = Within::Data(length);
                } else {
                    self.ignore(head.len())?;
                }
                return Ok(None);
            }
            (Purpose::Request, HEADERS) => self.limit,
            (Purpose::Control, SETTINGS | GOAWAY | MAX_PUSH_ID | CANCEL_PUSH) => CONTROL_LIMIT,
            // HTTP/2's frames without a meaning here are among these (RFC 9114 7.2.8).
            (_, 0..=0x09 | MAX_PUSH_ID) => {
                return Ok(Some(Piece::Whole(Bytes::from_static(FORBIDDEN))));
            }
            _ => {
                self.ignore(head.len())?;
                if length > 0 {
                    self.within = Within::Ignored(length);
                }
                return Ok(None);
            }
        };
        let missing = usize::try_from(length).ok().filter(|length| *length <= limit);
        let missing = missing.ok_or(Fault::TooLarge)?;
        let begin = head.len();
        self.within = Within::Kept { frame: head, head: begin, missing };
        if missing > 0 { Ok(None) } else { self.complete().map(Some) }
    }

    /// Gives on a frame that is complete.
    fn complete(&mut self) -> Result<Piece, Fault> {
        let within = std::mem::replace(&mut self.within, Within::Head(BytesMut::new()));
        let Within::Kept { frame, head, .. } = within else { return Err(Fault::Malformed) };
        let frame = frame.freeze();
        if self.purpose == Purpose::Control {
            return Ok(Piece::Whole(frame));
        }
        let section = std::mem::replace(&mut self.section, Section::Trailers);
        match section::check(frame.get(head..).unwrap_or_default(), section) {
            Ok(()) => Ok(Piece::Whole(frame)),
            Err(SectionFault::Malformed) => Err(Fault::Malformed),
            Err(SectionFault::Undecodable) => Ok(Piece::Whole(Bytes::from_static(UNDECODABLE))),
        }
    }

    /// Browsers send a frame per request on the control stream that is ignored here, so only
    /// requests have a limit of them.
    fn ignore(&mut self, bytes: usize) -> Result<(), Fault> {
        if self.purpose == Purpose::Request {
            self.ignored = self.ignored.saturating_add(bytes);
        }
        if self.ignored > self.limit { Err(Fault::Excessive) } else { Ok(()) }
    }
}

/// Type and length, if both are complete.
fn head_of(mut bytes: &[u8]) -> Option<(u64, u64)> {
    Some((varint(&mut bytes)?, varint(&mut bytes)?))
}

/// An integer of RFC 9000 16.
pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let length = 1_usize << (bytes.first()? >> 6);
    if bytes.len() < length {
        return None;
    }
    let value = bytes.get_uint(length);
    Some(value & (u64::MAX >> (66 - 8 * length)))
}

fn take(input: &mut Bytes, missing: &mut u64) -> Bytes {
    let length = usize::try_from(*missing).map_or(input.len(), |missing| missing.min(input.len()));
    *missing -= length as u64;
    input.split_to(length)
}

/// The head of a DATA frame with so much content.
fn data_head(length: usize) -> Bytes {
    // Eight bytes hold any length: the two bits on top say that there are eight.
    let mut head = [0; 9];
    let length = (length as u64 | 0b11 << 62).to_be_bytes();
    for (to, from) in head.iter_mut().skip(1).zip(length) {
        *to = from;
    }
    Bytes::copy_from_slice(&head)
}

#[cfg(test)]
mod tests;
