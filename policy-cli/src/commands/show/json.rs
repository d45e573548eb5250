//! The routes as a manifest, for programs.

use std::fmt::Write as _;

use policy_manifest::Manifest;

use super::filter::Selected;
use crate::escape::is_printable;

/// The canonical text of a manifest with these routes.
pub(super) fn render(manifest: &Manifest, selected: &[Selected<'_>]) -> String {
    let mut shown = manifest.clone();
    shown.routes = selected.iter().map(|selected| selected.route.clone()).collect();
    printable_json(&shown.to_json())
}

/// JSON in which all characters that a terminal would not show as themselves are escaped. It parses
/// to the same value.
pub(super) fn printable_json(json: &str) -> String {
    let mut printable = String::with_capacity(json.len());
    for character in json.chars() {
        if character == '\n' || is_printable(character) {
            printable.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(printable, "\\u{unit:04x}");
            }
        }
    }
    printable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_as_the_same_value() {
        let value = serde_json::json!({"\u{9b}a": ["\u{1b}[0m\n\u{7f}\u{202e}\u{e0041}é漢"]});
        let text = printable_json(&serde_json::to_string_pretty(&value).unwrap_or_default());
        assert!(text.contains("\\u009ba") && text.contains("\\udb40\\udc41é漢"), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).ok(), Some(value));
    }
}
