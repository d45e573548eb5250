//! What can be observed of a case outside of a browser, as lines to compare: the result of each
//! step in the page, and the requests that reached the servers.

use http::HeaderMap;
use policy_browser::{
    AddressSpace, CacheMode, Destination, Event, Fetch, Mode, Outcome, Profile, Response,
    ResponseType, SentRequest, State, run, step,
};
use serde_json::{Value, json};

use crate::diff::{
    case::{Case, Filling, Servers, Step},
    generate::HOSTS,
};

/// Fields that depend on the engine or on the connection.
const OWN: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "dnt",
    "host",
    "keep-alive",
    "priority",
    "sec-gpc",
    "sec-websocket-extensions",
    "sec-websocket-key",
    "sec-websocket-version",
    "te",
    "upgrade",
    "upgrade-insecure-requests",
    "user-agent",
];

/// The result of a filled case in the model.
pub(crate) struct Predicted {
    pub(crate) lines: Vec<String>,
    steps: Vec<PredictedStep>,
}

/// The events that a page waits for in a step.
struct PredictedStep {
    /// Whether it opens a document that reports this.
    has_document: bool,
    /// The requests that are sent up to its end.
    requests: usize,
}

pub(crate) fn by_model(case: &Case, filling: &Filling<'_>, profile: Profile) -> Predicted {
    let now = filling.now.duration_since(std::time::UNIX_EPOCH).expect("a time after 1970");
    let page = case.place.page();
    let mut state = State::new(profile, now);
    // The browser resolves all of them to this computer.
    for host in HOSTS {
        state.resolve(host, AddressSpace::Loopback);
    }
    let mut servers = Servers::new(case, filling.id);
    let mut sent = Vec::new();
    let (mut lines, mut steps) = (Vec::new(), Vec::new());
    for one in &case.steps {
        let gave = match one {
            Step::Load(fetch) | Step::Keepalive(fetch) | Step::Beacon(fetch) => {
                let mut fetch = fetch.clone();
                if matches!(one, Step::Beacon(_)) && profile.name == Profile::WEBKIT.name {
                    // WebKit revalidates stored responses for beacons.
                    fetch.cache = CacheMode::NoCache;
                }
                let outcome;
                (state, outcome) = run(state, Some(&page), fetch.clone(), |request| {
                    sent.push(request.clone());
                    servers.respond(&request.method, request.url.path(), &request.headers)
                });
                match one {
                    Step::Beacon(_) => "sent".into(),
                    _ => observe(&fetch, &outcome, filling.id),
                }
            }
            Step::WriteCookie(text) => {
                let write = Event::WriteCookie { page: page.clone(), text: text.clone() };
                state = step(state, write).0;
                "written".into()
            }
            Step::ReadCookies => own_cookies(&state.read_cookies(&page), filling.id),
        };
        let has_document = gave.starts_with("document ");
        steps.push(PredictedStep { has_document, requests: sent.len() });
        lines.push(format!("gave {gave}"));
    }
    lines.extend(sent.iter().map(|sent| request(sent, case, filling.id)));
    Predicted { lines, steps }
}

/// The result of a filled case in a browser: that of its page, and the requests at the server.
pub(crate) fn by_engine(
    case: &Case,
    filling: &Filling<'_>,
    gave: &Value,
    arrivals: &[SentRequest],
) -> Vec<String> {
    let gave = gave.as_array().expect("a list");
    let mut lines: Vec<String> = gave
        .iter()
        .map(|gave| match gave.as_str() {
            Some(text) => format!("gave {text}"),
            None => format!("gave {}", text_of(gave)),
        })
        .collect();
    lines.extend(arrivals.iter().map(|sent| request(sent, case, filling.id)));
    lines
}

/// The steps of a filled case as the page runs them.
pub(crate) fn script(case: &Case, id: &str, predicted: &Predicted) -> Value {
    let steps = case.steps.iter().zip(&predicted.steps).map(|(step, predicted)| {
        let mut script = script_of(step);
        script["document"] = json!(predicted.has_document);
        script["requests"] = json!(predicted.requests);
        script
    });
    json!({ "id": id, "steps": steps.collect::<Vec<_>>() })
}

fn script_of(step: &Step) -> Value {
    match step {
        Step::Load(fetch) | Step::Keepalive(fetch) => {
            let crossorigin = (fetch.mode == Mode::Cors).then(|| match credentials(fetch) {
                "include" => "use-credentials",
                _ => "anonymous",
            });
            json!({
                "kind": kind(fetch),
                "url": fetch.url,
                "crossorigin": crossorigin,
                "body": fetch.body.as_ref().map(|body| String::from_utf8_lossy(body)),
                "init": {
                    "method": fetch.method,
                    "headers": fetch.headers,
                    "mode": mode(fetch),
                    "credentials": credentials(fetch),
                    "redirect": format!("{:?}", fetch.redirect).to_lowercase(),
                    "cache": cache(fetch),
                    "keepalive": matches!(step, Step::Keepalive(_)),
                },
            })
        }
        Step::Beacon(fetch) => json!({
            "kind": "beacon",
            "url": fetch.url,
            "body": fetch.body.as_ref().map(|body| String::from_utf8_lossy(body)),
            "type": fetch.headers.first().map_or("", |(_name, value)| value),
        }),
        Step::WriteCookie(text) => json!({ "kind": "write", "text": text }),
        Step::ReadCookies => json!({ "kind": "read" }),
    }
}

fn kind(fetch: &Fetch) -> &'static str {
    match (fetch.mode, fetch.destination) {
        (Mode::WebSocket, _) => "socket",
        (_, Destination::Script) => "script",
        (_, Destination::Image) => "image",
        (_, Destination::Frame) => "frame",
        (_, Destination::Document) => "window",
        _ if fetch.watches_upload => "xhr",
        _ => "fetch",
    }
}

fn mode(fetch: &Fetch) -> &'static str {
    match fetch.mode {
        Mode::Cors => "cors",
        Mode::NoCors => "no-cors",
        Mode::SameOrigin => "same-origin",
        Mode::Navigate => "navigate",
        Mode::WebSocket => "websocket",
    }
}

fn credentials(fetch: &Fetch) -> &'static str {
    use policy_browser::Credentials;
    match fetch.credentials {
        Credentials::Omit => "omit",
        Credentials::SameOrigin => "same-origin",
        Credentials::Include => "include",
    }
}

fn cache(fetch: &Fetch) -> &'static str {
    match fetch.cache {
        CacheMode::Default => "default",
        CacheMode::NoStore => "no-store",
        CacheMode::Reload => "reload",
        CacheMode::NoCache => "no-cache",
        CacheMode::ForceCache => "force-cache",
    }
}

/// What the page can observe of an outcome.
fn observe(fetch: &Fetch, outcome: &Outcome, id: &str) -> String {
    match (kind(fetch), outcome) {
        ("fetch", Outcome::Response(response)) => text_of(&json!({
            "type": match response.kind {
                ResponseType::Basic => "basic",
                ResponseType::Cors => "cors",
                ResponseType::Opaque => "opaque",
                ResponseType::OpaqueRedirect => "opaqueredirect",
            },
            "url": response.url.as_ref().map_or("", |url| url.as_str()),
            "redirected": response.is_redirected,
            "status": response.status,
            "headers": headers(response),
            "text": String::from_utf8_lossy(&response.body),
        })),
        ("xhr", Outcome::Response(response)) => text_of(&json!({
            "url": response.url.as_ref().map_or("", |url| url.as_str()),
            "status": response.status,
            "headers": headers(response),
            "text": String::from_utf8_lossy(&response.body),
        })),
        ("fetch" | "xhr", _) => "TypeError".into(),
        ("script", Outcome::Script(text)) => {
            let text = String::from_utf8_lossy(text);
            let what = text.strip_prefix(&format!("ran({id:?}, \""));
            let what = what.and_then(|what| what.strip_suffix("\")"));
            what.map_or_else(|| "load".into(), |what| format!("ran {what}"))
        }
        ("image", Outcome::Response(_)) => "load".into(),
        ("frame" | "window", Outcome::Page(_, response)) => {
            let text = String::from_utf8_lossy(&response.body);
            let what = text.split('"').nth(1);
            what.map_or_else(|| "no document".into(), |what| format!("document {what}"))
        }
        ("frame" | "window", _) => "no document".into(),
        ("socket", Outcome::Open) => "open".into(),
        _ => "error".into(),
    }
}

/// The fields as `Headers` lists them: sorted, each name once.
fn headers(response: &Response) -> Vec<(String, String)> {
    let mut names: Vec<&str> = response.headers.keys().map(http::HeaderName::as_str).collect();
    names.sort_unstable();
    names
        .into_iter()
        .map(|name| {
            let lines = response.headers.get_all(name).iter().map(|value| {
                value.as_bytes().iter().map(|&byte| char::from(byte)).collect::<String>()
            });
            let lines: Vec<String> =
                lines.map(|line| line.trim_matches([' ', '\t']).into()).collect();
            (name.to_owned(), lines.join(", "))
        })
        .collect()
}

/// A value with its keys in order.
fn text_of(value: &Value) -> String {
    let Value::Object(fields) = value else { return value.to_string() };
    let mut fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    fields.sort_unstable();
    fields.join(" ")
}

/// A request that a server received, or would receive.
fn request(sent: &SentRequest, case: &Case, id: &str) -> String {
    let mut line = format!("sent {} {}", sent.method, sent.url);
    let written: Vec<&(String, String)> = case.loads().flat_map(|fetch| &fetch.headers).collect();
    // The values of these fields differ between engines, without meaning.
    let is_written = |name: &str, value: &str| {
        let mut ours = written.iter().filter(|(one, _)| one.eq_ignore_ascii_case(name));
        ours.any(|(_, ours)| !ours.is_empty() && value.contains(&**ours))
    };
    for (name, value) in fields(&sent.headers, id) {
        let is_default =
            matches!(&*name, "accept" | "accept-language") && !is_written(&name, &value);
        if OWN.contains(&&*name) || name.starts_with("sec-ch-") || is_default {
            continue;
        }
        line.push_str(&format!("\n         {name}: {value}"));
    }
    if let Some(body) = sent.body.as_ref().filter(|body| !body.is_empty()) {
        line.push_str(&format!("\n         with {:?}", String::from_utf8_lossy(body)));
    }
    line
}

fn fields(headers: &HeaderMap, id: &str) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for name in headers.keys() {
        let values = headers.get_all(name).iter().map(|value| {
            let text = value.as_bytes().iter().map(|&byte| char::from(byte)).collect::<String>();
            if name == "cookie" { own_cookies(&text, id) } else { text }
        });
        // White space around a value is not sent.
        let value = values.collect::<Vec<_>>().join(", ").trim_matches([' ', '\t']).to_owned();
        if !(name == "cookie" && value.is_empty()) {
            fields.push((name.to_string(), value));
        }
    }
    fields.sort_unstable();
    fields
}

/// The cookies of this case.
fn own_cookies(cookies: &str, id: &str) -> String {
    cookies.split("; ").filter(|pair| pair.contains(id)).collect::<Vec<_>>().join("; ")
}
