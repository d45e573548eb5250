//! Breaking text into lines.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Fills lines of a width with phrases. A phrase that fits on a line is not broken. A longer one is
/// broken at its spaces; a word that is longer than a line is broken after the last sign on the
/// line that is not a letter, or at the end of the line. The text is printable.
pub(super) fn wrap(phrases: &[String], width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Lines { done: Vec::new(), current: String::new(), width };
    for phrase in phrases {
        if phrase.width() <= width {
            lines.add(phrase);
        } else {
            phrase.split(' ').for_each(|word| lines.add(word));
        }
    }
    lines.done.push(lines.current);
    lines.done
}

struct Lines {
    done: Vec<String>,
    current: String,
    width: usize,
}

impl Lines {
    /// Adds text that stays together if it fits on a line.
    fn add(&mut self, word: &str) {
        let before = self.current.width();
        let space = usize::from(before > 0);
        if before + space + word.width() <= self.width {
            self.current += if space == 1 { " " } else { "" };
            self.current += word;
            return;
        }
        if before > 0 {
            self.end();
        }
        for character in word.chars() {
            let wide = character.width().unwrap_or_default();
            if self.current.width() + wide > self.width && !self.current.is_empty() {
                self.break_word();
            }
            self.current.push(character);
        }
    }

    /// Ends a line within a word.
    fn break_word(&mut self) {
        let is_sign = |character: char| character.is_ascii_punctuation();
        let place = self.current.rfind(is_sign).map_or(0, |place| place + 1);
        // A short remainder of a word on its own line is worse than a break between letters.
        let rest = self.current.get(place..).filter(|rest| rest.len() * 2 < self.current.len());
        let rest = rest.unwrap_or_default().to_owned();
        self.current.truncate(self.current.len() - rest.len());
        self.end();
        self.current = rest;
    }

    fn end(&mut self) {
        self.done.push(std::mem::take(&mut self.current));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(phrases: &[&str], width: usize) -> Vec<String> {
        wrap(&phrases.iter().map(|phrase| (*phrase).to_owned()).collect::<Vec<_>>(), width)
    }

    #[test]
    fn a_phrase_that_fits_on_a_line_is_not_broken() {
        assert_eq!(lines(&["body 1 MiB,", "timeout 30s"], 20), ["body 1 MiB,", "timeout 30s"]);
        assert_eq!(lines(&["body 1 MiB,", "timeout 30s"], 23), ["body 1 MiB, timeout 30s"]);
        assert_eq!(lines(&["body 1 MiB,", "timeout 30s"], 7), ["body 1", "MiB,", "timeout", "30s"]);
        assert_eq!(lines(&["abcdefgh ij"], 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(lines(&["https://a.example"], 11), ["https://a.", "example"]);
        assert_eq!(lines(&["a.examples.of"], 8), ["a.exampl", "es.of"]);
        assert_eq!(lines(&["漢字漢字"], 5), ["漢字", "漢字"]);
        assert_eq!(lines(&["漢"], 1), ["漢"]);
        assert_eq!(lines(&[], 5), [""]);
    }
}
