//! `tracestate`: what tracing systems add to a trace.

/// The largest number of members (W3C Trace Context 3.3.1.1).
const MEMBERS: usize = 32;

/// The longest key, and the longest value (W3C Trace Context 3.3.1.3).
const LONGEST: usize = 256;

/// The members of all lines, separated by commas, without spaces around them and without empty
/// ones; of two with the same key, the second is left out. `None` if the grammar is broken.
pub(super) fn parse<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Option<Box<str>> {
    let mut members: Vec<(&str, &str)> = Vec::new();
    let mut count = 0;
    for line in lines {
        for member in str::from_utf8(line).ok()?.split(',') {
            // RFC 9110 5.6.3.
            let member = member.trim_matches([' ', '\t']);
            if member.is_empty() {
                continue;
            }
            count += 1;
            let (key, value) = member.split_once('=')?;
            if count > MEMBERS || !is_key(key.as_bytes()) || !is_value(value.as_bytes()) {
                return None;
            }
            if members.iter().all(|(other, _)| *other != key) {
                members.push((key, value));
            }
        }
    }
    let members: Vec<_> = members.iter().map(|(key, value)| format!("{key}={value}")).collect();
    Some(members.join(",").into())
}

fn is_key(key: &[u8]) -> bool {
    let begins = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_char = |byte: &u8| begins(byte) || b"_-*/@".contains(byte);
    key.len() <= LONGEST && key.first().is_some_and(begins) && key.iter().all(is_char)
}

/// Visible characters and spaces, without `,` and `=`; the last is not a space, which [`parse`]
/// ensures.
fn is_value(value: &[u8]) -> bool {
    let is_char = |byte: &u8| matches!(byte, b' '..=b'~') && !b",=".contains(byte);
    (1..=LONGEST).contains(&value.len()) && value.iter().all(is_char)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases of the W3C's test suite (`trace-context/test/test.py`), and more.
    #[test]
    fn members_have_one_form() {
        let parsed = |lines: &[&str]| parse(lines.iter().map(|line| line.as_bytes()));
        let longest = format!("{}={}", "k".repeat(LONGEST), "v".repeat(LONGEST));
        let full: Vec<_> = (0..MEMBERS).map(|index| format!("k{index}=v")).collect();
        let full = full.join(",");
        for (lines, members) in [
            (&["foo=1"][..], Some("foo=1")),
            (&["foo=1,bar=2", "rojo=1"], Some("foo=1,bar=2,rojo=1")),
            (&["foo=1 \t , \t bar=2, \t baz=3"], Some("foo=1,bar=2,baz=3")),
            (&["", " ", "foo=1,", ",bar=2"], Some("foo=1,bar=2")),
            (&["foo=1,foo=2", "foo=1"], Some("foo=1")),
            (&["foo= a b"], Some("foo= a b")),
            (&["tenant@system=1,0a=~!*/"], Some("tenant@system=1,0a=~!*/")),
            (&[&longest], Some(&longest)),
            (&[&full], Some(&full)),
            (&[&full, "more=1"], None),
            (&[&format!("k{longest}")], None),
            (&[&format!("{longest}v")], None),
            (&["foo"], None),
            (&["foo="], None),
            (&["=1"], None),
            (&["foo=1=2"], None),
            (&["foo =1"], None),
            (&["Foo=1"], None),
            (&["@foo=1"], None),
            (&["f\u{f6}o=1"], None),
            (&["foo=\u{f6}"], None),
            (&["foo=a\tb"], None),
            (&["foo=1", "bar"], None),
            (&[], Some("")),
        ] {
            assert_eq!(parsed(lines).as_deref(), members, "{lines:?}");
        }
    }
}
