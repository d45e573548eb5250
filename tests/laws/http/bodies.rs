//! How much of a body a server reads.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use futures_util::stream;
use http::Method;
use policy_server::{Body, Limits};
use proptest::prelude::*;

use super::{
    generate::scenario,
    handlers::{Content, Plan},
    site::{Said, Site},
};
use crate::{
    auth::test_server::OWN,
    exchange::Request,
    law::{Precondition, holds},
};

/// A body in pieces of this length that counts how much of it is read.
fn counting_body(content: &str, piece: usize, taken: Arc<AtomicU64>) -> Body {
    let pieces: Vec<_> = content.as_bytes().chunks(piece).map(Bytes::copy_from_slice).collect();
    Body::from_stream(stream::iter(pieces.into_iter().map(move |piece| {
        taken.fetch_add(piece.len() as u64, Ordering::Relaxed);
        Ok::<_, Infallible>(piece)
    })))
}

/// The handlers that read bodies, and the content type of each.
const READERS: [(&str, Option<&str>); 7] = [
    ("/in/bytes", None),
    ("/in/text", None),
    ("/in/json", Some("application/json")),
    ("/in/pieces", None),
    ("/my/form", Some("application/x-www-form-urlencoded")),
    ("/files/a", None),
    ("/in/unknown", None),
];

/// Whatever reads a body, no more of it is read than its limit and the frame that exceeded it, and
/// nothing if the stated length is too large. A body within the limit is never refused for its
/// size; one above it always is, unless nothing needed the whole body.
#[test]
fn no_more_than_the_limit_and_a_piece_comes_into_memory() {
    let limit = || prop_oneof![1 => Just(None), 2 => (1_u64..300).prop_map(Some)];
    let limits = (limit(), limit(), limit());
    let body = (2_usize..600, 1_usize..200, any::<bool>());
    let cases = (scenario(), 0..READERS.len(), limits, body);
    holds(
        "bodies",
        26,
        cases,
        |(mut scenario, reader, (app, group, mount), (len, chunk, is_stated))| {
            let of = |limit: Option<u64>| limit.map(|limit| Limits::NONE.body(limit));
            (scenario.app.limits, scenario.group.limits, scenario.mount.limits) =
                (of(app), of(group), of(mount));
            let (path, media_type) = READERS[reader];
            // The mount then serves GET and HEAD only.
            scenario.mount.cache = Said::Nothing;
            let site = Site::new(&scenario, path);
            let nearest = match path {
                "/in/text" => Some(100),
                "/files/a" => mount.or(app),
                "/in/unknown" => app,
                _ => group.or(app),
            };
            let limit = nearest.unwrap_or(2 << 20);
            let mut request = Request::new(Method::POST, path).with("origin", OWN);
            if let Some(media_type) = media_type {
                request = request.with("content-type", media_type);
            }
            if path == "/my/form" {
                // The login was within the limit of the app.
                if app.is_some_and(|app| app < 3) {
                    return Ok(Precondition::Unmet);
                }
                request = request.with("cookie", site.cookie("ada"));
            }
            if is_stated {
                request = request.with("content-length", len.to_string());
            }
            let content = if path == "/in/json" {
                format!("\"{}\"", "a".repeat(len - 2))
            } else {
                "a".repeat(len)
            };
            let taken = Arc::new(AtomicU64::new(0));
            let body = counting_body(&content, chunk, Arc::clone(&taken));
            let plan = Plan { content: Content::Json, ..Plan::default() };
            let reply = site.send(&request, &plan, body);
            let (taken, len, chunk) = (taken.load(Ordering::Relaxed), len as u64, chunk as u64);
            prop_assert!(taken <= limit + chunk, "{} of {}: {:?}", taken, limit, reply);
            let is_over = len > limit;
            prop_assert!(is_over || reply.status != 413, "{:?}", reply);
            if is_over && is_stated && path != "/in/unknown" {
                prop_assert_eq!((reply.status, taken), (413, 0));
            }
            match path {
                "/in/unknown" => prop_assert_eq!((reply.status, taken), (404, 0)),
                "/in/pieces" if !is_stated || !is_over => prop_assert_eq!(reply.status, 200),
                _ => prop_assert_eq!(reply.status == 413, is_over, "{:?}", reply),
            }
            Ok(Precondition::met_if(is_over && taken > 0))
        },
    );
}
