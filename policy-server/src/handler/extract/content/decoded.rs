//! Bodies with a content coding as handler arguments.

use std::{error::Error, fmt, io::Read, ops::Deref};

use axum_core::{
    body::Body,
    extract::{FromRequest, Request},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use http::{
    HeaderMap, HeaderValue,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH},
};
use policy_core::Refusal;
use tokio::task::yield_now;

use super::body::{codings, take};
use crate::{
    base::{body::BodyRejection, problem::Problem},
    handler::extract::context::Context,
};

/// The maximum ratio of decoded to encoded bytes, beyond [`FREE`]. Ordinary text is compressed by a
/// factor of ten, a decompression bomb by a factor of a thousand.
const RATIO: u64 = 100;

/// The decoded length up to which any ratio is permitted: short repetitive bodies have high ratios.
const FREE: u64 = 64 << 10;

/// The limit outside of an app, which is also the default of axum's extractors.
const LIMIT_OUTSIDE: u64 = 2 << 20;

/// How many bytes are decoded before the task yields.
const AT_ONCE: usize = 256 << 10;

/// The supported codings, as `Accept-Encoding` for clients that sent another one.
const CODINGS: HeaderValue = HeaderValue::from_static("gzip, deflate");

/// Decodes a body with the content coding `gzip` or `deflate` (RFC 9110 8.4.1) for another
/// extractor: `Decoded<Json<T>>`, `Decoded<Form<T>>`, `Decoded<Bytes>` or any other that reads a
/// body (feature `decompression`). Without it, a body with a content coding is refused. A body
/// without one is passed on unchanged.
///
/// The decoded body is bounded by the body limit of the route, and, if it is longer than 64 KiB, by
/// 100 times its encoded length. All of it is held in memory; the inner extractor gets it without
/// `Content-Encoding`.
///
/// ```
/// use policy_server::{extract::Decoded, prelude::*};
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Reading {
///     lux: u32,
/// }
///
/// #[post("/readings")]
/// #[limit(body = "1 MiB")]
/// #[auth(public)]
/// async fn readings(Decoded(Json(readings)): Decoded<Json<Vec<Reading>>>) -> String {
///     readings.iter().map(|reading| reading.lux).sum::<u32>().to_string()
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// # use std::io::Write;
/// # let client = App::new(()).routes(routes![readings]).test();
/// # let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
/// # encoder.write_all(br#"[{"lux":3},{"lux":4}]"#).unwrap();
/// # let coded = encoder.finish().unwrap();
/// let request = client.post("/readings").header("content-type", "application/json");
/// let response = request.header("content-encoding", "gzip").body(coded).send().await;
/// assert_eq!(response.text(), "7");
///
/// let request = client.post("/readings").header("content-type", "application/json");
/// let response = request.header("content-encoding", "br").body("..").send().await;
/// assert_eq!(response.status(), 415);
/// assert_eq!(response.header("accept-encoding"), Some("gzip, deflate"));
/// # });
/// ```
///
/// A body that cannot be decoded is refused with 400, one that exceeds a bound with 413, and one
/// with another or more than one coding with 415. Outside of an app, as in an axum router, the
/// limit is 2 MiB.
#[derive(Clone, Copy, Debug)]
pub struct Decoded<E>(pub E);

impl<E> Deref for Decoded<E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.0
    }
}

/// Why [`Decoded`] refuses a request.
#[derive(Debug)]
#[non_exhaustive]
pub enum DecodedRejection<R> {
    /// The body could not be read or decoded.
    Body(BodyRejection),
    /// The inner extractor failed.
    Extract(R),
}

/// A content coding that is decoded.
#[derive(Clone, Copy)]
enum Coding {
    Gzip,
    /// The zlib format (RFC 1950), not the bare one of RFC 1951.
    Deflate,
}

impl Coding {
    /// The coding of a body; `None` if it has none.
    fn read(headers: &HeaderMap) -> Result<Option<Self>, BodyRejection> {
        let mut codings = codings(headers);
        let Some(coding) = codings.next() else { return Ok(None) };
        // Each additional coding would multiply the ratio.
        if codings.next().is_some() {
            return Err(BodyRejection::Coded);
        }
        let is = |name: &str| coding.eq_ignore_ascii_case(name.as_bytes());
        if is("gzip") || is("x-gzip") {
            Ok(Some(Self::Gzip))
        } else if is("deflate") {
            Ok(Some(Self::Deflate))
        } else {
            Err(BodyRejection::Coded)
        }
    }

    async fn decode(self, coded: &[u8], limit: u64) -> Result<Bytes, BodyRejection> {
        match self {
            Self::Gzip => Ok(drain(MultiGzDecoder::new(coded), coded.len(), limit).await?.0),
            Self::Deflate => {
                let (decoded, decoder) = drain(ZlibDecoder::new(coded), coded.len(), limit).await?;
                if decoder.into_inner().is_empty() {
                    Ok(decoded)
                } else {
                    Err(BodyRejection::Miscoded)
                }
            }
        }
    }
}

/// Reads a decoder to its end, or fails if that exceeds a bound.
async fn drain<D: Read>(
    mut decoder: D,
    coded: usize,
    limit: u64,
) -> Result<(Bytes, D), BodyRejection> {
    let by_ratio = (coded as u64).saturating_mul(RATIO).max(FREE);
    let mut decoded = Vec::new();
    loop {
        let before = decoded.len();
        // Reading one byte beyond the bound detects that there is more.
        let bound = by_ratio.min(limit).saturating_add(1).saturating_sub(before as u64);
        let part = bound.min(AT_ONCE as u64);
        let read = decoder.by_ref().take(part).read_to_end(&mut decoded);
        read.map_err(|_malformed| BodyRejection::Miscoded)?;
        let length = decoded.len() as u64;
        if length > limit {
            return Err(BodyRejection::TooLarge);
        }
        if length > by_ratio {
            return Err(BodyRejection::Expanded);
        }
        if length < before as u64 + part {
            return Ok((Bytes::from(decoded), decoder));
        }
        yield_now().await;
    }
}

impl<E, S> FromRequest<S> for Decoded<E>
where
    E: FromRequest<S>,
    S: Send + Sync,
{
    type Rejection = DecodedRejection<E::Rejection>;

    async fn from_request(mut request: Request, state: &S) -> Result<Self, Self::Rejection> {
        decode(&mut request).await.map_err(DecodedRejection::Body)?;
        E::from_request(request, state).await.map(Self).map_err(DecodedRejection::Extract)
    }
}

/// Decodes the body of a request, if it has a coding.
async fn decode(request: &mut Request) -> Result<(), BodyRejection> {
    let Some(coding) = Coding::read(request.headers())? else { return Ok(()) };
    let coded = take(request).await?;
    let context = request.extensions().get::<Context>();
    let limit = context.map_or(LIMIT_OUTSIDE, |context| context.body_limit);
    *request.body_mut() = Body::from(coding.decode(&coded, limit).await?);
    request.headers_mut().remove(CONTENT_ENCODING);
    request.headers_mut().remove(CONTENT_LENGTH);
    Ok(())
}

fn problem(rejection: &BodyRejection) -> Problem {
    match rejection {
        BodyRejection::Coded => Problem::from(Refusal::ContentCoding)
            .detail("expected a body without a content coding, or with `gzip` or `deflate`"),
        BodyRejection::Expanded => Problem::from(Refusal::BodyTooLarge)
            .detail(format!("the body decodes to more than {RATIO} times its length")),
        other => other.problem(),
    }
}

impl<R: Into<Problem>> From<DecodedRejection<R>> for Problem {
    fn from(rejection: DecodedRejection<R>) -> Self {
        match rejection {
            DecodedRejection::Body(rejection) => problem(&rejection),
            DecodedRejection::Extract(rejection) => rejection.into(),
        }
    }
}

impl<R: IntoResponse> IntoResponse for DecodedRejection<R> {
    fn into_response(self) -> Response {
        match self {
            Self::Body(rejection) => {
                let mut response = problem(&rejection).into_response();
                if let BodyRejection::Coded = rejection {
                    response.headers_mut().insert(ACCEPT_ENCODING, CODINGS);
                }
                response
            }
            Self::Extract(rejection) => rejection.into_response(),
        }
    }
}

impl<R: fmt::Display> fmt::Display for DecodedRejection<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body(rejection) => rejection.fmt(f),
            Self::Extract(rejection) => rejection.fmt(f),
        }
    }
}

impl<R: Error> Error for DecodedRejection<R> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Body(rejection) => rejection.source(),
            Self::Extract(rejection) => rejection.source(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use axum_core::body::Body;
    use flate2::{
        Compression,
        write::{GzEncoder, ZlibEncoder},
    };

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        gzip_at(Compression::best(), text)
    }

    /// Numbers are not repetitive: the best compression would search them for seconds.
    fn gzip_of_numbers(numbers: &[u8]) -> Vec<u8> {
        gzip_at(Compression::fast(), numbers)
    }

    fn gzip_at(level: Compression, text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), level);
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(text: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    async fn decoded(coding: Coding, coded: &[u8], limit: u64) -> Result<Bytes, &'static str> {
        coding.decode(coded, limit).await.map_err(|rejection| match rejection {
            BodyRejection::Miscoded => "malformed",
            BodyRejection::Expanded => "ratio",
            BodyRejection::TooLarge => "limit",
            other => panic!("{other}"),
        })
    }

    #[tokio::test]
    async fn a_body_is_decoded_whole_or_refused() {
        let text = b"a lamp, a sofa, a desk";
        for (coding, coded) in [(Coding::Gzip, gzip(text)), (Coding::Deflate, zlib(text))] {
            assert_eq!(decoded(coding, &coded, 22).await.unwrap(), &text[..]);
            assert_eq!(decoded(coding, &coded, 21).await, Err("limit"));
            for end in 0..coded.len() {
                assert_eq!(decoded(coding, &coded[..end], 22).await, Err("malformed"), "{end}");
            }
            let longer = [&*coded, b"x"].concat();
            assert_eq!(decoded(coding, &longer, 22).await, Err("malformed"));
        }
        let members = [gzip(b"a "), gzip(b"lamp")].concat();
        assert_eq!(decoded(Coding::Gzip, &members, 9).await.unwrap(), "a lamp");
        assert_eq!(decoded(Coding::Gzip, &members, 5).await, Err("limit"));
    }

    #[tokio::test]
    async fn a_body_that_grows_a_hundredfold_is_refused_behind_a_floor() {
        let free = usize::try_from(FREE).unwrap();
        let at_floor = gzip(&vec![b'a'; free]);
        assert!(at_floor.len() * 100 < free);
        assert_eq!(decoded(Coding::Gzip, &at_floor, u64::MAX).await.unwrap().len(), free);
        let above = gzip(&vec![b'a'; free + 1]);
        assert_eq!(decoded(Coding::Gzip, &above, u64::MAX).await, Err("ratio"));
        let bomb = zlib(&vec![0; 8 << 20]);
        assert_eq!(decoded(Coding::Deflate, &bomb, u64::MAX).await, Err("ratio"));
        assert_eq!(decoded(Coding::Deflate, &bomb, 1000).await, Err("limit"));
        let numbers: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        let coded = gzip_of_numbers(&numbers);
        assert_eq!(decoded(Coding::Gzip, &coded, 800_000).await.unwrap(), numbers);
        assert_eq!(decoded(Coding::Gzip, &coded, 799_999).await, Err("limit"));
    }

    #[tokio::test]
    async fn outside_of_an_app_up_to_two_mebibytes_are_decoded() {
        let numbers: Vec<u8> = (0..600_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut request = Request::new(Body::from(gzip_of_numbers(&numbers)));
        request.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        let decoded = Decoded::<Bytes>::from_request(request, &()).await;
        assert!(matches!(decoded, Err(DecodedRejection::Body(BodyRejection::TooLarge))));
    }
}
