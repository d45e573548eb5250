//! The script of a JSONP response.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{CONTENT_DISPOSITION, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS},
};

use super::Callback;
use crate::headers::groups::DIGESTS;

/// The script that calls `callback` with this JSON.
///
/// The leading comment keeps the response from being read as another file format, and a missing
/// function is not called. Characters that could end a script element or a line are escaped;
/// outside of strings, JSON has none of them.
///
/// ```
/// use policy_core::jsonp::{Callback, Grammar, script};
///
/// let callback = Callback::parse("cb", Grammar::Identifier).unwrap();
/// assert_eq!(
///     script(&callback, br#"{"a":"</script>"}"#),
///     br#"/**/typeof cb==='function'&&cb({"a":"\u003c/script\u003e"});"#,
/// );
/// ```
pub fn script(callback: &Callback, json: &[u8]) -> Vec<u8> {
    let name = callback.as_str();
    let mut script = format!("/**/typeof {name}==='function'&&{name}(").into_bytes();
    script.reserve(json.len() + 2);
    let mut rest = json;
    loop {
        rest = match rest {
            [b'<', rest @ ..] => escape(&mut script, b"\\u003c", rest),
            [b'>', rest @ ..] => escape(&mut script, b"\\u003e", rest),
            [b'&', rest @ ..] => escape(&mut script, b"\\u0026", rest),
            // U+2028 and U+2029 end a line in a script, but not in JSON.
            [0xe2, 0x80, 0xa8, rest @ ..] => escape(&mut script, b"\\u2028", rest),
            [0xe2, 0x80, 0xa9, rest @ ..] => escape(&mut script, b"\\u2029", rest),
            [byte, rest @ ..] => escape(&mut script, std::slice::from_ref(byte), rest),
            [] => break,
        };
    }
    script.extend_from_slice(b");");
    script
}

fn escape<'a>(script: &mut Vec<u8>, text: &[u8], rest: &'a [u8]) -> &'a [u8] {
    script.extend_from_slice(text);
    rest
}

/// Writes the headers of a [`script`]: browsers treat it only as a script, opening it downloads it,
/// and every site may load it. Digests of the JSON are removed.
pub fn apply(headers: &mut HeaderMap) {
    for name in DIGESTS {
        headers.remove(name);
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/javascript; charset=utf-8"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"f.txt\""));
    headers.insert(CORP, HeaderValue::from_static("cross-origin"));
}

const CORP: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
