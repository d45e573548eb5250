//! A page's call of `fetch()`, the server that it reaches, and the expectations of both.

use std::{time::Duration, vec};

use http::{HeaderMap, HeaderName, HeaderValue};
use policy_browser::{
    Credentials, Fetch, Mode, Outcome, Page, Profile, Reason, Redirect, ResponseType, SentRequest,
    ServerResponse, State, Url, run,
};
use policy_core_tests::exchange::Header;
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::Value;

use crate::result;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) script: Script,
    /// The server's responses, in order.
    pub(crate) responses: Vec<Respond>,
    pub(crate) expect: Expect,
    #[serde(rename = "suite")]
    _suite: IgnoredAny,
    #[serde(rename = "note")]
    _note: IgnoredAny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Script {
    origin: String,
    url: String,
    #[serde(default = "get")]
    method: String,
    #[serde(default)]
    headers: Vec<Header>,
    credentials: Option<String>,
    mode: Option<String>,
    redirect: Option<String>,
    #[serde(default)]
    use_preflight: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Respond {
    status: u16,
    headers: Vec<Header>,
}

/// A missing member is not checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    preflight: Option<bool>,
    acrh: Option<String>,
    acrm: Option<String>,
    result: Option<String>,
    why: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    status: Option<u16>,
    visible: Option<Vec<String>>,
    #[serde(default)]
    visible_contains: Vec<String>,
    #[serde(default)]
    visible_lacks: Vec<String>,
    requests: Option<usize>,
    origin_header: Option<String>,
    last_origin_header: Option<String>,
    last_method: Option<String>,
    last_lacks_header: Option<String>,
    preflight_cookie: Option<bool>,
    actual_cookie: Option<bool>,
}

pub(crate) fn section<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let mut file: Value = serde_json::from_str(include_str!("../../../tests/cases/cors.json"))
        .expect("the file of cases");
    serde_json::from_value(file[name].take()).expect("cases without unknown members")
}

/// A browser that keeps preflights for this many seconds, and has a cookie for `api.test`.
pub(crate) fn browser(cap: u64) -> State {
    let mut profile = Profile::STANDARD;
    profile.preflight_cap = Duration::from_secs(cap);
    let state = State::new(profile, Duration::from_secs(1_800_000_000));
    let login = Fetch::navigate("https://api.test/");
    let cookie = "c=1; Secure; SameSite=None";
    let (state, outcome) = run(state, None, login, |_| response(200, &[("set-cookie", cookie)]));
    assert!(outcome.page().is_some(), "{outcome:?}");
    state
}

/// Sends its responses in order, and then none.
pub(crate) struct Server {
    responses: vec::IntoIter<ServerResponse>,
    pub(crate) requests: Vec<SentRequest>,
}

impl Server {
    pub(crate) fn new(responses: &[Respond]) -> Self {
        let open = || response(204, &[("access-control-allow-origin", "*")]);
        let responses = if responses.is_empty() {
            vec![open(), open(), open()]
        } else {
            let to_response = |one: &Respond| {
                let lines: Vec<_> = Header::lines(&one.headers).collect();
                response(one.status, &lines)
            };
            responses.iter().map(to_response).collect()
        };
        Self { responses: responses.into_iter(), requests: Vec::new() }
    }

    pub(crate) fn response(&mut self, request: &SentRequest) -> ServerResponse {
        self.requests.push(request.clone());
        self.responses.next().unwrap_or_else(|| response(599, &[]))
    }
}

pub(crate) fn response(status: u16, fields: &[(&str, &str)]) -> ServerResponse {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a header name");
        headers.append(name, HeaderValue::from_str(value).expect("a header value"));
    }
    ServerResponse::new(status, headers, Vec::new())
}

fn get() -> String {
    "GET".to_owned()
}

impl Script {
    /// The page, and its fetch.
    pub(crate) fn fetch(&self) -> (Page, Fetch) {
        let page = match &*self.origin {
            "null" => Page::at(Url::parse("https://sandbox.test").expect("an address")).sandboxed(),
            origin => Page::at(Url::parse(origin).expect("an address")),
        };
        let fetch = Fetch::new(&self.method, &self.url)
            .credentials(match self.credentials.as_deref() {
                Some("omit") => Credentials::Omit,
                None | Some("same-origin") => Credentials::SameOrigin,
                Some("include") => Credentials::Include,
                Some(other) => panic!("no credentials mode `{other}`"),
            })
            .mode(match self.mode.as_deref() {
                None | Some("cors") => Mode::Cors,
                Some("no-cors") => Mode::NoCors,
                Some("same-origin") => Mode::SameOrigin,
                Some(other) => panic!("no mode `{other}`"),
            })
            .redirect(match self.redirect.as_deref() {
                None | Some("follow") => Redirect::Follow,
                Some("error") => Redirect::Error,
                Some("manual") => Redirect::Manual,
                Some(other) => panic!("no redirect mode `{other}`"),
            });
        let fetch = if self.use_preflight { fetch.watch_upload() } else { fetch };
        let headers = Header::lines(&self.headers);
        (page, headers.fold(fetch, |fetch, (name, value)| fetch.header(name, value)))
    }
}

impl Expect {
    /// Panics with the name of the case if the browser behaved differently.
    pub(crate) fn hold(&self, case: &str, outcome: &Outcome, requests: &[SentRequest]) {
        let field = |sent: Option<&SentRequest>, name: &str| -> Option<String> {
            let value = sent?.headers.get(name)?;
            Some(value.to_str().expect("text").to_owned())
        };
        let (first, last) = (requests.first(), requests.last());
        let first_has = |name: &str| field(first, name);
        let same = |what: &str, wanted: Option<&String>, actual: Option<String>| {
            assert!(wanted.is_none() || wanted == actual.as_ref(), "{case}: {what}: {actual:?}");
        };
        let holds = |what: &str, held: Option<bool>| {
            assert!(held != Some(false), "{case}: {what}: {outcome:?} of {requests:?}");
        };

        let is_preflight = first.is_some_and(|sent| sent.is_preflight);
        holds("preflight", self.preflight.map(|wanted| wanted == is_preflight));
        same("acrh", self.acrh.as_ref(), first_has("access-control-request-headers"));
        same("acrm", self.acrm.as_ref(), first_has("access-control-request-method"));
        same("result", self.result.as_ref(), Some(result(outcome).to_owned()));
        same("why", self.why.as_ref(), refusal(outcome).map(str::to_owned));
        same("type", self.kind.as_ref(), kind(outcome).map(str::to_owned));
        let response = outcome.response();
        let status = response.map(|response| response.status);
        holds("status", self.status.map(|wanted| Some(wanted) == status));
        let mut visible: Vec<&str> = response
            .iter()
            .flat_map(|response| response.headers.keys())
            .map(HeaderName::as_str)
            .collect();
        visible.sort_unstable();
        holds("visible", self.visible.as_ref().map(|wanted| *wanted == visible));
        let lacks = self.visible_lacks.iter().all(|name| !visible.contains(&&**name));
        holds("visible_lacks", Some(lacks));
        let contains = self.visible_contains.iter().all(|name| visible.contains(&&**name));
        holds("visible_contains", Some(contains));
        holds("requests", self.requests.map(|wanted| wanted == requests.len()));
        same("origin", self.origin_header.as_ref(), first_has("origin"));
        same("last origin", self.last_origin_header.as_ref(), field(last, "origin"));
        same("last method", self.last_method.as_ref(), last.map(|sent| sent.method.to_string()));
        let lost = self.last_lacks_header.as_ref().map(|name| field(last, name).is_none());
        holds("last_lacks_header", lost);
        let has_cookie = |sent| field(sent, "cookie").is_some();
        holds("preflight_cookie", self.preflight_cookie.map(|wanted| wanted == has_cookie(first)));
        holds("actual_cookie", self.actual_cookie.map(|wanted| wanted == has_cookie(last)));
    }
}

/// The type of the response in the terms of a case.
fn kind(outcome: &Outcome) -> Option<&'static str> {
    Some(match outcome.response()?.kind {
        ResponseType::Basic => "basic",
        ResponseType::Cors => "cors",
        ResponseType::Opaque => "opaque",
        ResponseType::OpaqueRedirect => "opaqueredirect",
    })
}

/// The reason of a refusal in the terms of a case.
fn refusal(outcome: &Outcome) -> Option<&'static str> {
    let blocked = outcome.blocked().filter(|blocked| !blocked.in_preflight)?;
    matches!(
        blocked.reason,
        Reason::NoAllowOrigin
            | Reason::AllowOrigin(_)
            | Reason::AnyOriginWithCredentials
            | Reason::AllowCredentials(_)
    )
    .then_some("cors_check")
}
