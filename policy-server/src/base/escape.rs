//! Escapes text that may quote a request, for logs and responses.

/// The maximum number of characters that are shown.
const LONGEST: usize = 400;

/// The text on one line, cut to a maximum length. Control characters, and others that change how
/// text is displayed, are escaped, so that a client cannot forge log lines.
pub(crate) fn printable(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len().min(LONGEST));
    for (count, character) in text.chars().enumerate() {
        if count == LONGEST {
            escaped.push_str("..");
            break;
        }
        match character {
            // Escaping these would only make the text harder to read.
            '"' | '\'' | '\\' => escaped.push(character),
            other if is_direction(other) => escaped.extend(other.escape_unicode()),
            other => escaped.extend(other.escape_debug()),
        }
    }
    escaped
}

/// Whether the character changes the direction of displayed text (UAX #9 2).
fn is_direction(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_can_be_forged() {
        assert_eq!(
            printable("a\r\nb\u{1b}[31m\u{202e}c\u{2028}"),
            "a\\r\\nb\\u{1b}[31m\\u{202e}c\\u{2028}"
        );
        assert_eq!(printable("say \"hü\" 'x' \\"), "say \"hü\" 'x' \\");
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(printable(&"ü".repeat(100_000)).chars().count(), LONGEST + 2);
    }
}
