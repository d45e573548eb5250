//! The framing of an upstream's response, which shows where it ends.

use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CONTENT_LENGTH, TRANSFER_ENCODING},
};

use crate::{Refusal, grammar::is_length, head::Single};

/// Checks the framing headers of an upstream's response, and removes the `Content-Length` that must
/// not be forwarded: beside `Transfer-Encoding`, which overrides it (RFC 9112 6.3), and in a 1xx, 204
/// or 304, where a proxy cannot know that it is right (RFC 9110 8.6).
///
/// # Errors
///
/// [`Refusal::UpstreamAnswer`] for a transfer coding other than one `chunked`, which would stay
/// undecoded, and for a `Content-Length` that is not one number: two recipients could read it
/// differently.
pub(super) fn check(status: StatusCode, headers: &mut HeaderMap) -> Result<(), Refusal> {
    let is_coded = match Single::read(headers, &TRANSFER_ENCODING) {
        Single::Absent => false,
        Single::One(coding) if is_chunked(coding) => true,
        Single::One(_) | Single::Repeated => return Err(Refusal::UpstreamAnswer),
    };
    if is_coded || has_no_length(status) {
        headers.remove(CONTENT_LENGTH);
        return Ok(());
    }
    match Single::read(headers, &CONTENT_LENGTH) {
        Single::Absent => Ok(()),
        Single::One(length) if is_length(length.as_bytes()) => Ok(()),
        Single::One(_) | Single::Repeated => Err(Refusal::UpstreamAnswer),
    }
}

/// Whether `chunked` is the only coding.
fn is_chunked(coding: &HeaderValue) -> bool {
    coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked")
}

/// Whether a response of this status has no content whose length could be stated.
fn has_no_length(status: StatusCode) -> bool {
    status.is_informational() || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;
    use crate::grammar::{LENGTHS, MALFORMED_LENGTHS};

    /// The `Content-Length` that remains of these headers after the check.
    fn remaining_length(
        status: u16,
        lines: &[(HeaderName, &'static str)],
    ) -> Result<Option<String>, Refusal> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name, HeaderValue::from_static(value));
        }
        check(StatusCode::from_u16(status).unwrap(), &mut headers)?;
        assert!(headers.get_all(CONTENT_LENGTH).iter().count() < 2);
        Ok(headers.get(CONTENT_LENGTH).map(|length| length.to_str().unwrap().to_owned()))
    }

    #[test]
    fn one_number_is_a_length() {
        let of = |value| remaining_length(200, &[(CONTENT_LENGTH, value)]);
        for value in LENGTHS {
            assert_eq!(of(value), Ok(Some(value.into())), "{value}");
        }
        for value in MALFORMED_LENGTHS {
            assert_eq!(of(value), Err(Refusal::UpstreamAnswer), "{value:?}");
        }
        assert_eq!(remaining_length(200, &[]), Ok(None));
        for second in ["5", "6"] {
            let twice = [(CONTENT_LENGTH, "5"), (CONTENT_LENGTH, second)];
            assert_eq!(remaining_length(200, &twice), Err(Refusal::UpstreamAnswer));
        }
    }

    #[test]
    fn a_transfer_coding_overrides_the_length() {
        for coding in ["chunked", "Chunked", " chunked "] {
            for length in ["5", "5, 6", "x"] {
                let lines = [(CONTENT_LENGTH, length), (TRANSFER_ENCODING, coding)];
                assert_eq!(remaining_length(200, &lines), Ok(None), "{coding} and {length}");
            }
        }
    }

    #[test]
    fn unsupported_transfer_codings_are_refused() {
        for coding in [
            "gzip, chunked",
            "chunked, chunked",
            "chunked, identity",
            "xchunked",
            "identity",
            "",
            ",",
        ] {
            let refused = Err(Refusal::UpstreamAnswer);
            assert_eq!(remaining_length(200, &[(TRANSFER_ENCODING, coding)]), refused, "{coding}");
            assert_eq!(remaining_length(304, &[(TRANSFER_ENCODING, coding)]), refused, "{coding}");
        }
        let twice = [(TRANSFER_ENCODING, "gzip"), (TRANSFER_ENCODING, "chunked")];
        assert_eq!(remaining_length(200, &twice), Err(Refusal::UpstreamAnswer));
    }

    #[test]
    fn a_response_without_content_has_no_length() {
        for status in [101, 204, 304] {
            assert_eq!(remaining_length(status, &[(CONTENT_LENGTH, "5")]), Ok(None), "{status}");
        }
        for status in [200, 205, 404] {
            assert_eq!(
                remaining_length(status, &[(CONTENT_LENGTH, "5")]),
                Ok(Some("5".into())),
                "{status}"
            );
        }
    }
}
