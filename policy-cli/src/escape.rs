//! Text from manifests, made harmless for terminals.

/// The text with everything that a terminal does not show as itself written as `\u{..}`: control
/// characters with their escape sequences, marks that change the direction of writing or combine with
/// other characters, invisible characters.
pub(crate) fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        if is_printable(character) {
            printable.push(character);
        } else {
            printable.extend(character.escape_unicode());
        }
    }
    printable
}

/// The same for lines of a text, which stay lines.
pub(crate) fn printable_lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

/// Whether a terminal shows a character as itself.
pub(crate) fn is_printable(character: char) -> bool {
    // What `Debug` escapes; quotes and backslashes are harmless here.
    matches!(character, '\'' | '"' | '\\' | ' '..='~') || character.escape_debug().len() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_acts_on_is_written_as_an_escape() {
        for character in [
            '\0',
            '\u{7}',
            '\u{8}',
            '\t',
            '\n',
            '\r',
            '\u{1b}',
            '\u{7f}',
            '\u{9b}',
            '\u{a0}',
            '\u{ad}',
            '\u{301}',
            '\u{200b}',
            '\u{200f}',
            '\u{2028}',
            '\u{202e}',
            '\u{2066}',
            '\u{feff}',
            '\u{e0041}',
        ] {
            assert_eq!(printable(&character.to_string()), character.escape_unicode().to_string());
        }
    }

    #[test]
    fn what_a_terminal_shows_stays() {
        let text = r#"/orders/{id} 'a' "b" \ ~ é ß 漢字 €"#;
        assert_eq!(printable(text), text);
    }
}
