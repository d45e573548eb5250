//! Text without the white space that a formatter may change.

use std::ops::Range;

/// A text without white space, and the original offset of each byte.
#[derive(Debug)]
pub(super) struct Squeezed {
    text: String,
    offsets: Vec<usize>,
}

impl Squeezed {
    /// Drops white space, except between words, and the comma that ends a wrapped list.
    pub(super) fn new(text: &str) -> Self {
        let mut squeezed = Self {
            text: String::with_capacity(text.len()),
            offsets: Vec::with_capacity(text.len()),
        };
        let (mut last, mut after_space) = (None, false);
        for (offset, c) in text.char_indices() {
            if c.is_whitespace() {
                after_space = true;
                continue;
            }
            if after_space && is_word(c) && last.is_some_and(is_word) {
                squeezed.push(' ', offset);
            }
            if after_space && matches!(c, ')' | ']' | '}') && last == Some(',') {
                squeezed.text.pop();
                squeezed.offsets.pop();
            }
            squeezed.push(c, offset);
            (last, after_space) = (Some(c), false);
        }
        squeezed
    }

    fn push(&mut self, c: char, offset: usize) {
        self.text.push(c);
        self.offsets.extend(offset..offset + c.len_utf8());
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The ranges of the other text in the original, as whole words.
    pub(super) fn find(&self, other: &Self) -> Vec<Range<usize>> {
        let places = self.text.match_indices(&other.text);
        let whole = places.filter(|(at, found)| {
            let before = self.text.get(..*at).and_then(|before| before.chars().next_back());
            let after = self.text.get(at + found.len()..).and_then(|after| after.chars().next());
            let joins = |left: Option<char>, right: Option<char>| {
                left.is_some_and(is_word) && right.is_some_and(is_word)
            };
            !joins(before, found.chars().next()) && !joins(found.chars().next_back(), after)
        });
        whole
            .filter_map(|(at, found)| {
                let offsets = self.offsets.get(at..at + found.len())?;
                Some(*offsets.first()?..offsets.last()? + 1)
            })
            .collect()
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find_all(text: &str, needle: &str) -> Vec<String> {
        let places = Squeezed::new(text).find(&Squeezed::new(needle));
        places.into_iter().map(|range| text.get(range).unwrap().to_owned()).collect()
    }

    #[test]
    fn a_text_is_found_however_it_is_wrapped() {
        let wrapped = "let é = call(\n    first,\n    second,\n)\n.value();";
        assert_eq!(
            find_all(wrapped, "call(first, second).value()"),
            [wrapped.get(9..wrapped.len() - 1).unwrap()]
        );
        assert_eq!(find_all("call(first, second)", wrapped), [""; 0]);
    }

    #[test]
    fn words_stay_apart() {
        assert_eq!(find_all("return x; returnx;", "return  x"), ["return x"]);
    }

    #[test]
    fn a_part_of_a_word_is_not_found() {
        assert_eq!(find_all("known = now; unknown", "now"), ["now"]);
    }
}
