//! The directives that a handler wrote (RFC 9111 5.2.2).

use http::{HeaderMap, HeaderValue, header::CACHE_CONTROL};

/// What a handler said, where that suits an answer for one person: `no-store`, or `private` with
/// an age or `no-cache`. It is written anew of what is known, so nothing that opens a shared cache
/// gets through: `public`, `s-maxage`, extensions, and `private` or `no-cache` for single fields.
/// `None` where it does not suit.
pub(super) fn personal(headers: &HeaderMap) -> Option<HeaderValue> {
    let mut said = Said::default();
    for value in headers.get_all(CACHE_CONTROL) {
        directives(value.as_bytes()).for_each(|directive| said.add(directive));
    }
    if said.no_store {
        return Some(HeaderValue::from_static("no-store"));
    }
    let bounded = said.kept.iter().any(|kept| kept == "no-cache" || kept.starts_with("max-age="));
    if !said.private || said.contradicts || !bounded {
        return None;
    }
    HeaderValue::try_from(format!("private, {}", said.kept.join(", "))).ok()
}

#[derive(Default)]
struct Said {
    no_store: bool,
    private: bool,
    /// Something stands there twice, or not in its form.
    contradicts: bool,
    /// In the order in which they stand.
    kept: Vec<String>,
}

const FLAGS: [&str; 4] = ["no-cache", "must-revalidate", "no-transform", "immutable"];
const SECONDS: [&str; 3] = ["max-age", "stale-while-revalidate", "stale-if-error"];

impl Said {
    fn add(&mut self, directive: &[u8]) {
        let directive = String::from_utf8_lossy(directive.trim_ascii()).to_ascii_lowercase();
        let (name, argument) = match directive.split_once('=') {
            Some((name, argument)) => (name, Some(argument)),
            None => (&*directive, None),
        };
        match argument {
            None if name == "no-store" => self.no_store = true,
            None if name == "private" => self.private = true,
            None if FLAGS.contains(&name) => self.keep(name, directive.clone()),
            Some(seconds) if SECONDS.contains(&name) => {
                let is_number = !seconds.is_empty() && seconds.bytes().all(|b| b.is_ascii_digit());
                self.contradicts |= !is_number;
                self.keep(name, directive.clone());
            }
            _ => (),
        }
    }

    fn keep(&mut self, name: &str, directive: String) {
        let is_same = |kept: &String| kept.split('=').next() == Some(name);
        self.contradicts |= self.kept.iter().any(is_same);
        self.kept.push(directive);
    }
}

/// Cuts at the commas that do not stand between quotes.
fn directives(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    value.split(move |byte| {
        let was_escaped = is_escaped;
        is_escaped = is_quoted && !was_escaped && *byte == b'\\';
        is_quoted ^= *byte == b'"' && !was_escaped;
        *byte == b',' && !is_quoted
    })
}
