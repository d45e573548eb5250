//! Reading a whole body.

use std::{error::Error, fmt};

use axum_core::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use policy_core::Refusal;

use super::limited::is_too_long;
use crate::base::{
    error::is_timeout,
    problem::{Problem, rejection},
};

/// A body that could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum BodyRejection {
    /// The body exceeds the limit of the app.
    TooLarge,
    /// It did not arrive in time.
    TimedOut,
    /// The body is incomplete or malformed on the wire.
    Incomplete(axum_core::Error),
    /// The body has a `Content-Encoding` that is not decoded.
    Coded,
    /// The body cannot be decoded by its `Content-Encoding`.
    Miscoded,
    /// The decoded body is too large in relation to its encoded length.
    Expanded,
}

impl BodyRejection {
    pub(crate) fn problem(&self) -> Problem {
        Problem::from(match self {
            Self::TooLarge | Self::Expanded => Refusal::BodyTooLarge,
            Self::TimedOut => Refusal::BodyTimedOut,
            Self::Incomplete(_) => Refusal::BodyIncomplete,
            Self::Coded => Refusal::ContentCoding,
            Self::Miscoded => Refusal::ContentCodingMalformed,
        })
    }
}

rejection!(BodyRejection);

impl From<axum_core::Error> for BodyRejection {
    fn from(error: axum_core::Error) -> Self {
        if is_too_long(&error) {
            return Self::TooLarge;
        }
        if is_timeout(&error) { Self::TimedOut } else { Self::Incomplete(error) }
    }
}

impl fmt::Display for BodyRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "the body is over its limit",
            Self::TimedOut => "the body did not arrive in time",
            Self::Incomplete(_) => "the body could not be read to its end",
            Self::Coded => "the content coding of the body is not decoded",
            Self::Miscoded => "the body is not in its content coding",
            Self::Expanded => "the body decodes to many times its length",
        })
    }
}

impl Error for BodyRejection {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Incomplete(error) => Some(error),
            Self::TooLarge | Self::TimedOut | Self::Coded | Self::Miscoded | Self::Expanded => None,
        }
    }
}

/// Collects into one buffer. A list of frames would take many times the limit if a client sent its
/// body byte by byte. The limit is checked here again, since a layer may have made the body longer.
pub(crate) async fn collect(mut body: Body, limit: u64) -> Result<Bytes, BodyRejection> {
    let mut left = limit;
    let Some(first) = next(&mut body, &mut left).await? else {
        return Ok(Bytes::new());
    };
    let Some(second) = next(&mut body, &mut left).await? else {
        return Ok(first);
    };
    let mut all = BytesMut::with_capacity(first.len() + second.len());
    all.extend_from_slice(&first);
    all.extend_from_slice(&second);
    while let Some(data) = next(&mut body, &mut left).await? {
        all.extend_from_slice(&data);
    }
    Ok(all.freeze())
}

/// The next data frame, whose length is subtracted from `left`; trailers are skipped.
async fn next(body: &mut Body, left: &mut u64) -> Result<Option<Bytes>, BodyRejection> {
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            *left = left.checked_sub(data.len() as u64).ok_or(BodyRejection::TooLarge)?;
            return Ok(Some(data));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::io;

    use futures_util::stream;
    use http_body_util::Limited;

    use super::*;

    /// A body that arrives in these pieces.
    fn in_pieces(pieces: Vec<io::Result<&'static str>>) -> Body {
        Body::from_stream(stream::iter(pieces))
    }

    #[tokio::test]
    async fn a_body_is_the_sum_of_its_frames() {
        for (pieces, whole) in [(vec![], ""), (vec!["a"], "a"), (vec!["a", "", "bc", "d"], "abcd")]
        {
            let body = in_pieces(pieces.into_iter().map(Ok).collect());
            assert_eq!(collect(body, whole.len() as u64).await.unwrap(), whole);
        }
    }

    #[tokio::test]
    async fn a_body_is_bounded_by_its_reader() {
        for pieces in [vec!["abcd"], vec!["a", "bcd"], vec!["ab", "c", "d"]] {
            let body = || in_pieces(pieces.iter().copied().map(Ok).collect());
            assert_eq!(collect(body(), 4).await.unwrap(), "abcd");
            assert!(matches!(collect(body(), 3).await, Err(BodyRejection::TooLarge)));
        }
    }

    #[tokio::test]
    async fn distinguishes_the_failures_of_a_body() {
        let limited = Body::new(Limited::new(Body::from("abc"), 2));
        assert!(matches!(collect(limited, 9).await, Err(BodyRejection::TooLarge)));
        let late = in_pieces(vec![Ok("a"), Err(io::ErrorKind::TimedOut.into())]);
        assert!(matches!(collect(late, 9).await, Err(BodyRejection::TimedOut)));
        let broken = in_pieces(vec![Ok("a"), Err(io::ErrorKind::ConnectionReset.into())]);
        assert!(matches!(collect(broken, 9).await, Err(BodyRejection::Incomplete(_))));
    }
}
