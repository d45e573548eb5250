//! Records how the layers of an app change a request on its way to the gates, and the response on
//! its way back.

use std::{borrow::Cow, cell::RefCell};

use axum_core::{extract::Request, response::Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use policy_core::headers::groups::may_be_credential;

use super::probe;
use tower_layer::layer_fn;

use crate::{
    base::problem,
    handler::service::{SharedService, Wrap},
};

/// A part of a request that a layer changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alteration {
    pub(super) part: Part,
    /// The values that were sent.
    pub(super) sent: Vec<String>,
    /// The values that reached the gates.
    pub(super) arrived: Vec<String>,
}

/// A part of a request that the gates use for a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Method,
    /// Path and query.
    Target,
    Field(HeaderName),
}

/// The head of a request.
struct Head {
    method: Method,
    target: String,
    headers: HeaderMap,
}

/// The head of a response as the app wrote it, before any layer around the app.
#[derive(Clone, Debug)]
pub(super) struct WrittenHead {
    pub(super) status: u16,
    /// Whether a gate refused the request.
    pub(super) is_refusal: bool,
    /// The code of the problem that it shows. A response that a layer stored has none.
    pub(super) code: Option<String>,
    pub(super) headers: HeaderMap,
}

/// The requests and responses on both sides of the layers, for one request.
#[derive(Default)]
struct Passage {
    /// The request before the layers.
    entered: Option<Head>,
    /// The requests that left the layers.
    arrived: Vec<Head>,
    /// The last response that entered the layers.
    written: Option<WrittenHead>,
}

thread_local! {
    static PASSAGE: RefCell<Passage> = RefCell::default();
}

/// A field that repeats what the app wrote, one line each. It stays with a response that a layer
/// caches and sends later, perhaps from another thread.
const MARK: HeaderName = HeaderName::from_static("x-policy-probe-written");
/// The names of lines that are not header fields.
const STATUS: HeaderName = HeaderName::from_static("policy-probe-status");
const REFUSAL: HeaderName = HeaderName::from_static("policy-probe-refusal");

/// Records the requests and responses on both sides of the layers, if there are any.
pub(super) fn watch(layers: &mut Vec<Wrap>) {
    if layers.is_empty() {
        return;
    }
    // The first layer is the innermost one.
    layers.insert(0, Wrap::new(layer_fn(innermost)));
    layers.push(Wrap::new(layer_fn(outermost)));
}

fn outermost(inner: SharedService) -> SharedService {
    SharedService::boxed(move |request| {
        PASSAGE.with_borrow_mut(|passage| passage.entered = Some(Head::from_request(&request)));
        inner.run(request)
    })
}

fn innermost(inner: SharedService) -> SharedService {
    SharedService::boxed(move |request| {
        PASSAGE.with_borrow_mut(|passage| passage.arrived.push(Head::from_request(&request)));
        let response = inner.run(request);
        Box::pin(async move {
            let mut response = response.await;
            let written = WrittenHead::from_response(&response);
            written.mark(response.headers_mut());
            PASSAGE.with_borrow_mut(|passage| passage.written = Some(written));
            response
        })
    })
}

/// Forgets what was recorded on this thread.
pub(super) fn forget() {
    PASSAGE.take();
}

/// Whether a request of this thread has entered layers.
pub(super) fn is_entered() -> bool {
    PASSAGE.with_borrow(|passage| passage.entered.is_some())
}

/// The most significant change of the request of this thread, and the response of the app to it;
/// `None` if no layer let it through, or there are no layers.
pub(super) fn take() -> (Option<Result<(), Alteration>>, Option<WrittenHead>) {
    let Passage { entered, arrived, written } = PASSAGE.take();
    let entered = entered.filter(|_| !arrived.is_empty());
    let passed = entered.map(|entered| {
        arrived.iter().find_map(|arrived| entered.altered(arrived)).map_or(Ok(()), Err)
    });
    (passed, written)
}

impl WrittenHead {
    fn from_response(response: &Response) -> Self {
        let status = response.status().as_u16();
        let is_refusal = status >= 400 && !probe::is_reached();
        let code = problem::code(response).map(Cow::into_owned);
        Self { status, is_refusal, code, headers: response.headers().clone() }
    }

    /// Writes it into a response, as [`MARK`].
    fn mark(&self, headers: &mut HeaderMap) {
        let status = HeaderValue::from(self.status);
        let refusal = HeaderValue::from(u16::from(self.is_refusal));
        let own = [(&STATUS, &status), (&REFUSAL, &refusal)];
        for (name, value) in own.into_iter().chain(&self.headers) {
            let line = [name.as_str().as_bytes(), b":", value.as_bytes()].concat();
            if let Ok(line) = HeaderValue::from_bytes(&line) {
                headers.append(MARK, line);
            }
        }
    }

    /// Removes the mark from a response, if it has one.
    pub(super) fn unmark(response: &mut HeaderMap) -> Option<Self> {
        let http::header::Entry::Occupied(lines) = response.entry(MARK) else { return None };
        let mut headers = HeaderMap::new();
        for line in lines.remove_entry_mult().1 {
            let mut parts = line.as_bytes().splitn(2, |byte| *byte == b':');
            let (name, value) = parts.next().zip(parts.next())?;
            headers
                .append(HeaderName::from_bytes(name).ok()?, HeaderValue::from_bytes(value).ok()?);
        }
        let mut number = |name| headers.remove(name)?.to_str().ok()?.parse::<u16>().ok();
        let (status, refusal) = (number(STATUS)?, number(REFUSAL)?);
        Some(Self { status, is_refusal: refusal == 1, code: None, headers })
    }
}

impl Head {
    fn from_request(request: &Request) -> Self {
        let target = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
        let mut headers = request.headers().clone();
        // A target in absolute form names the host, whatever `Host` says (RFC 9112 3.2.2).
        if let Some(authority) = request.uri().authority()
            && let Ok(host) = HeaderValue::from_str(authority.as_str())
        {
            headers.insert(header::HOST, host);
        }
        Self { method: request.method().clone(), target, headers }
    }

    /// The first difference: credentials before all others.
    fn altered(&self, arrived: &Self) -> Option<Alteration> {
        let mut names: Vec<_> = self.headers.keys().chain(arrived.headers.keys()).collect();
        names.sort_unstable_by_key(|name| name.as_str());
        names.dedup();
        let fields = |is_judged: fn(&str) -> bool| {
            let judged = names.iter().filter(move |name| is_judged(name.as_str()));
            judged.map(|name| Part::Field((*name).clone()))
        };
        let parts =
            fields(may_be_credential).chain([Part::Method, Part::Target]).chain(fields(is_page));
        for part in parts {
            let (sent, arrived) = (self.values(&part), arrived.values(&part));
            if sent != arrived {
                return Some(Alteration { part, sent, arrived });
            }
        }
        None
    }

    fn values(&self, part: &Part) -> Vec<String> {
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        match part {
            Part::Method => vec![self.method.to_string()],
            Part::Target => vec![self.target.clone()],
            Part::Field(name) => self.headers.get_all(name).iter().map(text).collect(),
        }
    }
}

/// Whether the gates use a field to determine which page sent the request, to which host, and why.
fn is_page(name: &str) -> bool {
    const NAMES: [HeaderName; 5] = [
        header::HOST,
        header::ORIGIN,
        header::REFERER,
        header::ACCESS_CONTROL_REQUEST_METHOD,
        header::ACCESS_CONTROL_REQUEST_HEADERS,
    ];
    NAMES.iter().any(|known| known == name) || name.starts_with("sec-fetch-")
}
