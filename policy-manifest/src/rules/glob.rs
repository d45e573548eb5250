//! Patterns of paths.

/// Whether a path matches a pattern: `*` stands for any text without a slash, `**` for any text, `?`
/// for one character but a slash.
///
/// ```
/// use policy_manifest::rules::glob_matches;
///
/// assert!(glob_matches("/orders/**", "/orders/{id}/lines"));
/// assert!(!glob_matches("/orders/*", "/orders/{id}/lines"));
/// ```
pub fn glob_matches(pattern: &str, path: &str) -> bool {
    let mut is_match = false;
    for_each_rest(pattern, path, |rest| is_match |= rest.is_empty());
    is_match
}

/// What has to follow a text for a pattern to match the whole: the pattern without its beginning, for
/// each beginning that matches the text.
pub(super) fn rests_after(text: &str, pattern: &str) -> Vec<String> {
    let mut rests = Vec::new();
    for_each_rest(pattern, text, |rest| rests.push(rest.iter().collect()));
    rests
}

fn for_each_rest(pattern: &str, path: &str, mut found: impl FnMut(&[char])) {
    let (pattern, path): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), path.chars().collect());
    // Whether what is left of the pattern matches what is left of the path, for each beginning of
    // the path; so a hostile pattern costs no more than the product of the lengths.
    let mut reached = vec![false; path.len() + 1];
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    let mut rest = &*pattern;
    loop {
        if reached.last().copied().unwrap_or_default() {
            found(rest);
        }
        let Some((sign, behind)) = rest.split_first() else { return };
        let is_deep = *sign == '*' && behind.first() == Some(&'*');
        rest = if is_deep { behind.get(1..).unwrap_or_default() } else { behind };
        let mut next = Vec::with_capacity(reached.len());
        let mut is_open = false;
        if *sign == '*' {
            for (index, is_reached) in reached.iter().enumerate() {
                let before = index.checked_sub(1).and_then(|before| path.get(before));
                is_open = *is_reached || (is_open && (is_deep || before != Some(&'/')));
                next.push(is_open);
            }
        } else {
            next.push(false);
            let is_meant = |character: char| match *sign {
                '?' => character != '/',
                sign => character == sign,
            };
            next.extend(
                reached.iter().zip(&path).map(|(is, character)| *is && is_meant(*character)),
            );
        }
        reached = next;
    }
}

/// The beginning of a pattern that stands for itself.
pub(super) fn literal_prefix(pattern: &str) -> &str {
    pattern.split(['*', '?']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{glob_matches, rests_after};

    #[test]
    fn a_star_ends_at_a_slash_and_two_do_not() {
        for (pattern, path, is_match) in [
            ("/orders", "/orders", true),
            ("/orders", "/orders/1", false),
            ("/orders/*", "/orders/{id}", true),
            ("/orders/*", "/orders/{id}/lines", false),
            ("/orders/**", "/orders/{id}/lines", true),
            ("/orders/**", "/orders", false),
            ("/orders**", "/orders", true),
            ("**/lines", "/orders/{id}/lines", true),
            ("/*/{id}/*", "/orders/{id}/lines", true),
            ("/o?ders", "/orders", true),
            ("/o?ders", "/o/ders", false),
            ("*", "*", true),
            ("*", "/", false),
            ("**", "", true),
            ("", "", true),
            ("", "/", false),
            ("/é?", "/éß", true),
        ] {
            assert_eq!(glob_matches(pattern, path), is_match, "{pattern} {path}");
        }
    }

    #[test]
    fn a_rest_of_a_pattern_is_what_has_to_follow() {
        for (pattern, rests) in [
            ("/v*/admin/**", &["admin/**"][..]),
            ("/**/admin", &["/admin", "admin"]),
            ("/v1/?", &["?"]),
            ("/v1", &[]),
            ("/v2/**", &[]),
        ] {
            assert_eq!(rests_after("/v1/", pattern), rests, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_of_many_stars_is_quick() {
        assert!(!glob_matches(&"*a".repeat(500), &"a".repeat(400)));
    }
}
