//! The names of actions.

use crate::grammar::eq;

/// Whether the names of an object's actions differ, and have only lower-case letters and
/// underscores.
///
/// ```
/// use policy_core::object::names_differ;
///
/// assert!(names_differ(&["view", "add_task"]));
/// assert!(!names_differ(&["view", "Edit"]));
/// ```
pub const fn names_differ(names: &[&str]) -> bool {
    let mut rest = names;
    while let [name, others @ ..] = rest {
        let mut bytes = name.as_bytes();
        if bytes.is_empty() {
            return false;
        }
        while let [byte, tail @ ..] = bytes {
            if !(byte.is_ascii_lowercase() || *byte == b'_') {
                return false;
            }
            bytes = tail;
        }
        let mut following = others;
        while let [other, tail @ ..] = following {
            if eq(name.as_bytes(), other.as_bytes()) {
                return false;
            }
            following = tail;
        }
        rest = others;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_have_names_of_their_own() {
        assert!(names_differ(&["view", "edit", "add_task"]));
        for names in [&["view", "edit", "view"][..], &["View"], &[""], &["a.b"]] {
            assert!(!names_differ(names), "{names:?}");
        }
    }
}
