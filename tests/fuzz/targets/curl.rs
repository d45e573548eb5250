//! Curl lines, as people paste them: split by a second reading of the shell's rules.

use policy_cli::fuzzed;

use crate::engine::{Seen, Target, bounded, magnitude};

/// The words of a line, as bytes; `None` where a quote is not closed. POSIX.1-2024 2.2 and the Bash
/// manual 3.1.2.4 (ANSI-C quoting), without `\cX`; expansions are left alone.
fn split(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut is_in_word = false;
    let mut at = 0;
    while at < line.len() {
        let (text, is_part, next) = match (line[at], line.get(at + 1)) {
            (b' ' | b'\t' | b'\n' | b'\r', _) => (Vec::new(), false, at + 1),
            (b'\\', Some(b'\n')) => (Vec::new(), is_in_word, at + 2),
            (b'\\', Some(other)) => (vec![*other], true, at + 2),
            (b'\\', None) => (Vec::new(), is_in_word, at + 1),
            (b'\'', _) => {
                let end = at + 1 + line[at + 1..].iter().position(|byte| *byte == b'\'')?;
                (line[at + 1..end].to_vec(), true, end + 1)
            }
            (b'"', _) => {
                let end = closing(line, at + 1, b'"')?;
                (double_quoted(&line[at + 1..end]), true, end + 1)
            }
            (b'$', Some(b'\'')) => {
                let end = closing(line, at + 2, b'\'')?;
                (ansi_quoted(&line[at + 2..end]), true, end + 1)
            }
            (other, _) => (vec![other], true, at + 1),
        };
        if is_part && !is_in_word {
            words.push(Vec::new());
        }
        if let Some(word) = words.last_mut().filter(|_| is_part) {
            word.extend(text);
        }
        is_in_word = is_part;
        at = next;
    }
    Some(words)
}

/// The index of the quote that closes, from an index on; a backslash hides the next byte.
fn closing(line: &[u8], from: usize, quote: u8) -> Option<usize> {
    let mut at = from;
    loop {
        match *line.get(at)? {
            b'\\' => at += 2,
            byte if byte == quote => return Some(at),
            _ => at += 1,
        }
    }
}

fn double_quoted(inside: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut rest = inside;
    loop {
        rest = match rest {
            [] => return text,
            [b'\\', b'\n', rest @ ..] => rest,
            [b'\\', hidden @ (b'"' | b'\\' | b'$' | b'`'), rest @ ..] => {
                text.push(*hidden);
                rest
            }
            [byte, rest @ ..] => {
                text.push(*byte);
                rest
            }
        };
    }
}

fn ansi_quoted(inside: &[u8]) -> Vec<u8> {
    const NAMED: &[(u8, u8)] = &[
        (b'a', 7),
        (b'b', 8),
        (b'e', 27),
        (b'E', 27),
        (b'f', 12),
        (b'n', 10),
        (b'r', 13),
        (b't', 9),
        (b'v', 11),
        (b'\\', b'\\'),
        (b'\'', b'\''),
        (b'"', b'"'),
        (b'?', b'?'),
    ];
    let mut text = Vec::new();
    let mut at = 0;
    while at < inside.len() {
        let escaped = (inside[at] == b'\\').then(|| inside.get(at + 1)).flatten();
        let Some(&letter) = escaped else {
            text.push(inside[at]);
            at += 1;
            continue;
        };
        let digits = |from: usize, radix: u32, most: usize| {
            let rest = inside[from..].iter().take(most);
            let digits = rest.map_while(|byte| char::from(*byte).to_digit(radix));
            digits.collect::<Vec<_>>()
        };
        let value = |digits: &[u32], radix: u32| {
            digits
                .iter()
                .fold(0, |value: u32, digit| value.wrapping_mul(radix).wrapping_add(*digit))
        };
        let octal = digits(at + 1, 8, 3);
        let (radix, most) = match letter {
            b'x' => (16, 2),
            b'u' => (16, 4),
            b'U' => (16, 8),
            _ => (8, 0),
        };
        let hex = digits(at + 2, radix, most);
        if let Some((_, byte)) = NAMED.iter().find(|(name, _)| *name == letter) {
            text.push(*byte);
            at += 2;
        } else if !octal.is_empty() {
            text.push((value(&octal, 8) & 0xff) as u8);
            at += 1 + octal.len();
        } else if !hex.is_empty() {
            let code = value(&hex, 16);
            match letter {
                b'x' => text.push(code as u8),
                _ => {
                    let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                    text.extend(character.to_string().bytes());
                }
            }
            at += 2 + hex.len();
        } else {
            text.extend([b'\\', letter]);
            at += 2;
        }
    }
    text
}

/// Whether a query is what curl makes of a value of `--data-urlencode` (its manual): the name as it is
/// written, and text without reserved characters that decodes to the content. `None` is a query in a file.
fn is_query_of(value: &str, query: Option<&str>) -> bool {
    let content = match (value.find('='), value.find('@')) {
        (Some(equals), _) => equals + 1,
        (None, Some(_)) => return query.is_none(),
        (None, None) => 0,
    };
    let (name, content) = value.split_at(content);
    let name = if name == "=" { "" } else { name };
    let Some(coded) = query.and_then(|query| query.strip_prefix(name)) else { return false };
    let (mut decoded, mut rest) = (Vec::new(), coded.as_bytes());
    while let [byte, behind @ ..] = rest {
        rest = behind;
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let code = coded.get(coded.len() - rest.len()..).and_then(|rest| rest.get(..2));
                let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
                let Some(code) = code else { return false };
                rest = &rest[2..];
                code
            }
            plain if plain.is_ascii_alphanumeric() || b"-._~".contains(plain) => *plain,
            _ => return false,
        });
    }
    decoded == content.as_bytes()
}

fn check(input: &[u8]) -> Seen {
    let line = String::from_utf8_lossy(input);
    let read = bounded(line.len(), || fuzzed::curl(&line));
    let Some(words) = split(line.as_bytes()) else {
        let message = read.expect_err("a quote that is not closed");
        assert!(message.contains("is not closed"), "{message}: {line}");
        return Seen::new(false, "unclosed");
    };
    let words: Result<Vec<_>, _> = words.into_iter().map(String::from_utf8).collect();
    let Ok(words) = words else {
        let message = read.expect_err("bytes that are no text");
        assert!(message.contains("UTF-8"), "{message}: {line}");
        return Seen::new(false, "bytes");
    };
    // Words in single quotes give the same request.
    let quoted = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
    let again = fuzzed::curl(&words.iter().map(quoted).collect::<Vec<_>>().join(" "));
    assert_eq!(read, again, "{line}");
    for word in &words {
        let options = format!("-G --data-urlencode {}", quoted(word));
        let read = fuzzed::curl(&format!("curl https://a.test/ {options}")).ok();
        let query = read.as_ref().and_then(|read| read.url.strip_prefix("https://a.test/?"));
        assert!(is_query_of(word, query), "{query:?}: {word}");
    }
    match read {
        Err(message) => {
            let is_curl = words.first().is_some_and(|word| word == "curl");
            assert_eq!(message.contains("not a curl line"), !is_curl, "{message}");
            Seen::new(is_curl, message.split('`').next().unwrap_or_default().to_owned())
        }
        Ok(read) => {
            // The data of `-G` follows the URL, without its fragment, as its query.
            let is_get = |word: &String| {
                word.starts_with("--get") || word.starts_with('-') && word.contains('G')
            };
            let has_query = words.iter().any(is_get);
            let is_url = |word: &String| {
                let rest = word.split('#').next().and_then(|url| read.url.strip_prefix(url));
                read.url == *word
                    || has_query && rest.is_some_and(|rest| rest.starts_with(['?', '&']))
            };
            assert!(!read.url.is_empty() && words.iter().any(is_url) || line.contains("--url"));
            let names: Vec<_> =
                read.headers.iter().map(|(name, _)| magnitude(name.len())).collect();
            Seen::new(true, (read.method, names))
        }
    }
}

#[test]
fn a_curl_line_is_split_as_a_shell_does() {
    Target {
        name: "curl",
        corpus: include_str!("../corpus/curl.txt"),
        dictionary: &[
            b"curl ",
            b"'",
            b"\"",
            b"$'",
            b"\\",
            b"\\\n",
            b"\\'",
            b"\\x4",
            b"\\u00e9",
            b"\\U0001f600",
            b"\\ud83d",
            b"\\101",
            b"\\c",
            b" -X ",
            b" -XPUT ",
            b" -sX ",
            b" -H ",
            b" -H 'origin: https://a.test'",
            b" -d ",
            b" --data-raw ",
            b" --data-urlencode ",
            b" --json ",
            b" -F ",
            b" -G",
            b" -I",
            b" -b ",
            b" -u ",
            b" --url ",
            b" --request=",
            b" --compressed",
            b" --unknown",
            b"https://a.test/",
            b"\r\n",
            b"\xc2\xa0",
        ],
        max_len: 400,
        check,
    }
    .run();
}
