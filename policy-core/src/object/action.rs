//! The names of actions.

use crate::grammar::{any, eq, every};

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
        let name = name.as_bytes();
        let is_name =
            !name.is_empty() && every!(name, byte => byte.is_ascii_lowercase() || *byte == b'_');
        if !is_name || any!(others, other => eq(name, other.as_bytes())) {
            return false;
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
