//! Manifests, as a file of a repository may contain them.

use http::Request;
use policy_manifest::{
    Auth, Manifest,
    diff::diff,
    engine::{Engine, RequestCredentials},
};
use serde_json::Value;

use crate::engine::{Seen, Target, bounded, magnitude};

/// The fields of each object, as the documentation of the format lists them.
const FIELDS: [(&str, &str); 20] = [
    ("", "format app headers objects routes"),
    ("app", "public_origin sessions tokens proxies trace"),
    ("sessions", "store cookie same_site domain partitioned"),
    ("tokens", "issuer accepts websocket_protocol"),
    (
        "routes",
        "path methods kind takes_slashes targets auth csrf takes_session cors isolation cache jsonp \
         object limits headers",
    ),
    ("object", "none uses"),
    ("uses", "object action key"),
    ("key", "parameter"),
    ("auth", "required"),
    ("required", "session token ticket scheme optional issuers scopes roles fresh"),
    ("scheme", "name ambient"),
    ("csrf", "exempt"),
    ("cors", "origins credentials methods headers expose max_age dangers"),
    ("origins", "list within"),
    ("dangers", "insecure_origins public_suffix"),
    (
        "cache",
        "no_store no_cache audience max_age s_maxage stale_while_revalidate stale_if_error \
         must_revalidate immutable vary",
    ),
    ("jsonp", "callback dotted"),
    (
        "limits",
        "body timeout_ms rate concurrency message silence_ms sockets sockets_per_caller misses",
    ),
    ("rate", "count per_ms by"),
    ("misses", "count per_ms by"),
];

/// Whether a value has only the fields that an object of this name has.
fn is_known(name: &str, value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            let listed = FIELDS.iter().find(|(object, _)| *object == name);
            // The names of rules, of sets of headers, and of headers, are free.
            let Some((_, listed)) = listed else { return ["headers", "objects"].contains(&name) };
            fields.iter().all(|(field, value)| {
                listed.split_whitespace().any(|listed| listed == field) && is_known(field, value)
            })
        }
        Value::Array(list) => list.iter().all(|value| is_known(name, value)),
        _ => true,
    }
}

fn check(input: &[u8]) -> Seen {
    let text = String::from_utf8_lossy(input);
    // A parsed route takes about this much memory, and is copied into its normal form.
    let Ok(manifest) = bounded(text.len() * 64, || Manifest::parse(&text)) else {
        return Seen::new(false, magnitude(input.len()));
    };
    let value: Value = serde_json::from_str(&text).expect("JSON");
    assert!(is_known("", &value), "{text}");
    let written = manifest.to_json();
    let again = Manifest::parse(&written).expect("its own text");
    assert_eq!(again, manifest, "{text}");
    assert_eq!(again.to_json(), written, "{text}");
    let engine = Engine::new(&manifest).ok();
    let reached = engine.as_ref().map(|engine| {
        manifest.routes.iter().take(4).any(|route| {
            let request = Request::get(&route.path).header("host", "localhost").body(());
            let request = request.unwrap_or_else(|_no_uri| Request::new(()));
            engine.decide(&request, &RequestCredentials::default()).status.is_none()
        })
    });
    if engine.is_some() && manifest.routes.len() <= 4 {
        let mut open = manifest.clone();
        open.routes.iter_mut().take(1).for_each(|route| route.auth = Auth::Public);
        // Both engines decide about each witness as the comparison says, or it is an error.
        diff(&manifest, &open).expect("a comparison");
    }
    let route = manifest.routes.first();
    let facets = route.map(|route| {
        [
            route.cors.is_some(),
            route.jsonp.is_some(),
            route.cache.is_some(),
            route.isolation.is_some(),
            route.takes_session,
            route.auth == Auth::Public,
        ]
    });
    Seen::new(true, (manifest.routes.len().min(6), facets, engine.is_some(), reached))
}

#[test]
fn a_manifest_has_no_other_fields_and_is_read_as_it_is_written() {
    Target {
        name: "manifest",
        corpus: include_str!("../corpus/manifest.txt"),
        dictionary: &[
            b"{",
            b"}",
            b"[",
            b"]",
            b",",
            b":",
            b"null",
            b"true",
            b"\"public\"",
            b"\"format\":1,",
            b"\"app\":{}",
            b"\"routes\":[",
            b"{\"path\":\"/\",\"methods\":[\"GET\"],\"auth\":\"public\"}",
            b"\"path\":\"/{id}\"",
            b"\"kind\":\"mount\",",
            b"\"kind\":\"fallback\",",
            b"\"captcha\":true,",
            b"\"auth\":{\"required\":{\"session\":true}}",
            b"\"cors\":{\"origins\":[\"https://*.a.test\"]},",
            b"\"cors\":{\"origins\":{\"list\":\"a\",\"within\":[\"*\"]}},",
            b"\"*\"",
            b"\"https://a.test\"",
            b"\"credentials\":true,",
            b"\"methods\":[\"HEAD\",\"GET\"],",
            b"\"max_age\":-1,",
            b"\"csrf\":{\"exempt\":\"\"},",
            b"\"isolation\":\"same-site\",",
            b"\"jsonp\":{\"callback\":\"c\"},",
            b"\"limits\":{\"body\":0},",
            b"\"headers\":{},",
        ],
        max_len: 4_000,
        check,
    }
    .run_for(5_000);
}
