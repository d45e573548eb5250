//! Messages composed while the compiler evaluates constants, where `format!` does not exist.

use crate::catalogue::Rule;

/// A text of bounded length, built by `const fn`; a const panic can show it.
///
/// ```
/// const TEXT: policy_core::ConstText = policy_core::ConstText::new("entry ").number(2).text("!");
/// assert_eq!(TEXT.as_str(), "entry 2!");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ConstText {
    buffer: [u8; 1024],
    len: usize,
}

impl ConstText {
    /// Begins with `text`.
    pub const fn new(text: &str) -> Self {
        Self { buffer: [0; 1024], len: 0 }.text(text)
    }

    /// Appends `text`, or omits all of it if there is no room.
    #[must_use]
    pub const fn text(mut self, text: &str) -> Self {
        let Some((_, room)) = self.buffer.split_at_mut_checked(self.len) else { return self };
        if let Some((target, _)) = room.split_at_mut_checked(text.len()) {
            target.copy_from_slice(text.as_bytes());
            self.len += text.len();
        }
        self
    }

    /// Appends `number` in decimal.
    #[must_use]
    pub const fn number(self, number: usize) -> Self {
        let head = if number >= 10 { self.number(number / 10) } else { self };
        let digit = [b'0' + (number % 10) as u8];
        match core::str::from_utf8(&digit) {
            Ok(digit) => head.text(digit),
            Err(_) => head,
        }
    }

    /// Appends `number` in hexadecimal, lower case.
    #[must_use]
    pub const fn hex(self, number: u16) -> Self {
        let head = if number >= 16 { self.hex(number / 16) } else { self };
        match (number % 16) as u8 {
            digit @ 0..=9 => head.number(digit as usize),
            digit => match core::str::from_utf8(&[b'a' + digit - 10]) {
                Ok(digit) => head.text(digit),
                Err(_) => head,
            },
        }
    }

    /// Appends a violated rule: its message, its code and, on separate lines, the fix `help` and the
    /// address of its page.
    #[must_use]
    pub const fn rule(self, rule: Rule, help: &str) -> Self {
        let text = self
            .text(": ")
            .text(rule.message())
            .text(" (")
            .text(rule.code())
            .text(")\nhelp: ")
            .text(help)
            .text("\nsee: ");
        rule.page().append(text)
    }

    /// The text so far.
    pub const fn as_str(&self) -> &str {
        let (text, _) = self.buffer.split_at(self.len);
        match core::str::from_utf8(text) {
            Ok(text) => text,
            Err(_) => "",
        }
    }

    /// Panics with the text.
    #[track_caller]
    #[expect(clippy::panic, reason = "a const panic is how a constant says that it is wrong")]
    pub(crate) const fn panic(&self) -> ! {
        panic!("{}", self.as_str())
    }
}
