//! Laws of the manifest itself: its text, its normal form, its digest.

use policy_manifest::Manifest;
use proptest::{collection::vec, prelude::*, sample::Index};
use serde_json::{Value, json};

use super::{
    generate::{caller, site, sketch},
    rewording::{change, rewording},
    summary, verdict,
};
use crate::law::{Precondition, holds_in_fewer};

/// A written manifest is read in its normal form, which has the same text.
#[test]
fn a_manifest_is_read_in_its_normal_form() {
    holds_in_fewer(6, "reading", 90, site(), |site| {
        let text = site.manifest.to_json();
        let normal = site.manifest.clone().normal();
        let read = Manifest::parse(&text).expect("its own text");
        prop_assert_eq!(&read, &normal);
        prop_assert_eq!(read.to_json(), text);
        let plain = serde_json::to_string(&site.manifest).expect("JSON");
        prop_assert_eq!(&Manifest::parse(&plain).expect("the same fields"), &normal);
        prop_assert_eq!(&normal.clone().normal(), &normal);
        Ok(Precondition::met_if(normal != site.manifest))
    });
}

/// The order of routes and of lists, entries that others cover, and how methods are grouped change
/// neither the normal form nor what is decided.
#[test]
fn equal_policies_have_one_normal_form() {
    let cases = (site(), rewording(), vec((sketch(), caller()), 6));
    holds_in_fewer(6, "rewording", 90, cases, |(site, rewording, requests)| {
        let reworded = rewording.apply(&site.manifest);
        prop_assert_eq!(reworded.clone().normal(), site.manifest.clone().normal());
        prop_assert_eq!(reworded.digest(), site.manifest.digest());
        let (engine, other) = (site.engine(), site.engine_of(&reworded).expect("equal policies"));
        for (sketch, caller) in &requests {
            let request = sketch.to_request(&site);
            let (one, two) = (engine.decide(&request, caller), other.decide(&request, caller));
            prop_assert_eq!(summary(&engine, &one), summary(&other, &two), "{:?}", request);
        }
        Ok(Precondition::met_if(reworded != site.manifest))
    });
}

/// Manifests that decide differently about a request have different digests.
#[test]
fn manifests_that_decide_differently_have_different_digests() {
    let cases = (site(), change(), vec((sketch(), caller()), 24));
    holds_in_fewer(6, "digests", 10, cases, |(site, change, requests)| {
        let changed = change.apply(&site.manifest);
        let Ok(other) = site.engine_of(&changed) else { return Ok(Precondition::Unmet) };
        let engine = site.engine();
        let differs = requests.iter().any(|(sketch, caller)| {
            let request = sketch.to_request(&site);
            verdict(&engine.decide(&request, caller)) != verdict(&other.decide(&request, caller))
        });
        if differs {
            prop_assert_ne!(changed.digest(), site.manifest.digest());
        }
        Ok(Precondition::met_if(differs))
    });
}

/// An unknown field may restrict what the others allow, so it is not skipped.
#[test]
fn rejects_unknown_fields() {
    holds_in_fewer(6, "unknown fields", 100, (site(), any::<Index>()), |(site, index)| {
        let mut value: Value = serde_json::from_str(&site.manifest.to_json()).expect("JSON");
        let all = objects(&value, "");
        let object = value.pointer_mut(&all[index.index(all.len())]).expect("an object");
        object["captcha"] = json!(true);
        prop_assert!(Manifest::parse(&value.to_string()).is_err(), "{}", value);
        Ok(Precondition::Met)
    });
}

/// The JSON pointers (RFC 6901) of all objects in a value.
fn objects(value: &Value, at: &str) -> Vec<String> {
    match value {
        Value::Object(fields) => {
            // A slash in a name is escaped in a pointer (RFC 6901 3).
            let pointer =
                |name: &str| format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
            let inner = fields.iter().flat_map(|(name, value)| objects(value, &pointer(name)));
            inner.chain([at.to_owned()]).collect()
        }
        Value::Array(list) => {
            let inner = list.iter().enumerate();
            inner.flat_map(|(index, value)| objects(value, &format!("{at}/{index}"))).collect()
        }
        _ => Vec::new(),
    }
}
