//! The sending direction of a stream, which is reset unless it was finished.

use bytes::Bytes;
use h3::error::Code;
use quinn::WriteError;

use super::code;

/// Sends a response without copying its data.
#[derive(Debug)]
pub(in crate::server::http3) struct ResponseStream {
    pub(super) stream: quinn::SendStream,
    is_over: bool,
}

impl ResponseStream {
    pub(super) fn new(stream: quinn::SendStream) -> Self {
        Self { stream, is_over: false }
    }

    pub(in crate::server::http3) async fn send(
        &mut self,
        head: Bytes,
        content: Bytes,
    ) -> Result<(), WriteError> {
        self.stream.write_all_chunks(&mut [head, content]).await
    }

    /// Does nothing if the stream was reset.
    pub(in crate::server::http3) fn finish(&mut self) {
        self.is_over = true;
        let _ = self.stream.finish();
    }

    pub(in crate::server::http3) fn reset(&mut self, error: Code) {
        self.is_over = true;
        let _ = self.stream.reset(code(error));
    }
}

/// An unfinished response must not look complete.
impl Drop for ResponseStream {
    fn drop(&mut self) {
        if !self.is_over {
            self.reset(Code::H3_REQUEST_CANCELLED);
        }
    }
}
