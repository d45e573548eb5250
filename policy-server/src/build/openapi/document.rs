//! A complete document: its operations, under unique ids.

use std::collections::{BTreeMap, BTreeSet};

use http::HeaderValue;
use policy_core::{
    Rule,
    outcome::{ArgumentKind, EVERY_REQUEST},
    path::PathTemplate,
};
use policy_manifest::{Manifest, ManifestRoute};
use serde_json::{Map, Value, json};

use super::{
    OpenApi, component,
    operation::{DescribedRoute, operation, share},
    security::Schemes,
    set,
};
use crate::{
    app::{
        AppParts, access::HandlerCallers, group::path_below, mount::ServedBy,
        openapi::OpenApiSettings, route::Entry,
    },
    auth::scheme::SharedScheme,
    base::error::{Error, StartProblem},
    build::manifest,
    handler::describe::{Schemas, Side, Signature, Types},
};

/// The methods of handlers that OpenAPI has operations for. (No handler serves TRACE.)
const METHODS: [&str; 8] = ["GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS", QUERY];

/// What OpenAPI 3.2 adds to those of 3.1.
const QUERY: &str = "QUERY";

/// The source of an app's document, besides its manifest.
#[derive(Debug)]
pub(crate) struct DocumentSource {
    handlers: Vec<DocumentedHandler>,
    settings: OpenApiSettings,
}

#[derive(Debug)]
struct DocumentedHandler {
    /// The prefix of its group.
    prefix: String,
    entry: Entry,
    /// The challenge of the app's own scheme that it takes.
    challenge: Option<HeaderValue>,
}

impl DocumentSource {
    pub(crate) fn new(app: &AppParts) -> Self {
        let handlers = app.handlers().map(|(prefix, group, entry)| {
            let callers = HandlerCallers::find(&entry.description, group, app.access);
            let scheme = callers.and_then(|callers| app.schemes.get(callers.scheme?));
            DocumentedHandler {
                prefix: prefix.to_owned(),
                entry: *entry,
                challenge: scheme.and_then(SharedScheme::challenge),
            }
        });
        Self { handlers: handlers.collect(), settings: app.openapi.clone() }
    }

    /// Reads the document. `is_shown` tells which routes are in it.
    pub(crate) fn read(
        &self,
        manifest: &Manifest,
        is_shown: &dyn Fn(&ManifestRoute) -> bool,
    ) -> Result<OpenApi, Error> {
        let mut reader = Reader {
            manifest,
            is_shown,
            schemas: Schemas::default(),
            schemes: Schemes::default(),
            found: Vec::new(),
            gaps: Vec::new(),
        };
        for handler in &self.handlers {
            reader.handler(handler);
        }
        reader.document(&self.settings, manifest.app.public_origin.as_deref())
    }
}

/// Reads the document of an app. `is_shown` tells which of its routes are in it.
pub(crate) fn read(
    app: &AppParts,
    is_shown: &dyn Fn(&ManifestRoute) -> bool,
) -> Result<OpenApi, Error> {
    DocumentSource::new(app).read(&manifest::read(app).0, is_shown)
}

/// Reads the documents that mounts of the app serve.
pub(crate) fn write(app: &AppParts, problems: &mut Vec<StartProblem>) {
    let of_groups = app.groups.iter().flat_map(|(_, group)| &group.mounts);
    for (_, mount) in app.mounts.iter().chain(of_groups) {
        let ServedBy::OpenApi(served) = &mount.served_by else { continue };
        match read(app, &*served.is_shown) {
            Ok(document) => drop(served.text.set(document.to_json().into())),
            Err(Error::Start(mut found)) => {
                // Another mount may have found them, too.
                found.retain(|it| problems.iter().all(|other| other.to_string() != it.to_string()));
                problems.extend(found);
            }
            Err(Error::Io(_)) => (),
        }
    }
}

/// An operation under its path and method.
struct OperationEntry {
    path: String,
    method: &'static str,
    handler: &'static str,
    /// The id that the route states.
    id: Option<&'static str>,
    operation: Map<String, Value>,
}

struct Reader<'a> {
    manifest: &'a Manifest,
    is_shown: &'a dyn Fn(&ManifestRoute) -> bool,
    schemas: Schemas,
    schemes: Schemes,
    found: Vec<OperationEntry>,
    gaps: Vec<StartProblem>,
}

impl Reader<'_> {
    fn handler(&mut self, handler: &DocumentedHandler) {
        let DocumentedHandler { prefix, entry, challenge } = handler;
        let description = &entry.description;
        let routes = description.routes.iter().enumerate();
        let mut entries = Vec::new();
        for (index, (method, path)) in routes {
            let path = path_below(prefix, path);
            match self.manifest.route(method, &path) {
                Some(route) if METHODS.contains(method) && (self.is_shown)(route) => {
                    entries.push((index, *method, path, route));
                }
                _ => (),
            }
        }
        if entries.is_empty() {
            return;
        }
        let types = Types { schemas: std::mem::take(&mut self.schemas), ..Types::default() };
        let mut signature = Signature { types: Some(Box::new(types)), ..Signature::default() };
        (entry.describe)(&mut signature);
        let Some(mut types) = signature.types.take() else { return };
        self.schemas = std::mem::take(&mut types.schemas);
        // A response that opens a WebSocket has no content.
        let is_known = |side: Side| {
            matches!(side, Side::Response) && signature.takes.contains(&ArgumentKind::WebSocket)
        };
        for (side, of) in types.unknown.iter().filter(|(side, _)| !is_known(*side)) {
            let rule = match side {
                Side::Request => Rule::RequestUnknown,
                Side::Response => Rule::ResponseUnknown,
            };
            self.gaps.push(StartProblem::new(rule, description.handler, *of));
        }
        let mut unlisted = BTreeSet::new();
        for (index, method, path, route) in entries {
            let described = DescribedRoute {
                manifest: self.manifest,
                route,
                method,
                challenge: challenge.as_ref(),
                signature: &signature,
                types: &types,
                schemas: &self.schemas,
            };
            unlisted.extend(described.unlisted());
            let operation = operation(&described, &mut self.schemes);
            self.found.push(OperationEntry {
                path,
                method,
                handler: description.handler,
                id: types.ids.get(index).copied().flatten(),
                operation,
            });
        }
        let unlisted = unlisted.into_iter();
        self.gaps.extend(
            unlisted.map(|of| StartProblem::new(Rule::RequestUnknown, description.handler, of)),
        );
    }

    fn document(
        mut self,
        settings: &OpenApiSettings,
        origin: Option<&str>,
    ) -> Result<OpenApi, Error> {
        self.found.sort_by(|one, other| (&one.path, one.method).cmp(&(&other.path, other.method)));
        let (ids, mut problems) = operation_ids(&self.found);
        let operations =
            self.found.iter_mut().flat_map(|found| found.operation.get_mut("responses"));
        let all = operations.filter_map(Value::as_object_mut).flat_map(|it| it.values_mut());
        let mut responses = share(all);
        responses.insert("EveryRequest".to_owned(), every_request());
        let has_query = self.found.iter().any(|found| found.method == QUERY);
        let mut paths = Map::new();
        let mut shapes = BTreeMap::new();
        for (found, id) in self.found.into_iter().zip(ids) {
            let OperationEntry { path, method, mut operation, .. } = found;
            operation.insert("operationId".to_owned(), Value::from(id));
            if let Some(tag) = tag_of(&path) {
                operation.insert("tags".to_owned(), json!([tag]));
            }
            let path = as_path(&path);
            let known = shapes.entry(shape(&path)).or_insert_with(|| path.clone());
            rename_parameters(&mut operation, &path, known);
            let item = paths.entry(known.clone()).or_insert_with(|| json!({}));
            item.as_object_mut().and_then(|item| {
                item.insert(method.to_ascii_lowercase(), Value::Object(operation))
            });
        }
        let mut info = Map::new();
        info.insert("title".to_owned(), Value::from(&*settings.title));
        info.insert("version".to_owned(), Value::from(&*settings.version));
        set(&mut info, "description", Value::from(settings.description.as_deref().unwrap_or("")));
        let mut document = Map::new();
        // Only 3.2 has QUERY, and some client generators do not read 3.2.
        let version = if has_query { "3.2.0" } else { "3.1.1" };
        document.insert("openapi".to_owned(), Value::from(version));
        document.insert("info".to_owned(), Value::Object(info));
        if let Some(origin) = origin {
            document.insert("servers".to_owned(), json!([{ "url": origin }]));
        }
        let mut paths = Value::Object(paths);
        let (mut schemas, collisions) = self.schemas.complete(&mut paths);
        if schemas.insert("Problem".to_owned(), problem()).is_some() {
            problems.push(StartProblem::new(Rule::SchemaNames, "App::openapi", "Problem"));
        }
        let collisions = collisions.into_iter();
        problems.extend(
            collisions.map(|name| StartProblem::new(Rule::SchemaNames, "App::openapi", name)),
        );
        let mut components = Map::new();
        components.insert("schemas".to_owned(), json!(schemas));
        components.insert("responses".to_owned(), json!(responses));
        set(&mut components, "securitySchemes", json!(self.schemes.0));
        document.insert("components".to_owned(), Value::Object(components));
        document.insert("paths".to_owned(), paths);
        let mut document = Value::Object(document);
        // Another crate may enable `preserve_order` of `serde_json`.
        document.sort_all_objects();
        match problems.is_empty() {
            true => Ok(OpenApi { document, gaps: self.gaps }),
            false => Err(Error::Start(problems)),
        }
    }
}

/// The id of each operation: the one that its route states, or the name of its handler. Only if
/// names would be equal, module, method and path are added, one after the other.
fn operation_ids(found: &[OperationEntry]) -> (Vec<String>, Vec<StartProblem>) {
    let of = |found: &OperationEntry, depth: usize| match found.id {
        Some(id) => id.to_owned(),
        None => {
            let names: Vec<_> = found.handler.split("::").collect();
            let modules = if depth > 0 { 1 } else { 0 };
            let from = names.len().saturating_sub(1 + modules);
            let mut id = names.get(from..).unwrap_or_default().join("_");
            if depth > 1 {
                id = format!("{id}_{}", found.method.to_ascii_lowercase());
            }
            let is_word = |of: &&str| !of.is_empty();
            let words = found.path.split(|sign: char| !sign.is_ascii_alphanumeric());
            for word in words.filter(is_word).take_while(|_| depth > 2) {
                id = format!("{id}_{word}");
            }
            id
        }
    };
    let mut ids: Vec<String> = found.iter().map(|found| of(found, 0)).collect();
    for depth in [1, 2, 3] {
        let again = repeated(&ids);
        for (id, found) in ids.iter_mut().zip(found) {
            if again.contains(id) {
                *id = of(found, depth);
            }
        }
    }
    let problems = repeated(&ids)
        .into_iter()
        .map(|id| StartProblem::new(Rule::OperationIds, "App::openapi", id))
        .collect();
    (ids, problems)
}

fn repeated(ids: &[String]) -> BTreeSet<String> {
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    ids.iter().for_each(|id| *counts.entry(id).or_default() += 1);
    counts.into_iter().filter(|(_, count)| *count > 1).map(|(id, _)| id.clone()).collect()
}

/// The path in OpenAPI's form, where a parameter for the rest of a path looks like any other.
fn as_path(template: &str) -> String {
    let Ok(parsed) = PathTemplate::parse(template) else { return template.to_owned() };
    parsed.filled(|segment| format!("{{{}}}", segment.name().unwrap_or_default()))
}

/// A path without the names of its parameters. OpenAPI permits one path of each shape (3.1.1
/// 4.8.8.2).
fn shape(path: &str) -> String {
    let segments =
        path.split('/').map(|segment| if is_parameter(segment) { "{}" } else { segment });
    segments.collect::<Vec<_>>().join("/")
}

fn is_parameter(segment: &str) -> bool {
    segment.starts_with('{')
}

/// Gives the parameters of a path the names that they have in another path of its shape.
fn rename_parameters(operation: &mut Map<String, Value>, path: &str, other: &str) {
    let name = |segment: &str| segment.trim_matches(['{', '}']).to_owned();
    let segments = path.split('/').zip(other.split('/'));
    let names: BTreeMap<String, String> = segments
        .filter(|(segment, _)| is_parameter(segment))
        .map(|(segment, other)| (name(segment), name(other)))
        .collect();
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten().filter(|parameter| parameter["in"] == "path")
    {
        if let Some(other) = parameter["name"].as_str().and_then(|name| names.get(name)) {
            parameter["name"] = Value::from(&**other);
        }
    }
}

/// The first fixed segment of a path, by which viewers group operations.
fn tag_of(path: &str) -> Option<&str> {
    path.split('/').find(|segment| !segment.is_empty() && !segment.starts_with('{'))
}

/// Problem details (RFC 9457), as the server writes them.
fn problem() -> Value {
    json!({
        "type": "object",
        "description": "Problem details (RFC 9457). Clients distinguish problems by `code`.",
        "required": ["type", "title", "status"],
        "properties": {
            "type": { "type": "string", "format": "uri-reference" },
            "title": { "type": "string" },
            "status": { "type": "integer", "minimum": 400, "maximum": 599 },
            "code": { "type": "string" },
            "detail": { "type": "string" },
            "instance": { "type": "string", "format": "uri-reference" },
            "errors": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["detail"],
                    "properties": {
                        "detail": { "type": "string" },
                        "pointer": { "type": "string" },
                        "field": { "type": "string" },
                    },
                },
            },
        },
    })
}

/// The refusals that every request can get, once for all operations.
fn every_request() -> Value {
    let mut codes: Vec<_> = EVERY_REQUEST.iter().map(|refusal| refusal.code()).collect();
    codes.sort_unstable();
    json!({
        "description": "The request cannot be served by any route: by its syntax, its host or its \
                        transport.",
        "content": { "application/problem+json": { "schema": {
            "allOf": [
                component("schemas", "Problem"),
                { "properties": { "code": { "type": "string", "enum": codes } } },
            ],
        } } },
    })
}

/// The titles of the problems of one status, each once.
pub(super) fn words<'a>(titles: impl Iterator<Item = &'a str>) -> String {
    let mut sentences: Vec<String> = Vec::new();
    for title in titles.map(|title| format!("{title}.")) {
        if !sentences.contains(&title) {
            sentences.push(title);
        }
    }
    sentences.join(" ")
}
