//! The output conforms to the standard (OASIS SARIF 2.1.0).

use std::collections::BTreeMap;

use policy_manifest::{Lock, Suppression};
use serde_json::{Value, json};

use crate::{
    fixtures::{hello, odd, shop, shop_sources},
    run::{run_at, workspace},
};

/// An object with these properties and no others. One whose name ends with `?` may be missing.
fn object(properties: &Value) -> Value {
    let properties = properties.as_object().unwrap();
    let required: Vec<_> = properties.keys().filter(|name| !name.ends_with('?')).collect();
    let properties = properties.iter().map(|(name, value)| (name.trim_end_matches('?'), value));
    json!({
        "type": "object",
        "required": required,
        "properties": properties.collect::<BTreeMap<_, _>>(),
        "additionalProperties": false,
    })
}

/// The part of the standard's schema that the commands use, without what they never write: a misspelt
/// property is an error here as it is there.
fn schema() -> Value {
    let text = json!({ "type": "string", "minLength": 1 });
    let message = object(&json!({ "text": text }));
    let rule = object(&json!({ "id": text, "shortDescription": message, "help": message }));
    let driver = object(&json!({
        "name": text,
        "semanticVersion": { "type": "string", "pattern": "^[0-9]+\\.[0-9]+\\.[0-9]+" },
        "rules": { "type": "array", "uniqueItems": true, "items": rule },
    }));
    let file = object(&json!({
        "uri": { "type": "string", "format": "uri-reference" },
        "uriBaseId": text,
    }));
    let region = object(&json!({ "startLine": { "type": "integer", "minimum": 1 } }));
    let place = object(&json!({ "artifactLocation": file, "region": region }));
    let route = object(&json!({ "fullyQualifiedName": text, "kind": { "const": "resource" } }));
    let location = object(&json!({
        "physicalLocation?": place,
        "logicalLocations?": { "type": "array", "uniqueItems": true, "items": route },
    }));
    let suppression = object(&json!({
        "kind": { "enum": ["inSource", "external"] },
        "justification": text,
    }));
    let result = object(&json!({
        "ruleId": text,
        "ruleIndex": { "type": "integer", "minimum": 0 },
        "level": { "enum": ["none", "note", "warning", "error"] },
        "message": message,
        "locations?": { "type": "array", "uniqueItems": true, "items": location },
        "suppressions?": { "type": "array", "uniqueItems": true, "items": suppression },
    }));
    let run = object(&json!({
        "tool": object(&json!({ "driver": driver })),
        "columnKind": { "enum": ["utf16CodeUnits", "unicodeCodePoints"] },
        "results": { "type": "array", "items": result },
    }));
    object(&json!({
        "$schema": { "type": "string", "format": "uri" },
        "version": { "const": "2.1.0" },
        "runs": { "type": "array", "items": run },
    }))
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
    let more = [
        ("rust/shop/shop.json", &*shop().to_json()),
        ("rust/shop/hello.json", &*hello().to_json()),
    ];
    let folder = workspace("sarif", &lock, &shop_sources(), &more);
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
        let ran = run_at(&folder, &format!("{line} --format sarif"));
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
        let ids: Vec<_> = rules.iter().map(|rule| rule["id"].as_str()).collect();
        assert!(ids.is_sorted_by(|one, other| one < other), "{line}: {ids:?}");
    }
}
