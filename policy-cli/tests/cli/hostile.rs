//! Names in manifests that would do harm if they were written as they are.

use std::path::PathBuf;

use crate::{
    fixtures,
    run::{folder, run, run_in},
};

fn package(name: &str) -> PathBuf {
    let files = [
        ("Cargo.toml", "[package]\nname = \"evil\"\nedition = \"2024\"\n\n[workspace]\n"),
        ("src/lib.rs", ""),
        ("target/policy/evil/manifest.json", &fixtures::hostile().to_json()),
        (
            "target/policy/evil/sources.json",
            &serde_json::to_string(&fixtures::hostile_sources()).unwrap(),
        ),
    ];
    folder(name, &files)
}

/// Whether a terminal acts on a character, or shows something else than what stands there.
fn is_harmful(character: char) -> bool {
    (character.is_control() && character != '\n')
        || matches!(
            character,
            '\u{ad}'
                | '\u{300}'..='\u{36f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[test]
fn a_terminal_gets_nothing_to_act_on() {
    let folder = package("terminal");
    for width in ["40", "80", "200", "400"] {
        let ran = run_in(&folder, &["show", "--width", width], "");
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert_eq!(ran.out.chars().find(|character| is_harmful(*character)), None, "{}", ran.out);
    }
    assert!(run_in(&folder, &["show"], "").out.contains("\\u{1b}[31mred"));
}

#[test]
fn an_error_repeats_nothing_to_act_on() {
    let text = "\u{1b}[2Jx\u{7}";
    for arguments in [["show", "--from", text], ["code", text, "--color=never"]] {
        let ran = run_in(&folder("errors", &[("a", "")]), &arguments, "");
        assert_eq!(ran.code, 2);
        assert_eq!(ran.err.chars().find(|character| is_harmful(*character)), None, "{}", ran.err);
    }
    let unknown_field = "{\"format\": 1, \"\u{1b}[2J\": 1}".replace('\u{1b}', "\\u001b");
    let ran =
        run_in(&folder("field", &[("a.json", &unknown_field)]), &["show", "--from=a.json"], "");
    assert!(ran.code == 2 && ran.err.contains("unknown field `\\u{1b}[2J`"), "{}", ran.err);
    assert_eq!(run("show --from hostile.json").code, 0);
}
