//! The vocabulary of cases and laws: a policy, the app behind it, a request, a response.
//! Independent of the product's types.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue, Method, header::AsHeaderName};
use serde::{Deserialize, Deserializer, de::Error};

/// The path of the app's handler; every other path is unknown.
pub const ROUTE: &str = "/r";

/// A CORS policy as configured.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    pub origins: Vec<String>,
    pub credentials: bool,
    /// `None` for the methods that the router serves.
    #[serde(deserialize_with = "methods")]
    pub methods: Option<Vec<String>>,
    pub headers: Vec<String>,
    pub expose: Vec<String>,
    pub max_age: Option<i64>,
    pub allow_insecure: bool,
    pub allow_public_suffix: bool,
}

fn methods<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Vec<String>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum MethodsField {
        Listed(Vec<String>),
        Word(String),
    }
    match MethodsField::deserialize(input)? {
        MethodsField::Listed(list) => Ok(Some(list)),
        MethodsField::Word(word) if word == "route" => Ok(None),
        MethodsField::Word(word) => Err(D::Error::custom(format!("methods: `{word}`"))),
    }
}

/// A header of a case: one value, or several as a line each.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "(String, Values)")]
pub struct Header {
    pub name: String,
    pub values: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Values {
    One(String),
    Several(Vec<String>),
}

impl From<(String, Values)> for Header {
    fn from((name, values): (String, Values)) -> Self {
        let values = match values {
            Values::One(value) => vec![value],
            Values::Several(values) => values,
        };
        Self { name, values }
    }
}

impl Header {
    /// The lines of several headers, in their order.
    pub fn lines(headers: &[Self]) -> impl Iterator<Item = (&str, &str)> {
        headers.iter().flat_map(|header| {
            header.values.iter().map(|value| (header.name.as_str(), value.as_str()))
        })
    }
}

/// The behaviour of the handler at [`ROUTE`], and its methods.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct App {
    pub path: String,
    pub methods: Vec<String>,
    pub status: u16,
    pub headers: Vec<Header>,
    pub panic: bool,
    /// `token`: 401 without `Authorization`.
    pub auth: Option<String>,
}

impl Default for App {
    fn default() -> Self {
        let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
        Self {
            path: ROUTE.to_owned(),
            methods: methods.map(str::to_owned).to_vec(),
            status: 200,
            headers: Vec::new(),
            panic: false,
            auth: None,
        }
    }
}

impl App {
    /// HEAD is served wherever GET is (RFC 9110 9.3.2).
    pub fn serves(&self, method: &Method) -> bool {
        let listed = |name: &str| self.methods.iter().any(|served| served == name);
        listed(method.as_str()) || (method == Method::HEAD && listed("GET"))
    }

    pub fn served_methods(&self) -> Vec<Method> {
        self.methods.iter().filter_map(|name| name.parse().ok()).collect()
    }
}

/// An app with its policies.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    pub app: App,
    /// The policy of the route.
    pub route: Option<Policy>,
    /// The app's policy, for routes without their own.
    pub default: Option<Policy>,
}

impl Scenario {
    /// The policy of a path: the nearest one.
    pub fn policy_at(&self, path: &str) -> Option<&Policy> {
        let own = if path == self.app.path { self.route.as_ref() } else { None };
        own.or(self.default.as_ref())
    }
}

/// A request without body.
#[derive(Clone)]
pub struct Request {
    pub method: Method,
    pub path: String,
    pub headers: HeaderMap,
}

impl Request {
    pub fn new(method: Method, path: &str) -> Self {
        Self { method, path: path.to_owned(), headers: HeaderMap::new() }
    }

    /// Adds a field.
    pub fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let name: HeaderName = name.parse().expect("a name");
        self.headers.append(name, HeaderValue::from_bytes(value.as_ref()).expect("a value"));
        self
    }

    /// Whether it is a CORS preflight (Fetch, 3.3.2).
    pub fn is_preflight(&self) -> bool {
        let has = |name: &str| self.headers.contains_key(name);
        self.method == Method::OPTIONS && has("origin") && has("access-control-request-method")
    }
}

/// On one line, so that a counterexample is readable.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:?}", self.method, self.path, self.headers)
    }
}

/// A response, and how often the handler was called for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    pub handler_calls: usize,
}

/// All lines of a field as one value (Fetch, get a header).
pub fn combined(headers: &HeaderMap, name: impl AsHeaderName) -> Option<Vec<u8>> {
    let lines: Vec<&[u8]> = headers.get_all(name).iter().map(HeaderValue::as_bytes).collect();
    (!lines.is_empty()).then(|| lines.join(&b", "[..]))
}

/// The elements of a list field, over all of its lines.
pub fn elements(headers: &HeaderMap, name: impl AsHeaderName) -> Vec<String> {
    let combined = combined(headers, name).unwrap_or_default();
    let text = String::from_utf8_lossy(&combined);
    let trimmed = text.split(',').map(|element| element.trim_matches([' ', '\t']));
    trimmed.filter(|element| !element.is_empty()).map(str::to_owned).collect()
}
