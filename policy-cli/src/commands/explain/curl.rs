//! A curl line as browsers copy it.

use std::iter;

use super::{
    request::{ParsedRequest, header_of},
    shell::words,
};
use crate::failure::Failure;

/// The letters of options without a value. Behind any other letter, the rest of a word is its value.
const WITHOUT_VALUE: &str = "#46GILNOSfgiksv";

/// Reads a curl line.
pub(crate) fn parse(line: &str) -> Result<ParsedRequest, Failure> {
    let mut words = words(line)?.into_iter();
    if words.next().as_deref() != Some("curl") {
        return Err(Failure::new("this is not a curl line").help("begin it with `curl`"));
    }
    let mut written = ParsedRequest::default();
    let (mut method, mut body, mut is_get) = (None, None::<String>, false);
    // A file is not in the line.
    let mut is_elsewhere = false;
    let mut media_type = None;
    while let Some(word) = words.next() {
        for (option, inline) in options(&word) {
            let mut value = || {
                inline.clone().or_else(|| words.next()).ok_or_else(|| {
                    Failure::new(format!("`{option}` of the curl line has no value"))
                        .help("copy the whole line")
                })
            };
            match option.as_str() {
                "-X" | "--request" => method = Some(value()?),
                "-H" | "--header" => {
                    let header = value()?;
                    // `name;` sends the header without a value, `name:` sends none.
                    match header.trim_end().strip_suffix(';').filter(|it| !it.contains(':')) {
                        Some(name) => written.headers.push((name.to_owned(), String::new())),
                        None => {
                            let (name, value) = header_of(&header)?;
                            if !value.is_empty() {
                                written.headers.push((name, value));
                            }
                        }
                    }
                }
                "-A" | "--user-agent" => {
                    written.headers.push(("user-agent".to_owned(), value()?));
                }
                "-e" | "--referer" => written.headers.push(("referer".to_owned(), value()?)),
                "-b" | "--cookie" => written.headers.push(("cookie".to_owned(), value()?)),
                "-u" | "--user" => {
                    let encoded = data_encoding::BASE64.encode(value()?.as_bytes());
                    written.headers.push(("authorization".to_owned(), format!("Basic {encoded}")));
                }
                "--oauth2-bearer" => {
                    let token = format!("Bearer {}", value()?);
                    written.headers.push(("authorization".to_owned(), token));
                }
                "-d" | "--data" | "--data-raw" | "--data-binary" | "--data-ascii"
                | "--data-urlencode" => {
                    let data = value()?;
                    let data = match option.as_str() {
                        "--data-raw" => Some(data),
                        "--data-urlencode" => url_encode(&data),
                        _ => Some(data).filter(|data| !data.starts_with('@')),
                    };
                    is_elsewhere |= data.is_none();
                    let data = data.unwrap_or_default();
                    body = Some(match body {
                        None => data,
                        Some(before) => format!("{before}&{data}"),
                    });
                    media_type.get_or_insert("application/x-www-form-urlencoded");
                }
                "--json" => {
                    let data = value()?;
                    is_elsewhere |= data.starts_with('@');
                    body = Some(body.unwrap_or_default() + &data);
                    media_type = Some("application/json");
                }
                "-F" | "--form" | "--form-string" => {
                    value()?;
                    is_elsewhere = true;
                    body.get_or_insert_default();
                    media_type = Some("multipart/form-data");
                }
                "-I" | "--head" => method = method.or(Some("HEAD".to_owned())),
                "-G" | "--get" => is_get = true,
                "--url" => written.url = value()?,
                // No policy depends on what these change.
                "-#" | "-4" | "-6" | "-L" | "-N" | "-O" | "-S" | "-f" | "-g" | "-i" | "-k"
                | "-s" | "-v" | "--compressed" | "--fail" | "--fail-with-body" | "--globoff"
                | "--http1.1" | "--http2" | "--http3" | "--include" | "--insecure" | "--ipv4"
                | "--ipv6" | "--location" | "--no-buffer" | "--path-as-is" | "--show-error"
                | "--silent" | "--verbose" => (),
                "-c" | "-m" | "-o" | "-w" | "-x" | "--cacert" | "--cert" | "--connect-timeout"
                | "--connect-to" | "--cookie-jar" | "--key" | "--max-redirs" | "--max-time"
                | "--output" | "--proxy" | "--resolve" | "--retry" | "--unix-socket"
                | "--write-out" => {
                    value()?;
                }
                unknown if unknown.starts_with('-') && unknown != "-" => {
                    // It may change the request, and the next word may be its value.
                    return Err(Failure::new(format!("`{unknown}` of the curl line is not read"))
                        .help("leave it out, or write what it sends with `-X`, `-H` and `-d`"));
                }
                _ => written.url = option,
            }
        }
    }
    if written.url.is_empty() {
        return Err(Failure::new("the curl line has no URL").help("copy the whole line"));
    }
    let has_body = body.is_some() && !is_get;
    let has = |written: &ParsedRequest, name: &str| {
        written.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    };
    if has_body && let Some(media_type) = media_type.filter(|_| !has(&written, "content-type")) {
        written.headers.push(("content-type".to_owned(), media_type.to_owned()));
    }
    if let Some(data) = body.as_ref().filter(|_| is_get) {
        if is_elsewhere {
            return Err(
                Failure::new("the query of the curl line is in a file").help("write it in the URL")
            );
        }
        let url = written.url.split('#').next().unwrap_or_default();
        let mark = if url.contains('?') { '&' } else { '?' };
        written.url = format!("{url}{mark}{data}");
    }
    // The size of what is elsewhere is not known.
    let body = body.filter(|_| has_body && !is_elsewhere);
    if let Some(body) = body.as_ref().filter(|_| !has(&written, "content-length")) {
        written.headers.push(("content-length".to_owned(), body.len().to_string()));
    }
    written.body = body;
    written.method = method.unwrap_or_else(|| if has_body { "POST" } else { "GET" }.to_owned());
    Ok(written)
}

/// What curl sends for a value of `--data-urlencode`: `content`, `=content` or `name=content`, of which it
/// does not encode the name. `None` if the content is in a file.
fn url_encode(value: &str) -> Option<String> {
    let (name, content) = match value.split_once('=') {
        None if value.contains('@') => return None,
        None => ("", value),
        Some(parts) => parts,
    };
    let mut encoded = if name.is_empty() { String::new() } else { format!("{name}=") };
    for byte in content.bytes() {
        match byte {
            b' ' => encoded.push('+'),
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded += &format!("%{byte:02X}"),
        }
    }
    Some(encoded)
}

/// The options of a word, each with the value that is in the same word. Letters without a value can
/// be written together, and the last letter may have one: `-sXPUT` is `-s -X PUT`.
fn options(word: &str) -> impl Iterator<Item = (String, Option<String>)> {
    let letters = word.strip_prefix('-').filter(|rest| !rest.is_empty() && !rest.starts_with('-'));
    let whole = letters.is_none().then(|| match word.split_once('=') {
        Some((option, value)) if option.starts_with("--") => {
            (option.to_owned(), Some(value.to_owned()))
        }
        _ => (word.to_owned(), None),
    });
    let mut rest = letters.unwrap_or_default();
    let short = iter::from_fn(move || {
        let mut letters = rest.chars();
        let letter = letters.next()?;
        let value = letters.as_str();
        let takes_value = !WITHOUT_VALUE.contains(letter);
        rest = if takes_value { "" } else { value };
        Some((format!("-{letter}"), (takes_value && !value.is_empty()).then(|| value.to_owned())))
    });
    whole.into_iter().chain(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str) -> (String, String, Vec<(String, String)>) {
        let ParsedRequest { method, url, headers, .. } = parse(line).unwrap();
        (method, url, headers)
    }

    #[test]
    fn a_line_of_a_browser_is_read() {
        let line = "curl 'https://api.example/orders' \\\n  -X 'PUT' \\\n  \
                    -H 'origin: https://app.example' -H 'x-empty;' -H 'x-none:' \\\n  \
                    -H 'x-list: a;' -b 'sid=1; theme=dark' \\\n  \
                    --data-raw $'{\"a\":\"it\\'s\"}' --compressed";
        let (method, url, headers) = fields(line);
        assert_eq!((&*method, &*url), ("PUT", "https://api.example/orders"));
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        assert_eq!(
            headers,
            [
                "origin: https://app.example",
                "x-empty: ",
                "x-list: a;",
                "cookie: sid=1; theme=dark",
                "content-type: application/x-www-form-urlencoded",
                "content-length: 12",
            ]
        );
    }

    #[test]
    fn the_method_follows_from_the_options() {
        for (line, method) in [
            ("curl https://a.example", "GET"),
            ("curl -d x=1 https://a.example", "POST"),
            ("curl -XDELETE https://a.example", "DELETE"),
            ("curl -I https://a.example", "HEAD"),
            ("curl -G -d x=1 https://a.example", "GET"),
            ("curl --json '{}' --request=PATCH https://a.example", "PATCH"),
            ("curl -F file=@x https://a.example", "POST"),
            ("curl -sX POST https://a.example", "POST"),
            ("curl -sXPUT https://a.example", "PUT"),
            ("curl https://a.example -sLIX DELETE", "DELETE"),
            ("curl -sIL --connect-to ::127.0.0.1:80 https://a.example", "HEAD"),
        ] {
            assert_eq!(fields(line).0, method, "{line}");
        }
    }

    #[test]
    fn a_body_is_read_if_the_line_has_all_of_it() {
        for (options, body) in [
            ("-d a=1 -d b=2", Some("a=1&b=2")),
            ("--json '{\"a\":' --json '1}'", Some("{\"a\":1}")),
            ("--data-raw @a", Some("@a")),
            ("-d @a", None),
            ("--data-urlencode 'a=b c' -d d=1 --data-urlencode é", Some("a=b+c&d=1&%C3%A9")),
            ("--data-urlencode a@b", None),
            ("--data-urlencode a=1 -d @b", None),
            ("-F a=b", None),
            ("-G -d a=1", None),
            ("-X POST", None),
        ] {
            let read = parse(&format!("curl https://a.example {options}")).unwrap();
            assert_eq!(read.body.as_deref(), body, "{options}");
            let length = read.headers.iter().find(|(name, _)| name == "content-length");
            assert_eq!(length.map(|(_, length)| length.parse()), body.map(|body| Ok(body.len())));
        }
    }

    #[test]
    fn data_of_get_is_the_query() {
        for (line, url) in [
            ("curl -G -d a=1 -d b=2 https://a.example/x", "https://a.example/x?a=1&b=2"),
            ("curl --get 'https://a.example/x?c=3' -d a=1", "https://a.example/x?c=3&a=1"),
            ("curl -G 'https://a.example/x#y?z' -d a=1", "https://a.example/x?a=1"),
            ("curl -G https://a.example/x", "https://a.example/x"),
            (
                "curl -G https://a.example/x --data-urlencode 'a[]=b c&d%' -d e=1",
                "https://a.example/x?a[]=b+c%26d%25&e=1",
            ),
            (
                "curl -G https://a.example/x --data-urlencode '=a@b-._~*' --data-urlencode 'é/'",
                "https://a.example/x?a%40b-._~%2A&%C3%A9%2F",
            ),
            ("curl -G https://a.example/x --data-urlencode a@b=@c", "https://a.example/x?a@b=%40c"),
        ] {
            assert_eq!(fields(line).1, url, "{line}");
        }
    }

    #[test]
    fn reports_malformed_curl_lines() {
        for (line, words) in [
            ("", "this is not a curl line"),
            ("wget https://a.example", "this is not a curl line"),
            ("curl -H", "`-H` of the curl line has no value"),
            ("curl 'https://a.example", "a quote of the curl line is not closed"),
            ("curl \"https://a.example\\", "a quote of the curl line is not closed"),
            ("curl $'\\x", "a quote of the curl line is not closed"),
            ("curl $'\\xff'", "the curl line has bytes that are not UTF-8"),
            ("curl -s", "the curl line has no URL"),
            ("curl -G -d @a https://a.example", "the query of the curl line is in a file"),
            (
                "curl -G --data-urlencode a@b https://a.example",
                "the query of the curl line is in a file",
            ),
            ("curl https://a.example -H origin", "`origin` is not a header"),
            ("curl https://a.example -sH", "`-H` of the curl line has no value"),
            ("curl -sT file https://a.example", "`-T` of the curl line is not read"),
            ("curl --range 0-9 https://a.example", "`--range` of the curl line is not read"),
            (
                "curl --user-agents=x https://a.example",
                "`--user-agents` of the curl line is not read",
            ),
        ] {
            assert_eq!(parse(line).unwrap_err().message, words, "{line}");
        }
    }
}
