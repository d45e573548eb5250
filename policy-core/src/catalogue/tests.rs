//! What is true of every entry.

use std::collections::BTreeSet;

use super::*;

fn codes() -> impl Iterator<Item = &'static str> {
    let rules = Rule::ALL.iter().map(|rule| rule.code());
    let refusals = Refusal::ALL.iter().map(|refusal| refusal.code());
    rules.chain(refusals).chain(Event::ALL.iter().map(|event| event.code()))
}

#[test]
fn no_two_entries_have_the_same_code() {
    let mut seen = BTreeSet::new();
    let repeated: Vec<_> = codes().filter(|code| !seen.insert(*code)).collect();
    assert_eq!(repeated, [""; 0]);
}

#[test]
fn every_code_is_an_area_and_words_with_hyphens() {
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9'))
    };
    for code in codes() {
        let (area, words) = code.split_once('.').expect(code);
        assert!(is_word(area) && words.split('-').all(is_word), "{code}");
    }
}

#[test]
fn messages_are_lower_case_without_a_full_stop() {
    for rule in Rule::ALL {
        for text in [rule.message(), rule.help()] {
            let first = text.chars().next().unwrap();
            let is_name = text.starts_with("Chromium");
            assert!((!first.is_uppercase() || is_name) && !text.ends_with('.'), "{text}");
        }
    }
}
