//! The names that a client may choose: a function to call, and a page to return to.

use policy_core::{
    auth::local_path,
    jsonp::{Callback, Grammar},
};
use proptest::{prelude::*, sample::select};

use policy_core_tests::law::{Precondition, holds};

use crate::tables::RESERVED_WORDS;

/// A callback name is accepted exactly if a small automaton accepts it.
#[test]
fn callbacks_match_the_automaton() {
    let word = prop_oneof![
        4 => "[a-zA-Z_$][a-zA-Z0-9_$]{0,8}",
        1 => "[a-z.$0-9]{0,70}",
        1 => select(vec!["this", "eval", "null", "thiss", "new", "News", "let", "yield", "in"])
            .prop_map(str::to_owned),
        1 => "[a-z(\\[.; é\u{2028}\0\n<%]{1,4}",
    ];
    let words = proptest::collection::vec(word, 1..5).prop_map(|words| words.join("."));
    let grammar = select(vec![Grammar::Identifier, Grammar::Dotted]);
    holds("callback", 22, (words, grammar), |(name, grammar)| {
        let most = if grammar == Grammar::Dotted { 3 } else { 1 };
        let due = automaton(&name, most);
        prop_assert_eq!(Callback::parse(&name, grammar).is_some(), due, "{:?}", name);
        Ok(Precondition::met_if(due))
    });
}

/// The state is the number of the word and the position in it. Independent of how the engine splits
/// words.
fn automaton(name: &str, most: usize) -> bool {
    let (mut words, mut word, mut len) = (1, String::new(), 0);
    for char in name.chars() {
        len += 1;
        match char {
            '.' if word.is_empty() || is_reserved(&word) => return false,
            '.' => {
                words += 1;
                word.clear();
            }
            'a'..='z' | 'A'..='Z' | '_' | '$' => word.push(char),
            '0'..='9' if !word.is_empty() => word.push(char),
            _ => return false,
        }
    }
    len <= 64 && words <= most && !word.is_empty() && !is_reserved(&word)
}

fn is_reserved(word: &str) -> bool {
    RESERVED_WORDS.split_whitespace().any(|reserved| reserved == word)
}

/// A browser that follows an accepted target stays on this host. The browser is the part of the URL
/// standard (4.4) that finds a host: it drops tabs and line breaks, and reads `\` as `/`.
#[test]
fn a_local_path_stays_here() {
    let text = prop_oneof![
        2 => "/[a-z/?#.%\\\\:@\t]{0,8}",
        1 => "[/\\\\\t\n\r :a-z.é]{0,6}",
        1 => select(vec!["https://evil.test", "javascript:alert(1)", "/\u{7f}", "/a b"])
            .prop_map(str::to_owned),
    ];
    holds("local path", 20, text, |text| {
        let accepted = local_path(&text);
        prop_assert!(accepted.is_none_or(|path| path == text));
        let path: String =
            text.chars().filter(|char| !matches!(char, '\t' | '\n' | '\r')).collect();
        let path = path.trim_matches(|char: char| char <= ' ').replace('\\', "/");
        let stays = path.starts_with('/') && !path.starts_with("//");
        prop_assert!(accepted.is_none() || stays, "{:?}", text);
        prop_assert!(accepted.is_none() || text.bytes().all(|byte| byte.is_ascii_graphic()));
        Ok(Precondition::met_if(accepted.is_some()))
    });
    assert_eq!(local_path(&format!("/{}", "a".repeat(2047))).map(str::len), Some(2048));
    assert_eq!(local_path(&format!("/{}", "a".repeat(2048))), None);
}
