//! The tests that must detect a fault.

use std::fmt;

use serde::Deserialize;

/// Arguments of `cargo test --all-features`: `-p PACKAGE`, `--lib` or `--test NAME`, a part of the
/// names of the tests, and `-- --ignored` for those that need a program.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(try_from = "String")]
pub(super) struct Killer {
    pub(super) target: Target,
    /// A part of the test names; `None` for all tests.
    pub(super) filter: Option<String>,
    pub(super) is_ignored: bool,
}

/// A test binary.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Target {
    pub(super) package: String,
    /// The name of the integration test; `None` for the unit tests of the library.
    pub(super) test: Option<String>,
}

impl TryFrom<String> for Killer {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (words, is_ignored) = match words.as_slice() {
            [words @ .., "--", "--ignored"] => (words, true),
            words => (words, false),
        };
        let (package, test, filter) = match words {
            ["-p", package, "--lib", filter @ ..] => (package, None, filter),
            ["-p", package, "--test", test, filter @ ..] => (package, Some(test), filter),
            _ => return Err(malformed(&text)),
        };
        let filter = match filter {
            [] => None,
            [filter] if !filter.starts_with('-') => Some((*filter).to_owned()),
            _ => return Err(malformed(&text)),
        };
        let test = test.map(|test| (*test).to_owned());
        Ok(Self { target: Target { package: (*package).to_owned(), test }, filter, is_ignored })
    }
}

fn malformed(text: &str) -> String {
    format!("`{text}` is not `-p PACKAGE`, `--lib` or `--test NAME`, [FILTER], [-- --ignored]")
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.test {
            Some(test) => write!(f, "-p {} --test {test}", self.package),
            None => write!(f, "-p {} --lib", self.package),
        }
    }
}

impl fmt::Display for Killer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.target)?;
        if let Some(filter) = &self.filter {
            write!(f, " {filter}")?;
        }
        if self.is_ignored { f.write_str(" -- --ignored") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_killer_is_written_as_it_was_read() {
        for text in [
            "-p policy-core --lib origin::",
            "-p policy-core --test cases",
            "-p policy-server --test browser_auth forgery::a_form -- --ignored",
        ] {
            assert_eq!(Killer::try_from(text.to_owned()).unwrap().to_string(), text);
        }
    }

    #[test]
    fn rejects_killers_without_a_test_binary() {
        for text in ["--test cases", "-p policy-core", "-p policy-core --lib a b"] {
            let refusal = Killer::try_from(text.to_owned()).unwrap_err();
            assert!(refusal.starts_with(&format!("`{text}` is not")), "{refusal}");
        }
    }
}
