//! The JSON Schemas of an app: one name for each type, independent of the order in which types are
//! read.

use std::{
    borrow::Cow,
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    iter,
};

use schemars::{
    JsonSchema, Schema, SchemaGenerator,
    generate::{Contract, SchemaSettings},
};
use serde_json::{Map, Value};

/// The side of an exchange: serde reads and writes some types differently. A field with a default may
/// be missing in a request, and is always in a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// What the app deserializes.
    Request,
    /// What it serializes.
    Response,
}

impl Side {
    /// The prefix of references to its schemas. Those to schemas of requests are replaced when the
    /// document is complete: only then is it known which of them differ from those of responses.
    const fn prefix(self) -> &'static str {
        match self {
            Self::Request => "#/components/requests/",
            Self::Response => "#/components/schemas/",
        }
    }
}

/// The schemas of the types that occur in requests and in responses, by name.
#[derive(Debug, Default)]
pub struct Schemas {
    requests: BTreeMap<String, Value>,
    responses: BTreeMap<String, Value>,
    /// The names that more than one type has.
    collisions: BTreeSet<String>,
}

impl Schemas {
    /// The schema of a type, or a reference to it.
    ///
    /// Each type has a generator of its own: a shared one would number types with the same name by
    /// the order of the routes.
    pub(crate) fn schema_for<T: JsonSchema + ?Sized>(&mut self, side: Side) -> Value {
        let (schema, definitions) = generate::<T>(side, |_| ());
        for name in definitions.keys() {
            if let Some(base) = numbered(name, &definitions)
                && !is_named::<T>(name, side)
            {
                self.collisions.insert(base.to_owned());
            }
        }
        let known = match side {
            Side::Request => &mut self.requests,
            Side::Response => &mut self.responses,
        };
        for (name, schema) in definitions {
            let schema = plain(schema);
            if known.get(&name).is_some_and(|other| *other != schema) {
                self.collisions.insert(name.clone());
            }
            known.insert(name, schema);
        }
        plain(schema)
    }

    /// The properties of an object, whether each is required, and whether the schema describes nothing
    /// else: a map and a union of objects have more.
    pub(crate) fn properties(&self, schema: &Value) -> (Vec<(String, Value, bool)>, bool) {
        let target = |schema: &&Value| self.requests.get(reference(schema)?.1);
        // A type that contains only itself would have no end.
        let chain = iter::successors(Some(schema), target).take(self.requests.len() + 1);
        let schema = chain.last().unwrap_or(schema);
        let is_object = schema.get("type").is_some_and(|of| of == "object" || of == "null");
        let more = ["additionalProperties", "allOf", "anyOf", "oneOf", "patternProperties"];
        let has_more = more.iter().any(|name| schema.get(name).is_some_and(|of| *of != false));
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| {
            required.is_some_and(|names| names.iter().any(|required| required == name))
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut properties: Vec<_> = properties.into_iter().flatten().collect();
        properties.sort_unstable_by_key(|(name, _)| *name);
        let properties = properties.into_iter();
        let properties = properties.map(|(name, of)| (name.clone(), of.clone(), is_required(name)));
        (properties.collect(), is_object && !has_more)
    }

    /// Completes a document that refers to these schemas, and returns the components that it uses.
    /// A type with one schema for requests and another for responses becomes two components:
    /// `Order`, and `OrderInput` for requests. Also returns the names that several types have.
    pub(crate) fn complete(
        mut self,
        document: &mut Value,
    ) -> (BTreeMap<String, Value>, BTreeSet<String>) {
        let split = self.split();
        let name_in = |side: Side, name: &str| match side {
            Side::Request if split.contains(name) => format!("{name}Input"),
            _ => name.to_owned(),
        };
        let refer = |side: Side, name: &str| {
            Some(format!("{}{}", Side::Response.prefix(), name_in(side, name)))
        };
        rename(document, &refer);
        let mut schemas = self.responses;
        for (name, mut schema) in self.requests {
            rename(&mut schema, &refer);
            let name = name_in(Side::Request, &name);
            if schemas.get(&name).is_some_and(|other| *other != schema) {
                self.collisions.insert(name.clone());
            }
            schemas.insert(name, schema);
        }
        let mut used: BTreeSet<String> = BTreeSet::new();
        let mut open = references(document);
        while let Some((_, name)) = open.pop() {
            if let Some(schema) = schemas.get(&name).filter(|_| used.insert(name)) {
                open.extend(references(schema));
            }
        }
        schemas.retain(|name, _| used.contains(name));
        (schemas, self.collisions)
    }

    /// The names whose two schemas differ, or refer to others that do.
    fn split(&self) -> BTreeSet<String> {
        let as_response = |_: Side, name: &str| Some(format!("{}{name}", Side::Response.prefix()));
        let both: Vec<(&String, &Value, Value)> = self
            .requests
            .iter()
            .filter_map(|(name, request)| {
                let mut request = request.clone();
                rename(&mut request, &as_response);
                Some((name, self.responses.get(name)?, request))
            })
            .collect();
        let mut split = BTreeSet::new();
        loop {
            let before = split.len();
            for (name, response, request) in &both {
                let differs = *response != request
                    || references(response).iter().any(|(_, name)| split.contains(name));
                if differs {
                    split.insert((*name).clone());
                }
            }
            if split.len() == before {
                return split;
            }
        }
    }
}

fn generate<T: JsonSchema + ?Sized>(
    side: Side,
    prepare: impl FnOnce(&mut SchemaGenerator),
) -> (Value, Map<String, Value>) {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = Cow::Borrowed(side.prefix());
        settings.meta_schema = None;
        settings.contract = match side {
            Side::Request => Contract::Deserialize,
            Side::Response => Contract::Serialize,
        };
    });
    let mut generator = settings.into_generator();
    prepare(&mut generator);
    let schema = generator.subschema_for::<T>();
    (schema.to_value(), generator.take_definitions(true))
}

/// The name without its number, if another type has that one: schemars numbers types with the same
/// name.
fn numbered<'a>(name: &'a str, definitions: &Map<String, Value>) -> Option<&'a str> {
    let base = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
    (base != name && definitions.contains_key(base)).then_some(base)
}

thread_local! {
    static CLAIMED: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A type that claims a name.
struct Claim;

impl JsonSchema for Claim {
    fn schema_name() -> Cow<'static, str> {
        CLAIMED.with_borrow(|name| Cow::Owned(name.clone()))
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Schema::default()
    }
}

/// Whether a type below `T` states this name itself. If the name is taken, schemars adds a number
/// to it; a name that schemars has numbered gets the next number instead.
fn is_named<T: JsonSchema + ?Sized>(name: &str, side: Side) -> bool {
    CLAIMED.with_borrow_mut(|claimed| name.clone_into(claimed));
    let (_, definitions) = generate::<T>(side, |generator| {
        generator.subschema_for::<Claim>();
    });
    definitions.contains_key(&format!("{name}2"))
}

/// A schema that client generators can read, too: nothing beside a reference, and an enumeration as
/// one list. Some of them ignore what is beside a `$ref`, and write a union of constants as a type.
fn plain(schema: Value) -> Value {
    match schema {
        Value::Array(items) => Value::Array(items.into_iter().map(plain).collect()),
        Value::Object(fields) => {
            let mut fields: Map<_, _> =
                fields.into_iter().map(|(name, value)| (name, plain(value))).collect();
            let is_note = |name: &String| name == "description" || name == "default";
            if fields.keys().any(|name| name != "$ref" && !is_note(name))
                && let Some(reference) = fields.remove("$ref")
            {
                let reference = Map::from_iter([("$ref".to_owned(), reference)]);
                let all = vec![Value::Object(reference), Value::Object(fields)];
                fields = Map::from_iter([("allOf".to_owned(), Value::Array(all))]);
            }
            if let Some(names) = fields.get("oneOf").and_then(enumerated) {
                fields.remove("oneOf");
                fields.insert("type".to_owned(), Value::from("string"));
                fields.insert("enum".to_owned(), Value::Array(names));
            }
            Value::Object(fields)
        }
        other => other,
    }
}

/// The values of a union that consists of texts only.
fn enumerated(union: &Value) -> Option<Vec<Value>> {
    let mut names = Vec::new();
    for schema in union.as_array()? {
        let of_texts = schema.get("type").is_some_and(|it| it == "string");
        match (schema.get("const"), schema.get("enum").and_then(Value::as_array)) {
            (Some(name @ Value::String(_)), None) => names.push(name.clone()),
            (None, Some(listed)) if of_texts => names.extend(listed.iter().cloned()),
            _ => return None,
        }
    }
    (!names.is_empty()).then_some(names)
}

/// The component that a schema refers to.
fn reference(schema: &Value) -> Option<(Side, &str)> {
    let text = schema.get("$ref")?.as_str()?;
    let of = |side: Side| Some((side, text.strip_prefix(side.prefix())?));
    of(Side::Request).or_else(|| of(Side::Response))
}

/// The components to which a value refers.
fn references(value: &Value) -> Vec<(Side, String)> {
    let mut found: Vec<_> =
        reference(value).map(|(side, name)| (side, name.to_owned())).into_iter().collect();
    match value {
        Value::Array(items) => found.extend(items.iter().flat_map(references)),
        Value::Object(fields) => found.extend(fields.values().flat_map(references)),
        _ => (),
    }
    found
}

fn rename(value: &mut Value, renamed: &impl Fn(Side, &str) -> Option<String>) {
    let to = reference(value).and_then(|(side, name)| renamed(side, name));
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, renamed)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|value| rename(value, renamed));
            fields.extend(to.map(|to| ("$ref".to_owned(), Value::from(to))));
        }
        _ => (),
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;

    #[derive(Deserialize, JsonSchema, Serialize)]
    struct Order {
        id: u64,
        #[serde(default)]
        note: String,
    }

    #[derive(Deserialize, JsonSchema, Serialize)]
    struct Basket {
        orders: Vec<Order>,
    }

    #[derive(JsonSchema, Serialize)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    #[expect(dead_code, reason = "its schema is read")]
    enum Entry {
        Basket(Basket),
        Nothing,
    }

    #[derive(JsonSchema, Serialize)]
    #[expect(dead_code, reason = "its schema is read")]
    enum State {
        /// It can change.
        Open,
        Closed,
    }

    mod other {
        #[derive(schemars::JsonSchema)]
        #[expect(dead_code, reason = "its schema is read")]
        pub(super) struct Order(u8);
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "its schema is read")]
    struct Both {
        one: Order,
        other: other::Order,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "its schema is read")]
    struct Order2(bool);

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "its schema is read")]
    struct Versions {
        second: Order2,
        first: Order,
    }

    #[test]
    fn a_type_that_is_read_and_written_differently_is_two_components() {
        let mut schemas = Schemas::default();
        let response = schemas.schema_for::<Basket>(Side::Response);
        let request = schemas.schema_for::<Basket>(Side::Request);
        let mut document = json!([request, response]);
        let (components, collisions) = schemas.complete(&mut document);
        assert_eq!(document[0], json!({ "$ref": "#/components/schemas/BasketInput" }));
        assert_eq!(document[1], json!({ "$ref": "#/components/schemas/Basket" }));
        let names: Vec<_> = components.keys().map(String::as_str).collect();
        // A basket is written differently, since its orders are.
        assert_eq!(names, ["Basket", "BasketInput", "Order", "OrderInput"]);
        assert_eq!(components["Order"]["required"], json!(["id", "note"]));
        assert_eq!(components["OrderInput"]["required"], json!(["id"]));
        assert!(collisions.is_empty());
    }

    #[test]
    fn a_type_of_one_side_has_its_own_name() {
        let mut schemas = Schemas::default();
        let mut request = schemas.schema_for::<Order>(Side::Request);
        let (components, _) = schemas.complete(&mut request);
        assert_eq!(components.keys().collect::<Vec<_>>(), ["Order"]);
    }

    #[test]
    fn two_types_of_one_name_collide_in_any_order() {
        for is_turned in [false, true] {
            let mut schemas = Schemas::default();
            let one = |schemas: &mut Schemas| schemas.schema_for::<Order>(Side::Response);
            let other = |schemas: &mut Schemas| schemas.schema_for::<other::Order>(Side::Response);
            match is_turned {
                false => (one(&mut schemas), other(&mut schemas)),
                true => (other(&mut schemas), one(&mut schemas)),
            };
            assert_eq!(schemas.collisions.iter().collect::<Vec<_>>(), ["Order"]);
        }
        let mut within = Schemas::default();
        within.schema_for::<Both>(Side::Response);
        assert_eq!(within.collisions.iter().collect::<Vec<_>>(), ["Order"]);
        let mut named = Schemas::default();
        named.schema_for::<Versions>(Side::Response);
        assert!(named.collisions.is_empty(), "a name may end with a number");
    }

    #[test]
    fn nothing_is_beside_a_reference() {
        let mut schemas = Schemas::default();
        schemas.schema_for::<Entry>(Side::Response);
        let entry = &schemas.responses["Entry"];
        let of_basket = &entry["oneOf"][0];
        assert_eq!(of_basket["allOf"][0], json!({ "$ref": "#/components/schemas/Basket" }));
        assert_eq!(of_basket["allOf"][1]["properties"]["kind"]["const"], "basket");
        assert_eq!(of_basket.get("$ref"), None);
    }

    #[test]
    fn an_enumeration_is_one_list() {
        let mut schemas = Schemas::default();
        schemas.schema_for::<State>(Side::Response);
        let state = &schemas.responses["State"];
        let mut names: Vec<_> =
            state["enum"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["Closed", "Open"]);
        assert_eq!(state.get("oneOf"), None);
    }

    #[test]
    fn what_nothing_refers_to_is_left_out() {
        let mut schemas = Schemas::default();
        let mut basket = schemas.schema_for::<Basket>(Side::Response);
        schemas.schema_for::<State>(Side::Response);
        let (components, _) = schemas.complete(&mut basket);
        assert_eq!(components.keys().collect::<Vec<_>>(), ["Basket", "Order"]);
    }
}
