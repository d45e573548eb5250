//! Parses the frames of a stream (RFC 9114 7) and passes them on in pieces, so that the HTTP/3
//! library never buffers more than one piece.
//!
//! The library buffers a frame of any length until it is complete, and reads on while it yields
//! parts of it, so a client could make it buffer any amount. It also takes an empty DATA frame as
//! the end of a body, and a truncated DATA frame as complete. The pieces passed to it exclude all
//! of this.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::section::{self, Section, SectionFault};

const DATA: u64 = 0x00;
const HEADERS: u64 = 0x01;
const CANCEL_PUSH: u64 = 0x03;
const SETTINGS: u64 = 0x04;
const GOAWAY: u64 = 0x07;
const MAX_PUSH_ID: u64 = 0x0d;

/// The maximum length of a known frame on the control stream. SETTINGS contains a few numbers, all
/// others one.
const CONTROL_LIMIT: usize = 4096;

/// Replaces a frame that is not allowed at this point by one that is never allowed, to which the
/// library reacts as the other requires (RFC 9114 4.1 and 7.2.8).
const FORBIDDEN: &[u8] = b"\x06\x00";
/// Replaces a truncated frame.
const CUT_OFF: &[u8] = b"\x01";
/// Replaces a field section that cannot be decoded: a section without a prefix.
const UNDECODABLE: &[u8] = b"\x01\x00";

/// The kind of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Request,
    Control,
}

/// Errors that end a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The request is malformed (RFC 9114 4.1.2).
    Malformed,
    /// A field section exceeds the limit; the only possible response is 431.
    TooLarge,
    /// The client sends unknown frames without end.
    Excessive,
    /// A MAX_PUSH_ID below an earlier one (RFC 9114 7.2.7), which ends the connection.
    PushId,
}

/// The next piece for the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Whole(Bytes),
    /// The header of a DATA frame, and its content.
    Data(Bytes, Bytes),
}

/// Parses the frames of one stream.
#[derive(Debug)]
pub(super) struct Frames {
    purpose: Purpose,
    /// The maximum bytes of a field section, and of all unknown frames together.
    limit: usize,
    /// The kind of the next field section.
    section: Section,
    ignored: usize,
    max_push_id: u64,
    within: Within,
}

#[derive(Debug)]
enum Within {
    /// The bytes received so far of a frame's type and length.
    Head(BytesMut),
    Data(u64),
    Ignored(u64),
    /// A frame that is passed on whole, and the offset of its content.
    Kept {
        frame: BytesMut,
        head: usize,
        missing: usize,
    },
}

impl Frames {
    pub(super) fn new(purpose: Purpose, limit: usize) -> Self {
        let (section, within) = (Section::Head, Within::Head(BytesMut::new()));
        Self { purpose, limit, section, ignored: 0, max_push_id: 0, within }
    }

    /// The next piece of the input; `None` when all of it is consumed.
    pub(super) fn read(&mut self, input: &mut Bytes) -> Result<Option<Piece>, Fault> {
        while !input.is_empty() {
            match &mut self.within {
                Within::Head(head) => {
                    if head.is_empty()
                        && let Some((frame, head)) = self.whole(input)
                    {
                        return self.complete(frame, head).map(Some);
                    }
                    let Within::Head(head) = &mut self.within else { continue };
                    head.extend_from_slice(&input.split_to(1));
                    if let Some((kind, length)) = head_of(&mut &**head) {
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
                Within::Kept { frame, head, missing } => {
                    let content = input.split_to(input.len().min(*missing));
                    *missing -= content.len();
                    frame.extend_from_slice(&content);
                    if *missing == 0 {
                        let (frame, head) = (std::mem::take(frame).freeze(), *head);
                        self.within = Within::Head(BytesMut::new());
                        return self.complete(frame, head).map(Some);
                    }
                }
            }
        }
        Ok(None)
    }

    /// The final piece at the end of the stream.
    pub(super) fn end(&mut self) -> Option<Bytes> {
        if matches!(&self.within, Within::Head(head) if head.is_empty()) {
            return None;
        }
        self.within = Within::Head(BytesMut::new());
        Some(Bytes::from_static(CUT_OFF))
    }

    /// Takes a frame that is passed on whole and was received whole, as most are, without a copy.
    /// Also returns the offset of its content.
    fn whole(&self, input: &mut Bytes) -> Option<(Bytes, usize)> {
        let mut content = &**input;
        let (kind, length) = head_of(&mut content)?;
        let length = usize::try_from(length).ok()?;
        if length > content.len() || length > self.limit_of(kind)? {
            return None;
        }
        let head = input.len() - content.len();
        Some((input.split_to(head + length), head))
    }

    /// The limit of a frame that is passed on whole.
    fn limit_of(&self, kind: u64) -> Option<usize> {
        match (self.purpose, kind) {
            (Purpose::Request, HEADERS) => Some(self.limit),
            (Purpose::Control, SETTINGS | GOAWAY | MAX_PUSH_ID | CANCEL_PUSH) => {
                Some(CONTROL_LIMIT)
            }
            _ => None,
        }
    }

    fn begin(&mut self, kind: u64, length: u64, head: BytesMut) -> Result<Option<Piece>, Fault> {
        let Some(limit) = self.limit_of(kind) else {
            match (self.purpose, kind) {
                (Purpose::Request, DATA) if length > 0 => self.within = Within::Data(length),
                (Purpose::Request, DATA) => self.ignore(head.len())?,
                // This includes HTTP/2 frames that HTTP/3 reserves (RFC 9114 7.2.8).
                (_, 0..=0x09 | MAX_PUSH_ID) => {
                    return Ok(Some(Piece::Whole(Bytes::from_static(FORBIDDEN))));
                }
                _ => {
                    self.ignore(head.len())?;
                    if length > 0 {
                        self.within = Within::Ignored(length);
                    }
                }
            }
            return Ok(None);
        };
        let missing = usize::try_from(length).ok().filter(|length| *length <= limit);
        let missing = missing.ok_or(Fault::TooLarge)?;
        let begin = head.len();
        if missing == 0 {
            return self.complete(head.freeze(), begin).map(Some);
        }
        self.within = Within::Kept { frame: head, head: begin, missing };
        Ok(None)
    }

    /// Passes on a complete frame.
    fn complete(&mut self, frame: Bytes, head: usize) -> Result<Piece, Fault> {
        if self.purpose == Purpose::Control {
            let mut content = frame.get(head..).unwrap_or_default();
            // The library refuses one that is malformed.
            if varint(&mut &*frame) == Some(MAX_PUSH_ID)
                && let Some(id) = varint(&mut content)
            {
                if id < self.max_push_id {
                    return Err(Fault::PushId);
                }
                self.max_push_id = id;
            }
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
    /// request streams limit ignored bytes.
    fn ignore(&mut self, bytes: usize) -> Result<(), Fault> {
        if self.purpose == Purpose::Request {
            self.ignored = self.ignored.saturating_add(bytes);
        }
        if self.ignored > self.limit { Err(Fault::Excessive) } else { Ok(()) }
    }
}

/// Type and length, if both are complete.
fn head_of(bytes: &mut &[u8]) -> Option<(u64, u64)> {
    Some((varint(bytes)?, varint(bytes)?))
}

/// A variable-length integer (RFC 9000 16).
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

/// The largest field section that the sender of SETTINGS accepts (RFC 9114 7.2.4.1), if the frame
/// states one.
pub(super) fn section_limit(mut frame: &[u8]) -> Option<u64> {
    const MAX_FIELD_SECTION_SIZE: u64 = 0x06;
    if head_of(&mut frame)?.0 != SETTINGS {
        return None;
    }
    loop {
        let (identifier, value) = (varint(&mut frame)?, varint(&mut frame)?);
        if identifier == MAX_FIELD_SECTION_SIZE {
            return Some(value);
        }
    }
}

pub(super) fn data_head(length: usize) -> Bytes {
    frame_head(DATA, length)
}

pub(super) fn headers_head(length: usize) -> Bytes {
    frame_head(HEADERS, length)
}

/// The header of a frame with this much content.
fn frame_head(kind: u64, length: usize) -> Bytes {
    let mut head = [0; 9];
    let mut rest = &mut head[..];
    rest.put_u8(kind as u8);
    // The two highest bits encode the number of bytes.
    match length as u64 {
        length @ ..0x40 => rest.put_u8(length as u8),
        length @ ..0x4000 => rest.put_u16(length as u16 | 0x4000),
        length @ ..0x4000_0000 => rest.put_u32(length as u32 | 0x8000_0000),
        length => rest.put_u64(length | 0b11 << 62),
    }
    let unused = rest.len();
    Bytes::copy_from_slice(head.get(..head.len() - unused).unwrap_or_default())
}

#[cfg(test)]
mod tests;
