//! An OpenAPI document, and what its references point to.

use std::{
    collections::{BTreeSet, HashSet},
    iter, ptr,
};

use data_encoding::HEXLOWER_PERMISSIVE;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// The methods that a path item can have (OpenAPI 3.1, 4.8.9; `query` of 3.2).
const METHODS: [&str; 9] =
    ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];

/// The longest chain of references that is followed.
const CHAIN: usize = 32;

/// A document of OpenAPI 3.1 or 3.2.
#[derive(Debug)]
pub(super) struct Document(Value);

/// An operation, with what its path has for all operations.
#[derive(Debug)]
pub(super) struct Operation<'a> {
    pub(super) path: &'a str,
    pub(super) method: &'static str,
    pub(super) value: &'a Value,
    pub(super) parameters: Vec<&'a Value>,
    /// The servers, if they are not those of the document.
    pub(super) servers: Option<&'a Value>,
}

impl Document {
    pub(super) fn parse(text: &str, name: &str) -> Result<Self, Failure> {
        let help = "name an openapi.json of OpenAPI 3.1 or 3.2";
        let mut value: Value = serde_json::from_str(text)
            .map_err(|error| Failure::new(format!("`{name}` is no JSON: {error}")).help(help))?;
        // Another crate may enable serde_json's `preserve_order`.
        value.sort_all_objects();
        match value.get("openapi").and_then(Value::as_str) {
            Some(version) if version.starts_with("3.1.") || version.starts_with("3.2.") => {
                Ok(Self(value))
            }
            Some(version) => {
                let message = format!("`{name}` is a document of OpenAPI {version}");
                Err(Failure::new(message).help(help))
            }
            None => Err(Failure::new(format!("`{name}` is no OpenAPI document")).help(help)),
        }
    }

    pub(super) fn root(&self) -> &Value {
        &self.0
    }

    /// What a `$ref` points to, if it is in this document.
    pub(super) fn target(&self, value: &Value) -> Option<&Value> {
        let pointer = value.get("$ref")?.as_str()?.strip_prefix('#')?;
        match pointer.contains('%') {
            true => self.0.pointer(&decode(pointer)?),
            false => self.0.pointer(pointer),
        }
    }

    /// A parameter, response or the like, which may be a reference to one. What is not in this document
    /// stays a reference.
    pub(super) fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        let chain = iter::successors(Some(value), |value| self.target(value));
        chain.take(CHAIN).last().unwrap_or(value)
    }

    /// The entries of an object in an object, resolved.
    pub(super) fn entries<'a>(
        &'a self,
        value: &'a Value,
        name: &str,
    ) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let entries = value.get(name).and_then(Value::as_object).into_iter().flatten();
        entries.map(|(name, value)| (name.as_str(), self.resolve(value)))
    }

    /// The operations, in the order of the document.
    pub(super) fn operations(&self) -> impl Iterator<Item = Operation<'_>> {
        self.entries(&self.0, "paths").flat_map(move |(path, item)| {
            METHODS.into_iter().filter_map(move |method| {
                let value = item.get(method)?;
                let mut parameters = listed_of(self, value);
                let mut known: BTreeSet<_> = parameters.iter().copied().map(identity).collect();
                let shared = listed_of(self, item).into_iter();
                parameters.extend(shared.filter(|shared| known.insert(identity(shared))));
                let servers = value.get("servers").or_else(|| item.get("servers"));
                Some(Operation { path, method, value, parameters, servers })
            })
        })
    }
}

impl Operation<'_> {
    /// The method and the path.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.method.to_ascii_uppercase(), self.path)
    }

    /// The names of the parameters of its path, in their order.
    pub(super) fn names_in_path(&self) -> impl Iterator<Item = &str> {
        self.path.split('{').skip(1).filter_map(|rest| rest.split('}').next())
    }
}

/// A pointer without the percent codes of a fragment (RFC 6901 6).
fn decode(fragment: &str) -> Option<String> {
    let mut parts = fragment.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        bytes.extend(HEXLOWER_PERMISSIVE.decode(code.as_bytes()).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

/// The reference of a value. A resolved value has one if its target is not in this document.
pub(super) fn reference(value: &Value) -> Option<String> {
    let reference = value.get("$ref")?;
    Some(reference.as_str().map_or_else(|| reference.to_string(), str::to_owned))
}

/// The conjuncts of a schema: itself, and what its references and `allOf` add to it.
pub(super) fn conjuncts<'a>(document: &'a Document, schema: &'a Value) -> Vec<&'a Value> {
    let (mut found, mut open, mut seen) = (Vec::new(), vec![schema], HashSet::new());
    while let Some(schema) = open.pop() {
        // A reference to itself adds nothing.
        if !seen.insert(ptr::from_ref(schema)) {
            continue;
        }
        found.push(schema);
        open.extend(document.target(schema));
        open.extend(schema.get("allOf").and_then(Value::as_array).into_iter().flatten());
    }
    found
}

fn listed_of<'a>(document: &'a Document, value: &'a Value) -> Vec<&'a Value> {
    let list = value.get("parameters").and_then(Value::as_array);
    list.into_iter().flatten().map(|parameter| document.resolve(parameter)).collect()
}

/// What makes a parameter the same (OpenAPI 3.1, 4.8.12): names of headers are case-insensitive.
pub(super) fn identity(parameter: &Value) -> (&str, String) {
    let text = |name| parameter.get(name).and_then(Value::as_str).unwrap_or_default();
    let name = text("name");
    match text("in") {
        "header" => ("header", name.to_ascii_lowercase()),
        place => (place, name.to_owned()),
    }
}

/// The object, or an empty one.
pub(super) fn object<'a>(value: &'a Value, name: &str) -> Option<&'a Map<String, Value>> {
    value.get(name).and_then(Value::as_object)
}
