//! Names in manifests that would do harm if they were written unescaped.

use std::{collections::BTreeSet, path::PathBuf};

use policy_manifest::Manifest;

use crate::{
    fixtures,
    run::{folder, package, run, run_at, run_in},
};

fn hostile(name: &str) -> PathBuf {
    package(name, &fixtures::hostile(), &fixtures::hostile_sources(), &[])
}

/// Whether a terminal interprets a character, or does not show it as itself.
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
    let folder = hostile("terminal");
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

/// Commands of GitHub Actions and Azure Pipelines, on lines of their own.
const COMMANDS: &str = "x\n::error title=pwn::owned\r\n ::stop-commands::y\n##[error]##vso[z]";

/// Manifests in which every text that an error may quote is such a command.
fn hostile_manifests() -> Vec<String> {
    let command = serde_json::to_string(COMMANDS).unwrap();
    let route = |fields: &str| {
        format!(r#"{{"format": 1, "app": {{}}, "routes": [{{"path": "/", {fields}}}]}}"#)
    };
    let origins = |list: &str| {
        route(&format!(r#""methods": ["GET"], "auth": "public", "cors": {{"origins": {list}}}"#))
    };
    vec![
        command.clone(),
        format!(r#"{{"format": {command}}}"#),
        format!(r#"{{"format": 1, "app": {{}}, "routes": [], {command}: 1}}"#),
        format!(r#"{{"format": 1, "app": {{{command}: 1}}, "routes": []}}"#),
        format!(r#"{{"format": 1, "app": {{"public_origin": {command}}}, "routes": []}}"#),
        route(&format!(r#"{command}: 1"#)),
        route(&format!(r#""kind": {command}, "auth": "public""#)),
        route(&format!(r#""auth": {command}"#)),
        route(&format!(r#""auth": {{{command}: 1}}"#)),
        route(&format!(r#""methods": [{command}], "auth": "public""#)),
        route(&format!(r#""path": {command}, "auth": "public""#)),
        route(&format!(r#""auth": "public", "headers": {command}"#)),
        route(&format!(r#""auth": "public", "isolation": {command}"#)),
        origins(&format!("[{command}]")),
        origins(&format!("[{command}, {command}, \"null\"]")),
        origins(&format!(r#"{{"list": {command}, "within": [{command}]}}"#)),
        format!(
            r#"{{"format": 1, "app": {{}}, "routes": [{0}, {0}]}}"#,
            format!(r#"{{"path": {command}, "methods": ["GET"], "auth": "public"}}"#)
        ),
    ]
}

#[test]
fn output_contains_no_commands_for_ci_logs() {
    let mut manifests = hostile_manifests();
    let mut hostile = fixtures::hostile();
    hostile.routes.iter_mut().for_each(|route| route.path = format!("/{COMMANDS}"));
    manifests.push(hostile.to_json());
    let good = fixtures::shop().to_json();
    let mut failed = 0;
    for (index, manifest) in manifests.iter().enumerate() {
        let folder = folder(&format!("ci-{index}"), &[("a", manifest), ("b", &good)]);
        for line in [
            "show --from a",
            "show --from a --format markdown",
            "show --from a --page https://app.shop.example",
            "lint --from a",
            "lint --from a --format markdown",
            "explain --from a GET https://api.shop.example/",
            "diff a b",
            "diff b a --format markdown",
            "show --from a --format json",
            "lint --from a --format json",
            "lint --from a --format sarif",
            "explain --from a --format json GET https://api.shop.example/",
            "diff b a --format json",
            "diff b a --format sarif",
            "audit --from a https://api.shop.example",
        ] {
            let ran = run_at(&folder, line);
            failed += u32::from(ran.code == 2);
            for written in ran.out.lines().chain(ran.err.lines()) {
                let is_command = written.trim_start().starts_with("::")
                    || written.contains("##[")
                    || written.contains("##vso[");
                assert!(!is_command, "`{line}` of {manifest}: {written}");
                assert!(!written.contains(is_harmful), "`{line}` of {manifest}: {written:?}");
            }
        }
    }
    assert!(failed > 100, "{failed}");
}

/// The tags of a page, without the values of their attributes.
fn tags(page: &str) -> BTreeSet<String> {
    let mut tags = BTreeSet::new();
    let mut rest = page;
    while let Some((_, behind)) = rest.split_once('<') {
        let (tag, behind) = behind.split_once('>').unwrap();
        // The values that this page writes itself have no quotes in them.
        let names = tag.split('"').step_by(2).collect::<Vec<_>>().join("");
        tags.insert(names.trim_start_matches('/').to_owned());
        rest = match tag {
            "style" | "script" => behind.split_once("</").unwrap().1,
            _ => behind,
        };
    }
    tags
}

#[test]
fn a_page_has_no_markup_of_others() {
    let folder = hostile("page");
    let page = run_in(&folder, &["show", "--format", "html"], "").out;
    let harmless = run("show --from shop.json --format html --origin https://app.shop.example").out;
    let known = tags(&harmless);
    assert!(known.contains("script") && known.len() > 20, "{known:?}");
    let more: Vec<_> = tags(&page).into_iter().filter(|tag| !known.contains(tag)).collect();
    assert_eq!(more, [""; 0]);
    assert!(page.contains("&lt;script&gt;alert(1)"));
    assert_eq!(page.matches("<script>").count(), 1);
    assert_eq!(page.chars().find(|character| is_harmful(*character)), None);
}

#[test]
fn a_table_in_markdown_has_the_cells_of_its_head() {
    let folder = hostile("markdown");
    let text = run_in(&folder, &["show", "--format", "markdown"], "").out;
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 2 + fixtures::hostile().routes.len());
    let bars = |row: &&str| row.matches('|').count();
    assert!(rows.iter().all(|row| bars(row) == bars(&rows[0])), "{text}");
    for row in &rows {
        // Outside of code, all text from manifests is written as references.
        let outside = row.replace("<br>", " ").replace("<code>", "`").replace("</code>", "`");
        let outside: String = outside.split('`').step_by(2).collect();
        let sign = outside.chars().find(|sign| "<>*_[]!\\~$".contains(*sign));
        assert_eq!(sign, None, "{outside}");
    }
    assert_eq!(text.chars().find(|character| is_harmful(*character)), None);
}

#[test]
fn json_is_read_as_it_was() {
    let folder = hostile("json");
    let text = run_in(&folder, &["show", "--format", "json"], "").out;
    assert_eq!(text.chars().find(|character| is_harmful(*character)), None);
    assert_eq!(Manifest::parse(&text).unwrap(), fixtures::hostile());
}
