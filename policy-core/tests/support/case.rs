//! The cases of `tests/cases/cors.json`, and their expected responses.

use http::{HeaderName, HeaderValue, Method};
use policy_browser::Credentials;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value};

use crate::{
    exchange::{App, Header, Policy, ROUTE, Request, Scenario, TestResponse, combined, elements},
    verdict::{self, Stage},
};

/// The file, without the parts that other tests use.
#[derive(Debug, Deserialize)]
pub struct Cases {
    pub cases: Vec<Case>,
}

/// A policy, an app, a request, and the expected response.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    pub policy: Policy,
    #[serde(default)]
    app: App,
    request: Asking,
    expect: Map<String, Value>,
    #[serde(default)]
    pub level: Level,
    #[serde(rename = "suite")]
    _suite: IgnoredAny,
}

/// At which level a case applies.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// At every level.
    #[default]
    Any,
    /// Below the HTTP parser, which would strip white space.
    Policy,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asking {
    method: String,
    path: String,
    headers: Vec<Header>,
    /// The credentials mode of the page's fetch.
    credentials_mode: Option<String>,
}

impl Cases {
    pub fn read() -> Self {
        serde_json::from_str(include_str!("../../../tests/cases/cors.json"))
            .expect("the file of cases")
    }
}

impl Case {
    /// The scenario, with the policy both at the route and as the app's default.
    pub fn scenario(&self) -> Scenario {
        Scenario {
            app: self.app.clone(),
            route: Some(self.policy.clone()),
            default: Some(self.policy.clone()),
        }
    }

    pub fn request(&self) -> Request {
        let method = self.request.method.parse().expect("a method");
        let mut request = Request::new(method, &self.request.path);
        for (name, value) in Header::lines(&self.request.headers) {
            let name = HeaderName::from_bytes(name.as_bytes()).expect("a header name");
            let value = HeaderValue::from_bytes(value.as_bytes()).expect("a header value");
            request.headers.append(name, value);
        }
        request
    }

    /// All differences from the expected values.
    pub fn differences(&self, response: &TestResponse) -> Vec<String> {
        let mut found = self.broken_invariants(response);
        for (key, want) in &self.expect {
            if let Err(why) = self.compare(key, want, response) {
                found.push(format!("{key}: {why}"));
            }
        }
        found.into_iter().map(|why| format!("{}: {why}", self.name)).collect()
    }

    fn compare(&self, key: &str, want: &Value, response: &TestResponse) -> Result<(), String> {
        match key {
            "note" => Ok(()),
            "allow_origin" => same(response, "access-control-allow-origin", want),
            "allow_credentials" => same(response, "access-control-allow-credentials", want),
            "private_network" => same(response, "access-control-allow-private-network", want),
            "max_age" => same(response, "access-control-max-age", want),
            "allow_methods" => self.covers("access-control-allow-methods", want, response),
            "allow_headers" => self.covers("access-control-allow-headers", want, response),
            "expose" => self.covers("access-control-expose-headers", want, response),
            "allow_headers_raw" => same(response, "access-control-allow-headers", want),
            "acao_count" => {
                let lines = response.headers.get_all("access-control-allow-origin").iter().count();
                ensure(want == &Value::from(lines), &lines)
            }
            "bounded" => {
                let want = want.as_bool().ok_or("no bool")?;
                ensure(want == is_bounded(response), response)
            }
            "allow_methods_lacks" => self.lacks("access-control-allow-methods", want, response),
            "allow_headers_lacks" => self.lacks("access-control-allow-headers", want, response),
            "vary_contains" => {
                let vary = vary(response);
                ensure(texts(want)?.iter().all(|token| vary.contains(&lower(token))), &vary)
            }
            "vary_lacks" => {
                let vary = vary(response);
                ensure(!texts(want)?.iter().any(|token| vary.contains(&lower(token))), &vary)
            }
            "vary_exact" => {
                let vary = vary(response).join(",");
                ensure(want == &Value::from(vary.as_str()), &vary)
            }
            "status" => ensure(want == &Value::from(response.status), &response.status),
            "status_class" => ensure(self.is_of_class(text(want)?, response)?, &response.status),
            "handler_called" => {
                let want = want.as_bool().ok_or("no bool")?;
                ensure(self.reached_the_app(response) == want, response)
            }
            "outcome" => {
                let outcome = self.outcome(response);
                ensure(text(want)? == outcome.0, &outcome)
            }
            "fail_stage" => {
                let stage = self.outcome(response).1;
                let name = stage.map(|stage| format!("{stage:?}").to_lowercase());
                ensure(name.as_deref() == Some(text(want)?), &stage)
            }
            _ => Err("this key is not understood".to_owned()),
        }
    }

    fn includes_credentials(&self) -> bool {
        match self.request.credentials_mode.as_deref() {
            None => self.policy.credentials,
            Some(mode) => mode == "include",
        }
    }

    /// Every listed element is covered; `null` expects no field at all.
    fn covers(&self, name: &str, want: &Value, response: &TestResponse) -> Result<(), String> {
        let have = elements(&response.headers, name);
        if want.is_null() {
            return ensure(!response.headers.contains_key(name), &have);
        }
        let mut wanted = texts(want)?.into_iter();
        ensure(wanted.all(|text| self.is_covered(name, text, &have)), &have)
    }

    fn lacks(&self, name: &str, want: &Value, response: &TestResponse) -> Result<(), String> {
        let have = elements(&response.headers, name);
        let mut wanted = texts(want)?.into_iter();
        ensure(!wanted.any(|text| self.is_covered(name, text, &have)), &have)
    }

    /// Whether the name is listed (methods are case-sensitive, headers are not) or covered by `*`
    /// as in Fetch.
    fn is_covered(&self, name: &str, want: &str, have: &[String]) -> bool {
        let by_case = name.ends_with("-methods");
        let same = |one: &String| one == want || (!by_case && one.eq_ignore_ascii_case(want));
        let star = !self.includes_credentials() && !want.eq_ignore_ascii_case("authorization");
        have.iter().any(same) || (star && have.iter().any(|one| one == "*"))
    }

    fn is_of_class(&self, class: &str, response: &TestResponse) -> Result<bool, String> {
        match class {
            "2xx" => Ok(response.status / 100 == 2),
            "4xx" => Ok(response.status / 100 == 4),
            "handler" => Ok(response.status == self.app.status),
            "any" => Ok(true),
            _ => Err(format!("the class `{class}` is not understood")),
        }
    }

    /// Whether the response is the app's own: its handler's, or the router's `Allow` to an OPTIONS
    /// without a handler.
    fn reached_the_app(&self, response: &TestResponse) -> bool {
        let method: Method = self.request.method.parse().expect("a method");
        let has_handler = self.request.path == ROUTE && self.app.serves(&method);
        if has_handler || method != Method::OPTIONS {
            response.handler_calls == 1
        } else {
            response.headers.contains_key("allow")
        }
    }

    /// The result for a browser.
    fn outcome(&self, response: &TestResponse) -> (&'static str, Option<Stage>) {
        let request = self.request();
        let credentials = match self.includes_credentials() {
            true => Credentials::Include,
            false => Credentials::SameOrigin,
        };
        if !request.is_preflight() {
            return match verdict::is_shared(&request, credentials, response) {
                None => ("not_cors", None),
                Some(true) => ("shared", None),
                Some(false) => ("not_shared", None),
            };
        }
        match verdict::preflight(&request, credentials, response) {
            Ok(()) => ("preflight_ok", None),
            Err(stage) => ("preflight_fail", Some(stage)),
        }
    }

    /// Invariants of every response.
    fn broken_invariants(&self, response: &TestResponse) -> Vec<String> {
        let origins = elements(&response.headers, "access-control-allow-origin");
        let named = origins.first().is_some_and(|origin| origin != "*");
        let credentials = response.headers.contains_key("access-control-allow-credentials");
        let mut broken = Vec::new();
        let mut demand = |holds: bool, law: &str| {
            if !holds {
                broken.push(format!("broken invariant: {law}"));
            }
        };
        demand(
            response.headers.get_all("access-control-allow-origin").iter().count() < 2,
            "one line",
        );
        demand(!credentials || named, "credentials need a named origin");
        demand(origins.first().is_none_or(|origin| origin != "null"), "`null` is never allowed");
        let vary = vary(response);
        demand(!named || vary.iter().any(|token| token == "origin" || token == "*"), "vary");
        broken
    }
}

/// Whether a response is not an error of the server, and its headers do not grow with the request.
fn is_bounded(response: &TestResponse) -> bool {
    const MOST: usize = 2048;
    let line = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len();
    response.status < 500 && response.headers.iter().map(line).sum::<usize>() <= MOST
}

fn same(response: &TestResponse, name: &str, want: &Value) -> Result<(), String> {
    let have = combined(&response.headers, name);
    let have = have.map(|value| String::from_utf8_lossy(&value).into_owned());
    let want = match want {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    ensure(have == want, &have)
}

fn vary(response: &TestResponse) -> Vec<String> {
    elements(&response.headers, "vary").iter().map(|token| lower(token)).collect()
}

fn lower(text: &str) -> String {
    text.to_ascii_lowercase()
}

fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("{value} is no text"))
}

fn texts(value: &Value) -> Result<Vec<&str>, String> {
    let list = value.as_array().ok_or_else(|| format!("{value} is no list"))?;
    list.iter().map(text).collect()
}

fn ensure(holds: bool, have: &impl std::fmt::Debug) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("the response has {have:?}")) }
}
