//! The policies of the shop, and that docs/review.md tells what the program prints.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{env, fs, path::Path, process::Command};

policy_server::policy_tests!(on_main: review::on_main());
policy_server::policy_tests!(review::after_review());

/// The steps that the program prints: each a line of a shell, and what it says.
fn replayed() -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_review")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let steps = text.strip_prefix("$ ").unwrap().split("\n$ ");
    steps.map(|step| format!("$ {}\n", step.trim_end())).collect()
}

/// `POLICY_SNAPSHOTS=update` writes them anew.
#[test]
#[ignore = "needs git"]
fn the_page_shows_the_output_of_the_commands() {
    const BEGIN: &str = "````console\n";
    const END: &str = "````\n";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/review.md");
    let page = fs::read_to_string(&file).unwrap();
    let mut parts = page.split(BEGIN);
    let mut text = parts.next().unwrap().to_owned();
    let (steps, parts): (_, Vec<_>) = (replayed(), parts.collect());
    assert_eq!(steps.len(), parts.len(), "the page does not have each step once");
    for (step, part) in steps.iter().zip(parts) {
        let (_, prose) = part.split_once(END).unwrap();
        text += &[BEGIN, step, END, prose].concat();
    }
    if env::var_os("POLICY_SNAPSHOTS").is_some_and(|value| value == "update") {
        fs::write(&file, &text).unwrap();
    } else {
        assert!(
            text == page,
            "`POLICY_SNAPSHOTS=update cargo test -p review -- --ignored` writes docs/review.md anew:\n{text}"
        );
    }
}
