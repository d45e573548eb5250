//! Checks that apply to every version of HTTP, regardless of the parser that read the request:
//! parsers accept different requests, and an ambiguous request may be interpreted differently by
//! two servers.

use http::{
    HeaderValue, Version,
    header::{COOKIE, Entry},
};

use super::read::{Head, Single};
use crate::{catalogue::Refusal, grammar::is_length};

impl Head<'_> {
    /// Checks the framing of a request: its length, its transfer coding, its expectation, and
    /// headers that its version forbids.
    ///
    /// ```
    /// use http::{Request, Version};
    /// use policy_core::{Refusal, head::Head};
    ///
    /// let request = Request::get("/").version(Version::HTTP_2).header("connection", "close");
    /// let request = request.body(())?;
    /// assert_eq!(Head::read(&request).well_formed(), Err(Refusal::ConnectionField));
    /// # Ok::<(), http::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The reason to refuse the request.
    pub fn well_formed(&self) -> Result<(), Refusal> {
        // RFC 9113 8.2.2, RFC 9114 4.2: such a request is malformed and is not forwarded.
        if self.has_connection_field && self.version >= Version::HTTP_2 {
            return Err(Refusal::ConnectionField);
        }
        // RFC 9112 6.1: nested chunked codings are ambiguous.
        match self.transfer_encoding {
            Single::Absent => (),
            Single::One(coding) if coding.as_bytes().eq_ignore_ascii_case(b"chunked") => (),
            Single::One(coding) if !is_chunked_twice(coding) => {
                return Err(Refusal::TransferCoding);
            }
            Single::One(_) | Single::Repeated => return Err(Refusal::TransferEncodingMalformed),
        }
        // RFC 9110 8.6: one number. A server may accept or refuse equal numbers; this one refuses
        // them.
        match self.content_length {
            Single::Absent => (),
            Single::One(length) if is_length(length.as_bytes()) => (),
            Single::One(_) | Single::Repeated => return Err(Refusal::ContentLengthMalformed),
        }
        match self.expect {
            Single::Absent => Ok(()),
            Single::One(member) if member.as_bytes().eq_ignore_ascii_case(b"100-continue") => {
                Ok(())
            }
            Single::One(_) | Single::Repeated => Err(Refusal::ExpectationUnknown),
        }
    }
}

fn is_chunked_twice(value: &HeaderValue) -> bool {
    let codings = value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    let chunked = codings.filter(|coding| coding.eq_ignore_ascii_case(b"chunked")).count();
    chunked > 1
}

/// Joins the lines into which HTTP/2 and HTTP/3 may split a Cookie header (RFC 9113 8.2.3, RFC 9114
/// 4.2.1), so that a reader of one line sees all cookies. HTTP/1.1 has one line (RFC 6265 5.4), and
/// several lines stay as they are: [`Cookies`](crate::cookie::Cookies) reads them all.
///
/// ```
/// use http::{Request, Version};
/// use policy_core::head::join_cookie_lines;
///
/// let request = Request::get("/").version(Version::HTTP_2);
/// let mut request = request.header("cookie", "a=1").header("cookie", "b=2").body(())?;
/// join_cookie_lines(&mut request);
/// assert_eq!(request.headers()["cookie"], "a=1; b=2");
/// # Ok::<(), http::Error>(())
/// ```
pub fn join_cookie_lines<B>(request: &mut http::Request<B>) {
    // Fast path: usually no field is repeated.
    if request.version() < Version::HTTP_2
        || request.headers().len() == request.headers().keys_len()
    {
        return;
    }
    let Entry::Occupied(mut lines) = request.headers_mut().entry(COOKIE) else { return };
    if lines.iter().nth(1).is_none() {
        return;
    }
    let pieces: Vec<&[u8]> = lines.iter().map(HeaderValue::as_bytes).collect();
    // Bytes that are valid in several values are valid in one.
    if let Ok(joined) = HeaderValue::from_bytes(&pieces.join(&b"; "[..])) {
        lines.insert(joined);
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;
    use crate::grammar::{LENGTHS, MALFORMED_LENGTHS};

    fn check(version: Version, fields: &[(&str, &str)]) -> Result<(), Refusal> {
        let mut request = Request::builder().version(version).uri("/");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        Head::read(&request.body(()).unwrap()).well_formed()
    }

    #[test]
    fn fields_of_a_connection_belong_to_http_1() {
        for field in [
            ("connection", "close"),
            ("connection", ""),
            ("keep-alive", "timeout=5"),
            ("proxy-connection", "keep-alive"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "websocket"),
            ("te", "gzip"),
            ("te", "trailers, gzip"),
        ] {
            for version in [Version::HTTP_2, Version::HTTP_3] {
                let found = check(version, &[field]);
                assert_eq!(found, Err(Refusal::ConnectionField), "{version:?} {field:?}");
            }
            assert_eq!(check(Version::HTTP_11, &[field]), Ok(()), "{field:?}");
        }
        for version in [Version::HTTP_11, Version::HTTP_2, Version::HTTP_3] {
            assert_eq!(check(version, &[("te", "trailers")]), Ok(()));
        }
    }

    #[test]
    fn a_length_is_one_number() {
        for version in [Version::HTTP_11, Version::HTTP_2, Version::HTTP_3] {
            for length in LENGTHS {
                assert_eq!(check(version, &[("content-length", length)]), Ok(()), "{length}");
            }
            for length in MALFORMED_LENGTHS {
                let found = check(version, &[("content-length", length)]);
                assert_eq!(found, Err(Refusal::ContentLengthMalformed), "{length}");
            }
            let twice = [("content-length", "5"), ("content-length", "5")];
            assert_eq!(check(version, &twice), Err(Refusal::ContentLengthMalformed));
        }
    }

    #[test]
    fn a_body_is_chunked_once_or_not_at_all() {
        let version = Version::HTTP_11;
        assert_eq!(check(version, &[("transfer-encoding", "Chunked")]), Ok(()));
        for coding in ["gzip, chunked", "xchunked", "identity", ""] {
            let found = check(version, &[("transfer-encoding", coding)]);
            assert_eq!(found, Err(Refusal::TransferCoding), "{coding}");
        }
        let in_one = [("transfer-encoding", "chunked, Chunked")];
        let in_two = [("transfer-encoding", "chunked"), ("transfer-encoding", "chunked")];
        for fields in [&in_one[..], &in_two] {
            assert_eq!(check(version, fields), Err(Refusal::TransferEncodingMalformed));
        }
    }

    /// RFC 9110 10.1.1.
    #[test]
    fn only_100_continue_is_expected() {
        assert_eq!(check(Version::HTTP_11, &[("expect", "100-Continue")]), Ok(()));
        for expected in ["", "x", "100-continue, x", "100-continue=1"] {
            let found = check(Version::HTTP_11, &[("expect", expected)]);
            assert_eq!(found, Err(Refusal::ExpectationUnknown), "{expected}");
        }
    }

    #[test]
    fn lines_of_cookies_are_joined_where_they_may_be_cut() {
        let joined = |version, lines: &[&str]| {
            let mut request = Request::builder().version(version).header("x", "1").header("x", "2");
            for line in lines {
                request = request.header("cookie", *line);
            }
            let mut request = request.body(()).unwrap();
            join_cookie_lines(&mut request);
            let lines = request.headers().get_all("cookie").into_iter();
            lines.map(|line| line.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        for version in [Version::HTTP_2, Version::HTTP_3] {
            assert_eq!(joined(version, &["a=1", "b=2; c=3", "d=4"]), ["a=1; b=2; c=3; d=4"]);
            assert_eq!(joined(version, &["a=1"]), ["a=1"]);
            assert_eq!(joined(version, &[]), [""; 0]);
        }
        assert_eq!(joined(Version::HTTP_11, &["a=1", "b=2"]), ["a=1", "b=2"]);
    }
}
