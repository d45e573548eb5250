//! Text from manifests in Markdown, where it is no markup.

use crate::escape::printable;

/// Plain text: nothing in it is markup, or breaks out of a cell.
pub(crate) fn words(text: &str) -> String {
    // Signs without a meaning here; references would make the source hard to read.
    let words = references(&printable(text), "/.,:;=(){}-'%");
    // No address becomes a link automatically.
    words.replace("://", "&#58;//").replace("www.", "www&#46;")
}

/// Markdown in which backticks around names stay code.
pub(crate) fn with_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(index, part)| if index % 2 == 0 { words(part) } else { code(part) });
    parts.collect()
}

/// Text as code. Characters that would end the code or a cell are written as references.
pub(crate) fn code(text: &str) -> String {
    let text = printable(text);
    let is_plain = !text.contains(['`', '|', '\\']) && text.trim() == text && !text.is_empty();
    match is_plain {
        true => format!("`{text}`"),
        false => format!("<code>{}</code>", references(&text, "")),
    }
}

/// Text in which signs are references, except for the plain ones.
fn references(text: &str, plain: &str) -> String {
    let mut references = String::with_capacity(text.len());
    for character in text.chars() {
        match character.is_ascii_punctuation() && !plain.contains(character) {
            true => references += &format!("&#{};", u32::from(character)),
            false => references.push(character),
        }
    }
    references
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_neither_markup_nor_the_end_of_a_cell() {
        assert_eq!(words("scope orders:read"), "scope orders:read");
        assert_eq!(
            words("a|b `c` <d> *e* [f](g) _h_ &i; \\ # ~"),
            "a&#124;b &#96;c&#96; &#60;d&#62; &#42;e&#42; &#91;f&#93;(g) &#95;h&#95; &#38;i; &#92; &#35; &#126;"
        );
        assert_eq!(code("/orders/{id}"), "`/orders/{id}`");
        assert_eq!(code("<b>*"), "`<b>*`");
        assert_eq!(code("a|`b`\\"), "<code>a&#124;&#96;b&#96;&#92;</code>");
        assert_eq!(code(" a"), "<code> a</code>");
        assert_eq!(words("https://www.a"), "https&#58;//www&#46;a");
        assert_eq!(words("\n\u{1b}"), "&#92;u{a}&#92;u{1b}");
    }
}
