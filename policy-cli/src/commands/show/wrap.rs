//! Breaking text into lines.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Fills lines of a width with phrases. A phrase that fits on a line is not broken; a longer one is
/// broken at its spaces, and a word that is longer than a line wherever the line ends. The text is
/// printable.
pub(super) fn wrapped(phrases: &[String], width: usize) -> Vec<String> {
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
    /// Adds what stays together if it fits on a line.
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
                self.end();
            }
            self.current.push(character);
        }
    }

    fn end(&mut self) {
        self.done.push(std::mem::take(&mut self.current));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(phrases: &[&str], width: usize) -> Vec<String> {
        wrapped(&phrases.iter().map(|phrase| (*phrase).to_owned()).collect::<Vec<_>>(), width)
    }

    #[test]
    fn a_phrase_that_fits_on_a_line_is_not_broken() {
        assert_eq!(lines(&["body 1 MiB,", "timeout 30s"], 20), ["body 1 MiB,", "timeout 30s"]);
        assert_eq!(lines(&["body 1 MiB,", "timeout 30s"], 23), ["body 1 MiB, timeout 30s"]);
        assert_eq!(lines(&["body 1 MiB,", "timeout 30s"], 7), ["body 1", "MiB,", "timeout", "30s"]);
        assert_eq!(lines(&["abcdefgh ij"], 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(lines(&["漢字漢字"], 5), ["漢字", "漢字"]);
        assert_eq!(lines(&["漢"], 1), ["漢"]);
        assert_eq!(lines(&[], 5), [""]);
    }
}
