//! Commands as a shell reads them.

use std::borrow::Cow;

use http::{HeaderName, Method};

/// A word.
pub(crate) fn quote(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:".contains(&byte);
    match text.bytes().all(is_plain) && !text.is_empty() {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// A request as curl sends it, with these options beside those of the request.
pub(crate) fn curl<'h>(
    options: &str,
    method: &Method,
    url: &str,
    headers: impl Iterator<Item = (&'h HeaderName, Cow<'h, str>)>,
) -> String {
    let mut line = format!("curl {options}");
    match method.as_str() {
        "GET" => (),
        "HEAD" => line += " -I",
        method => line += &format!(" -X {}", quote(method)),
    }
    line += &format!(" {}", quote(url));
    for (name, value) in headers {
        line += &match &*value {
            // For `name: `, curl sends no header.
            "" => format!(" -H {}", quote(&format!("{name};"))),
            zeros if zeros.len() > LONGEST && zeros.bytes().all(|byte| byte == b'0') => {
                format!(" -H \"{name}: $(printf %0{}d 0)\"", zeros.len())
            }
            value => format!(" -H {}", quote(&format!("{name}: {value}"))),
        };
    }
    line
}

/// The shell writes longer values, which are the zeros of too many cookies.
const LONGEST: usize = 200;

#[cfg(test)]
mod tests {
    use http::header;

    use super::*;

    #[test]
    fn a_shell_reads_a_word_as_it_is() {
        assert_eq!(quote("/a/b"), "/a/b");
        assert_eq!(quote("a b; $(c) 'd'"), r"'a b; $(c) '\''d'\'''");
    }

    #[test]
    fn a_header_without_a_value_is_sent() {
        let name = header::ORIGIN;
        for (value, words) in [("", "'origin;'"), ("null", "'origin: null'")] {
            let headers = [(&name, Cow::Borrowed(value))].into_iter();
            let line = curl("-i", &Method::PUT, "https://a.example/", headers);
            assert_eq!(line, format!("curl -i -X PUT https://a.example/ -H {words}"));
        }
    }
}
