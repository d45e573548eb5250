//! One operation: its parameters, its body and its responses.

use std::collections::BTreeMap;

use http::HeaderValue;
use policy_core::{
    Refusal,
    outcome::{ArgumentKind, EVERY_REQUEST},
    path::{PathTemplate, Segment},
};
use policy_manifest::{Auth, Manifest, ManifestRoute, Outcomes};
use serde_json::{Map, Value, json};

use super::{component, describe, document::words, object, policy, security::Schemes, set};
use crate::handler::describe::{Input, Reply, Schemas, Signature, Types};

/// A route with what its types say.
pub(super) struct DescribedRoute<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) route: &'a ManifestRoute,
    pub(super) method: &'static str,
    /// The challenge of the app's own scheme that it takes.
    pub(super) challenge: Option<&'a HeaderValue>,
    pub(super) signature: &'a Signature,
    pub(super) types: &'a Types,
    pub(super) schemas: &'a Schemas,
}

/// The member of a response with the name under which operations share it. It is not in the document:
/// [`share`] takes it out.
const SHARED: &str = "x-shared";

/// Makes components of the responses that operations share: one for each status and set of codes.
/// Responses that differ otherwise are numbered in the order of their texts.
pub(super) fn share<'a>(responses: impl Iterator<Item = &'a mut Value>) -> BTreeMap<String, Value> {
    let mut responses: Vec<_> = responses
        .filter_map(|response| {
            let name = response.as_object_mut()?.remove(SHARED)?.as_str()?.to_owned();
            response.sort_all_objects();
            Some((name, response))
        })
        .collect();
    responses.sort_by_cached_key(|(name, response)| (name.clone(), response.to_string()));
    let mut shared: BTreeMap<String, Value> = BTreeMap::new();
    let mut last: Option<(String, String, usize)> = None;
    for (name, response) in responses {
        let known = last.take().filter(|(known, ..)| *known == name);
        let (unique, number) = match known {
            None => (name.clone(), 1),
            Some((_, unique, number)) if shared.get(&unique) == Some(&*response) => {
                (unique, number)
            }
            Some((_, _, number)) => (format!("{name}_{}", number + 1), number + 1),
        };
        let reference = component("responses", &unique);
        shared.insert(unique.clone(), std::mem::replace(response, reference));
        last = Some((name, unique, number));
    }
    shared
}

pub(super) fn operation(
    described: &DescribedRoute<'_>,
    schemes: &mut Schemes,
) -> Map<String, Value> {
    let DescribedRoute { manifest, route, method, challenge, types, .. } = *described;
    let mut operation = Map::new();
    let (summary, description) = texts(types.docs);
    set(&mut operation, "summary", Value::from(summary));
    set(&mut operation, "description", Value::from(description));
    set(&mut operation, "parameters", Value::Array(described.parameters()));
    set(&mut operation, "requestBody", described.body());
    operation.insert("responses".to_owned(), described.responses());
    let security = schemes.requirements(manifest, route, method, challenge);
    operation.insert("security".to_owned(), security);
    operation.insert("x-policy".to_owned(), policy(manifest, route));
    operation
}

/// The first paragraph of a documentation on one line, and the rest.
fn texts(docs: &[&str]) -> (String, String) {
    let lines: Vec<_> = docs.iter().flat_map(|doc| doc.split('\n')).map(unindented).collect();
    let end = lines.iter().position(|line| line.is_empty()).unwrap_or(lines.len());
    let (first, rest) = lines.split_at(end);
    (first.join(" "), rest.join("\n").trim().to_owned())
}

/// A line without the space after `///`.
fn unindented(line: &str) -> &str {
    line.strip_prefix(' ').unwrap_or(line).trim_end()
}

/// A parameter (OpenAPI 3.1.1 4.8.12).
fn parameter(name: &str, place: &str, is_required: bool, schema: Value) -> Value {
    let mut schema = schema;
    let description = schema.as_object_mut().and_then(|fields| fields.remove("description"));
    let mut fields = Map::new();
    fields.insert("name".to_owned(), Value::from(name));
    fields.insert("in".to_owned(), Value::from(place));
    if is_required {
        fields.insert("required".to_owned(), Value::Bool(true));
    }
    set(&mut fields, "description", description.unwrap_or_default());
    fields.insert("schema".to_owned(), schema);
    Value::Object(fields)
}

/// Removes `null` from a schema: a query omits the parameter instead.
fn without_null(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    if fields.get("default").is_some_and(Value::is_null) {
        fields.remove("default");
    }
    if let Some(types) = fields.get_mut("anyOf").and_then(Value::as_array_mut) {
        types.retain(|of| of["type"] != "null");
    }
    let Some(types) = fields.get_mut("type").and_then(Value::as_array_mut) else { return };
    types.retain(|of| of != "null");
    if let [only] = &**types {
        schema["type"] = only.clone();
    }
}

/// A field of a response.
fn field(description: &str) -> Value {
    json!({ "description": description, "schema": { "type": "string" } })
}

impl DescribedRoute<'_> {
    fn takes(&self, taken: ArgumentKind) -> bool {
        self.signature.takes.contains(&taken)
    }

    fn is_read(&self) -> bool {
        matches!(self.method, "GET" | "HEAD")
    }

    /// Only GET has ranges (RFC 9110 14.2).
    fn has_ranges(&self) -> bool {
        self.method == "GET" && self.takes(ArgumentKind::Range)
    }

    /// What the query is read into. As in HTML, a form is in the query of a GET.
    fn query(&self) -> impl Iterator<Item = &Input> {
        let form = self.types.body.as_ref().filter(|input| input.taken == ArgumentKind::Form);
        self.types.query.iter().chain(form.filter(|_| self.is_read()))
    }

    /// The extractors that read more from the query than the document lists.
    pub(super) fn unlisted(&self) -> impl Iterator<Item = &'static str> {
        let schemas = self.schemas;
        let has_more = move |schema: &Value| !schemas.properties(schema).1;
        let unlisted = self.query().filter(move |it| it.schema.as_ref().is_none_or(has_more));
        unlisted.map(|input| input.extractor)
    }

    fn parameters(&self) -> Vec<Value> {
        let mut found = self.path_parameters();
        found.extend(self.query().flat_map(|input| self.query_parameters(input)));
        if let Some(jsonp) = &self.route.jsonp {
            let text = json!({
                "type": "string",
                "description": "The function that the response calls.",
            });
            found.push(parameter(&jsonp.callback, "query", false, text));
        }
        let header = |name: &str, about: &str| {
            parameter(name, "header", false, json!({ "type": "string", "description": about }))
        };
        let is_versioned = self.route.handler.takes.contains(&ArgumentKind::Version);
        if self.takes(ArgumentKind::Preconditions) || is_versioned {
            found.push(header("If-Match", "The entity tag of the state that is changed."));
        }
        if self.takes(ArgumentKind::ReadConditions) && self.is_read() {
            found.push(header("If-None-Match", "The entity tag that the client has."));
        }
        if self.has_ranges() {
            found.push(header("Range", "The bytes that the client wants."));
        }
        found
    }

    fn path_parameters(&self) -> Vec<Value> {
        let Ok(template) = PathTemplate::parse(&self.route.path) else { return Vec::new() };
        let segments = template.segments();
        let named = segments.filter_map(|segment| match segment {
            Segment::Fixed(_) => None,
            Segment::Parameter(parameter) => Some((parameter.name, false)),
            Segment::Rest(parameter) => Some((parameter.name, true)),
        });
        let schema_of = |name: &str| {
            let known = self.types.parameters.iter().find(|(known, _)| *known == name);
            known.and_then(|(_, schema)| schema.clone())
        };
        named
            .map(|(name, is_rest)| {
                let mut schema = schema_of(name).unwrap_or_else(|| json!({ "type": "string" }));
                if is_rest {
                    describe(&mut schema, "The rest of the path, with its slashes.");
                }
                parameter(name, "path", true, schema)
            })
            .collect()
    }

    /// The parameters of a query: the properties of what it is read into.
    fn query_parameters(&self, input: &Input) -> Vec<Value> {
        let properties = input.schema.as_ref().map(|schema| self.schemas.properties(schema).0);
        let properties = properties.unwrap_or_default().into_iter();
        properties
            .map(|(name, mut schema, is_required)| {
                without_null(&mut schema);
                parameter(&name, "query", is_required && !input.is_optional, schema)
            })
            .collect()
    }

    fn body(&self) -> Value {
        let Some(Input { taken, schema, is_optional, .. }) = &self.types.body else {
            return Value::Null;
        };
        let media_type = match taken {
            ArgumentKind::Form if self.is_read() => return Value::Null,
            // The handler of a GET that takes a whole request reads its head.
            ArgumentKind::Body if self.is_read() && *is_optional => return Value::Null,
            ArgumentKind::Json => "application/json",
            ArgumentKind::Form => "application/x-www-form-urlencoded",
            ArgumentKind::Multipart => "multipart/form-data",
            _ => "*/*",
        };
        let schema = match (schema, taken) {
            (Some(schema), _) => schema.clone(),
            (None, ArgumentKind::Multipart) => json!({ "type": "object" }),
            (None, _) => json!({}),
        };
        let content = object([(media_type, json!({ "schema": schema }))]);
        json!({ "content": content, "required": !is_optional })
    }

    fn responses(&self) -> Value {
        let outcomes = self.manifest.outcomes(self.route, self.method);
        let mut found = Map::new();
        self.add_success_responses(&mut found);
        if outcomes.has_login_page {
            let location = field("The login page.");
            found.insert(
                "303".to_owned(),
                json!({
                    "description": "A navigation without a session is sent to the login page.",
                    "headers": { "Location": location },
                }),
            );
        }
        for (status, codes) in outcomes.by_status() {
            let response = self.refusal_response(status, &codes, &outcomes);
            found.insert(status.to_string(), response);
        }
        for statuses in ["4XX", "5XX"].into_iter().filter(|_| outcomes.is_open) {
            let problem = json!({ "schema": component("schemas", "Problem") });
            let response = json!({
                SHARED: "OtherProblem",
                "description": "A problem of the handler, whose type does not list its problems.",
                "content": { "application/problem+json": problem },
            });
            found.insert(statuses.to_owned(), response);
        }
        found.insert("default".to_owned(), component("responses", "EveryRequest"));
        Value::Object(found)
    }

    /// Adds the responses to requests that are served.
    fn add_success_responses(&self, found: &mut Map<String, Value>) {
        if self.takes(ArgumentKind::WebSocket) {
            found.insert("101".to_owned(), json!({ "description": "The WebSocket is open." }));
            return;
        }
        let Some(reply) = &self.signature.reply else {
            let unknown = "The response of the handler, whose type does not state its form.";
            for status in ["2XX", "3XX"] {
                found.insert(status.to_owned(), json!({ "description": unknown }));
            }
            return;
        };
        let status = reply.status.map_or_else(|| "2XX".to_owned(), |status| status.to_string());
        let mut response = Map::new();
        response.insert("description".to_owned(), Value::from(success(reply)));
        set(&mut response, "content", content(reply));
        let mut fields = Map::new();
        for name in &reply.fields {
            fields.insert(title_case(name.as_str()), field(about(name.as_str())));
        }
        if self.route.limits.rate.is_some() {
            fields.extend(rate_fields());
        }
        set(&mut response, "headers", Value::Object(fields));
        if let Some(jsonp) = &self.route.jsonp {
            let script = json!({ "schema": { "type": "string" } });
            let content = response.entry("content").or_insert_with(|| json!({})).as_object_mut();
            content.and_then(|content| content.insert("text/javascript".to_owned(), script));
            let text = format!(
                "{} With `{}`, a script that calls the function.",
                success(reply),
                jsonp.callback
            );
            response.insert("description".to_owned(), Value::from(text));
        }
        let response = Value::Object(response);
        if self.is_read() && self.takes(ArgumentKind::ReadConditions) {
            let headers = json!({ "ETag": field(about("etag")) });
            let not_modified = "The client has this state already.";
            found.insert(
                "304".to_owned(),
                json!({ "description": not_modified, "headers": headers }),
            );
        }
        if self.has_ranges() {
            let mut part = response.clone();
            describe(&mut part, "The requested bytes.");
            found.insert("206".to_owned(), part);
        }
        found.insert(status, response);
    }

    /// The response of one status, as a component that all operations with the same codes share.
    fn refusal_response(&self, status: u16, codes: &[Option<&str>], outcomes: &Outcomes) -> Value {
        let refusals: Vec<Refusal> =
            outcomes.refusals.iter().copied().filter(|it| it.status() == status).collect();
        let of_every_request = EVERY_REQUEST.iter().filter(|refusal| refusal.status() == status);
        let with_code = codes.iter().copied().flatten();
        let mut known: Vec<&str> =
            with_code.chain(of_every_request.map(|refusal| refusal.code())).collect();
        known.sort_unstable();
        known.dedup();
        let own = self.signature.problems.iter().filter(|own| own.status == status);
        let own = own.filter_map(|own| own.title);
        let description = words(refusals.iter().map(|refusal| refusal.title()).chain(own));
        let mut members = Map::new();
        members.insert("status".to_owned(), json!({ "const": status }));
        // A handler that does not list its problems has codes of its own, or problems without one.
        let list = if outcomes.is_open { "examples" } else { "enum" };
        if !known.is_empty() {
            members.insert("code".to_owned(), json!({ "type": "string", list: known }));
        }
        let mut of_status = Map::new();
        of_status.insert("properties".to_owned(), Value::Object(members));
        if !outcomes.is_open && !codes.contains(&None) {
            of_status.insert("required".to_owned(), json!(["code"]));
        }
        let schema = json!({ "allOf": [component("schemas", "Problem"), of_status] });
        let mut response = Map::new();
        let description = if description.is_empty() { "A problem." } else { &description };
        response.insert("description".to_owned(), Value::from(description));
        response.insert(
            "content".to_owned(),
            json!({ "application/problem+json": { "schema": schema } }),
        );
        set(&mut response, "headers", Value::Object(self.fields_of(status, &refusals)));
        let names = codes.iter().map(|code| code.unwrap_or("none"));
        let names = names.chain(outcomes.is_open.then_some("other"));
        let name = [&*status.to_string()].into_iter().chain(names).collect::<Vec<_>>().join("_");
        response.insert(SHARED.to_owned(), Value::from(name));
        Value::Object(response)
    }

    /// The fields of a response to a refused request.
    fn fields_of(&self, status: u16, refusals: &[Refusal]) -> Map<String, Value> {
        let mut fields = Map::new();
        if status == 401 && self.route.auth != Auth::Public {
            fields.insert(
                "WWW-Authenticate".to_owned(),
                field("How to authenticate (RFC 9110 11.6.1), where a token is accepted."),
            );
        }
        if status == 429 || refusals.iter().any(|refusal| refusal.retry_after().is_some()) {
            fields.insert(
                "Retry-After".to_owned(),
                json!({
                    "description": "After how many seconds to try again.",
                    "schema": { "type": "integer" },
                }),
            );
        }
        if status == 429 {
            fields.extend(rate_fields());
        }
        if refusals.contains(&Refusal::MediaType) {
            fields.insert("Accept".to_owned(), field("The media type that is read."));
        }
        fields
    }
}

fn content(reply: &Reply) -> Value {
    let Some(media_type) = reply.media_type else { return Value::Null };
    let schema = reply.schema.clone();
    let content = schema.map_or_else(|| json!({}), |schema| json!({ "schema": schema }));
    object([(media_type, content)])
}

fn success(reply: &Reply) -> &'static str {
    match (reply.status, reply.media_type) {
        (Some(201), _) => "It was created.",
        (Some(204), _) => "It was done.",
        (None, _) => "It was done; the handler chooses the status.",
        (_, Some("text/event-stream")) => "A stream of events.",
        _ => "The request was served.",
    }
}

fn about(field: &str) -> &'static str {
    match field {
        "etag" => "The entity tag of the state.",
        "last-modified" => "When the state was created.",
        "location" => "Where it is.",
        "link" => "The next page.",
        "accept-ranges" => "That ranges of bytes are served.",
        _ => "See RFC 9110.",
    }
}

fn rate_fields() -> [(String, Value); 2] {
    let draft = "draft-ietf-httpapi-ratelimit-headers";
    [
        ("RateLimit".to_owned(), field(&format!("What is left of the rate ({draft})."))),
        ("RateLimit-Policy".to_owned(), field(&format!("The rate ({draft})."))),
    ]
}

/// The name of a field as documents write it.
fn title_case(name: &str) -> String {
    match name {
        "etag" => "ETag".to_owned(),
        name => {
            let words = name.split('-').map(|word| {
                let (first, rest) = word.split_at(word.len().min(1));
                first.to_ascii_uppercase() + rest
            });
            words.collect::<Vec<_>>().join("-")
        }
    }
}
