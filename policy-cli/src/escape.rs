//! Escapes text from manifests, so that it is harmless in terminals and in CI logs.

use std::fmt::Write as _;

use serde_json::Value;

/// The text with everything that a terminal does not show as itself written as `\u{..}`: control
/// characters with their escape sequences, marks that change the direction of writing or combine with
/// other characters, invisible characters. So is the second `#` of two, since `##[` and `##vso[` are
/// commands to Azure Pipelines and GitHub Actions anywhere in a line.
pub(crate) fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        let is_command = character == '#' && printable.ends_with('#');
        if is_printable(character) && !is_command {
            printable.push(character);
        } else {
            printable.extend(character.escape_unicode());
        }
    }
    printable
}

/// JSON in which everything that [`printable`] escapes is escaped. It parses to the same value.
pub(crate) fn printable_json(json: &str) -> String {
    let mut printable = String::with_capacity(json.len());
    for character in json.chars() {
        let is_command = character == '#' && printable.ends_with('#');
        if (character == '\n' || is_printable(character)) && !is_command {
            printable.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(printable, "\\u{unit:04x}");
            }
        }
    }
    printable
}

/// A value as such JSON, with a newline at the end. Its members are sorted, even if another crate
/// enables serde_json's `preserve_order`.
pub(crate) fn json_text(value: &Value) -> String {
    let mut value = value.clone();
    value.sort_all_objects();
    printable_json(&serde_json::to_string_pretty(&value).unwrap_or_default()) + "\n"
}

/// [Printable](printable) text of several lines. Each line after the first gets a prefix of `|`, so that no
/// CI log takes it for a command, such as `::error` of GitHub Actions, and no reader for a message
/// of this program.
pub(crate) fn printable_lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n  | ")
}

/// Escapes `::` at the beginning of a line: once it is wrapped at spaces, text from a manifest
/// could begin a line with a command of GitHub Actions, which ignores leading spaces.
pub(crate) fn without_commands(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let start = beginning(line);
        match line.get(start..).and_then(|rest| rest.strip_prefix("::")) {
            Some(rest) => format!("{}:\\u{{3a}}{rest}", line.get(..start).unwrap_or_default()),
            None => line.to_owned(),
        }
    });
    lines.collect()
}

/// [Printable](printable) text in markup, HTML or XML: it is no tag, and does not end an attribute.
pub(crate) fn markup(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in printable(text).chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            // XML has no such characters (XML 1.0, 2.2).
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            character => escaped.push(character),
        }
    }
    escaped
}

/// Where the text of a line begins, after spaces and the styles that
/// [`Output`](crate::output::Output) writes.
fn beginning(line: &str) -> usize {
    let mut rest = line;
    loop {
        let shorter = rest.trim_start();
        let behind_style =
            || shorter.strip_prefix("\u{1b}[")?.split_once('m').map(|(_, rest)| rest);
        match behind_style() {
            Some(behind) => rest = behind,
            None => return line.len() - shorter.len(),
        }
    }
}

/// Whether a terminal shows a character as itself.
pub(crate) fn is_printable(character: char) -> bool {
    // The characters that `Debug` escapes; quotes and backslashes are harmless here.
    matches!(character, '\'' | '"' | '\\' | ' '..='~') || character.escape_debug().len() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        let all = "\0\u{7}\u{8}\t\n\r\u{1b}\u{7f}\u{9b}\
                   \u{a0}\u{ad}\u{301}\u{200b}\u{200f}\u{2028}\u{202e}\u{2066}\u{feff}\u{e0041}";
        for character in all.chars() {
            assert_eq!(printable(&character.to_string()), character.escape_unicode().to_string());
        }
    }

    #[test]
    fn no_log_finds_a_command_in_a_text() {
        assert_eq!(printable("##[error]a ##vso[b]"), "#\\u{23}[error]a #\\u{23}vso[b]");
        let lines = printable_lines("a\n::error::b\r\n ::set-output name=c::d");
        let wrapped = without_commands("a ::b\n  \u{1b}[2m::c::d\u{1b}[0m\n::e::f");
        assert_eq!(wrapped, "a ::b\n  \u{1b}[2m:\\u{3a}c::d\u{1b}[0m\n:\\u{3a}e::f");
        assert_eq!(lines, "a\n  | ::error::b\\u{d}\n  |  ::set-output name=c::d");
    }

    #[test]
    fn printable_characters_stay() {
        let text = r#"/orders/{id} 'a' "b" \ ~ é ß 漢字 €"#;
        assert_eq!(printable(text), text);
    }

    #[test]
    fn escapes_are_read_as_the_same_value() {
        let text = "\u{1b}[0m\n\u{7f}\u{202e}\u{e0041}é漢 ###[error]##vso[a]";
        let value = serde_json::json!({"\u{9b}a": [text]});
        let text = json_text(&value);
        assert!(text.contains("\\u009ba") && text.contains("\\udb40\\udc41é漢"), "{text}");
        assert!(!text.contains("##") && text.contains("#\\u0023"), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(value));
    }
}
