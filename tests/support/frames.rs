//! HTTP/2 as bytes: frames and header blocks, including invalid ones that no library would send.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::http::soon;

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const PRIORITY: u8 = 2;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;

pub const NO_ERROR: u32 = 0;
pub const PROTOCOL_ERROR: u32 = 1;
pub const FLOW_CONTROL_ERROR: u32 = 3;
pub const ENHANCE_YOUR_CALM: u32 = 11;

/// A frame (RFC 9113 4.1).
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a length").to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Encodes fields as literals without indexing (RFC 7541 6.2.2).
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    fields.iter().flat_map(|(name, value)| literal(0, name, value)).collect()
}

/// Encodes a field as a literal. `first` is 0, or 0x40 to add it to the dynamic table.
pub fn literal(first: u8, name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![first];
    for text in [name, value] {
        bytes.extend(number(text.len()));
        bytes.extend(text.as_bytes());
    }
    bytes
}

/// The length of a string without Huffman coding (RFC 7541 5.1).
fn number(mut value: usize) -> Vec<u8> {
    if value < 127 {
        return vec![value as u8];
    }
    let mut bytes = vec![127];
    value -= 127;
    while value >= 128 {
        bytes.push((value % 128 + 128) as u8);
        value /= 128;
    }
    bytes.push(value as u8);
    bytes
}

/// The pseudo-header fields of a request for `localhost`.
pub fn pseudo<'a>(method: &'a str, path: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![(":method", method), (":scheme", "http"), (":path", path), (":authority", "localhost")]
}

/// A whole request without a body.
pub fn get(stream: u32, path: &str) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, stream, &block(&pseudo("GET", path)))
}

/// The head of a request with a body.
pub fn post(stream: u32, path: &str) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &block(&pseudo("POST", path)))
}

/// A setting (RFC 9113 6.5.1).
pub fn setting(id: u16, value: u32) -> Vec<u8> {
    [&id.to_be_bytes()[..], &value.to_be_bytes()].concat()
}

/// A frame as received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// With a GOAWAY frame of this code.
    Goaway(u32),
    /// Without a GOAWAY frame.
    Closed,
}

/// One connection with prior knowledge.
pub struct Raw {
    pub stream: TcpStream,
    received: Vec<u8>,
}

impl Raw {
    /// Connects and sends the preface. The dynamic table for responses has size 0, so that each
    /// header block can be read by itself.
    pub async fn open(address: SocketAddr) -> Self {
        Self::open_with(address, &[]).await
    }

    pub async fn open_with(address: SocketAddr, settings: &[(u16, u32)]) -> Self {
        let stream = soon(TcpStream::connect(address)).await.expect("a server");
        stream.set_nodelay(true).expect("a socket");
        let mut raw = Self { stream, received: Vec::new() };
        let mut payload = setting(1, 0);
        payload.extend(settings.iter().flat_map(|(id, value)| setting(*id, *value)));
        raw.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
        raw.send(frame(SETTINGS, 0, 0, &payload)).await;
        raw
    }

    /// Sends as much as the server accepts; whether that was everything.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        soon(self.stream.write_all(bytes.as_ref())).await.is_ok()
    }

    /// Sends as much as the server accepts and reads at the same time, so that unread responses do
    /// not block it.
    pub async fn pour(&mut self, bytes: impl AsRef<[u8]>) {
        let (mut reading, mut writing) = self.stream.split();
        let write = async {
            if writing.write_all(bytes.as_ref()).await.is_ok() {
                // Ends the sending half, which may already be closed.
                let _ = writing.shutdown().await;
            }
        };
        let received = &mut self.received;
        let read = async { while let Ok(1..) = reading.read_buf(received).await {} };
        soon(async { tokio::join!(write, read) }).await;
    }

    /// The next frame, or `None` at the end of the connection.
    pub async fn frame(&mut self) -> Option<Frame> {
        loop {
            if let Some((frame, length)) = first_frame(&self.received) {
                self.received.drain(..length);
                return Some(frame);
            }
            let mut bytes = [0; 16 * 1024];
            match soon(self.stream.read(&mut bytes)).await {
                Ok(length @ 1..) => self.received.extend(&bytes[..length]),
                _ => return None,
            }
        }
    }

    /// The next frame of a stream, window updates aside.
    pub async fn frame_of(&mut self, stream: u32) -> Frame {
        loop {
            let frame = self.frame().await.expect("a connection that is open");
            if frame.stream == stream && frame.kind != WINDOW_UPDATE {
                return frame;
            }
            assert_ne!(frame.kind, GOAWAY, "{frame:?}");
        }
    }

    /// Reads until the connection ends, and returns how.
    pub async fn end(&mut self) -> ConnectionEnd {
        self.end_and(0).await.0
    }

    /// How the connection ends, and whether a response began on a stream before that.
    pub async fn end_and(&mut self, stream: u32) -> (ConnectionEnd, bool) {
        let (mut end, mut is_answered) = (ConnectionEnd::Closed, false);
        while let Some(frame) = self.frame().await {
            is_answered |= frame.kind == HEADERS && frame.stream == stream;
            // The first GOAWAY has the reason.
            if let (GOAWAY, [_, _, _, _, code @ ..]) = (frame.kind, &frame.payload[..])
                && matches!(end, ConnectionEnd::Closed | ConnectionEnd::Goaway(NO_ERROR))
            {
                end =
                    ConnectionEnd::Goaway(u32::from_be_bytes(*code.first_chunk().expect("a code")));
            }
        }
        (end, is_answered)
    }

    /// The response on a stream: its status and its body, or the code of its reset.
    pub async fn response(&mut self, stream: u32) -> Result<(u16, String), u32> {
        let (mut status, mut body) = (0, Vec::new());
        loop {
            let frame = self.frame_of(stream).await;
            match frame.kind {
                HEADERS if status == 0 => status = status_of(&frame.payload),
                DATA => body.extend(&frame.payload),
                RST_STREAM => {
                    let code = frame.payload.first_chunk().expect("a code");
                    return Err(u32::from_be_bytes(*code));
                }
                _ => (),
            }
            if frame.flags & END_STREAM != 0 && frame.kind <= HEADERS {
                return Ok((status, String::from_utf8(body).expect("a text")));
            }
        }
    }

    /// The response to a request with these fields and this body.
    pub async fn ask(
        &mut self,
        stream: u32,
        fields: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<(u16, String), u32> {
        let end = if body.is_none() { END_STREAM } else { 0 };
        self.send(frame(HEADERS, END_HEADERS | end, stream, &block(fields))).await;
        if let Some(body) = body {
            self.send(frame(DATA, END_STREAM, stream, body)).await;
        }
        self.response(stream).await
    }
}

fn first_frame(bytes: &[u8]) -> Option<(Frame, usize)> {
    let (head, rest) = bytes.split_first_chunk::<9>()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
    let payload = rest.get(..length)?.to_vec();
    let stream = u32::from_be_bytes([head[5] & 0x7f, head[6], head[7], head[8]]);
    Some((Frame { kind: head[3], flags: head[4], stream, payload }, 9 + length))
}

/// The status of a header block, whose first field it is (RFC 9113 8.3): indexed in the static
/// table or a literal of digits (RFC 7541 appendices A and B).
fn status_of(block: &[u8]) -> u16 {
    // Skip updates of the table size.
    let at = block.iter().position(|byte| byte & 0xe0 != 0x20).expect("a field");
    let indexed = [200, 204, 206, 304, 400, 404, 500];
    match block[at] {
        index @ 0x88..=0x8e => indexed[usize::from(index - 0x88)],
        // A literal with the name of static entry 8, with or without indexing.
        0x48 | 0x08 => {
            let length = usize::from(block[at + 1] & 0x7f);
            let text = &block[at + 2..at + 2 + length];
            if block[at + 1] & 0x80 == 0 {
                return str::from_utf8(text).expect("digits").parse().expect("digits");
            }
            digits(text)
        }
        other => panic!("no status: {other:#x}"),
    }
}

/// Three Huffman-coded digits: 0 to 2 have five bits, the others six.
fn digits(bytes: &[u8]) -> u16 {
    let mut bits = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
    let mut status = 0;
    for _ in 0..3 {
        let mut code = (0..5).fold(0, |code, _| code << 1 | bits.next().expect("a bit"));
        if code > 2 {
            code = (code << 1 | bits.next().expect("a bit")) - 0b01_1001 + 3;
        }
        status = status * 10 + u16::from(code);
    }
    status
}
