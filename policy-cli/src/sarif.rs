//! Findings in SARIF 2.1.0, which code hosts show at the lines that they are about.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::escape::json_text;

/// A finding of any command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SarifFinding {
    /// The stable code, such as `lint.own-origin`.
    pub(crate) rule: String,
    pub(crate) level: SarifLevel,
    /// What was found, in one paragraph.
    pub(crate) message: String,
    /// What to do about every finding of this rule.
    pub(crate) help: String,
    /// The source line that decided, if it is known.
    pub(crate) location: Option<SarifLocation>,
    /// The routes, such as `GET /orders/{id}`.
    pub(crate) routes: Vec<String>,
    /// Why the finding is suppressed, if it is.
    pub(crate) suppressed: Option<String>,
}

/// How much a finding matters (SARIF 3.27.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SarifLevel {
    Error,
    Warning,
    Note,
}

/// A line of a file of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SarifLocation {
    /// The path from the root of the repository.
    pub(crate) file: String,
    /// From 1.
    pub(crate) line: u32,
}

/// The text of a SARIF file.
pub(crate) fn render(findings: &[SarifFinding]) -> String {
    let rules: BTreeMap<&str, &SarifFinding> =
        findings.iter().rev().map(|finding| (finding.rule.as_str(), finding)).collect();
    let index: BTreeMap<&str, usize> =
        rules.keys().enumerate().map(|(index, rule)| (*rule, index)).collect();
    let rules: Vec<_> = rules
        .values()
        .map(|finding| {
            json!({
                "id": finding.rule,
                "shortDescription": { "text": finding.rule },
                "help": { "text": plain_text(&finding.help) },
            })
        })
        .collect();
    let results: Vec<_> = findings.iter().map(|finding| result(finding, &index)).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "cargo-policy",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    json_text(&log)
}

fn result(finding: &SarifFinding, index: &BTreeMap<&str, usize>) -> Value {
    let level = match finding.level {
        SarifLevel::Error => "error",
        SarifLevel::Warning => "warning",
        SarifLevel::Note => "note",
    };
    let place = finding.location.as_ref().map(|SarifLocation { file, line }| {
        json!({
            "artifactLocation": { "uri": uri(file), "uriBaseId": "%SRCROOT%" },
            "region": { "startLine": line },
        })
    });
    let routes = finding.routes.iter();
    let routes: Vec<_> =
        routes.map(|route| json!({ "fullyQualifiedName": route, "kind": "resource" })).collect();
    let is_placed = place.is_some() || !routes.is_empty();
    let location = object([
        ("physicalLocation", place),
        ("logicalLocations", (!routes.is_empty()).then_some(Value::Array(routes))),
    ]);
    let suppressed = finding.suppressed.as_ref();
    object([
        ("ruleId", Some(json!(finding.rule))),
        ("ruleIndex", Some(json!(index.get(finding.rule.as_str())))),
        ("level", Some(json!(level))),
        ("message", Some(json!({ "text": plain_text(&finding.message) }))),
        ("locations", is_placed.then(|| json!([location]))),
        (
            "suppressions",
            suppressed.map(|why| json!([{ "kind": "external", "justification": why }])),
        ),
    ])
}

/// An object of those fields that are known.
fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let known = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(known.collect())
}

/// A message without links (SARIF 3.11.6): `[text](target)` would be one, with a target that a manifest
/// chooses. Other brackets stay as they are. So do braces, since a message without `arguments` has
/// nothing to put into a placeholder.
fn plain_text(message: &str) -> String {
    match message.contains("](") {
        true => message.replace('\\', r"\\").replace('[', r"\[").replace(']', r"\]"),
        false => message.to_owned(),
    }
}

/// A relative path as a URI reference (SARIF 3.4.3), with the slashes of URIs.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'\\' => uri.push('/'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(byte));
            }
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(rule: &str) -> SarifFinding {
        SarifFinding {
            rule: rule.to_owned(),
            level: SarifLevel::Warning,
            message: "said".to_owned(),
            help: format!("mend {rule}"),
            location: Some(SarifLocation { file: r"src\a b.rs".to_owned(), line: 7 }),
            routes: vec!["GET /a".to_owned()],
            suppressed: None,
        }
    }

    fn render_json(findings: &[SarifFinding]) -> Value {
        serde_json::from_str::<Value>(&render(findings)).unwrap()["runs"][0].clone()
    }

    #[test]
    fn a_path_is_a_uri_below_the_root_of_the_repository() {
        let run = render_json(&[finding("a")]);
        let place = &run["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "src/a%20b.rs");
        assert_eq!(place["region"]["startLine"], 7);
    }

    #[test]
    fn a_message_has_no_link() {
        let linked = r#"exempt = "\[a](https://evil.example)", in `#[csrf]`"#.to_owned();
        let run =
            render_json(&[SarifFinding { message: linked.clone(), help: linked, ..finding("a") }]);
        let plain = r#"exempt = "\\\[a\](https://evil.example)", in `#\[csrf\]`"#;
        assert_eq!(run["results"][0]["message"]["text"], plain);
        assert_eq!(run["tool"]["driver"]["rules"][0]["help"]["text"], plain);
        let attribute = SarifFinding { message: r"`#[csrf]` \".to_owned(), ..finding("a") };
        let run = render_json(&[attribute]);
        assert_eq!(run["results"][0]["message"]["text"], r"`#[csrf]` \");
    }

    #[test]
    fn unknown_facts_are_left_out() {
        let bare = SarifFinding { location: None, routes: Vec::new(), ..finding("a") };
        let result = render_json(&[bare])["results"][0].clone();
        assert!(result.get("locations").is_none() && result.get("suppressions").is_none());
        assert_eq!(render_json(&[])["results"], json!([]));
    }
}
