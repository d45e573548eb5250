//! The output conforms to the standard (OASIS SARIF 2.1.0).

use policy_manifest::{Lock, Suppression};
use serde_json::{Value, json};

use crate::{
    fixtures::{hello, odd, shop, shop_sources},
    run::{folder, run_in},
};

/// An object that must have the `required` properties, may have the `optional` ones, and has no
/// others.
fn object(required: &Value, optional: &Value) -> Value {
    let [mut properties, optional] =
        [required, optional].map(|value| value.as_object().unwrap().clone());
    let names: Vec<_> = properties.keys().cloned().collect();
    properties.extend(optional);
    json!({
        "type": "object",
        "required": names,
        "properties": properties,
        "additionalProperties": false,
    })
}

/// The part of the standard's schema that the commands use, without what they never write: a misspelt
/// property is an error here as it is there.
fn schema() -> Value {
    let text = json!({ "type": "string", "minLength": 1 });
    let message = object(&json!({ "text": text }), &json!({}));
    let rule =
        object(&json!({ "id": text, "shortDescription": message, "help": message }), &json!({}));
    let driver = object(
        &json!({
            "name": text,
            "semanticVersion": { "type": "string", "pattern": "^[0-9]+\\.[0-9]+\\.[0-9]+" },
            "rules": { "type": "array", "uniqueItems": true, "items": rule },
        }),
        &json!({}),
    );
    let file = object(
        &json!({ "uri": { "type": "string", "format": "uri-reference" }, "uriBaseId": text }),
        &json!({}),
    );
    let region = object(&json!({ "startLine": { "type": "integer", "minimum": 1 } }), &json!({}));
    let place = object(&json!({ "artifactLocation": file, "region": region }), &json!({}));
    let route =
        object(&json!({ "fullyQualifiedName": text, "kind": { "const": "resource" } }), &json!({}));
    let location = object(
        &json!({}),
        &json!({
            "physicalLocation": place,
            "logicalLocations": { "type": "array", "uniqueItems": true, "items": route },
        }),
    );
    let suppression = object(
        &json!({ "kind": { "enum": ["inSource", "external"] }, "justification": text }),
        &json!({}),
    );
    let result = object(
        &json!({
            "ruleId": text,
            "ruleIndex": { "type": "integer", "minimum": 0 },
            "level": { "enum": ["none", "note", "warning", "error"] },
            "message": message,
        }),
        &json!({
            "locations": { "type": "array", "uniqueItems": true, "items": location },
            "suppressions": { "type": "array", "uniqueItems": true, "items": suppression },
        }),
    );
    let run = object(
        &json!({
            "tool": object(&json!({ "driver": driver }), &json!({})),
            "columnKind": { "enum": ["utf16CodeUnits", "unicodeCodePoints"] },
            "results": { "type": "array", "items": result },
        }),
        &json!({}),
    );
    object(
        &json!({
            "$schema": { "type": "string", "format": "uri" },
            "version": { "const": "2.1.0" },
            "runs": { "type": "array", "items": run },
        }),
        &json!({}),
    )
}

#[test]
fn findings_are_written_as_the_standard_says() {
    let mut lock = Lock::new(odd());
    lock.suppressed = vec![Suppression {
        lint: "lint.cookie-of-domain".to_owned(),
        route: None,
        who: "ada".to_owned(),
        why: "it is meant".to_owned(),
        until: None,
    }];
    let folder = folder(
        "sarif",
        &[
            (".git/HEAD", "ref: refs/heads/main"),
            (
                "a shop/Cargo.toml",
                "[package]\nname = \"shop\"\nedition = \"2024\"\n\n[workspace]\n",
            ),
            ("a shop/src/lib.rs", ""),
            ("a shop/policy.lock", &lock.to_json()),
            ("a shop/target/policy/shop/manifest.json", &odd().to_json()),
            (
                "a shop/target/policy/shop/sources.json",
                &serde_json::to_string(&shop_sources()).unwrap(),
            ),
            ("a shop/shop.json", &shop().to_json()),
            ("a shop/hello.json", &hello().to_json()),
        ],
    );
    let validator = jsonschema::options().should_validate_formats(true).build(&schema()).unwrap();
    for (line, least) in [
        ("lint", 5),
        ("lint --from policy.lock", 5),
        ("lint --from hello.json", 0),
        ("diff shop.json", 3),
        ("diff shop.json policy.lock", 3),
        ("diff shop.json hello.json", 5),
        ("diff hello.json hello.json", 0),
    ] {
        let mut arguments: Vec<_> = line.split(' ').collect();
        arguments.extend(["--format", "sarif"]);
        let ran = run_in(&folder.join("a shop"), &arguments, "");
        assert!(ran.code < 2, "{line}: {}", ran.err);
        let sarif: Value = serde_json::from_str(&ran.out).unwrap();
        let errors: Vec<_> = validator
            .iter_errors(&sarif)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{line}: {errors:?}");
        let run = &sarif["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        let results = run["results"].as_array().unwrap();
        assert!(results.len() >= least, "{line}: {}", results.len());
        for result in results {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[index]["id"], result["ruleId"], "{line}");
        }
        // In the order of their ids.
        let mut ids: Vec<_> = rules.iter().map(|rule| rule["id"].as_str()).collect();
        ids.dedup();
        assert_eq!(ids.len(), rules.len(), "{line}");
    }
}
