//! `cargo policy man`, `completions`, `--help` and `code`.

use std::collections::BTreeSet;

use crate::run::{folder, run, run_in};

/// The commands that the help lists.
fn commands() -> Vec<String> {
    let help = run("--help").out;
    let list = help.split("Commands:").nth(1).unwrap();
    let lines = list.lines().skip(1).take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.split_whitespace().next().map(str::to_owned));
    names.filter(|name| name != "help").collect()
}

#[test]
fn the_help_of_each_command_has_examples_and_exit_codes() {
    assert!(commands().len() >= 6, "{:?}", commands());
    let codes = "Exit codes: 0 fine, 1 findings, 2 wrong use or unreadable input, 3 an error";
    assert!(run("--help").out.contains(codes));
    for name in commands() {
        let help = run(&format!("{name} --help"));
        assert_eq!(help.code, 0);
        assert!(help.out.contains("Examples:\n  cargo policy "), "{name}: {}", help.out);
    }
}

#[test]
fn each_command_has_a_manual_page() {
    let folder = folder("manual", &[("empty", "")]);
    assert_eq!(run_in(&folder, &["man", "--out", "."], "").code, 0);
    let page = |name: &str| std::fs::read_to_string(folder.join(format!("{name}.1"))).unwrap();
    assert_eq!(page("cargo-policy"), run("man").out);
    for name in commands().into_iter().chain(["openapi-diff".to_owned()]) {
        let page = page(&format!("cargo-policy-{name}"));
        assert!(page.contains(".SH SYNOPSIS") && page.contains("Examples:"), "{name}: {page}");
    }
}

#[test]
fn completions_know_the_commands_and_their_options() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = run(&format!("completions {shell}"));
        assert_eq!(script.code, 0);
        for word in ["cargo-policy", "show", "anonymous", "width"] {
            assert!(script.out.contains(word), "{shell} has no `{word}`");
        }
    }
}

#[test]
fn a_code_is_explained() {
    let page = run("code cors.any-origin-with-credentials").out;
    for words in ["`*` cannot be combined with `credentials`", "a compile error", "`#[cors]`"] {
        assert!(page.contains(words), "{page}");
    }
    assert!(page.contains("\nfix       list the origins that may send cookies\n"), "{page}");
    assert!(run("code limit.rate").out.contains("status 429"));
    assert!(run("code session.store-away").out.contains("log line of level error"));
    assert!(run("code --list").out.lines().any(|line| line.starts_with("csrf.token  ")));
}

#[test]
fn each_code_has_a_section_in_the_page_of_its_area() {
    let folder = folder("codes", &[("empty", "")]);
    let ran = run_in(&folder, &["code", "--pages", "."], "");
    assert_eq!((ran.code, &*ran.out), (0, ""), "{}", ran.err);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let list = run("code --list").out;
    let codes: Vec<_> = list.lines().filter_map(|line| line.split(' ').next()).collect();
    let mut names = BTreeSet::from(["README.md".to_owned(), "empty".to_owned()]);
    for code in codes {
        let name = format!("{}.md", code.split('.').next().unwrap());
        assert_eq!(read(&name).matches(&format!("<a id=\"{code}\"></a>")).count(), 1, "{code}");
        names.insert(name);
    }
    let written = std::fs::read_dir(&folder).unwrap();
    let written = written.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(written.collect::<BTreeSet<_>>(), names);
}
