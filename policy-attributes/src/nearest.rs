//! Suggests the accepted word that is most similar to a misspelt one.

/// The help for an unknown word: the most similar accepted word, if there is one, then all words
/// that the attribute accepts. `possible` names them in backticks.
pub(crate) fn help(word: &str, possible: &str) -> String {
    match nearest(word, possible) {
        Some(meant) => format!("did you mean `{meant}`? {possible}"),
        None => possible.to_owned(),
    }
}

/// Words of other frameworks, and ours for the same.
const SYNONYMS: [(&str, &str); 10] = [
    ("anonymous", "public"),
    ("any", "public"),
    ("bearer", "token"),
    ("cookie", "session"),
    ("disabled", "exempt"),
    ("jwt", "token"),
    ("login", "session"),
    ("none", "public"),
    ("off", "exempt"),
    ("user", "session"),
];

/// A third of the letters may differ, as in rustc, or one word is a part of the other.
fn nearest<'a>(word: &str, possible: &'a str) -> Option<&'a str> {
    let synonyms = SYNONYMS.iter().filter(|(other, _)| word.eq_ignore_ascii_case(other));
    let mut ours = synonyms.filter_map(|(_, ours)| words(possible).find(|known| known == ours));
    if let Some(ours) = ours.next() {
        return Some(ours);
    }
    let is_part = |known: &str| {
        let (short, long) = if word.len() < known.len() { (word, known) } else { (known, word) };
        short.len() > 3 && long.contains(short)
    };
    words(possible)
        .map(|known| (distance(word, known), known))
        .filter(|(distance, known)| *distance <= word.len().max(3) / 3 || is_part(known))
        .min_by_key(|(distance, known)| (!word.starts_with(known), *distance))
        .map(|(_, known)| known)
}

/// The words in backticks, without their values.
fn words(possible: &str) -> impl Iterator<Item = &str> {
    let quoted = possible.split('`').skip(1).step_by(2);
    quoted.filter_map(|quoted| {
        let end = quoted.find(|char: char| !(char.is_ascii_lowercase() || char == '_'));
        let (word, rest) = quoted.split_at(end.unwrap_or(quoted.len()));
        (!word.is_empty() && (rest.is_empty() || rest.starts_with(" ="))).then_some(word)
    })
}

/// The number of letters to add, remove, replace or swap with their neighbour (optimal string
/// alignment).
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<_>, Vec<_>) = (from.chars().collect(), to.chars().collect());
    // The rows for all but the last two letters of `from`, all but the last one, and all.
    let (mut before, mut last) = (Vec::new(), (0..=to.len()).collect::<Vec<_>>());
    for (row, letter) in from.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let at =
                |row: &Vec<usize>, column: usize| row.get(column).copied().unwrap_or(usize::MAX);
            let replaced = at(&last, column) + usize::from(letter != other);
            let mut least = replaced.min(at(&last, column + 1) + 1).min(at(&next, column) + 1);
            let is_swapped = row > 0
                && column > 0
                && from.get(row - 1) == Some(other)
                && to.get(column - 1) == Some(letter);
            if is_swapped {
                least = least.min(at(&before, column - 1) + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut last, next);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSSIBLE: &str = "possible are `origins`, `credentials`, `max_age`, `exempt = \"why\"`, \
         `session` and `token` with `|` between; or the name of a `CorsPolicy`, or `none`";

    #[test]
    fn the_distance_counts_letters_and_swaps() {
        for (from, to, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("orgins", "origins", 1),
            ("kitten", "sitting", 3),
            ("toekn", "token", 1),
            ("session", "session", 0),
        ] {
            assert_eq!(distance(from, to), expected, "{from} {to}");
            assert_eq!(distance(to, from), expected, "{to} {from}");
        }
    }

    #[test]
    fn a_slip_of_the_keys_is_recognised() {
        for (word, meant) in [
            ("orgins", "origins"),
            ("origin", "origins"),
            ("sesion", "session"),
            ("toekn", "token"),
            ("allow_credentials", "credentials"),
            ("exmept", "exempt"),
            ("origins_and_credentials", "origins"),
            ("non", "none"),
        ] {
            assert_eq!(nearest(word, POSSIBLE), Some(meant), "{word}");
        }
    }

    #[test]
    fn dissimilar_words_get_no_suggestion() {
        for word in ["banana", "x", "CorsPolicy", "between", "why", ""] {
            assert_eq!(nearest(word, POSSIBLE), None, "{word}");
        }
    }
}
