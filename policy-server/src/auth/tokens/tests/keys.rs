//! Keys that change while an app runs.

use std::{fs, path::PathBuf};

use policy_core::{Rule, token::KeyError};
use policy_core_tests::folder::Folder;

use super::*;
use crate::auth::tokens::TokenKeys;

const FIVE_MINUTES: Duration = Duration::from_secs(300);
/// The longest lifetime of a token, plus the leeway.
const LONGEST: Duration = Duration::from_secs(3630);

fn secret(byte: u8) -> SecretKey {
    SecretKey::from_bytes([byte; 32])
}

fn app(keys: &TokenKeys) -> (Instance, Clock) {
    let clock = Clock::at(START);
    (Instance::new(Tokens::signed_with(keys.clone()), MemoryStore::new(), &clock), clock)
}

/// The id of the current signing key.
fn signer(instance: &Instance) -> String {
    let token = instance.tokens().issue(&ada()).unwrap().access_token;
    let header = token.split('.').next().unwrap();
    let ids = ["one", "two", "three"];
    let known = ids.iter().find(|id| {
        let ring = TokenKeys::new([(**id, secret(1))]).unwrap();
        let (other, _) = app(&ring);
        let text = other.tokens().issue(&ada()).unwrap().access_token;
        text.starts_with(header)
    });
    (*known.unwrap()).to_owned()
}

#[test]
fn the_first_key_signs_and_all_verify() {
    let keys = TokenKeys::new([("one", secret(1)), ("two", secret(2))]).unwrap();
    let (instance, _) = app(&keys);
    assert_eq!(signer(&instance), "one");
    let (other, _) = app(&TokenKeys::new([("two", secret(2))]).unwrap());
    assert_eq!(instance.verify(&other.sign("J1", "ada", START, START + 300)), Ok(()));
}

#[test]
fn a_new_key_signs_after_five_minutes_and_the_old_one_outlives_its_tokens() {
    let keys = TokenKeys::new([("one", secret(1))]).unwrap();
    let (instance, clock) = app(&keys);
    keys.replace([("two", secret(2))]).unwrap();
    clock.advance(FIVE_MINUTES - Duration::from_millis(1));
    assert_eq!(signer(&instance), "one");
    let now = clock.now().seconds();
    let last = instance.sign("J1", "ada", now, now + 3600);
    clock.advance(Duration::from_millis(1));
    assert_eq!(signer(&instance), "two");
    clock.advance(LONGEST - Duration::from_secs(2));
    assert_eq!(instance.verify(&last), Ok(()), "as long as it lives");
    clock.advance(Duration::from_secs(2));
    assert_eq!(instance.verify(&last), Err(TokenError::UnknownKey));
}

#[test]
fn a_second_change_postpones_no_rotation_and_shortens_no_key() {
    let keys = TokenKeys::new([("one", secret(1))]).unwrap();
    let (instance, clock) = app(&keys);
    keys.replace([("two", secret(2))]).unwrap();
    clock.advance(Duration::from_secs(200));
    keys.replace([("two", secret(2))]).unwrap();
    clock.advance(Duration::from_secs(100));
    assert_eq!(signer(&instance), "two");
    keys.replace([("one", secret(1))]).unwrap();
    clock.advance(Duration::from_secs(200));
    keys.replace([("three", secret(3))]).unwrap();
    clock.advance(FIVE_MINUTES - Duration::from_secs(1));
    assert_eq!(signer(&instance), "two");
    let now = clock.now().seconds();
    let last = instance.sign("J1", "ada", now, now + 3600);
    clock.advance(LONGEST - Duration::from_secs(1));
    assert_eq!(instance.verify(&last), Ok(()), "as long as it lives");
}

#[test]
fn a_rotation_can_be_taken_back() {
    let keys = TokenKeys::new([("one", secret(1))]).unwrap();
    let (instance, clock) = app(&keys);
    keys.replace([("two", secret(2))]).unwrap();
    keys.replace([("one", secret(1))]).unwrap();
    clock.advance(FIVE_MINUTES);
    assert_eq!(signer(&instance), "one", "before it took place");
    keys.replace([("two", secret(2)), ("one", secret(1))]).unwrap();
    clock.advance(FIVE_MINUTES);
    assert_eq!(signer(&instance), "two");
    keys.replace([("one", secret(1)), ("two", secret(2))]).unwrap();
    assert_eq!(signer(&instance), "two", "and after it, as slowly as every other");
    clock.advance(FIVE_MINUTES);
    assert_eq!(signer(&instance), "one");
}

#[test]
fn a_key_that_is_dropped_while_it_signs_is_followed_at_once() {
    let keys = TokenKeys::new([("one", secret(1))]).unwrap();
    let (instance, _) = app(&keys);
    let token = instance.sign("J1", "ada", START, START + 300);
    keys.replace([("three", secret(3)), ("two", secret(2)), ("one", secret(1))]).unwrap();
    assert_eq!(keys.retire("one"), Ok(true));
    assert_eq!(keys.retire("one"), Ok(false));
    assert_eq!(signer(&instance), "three");
    assert_eq!(instance.verify(&token), Err(TokenError::UnknownKey));
}

#[test]
fn a_key_that_retires_is_no_successor() {
    let keys = TokenKeys::new([("one", secret(1))]).unwrap();
    let (instance, clock) = app(&keys);
    keys.replace([("two", secret(2))]).unwrap();
    clock.advance(FIVE_MINUTES);
    for wait in [Duration::ZERO, LONGEST] {
        clock.advance(wait);
        assert_eq!(keys.retire("two"), Err(KeyError::Empty), "{wait:?}");
        assert_eq!(signer(&instance), "two", "{wait:?}");
    }

    // The first key is in its last minutes.
    let (_folder, file) = key_file(format!("one {ONE}"));
    let keys = TokenKeys::read(&file).unwrap();
    let (instance, clock) = app(&keys);
    keys.replace([("two", secret(2))]).unwrap();
    clock.advance(FIVE_MINUTES + LONGEST - Duration::from_secs(1));
    fs::write(&file, format!("three {TWO}\ntwo revoked\n")).unwrap();
    keys.reload(&file).unwrap();
    assert_eq!(signer(&instance), "three");
}

#[test]
fn a_change_that_is_none_changes_nothing() {
    let keys = TokenKeys::new([("one", secret(1))]).unwrap();
    let (instance, clock) = app(&keys);
    let twice = [("two", secret(2)), ("two", secret(3))];
    assert_eq!(keys.replace(twice), Err(KeyError::DuplicateId));
    assert_eq!(keys.replace([("../two", secret(2))]), Err(KeyError::Id));
    assert_eq!(keys.replace(Vec::<(&str, SecretKey)>::new()), Err(KeyError::Empty));
    assert_eq!(keys.retire("one"), Err(KeyError::Empty));
    // It would end all tokens of the old key, and of instances that still have it.
    let token = instance.sign("J1", "ada", START, START + 300);
    let reused = keys.replace([("one", secret(2)), ("two", secret(1))]).unwrap_err();
    assert_eq!(reused.rule(), Rule::KeyIdReused);
    assert_eq!(instance.verify(&token), Ok(()));
    clock.advance(FIVE_MINUTES);
    assert_eq!(signer(&instance), "one");
}

#[test]
fn the_id_of_a_lone_secret_follows_from_it() {
    let [a, b, other] = [1, 1, 2].map(|byte| {
        let (instance, _) = app(&TokenKeys::new(secret(byte)).unwrap());
        instance.sign("J1", "ada", START, START + 300)
    });
    assert_eq!(a, b, "every instance of an app names it alike");
    assert_ne!(a.split('.').next(), other.split('.').next());
}

/// A file of keys in its folder.
fn key_file(text: impl AsRef<[u8]>) -> (Folder, PathBuf) {
    let folder = Folder::new().unwrap();
    let file = folder.path().join("keys");
    fs::write(&file, text).unwrap();
    (folder, file)
}

#[cfg(unix)]
#[test]
fn a_writable_key_file_is_refused_and_a_readable_one_noticed() {
    use std::os::unix::fs::PermissionsExt;

    let (_folder, file) = key_file(format!("one {ONE}\n"));
    let set = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    set(0o606);
    assert_eq!(TokenKeys::read(&file).unwrap_err().rule(), Rule::SecretWritable);
    for (mode, expected) in [(0o604, &[Rule::SecretReadable][..]), (0o640, &[])] {
        set(mode);
        let keys = TokenKeys::read(&file).unwrap();
        let notices: Vec<_> = keys.notices().map(|notice| notice.rule()).collect();
        assert_eq!(notices, expected, "{mode:o}");
        set(0o602);
        assert!(keys.reload(&file).is_err());
    }
}

const ONE: &str = "0101010101010101010101010101010101010101010101010101010101010100";
const TWO: &str = "/9ylw38tQfz6gRMxEYZzv2V4mKJ0mNUSgAOC3kKJB54=";

#[test]
fn keys_are_read_from_a_file_and_again() {
    let (_folder, file) = key_file(format!("\u{feff}# keys\r\n\r\none {ONE}\r\n"));
    let keys = TokenKeys::read(&file).unwrap();
    let (instance, clock) = app(&keys);
    assert_eq!(signer(&instance), "one");
    fs::write(&file, format!("two\t {TWO}\none {ONE}")).unwrap();
    keys.reload(&file).unwrap();
    assert_eq!(signer(&instance), "one");
    clock.advance(FIVE_MINUTES);
    assert_eq!(signer(&instance), "two");
    let token = instance.sign("J1", "ada", clock.now().seconds(), clock.now().seconds() + 9);
    fs::write(&file, format!("one {ONE}\ntwo revoked\n")).unwrap();
    keys.reload(&file).unwrap();
    assert_eq!(instance.verify(&token), Err(TokenError::UnknownKey));
    assert_eq!(signer(&instance), "one");
    fs::write(&file, format!("two revoked\ntwo {TWO}\none {ONE}")).unwrap();
    let (restarted, _) = app(&TokenKeys::read(&file).unwrap());
    assert_eq!(signer(&restarted), "one");
}

/// A file that could not be read for a moment is read again, too.
#[test]
fn a_file_brings_no_key_back_that_was_retired() {
    let (_folder, file) = key_file(format!("one {ONE}\ntwo {TWO}\n"));
    let keys = TokenKeys::read(&file).unwrap();
    let (instance, clock) = app(&keys);
    let token = instance.sign("J1", "ada", START, START + 3600);
    assert_eq!(keys.retire("one"), Ok(true));
    keys.reload(&file).unwrap();
    assert_eq!(signer(&instance), "two");
    fs::write(&file, format!("one {ONE}\nthree {TWO}\n")).unwrap();
    keys.reload(&file).unwrap();
    assert_eq!(instance.verify(&token), Err(TokenError::UnknownKey));
    clock.advance(FIVE_MINUTES);
    assert_eq!(signer(&instance), "three");
    assert_eq!(instance.verify(&token), Err(TokenError::UnknownKey));
    // A file that lists no other key leaves the keys as they are.
    fs::write(&file, format!("one {ONE}\n")).unwrap();
    let refused = keys.reload(&file).unwrap_err();
    assert_eq!(refused.rule(), Rule::KeysMissing);
    assert_eq!(signer(&instance), "three");
    // Another key may have its id, and it is not taken under another one.
    fs::write(&file, format!("four {ONE}\none {TWO}\n")).unwrap();
    keys.reload(&file).unwrap();
    clock.advance(FIVE_MINUTES);
    assert_eq!(signer(&instance), "one");
    assert!(instance.verify(&token).is_err());
}

#[test]
fn a_line_that_is_none_is_named_and_not_quoted() {
    let reload = |text: &[u8]| {
        let keys = TokenKeys::new([("one", secret(1))]).unwrap();
        let (_folder, file) = key_file(text);
        keys.reload(&file).unwrap_err()
    };
    let broken = [
        (format!("one {ONE}\nhunter2"), 2, Rule::KeyLine),
        ("one hunter2".to_owned(), 1, Rule::SecretEncoding),
        ("one aHVudGVyMg".to_owned(), 1, Rule::SecretTooShort),
        (format!("\n#\na/b {ONE}"), 3, Rule::KeyId),
    ];
    for (text, at, why) in broken {
        let found = reload(text.as_bytes());
        assert!(!format!("{found} {found:?}").contains("hunter2"));
        assert_eq!(found.rule(), why);
        assert!(found.to_string().contains(&format!(": line {at}: ")), "{found}");
    }
    let not_text = reload(b"one \xff");
    assert_eq!(not_text.rule(), Rule::KeyLine);
    assert!(not_text.to_string().contains(": line 1: "), "{not_text}");
    assert_eq!(reload(b"# none").rule(), Rule::KeysMissing);
    let missing = TokenKeys::read("/no/such/file").unwrap_err();
    assert_eq!(missing.rule(), Rule::KeyFile);
    assert!(
        std::error::Error::source(&missing)
            .is_some_and(<dyn std::error::Error>::is::<std::io::Error>)
    );
    // The output of a `main` that returns it.
    let text = format!("{missing:?}");
    assert!(text.starts_with("/no/such/file: ") && text.contains("help: "), "{text}");
    let text = crate::Error::from(missing).to_string();
    assert!(text.contains("tokens: /no/such/file: "), "{text}");
}

/// Apps with such keys start in development, on loopback and in tests, but not where others could
/// get the tokens.
#[test]
fn keys_of_development_are_for_development() {
    let app = |origin: Option<&str>| {
        let keys = TokenKeys::development().unwrap();
        let app = crate::App::new(()).tokens(crate::Tokens::signed_with(keys));
        origin.into_iter().fold(app, crate::App::public_origin)
    };
    assert!(app(None).check().is_ok());
    assert!(app(Some("https://localhost:8443")).check().is_ok());
    let refused = app(Some("https://api.example")).check().unwrap_err().to_string();
    assert!(refused.contains("(token.keys-of-development)"), "{refused}");
    drop(app(Some("https://api.example")).test());
}
