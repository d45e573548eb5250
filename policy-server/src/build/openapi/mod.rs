//! The OpenAPI document of an app (OpenAPI 3.1.1): what its types say about requests and responses,
//! and what its policies say about callers and refusals.

mod document;
mod operation;
mod security;

use std::fmt;

use policy_manifest::{Manifest, ManifestRoute};
use serde_json::{Map, Value};

use crate::base::error::{Error, StartProblem};

#[cfg(feature = "testing")]
pub(crate) use document::DocumentSource;
pub(crate) use document::{read, write};

/// The OpenAPI document of an app, as [`App::openapi`](crate::App::openapi) reads it.
///
/// It is derived, so that it says what the app does: statuses and codes are those that the policy and
/// the arguments of a route can cause, callers are those of `#[auth]`, and schemas are those of the
/// handler's types. A type that implements no `schemars::JsonSchema` is a [gap](Self::gaps), and so is
/// a query that is not read into a struct.
///
/// Equal apps have equal bytes: neither the order of routes nor the place of a handler matters.
///
/// ```
/// use policy_server::{prelude::*, schemars::{self, JsonSchema}};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Deserialize, JsonSchema, Serialize)]
/// struct Lamp {
///     watts: u32,
/// }
///
/// /// Stores a lamp.
/// #[put("/lamps/{id}")]
/// #[auth(token, scopes = ["lamps:write"])]
/// #[object(none = "who has the scope may store every lamp")]
/// async fn store(id: u64, lamp: Json<Lamp>) -> Json<Lamp> {
///     lamp
/// }
///
/// # let key = policy_server::tokens::SecretKey::from_bytes([7; 32]);
/// let app = App::new(()).tokens(Tokens::hs256(key).unwrap()).routes(routes![store]);
/// let document = app.openapi().unwrap().complete().unwrap();
/// let operation = &document.as_json()["paths"]["/lamps/{id}"]["put"];
/// assert_eq!(operation["operationId"], "store");
/// assert_eq!(operation["summary"], "Stores a lamp.");
/// assert_eq!(operation["security"][0]["token"][0], "lamps:write");
/// assert!(operation["responses"].get("422").is_some());
/// assert!(operation["responses"].get("429").is_none(), "the route has no rate");
/// ```
#[derive(Clone, Debug)]
pub struct OpenApi {
    pub(crate) document: Value,
    pub(crate) gaps: Vec<StartProblem>,
}

impl OpenApi {
    /// The document.
    pub fn as_json(&self) -> &Value {
        &self.document
    }

    /// The text of the document, in UTF-8 with a final line feed. Members are sorted by name.
    pub fn to_json(&self) -> String {
        // INVARIANT: a JSON value can be written.
        let mut text = serde_json::to_string_pretty(&self.document).unwrap_or_default();
        text.push('\n');
        text
    }

    /// What the document does not say: each type without a schema, and each query that is not read into
    /// a struct, with the handler whose signature has it.
    pub fn gaps(&self) -> &[StartProblem] {
        &self.gaps
    }

    /// The document, if it has no gaps: for a test.
    ///
    /// # Errors
    ///
    /// The gaps.
    pub fn complete(self) -> Result<Self, Error> {
        if self.gaps.is_empty() { Ok(self) } else { Err(Error::Start(self.gaps)) }
    }
}

impl fmt::Display for OpenApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

/// An object with these members.
fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// A reference to a component.
fn component(kind: &str, name: &str) -> Value {
    object([("$ref", Value::from(format!("#/components/{kind}/{name}")))])
}

/// The policy of a route as in the manifest, without what the document says elsewhere. It has the
/// headers themselves instead of their name, which only a manifest resolves.
fn policy(manifest: &Manifest, route: &ManifestRoute) -> Value {
    let mut policy = serde_json::to_value(route).unwrap_or_default();
    if let Some(fields) = policy.as_object_mut() {
        let elsewhere = ["path", "methods", "kind", "handler", "headers"];
        elsewhere.into_iter().for_each(|it| drop(fields.remove(it)));
        let headers = serde_json::to_value(manifest.headers_of(route)).unwrap_or_default();
        set(fields, "headers", headers);
    }
    policy
}

/// Sets the description of an object.
fn describe(value: &mut Value, text: impl Into<Value>) {
    if let Some(fields) = value.as_object_mut() {
        fields.insert("description".to_owned(), text.into());
    }
}

/// Sets a member, unless the value is empty.
fn set(fields: &mut Map<String, Value>, name: &str, value: Value) {
    let is_empty = match &value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    if !is_empty {
        fields.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests;
