//! Where the page of a code is.

use std::fmt;

use super::{Entry, Event, Lint, Refusal, Rule};
use crate::{ConstText, grammar::len_until};

/// The pages of codes in the published guide, each an area with a section for each code.
const PAGES: &str = concat!(env!("CARGO_PKG_HOMEPAGE"), "/reference/codes/");

/// The address of the page that explains a code, with a bad and a good example. It is displayed as
/// the address.
///
/// ```
/// use policy_core::Rule;
///
/// let page = Rule::AnyOriginWithCredentials.page().to_string();
/// assert!(page.ends_with("/reference/codes/cors.html#cors.any-origin-with-credentials"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodePage(&'static str);

impl CodePage {
    /// Appends the address to a text of a constant.
    #[must_use]
    pub(crate) const fn append(self, text: ConstText) -> ConstText {
        text.text(PAGES).text(self.area()).text(".html#").text(self.0)
    }

    /// The first word of the code.
    const fn area(self) -> &'static str {
        self.0.split_at(len_until(self.0.as_bytes(), b".")).0
    }
}

impl fmt::Display for CodePage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PAGES}{}.html#{}", self.area(), self.0)
    }
}

macro_rules! pages {
    ($($entry:ident)*) => {
        $(impl $entry {
            /// The address of the page about it.
            pub const fn page(self) -> CodePage {
                CodePage(self.code())
            }
        })*
    };
}

pages!(Rule Refusal Event Lint Entry);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_and_texts_have_the_same_address() {
        for entry in Entry::all() {
            let page = entry.page();
            assert_eq!(page.append(ConstText::new("")).as_str(), page.to_string());
        }
    }
}
