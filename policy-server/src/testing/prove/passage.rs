//! What the layers of an app do to a request on its way to the gates.

use std::cell::RefCell;

use axum_core::extract::Request;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use policy_core::headers::groups::may_be_credential;

use crate::handler::service::{SharedService, Wrap};

/// A part of a request that a layer changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alteration {
    pub(super) part: Part,
    /// The values that were sent.
    pub(super) sent: Vec<String>,
    /// The values that reached the gates.
    pub(super) arrived: Vec<String>,
}

/// A part of a request that the gates decide by.
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

thread_local! {
    /// The request before the layers, and the requests that came out of them.
    static PASSAGE: RefCell<(Option<Head>, Vec<Head>)> = const { RefCell::new((None, Vec::new())) };
}

/// Records the requests on both sides of the layers, if there are any.
pub(super) fn watch(layers: &mut Vec<Wrap>) {
    if layers.is_empty() {
        return;
    }
    // The first layer is the innermost one.
    layers.insert(0, tap(|head| PASSAGE.with_borrow_mut(|passage| passage.1.push(head))));
    layers.push(tap(|head| PASSAGE.with_borrow_mut(|passage| passage.0 = Some(head))));
}

fn tap(record: fn(Head)) -> Wrap {
    Box::new(move |inner| {
        SharedService::boxed(move |request| {
            record(Head::of(&request));
            inner.run(request)
        })
    })
}

/// Forgets what was recorded on this thread.
pub(super) fn forget() {
    PASSAGE.take();
}

/// The most telling change of the request of this thread; `None` if no layer let it through, or
/// there are none.
pub(super) fn take() -> Option<Result<(), Alteration>> {
    let (entered, arrived) = PASSAGE.take();
    let entered = entered.filter(|_| !arrived.is_empty())?;
    Some(arrived.iter().find_map(|arrived| entered.altered(arrived)).map_or(Ok(()), Err))
}

impl Head {
    fn of(request: &Request) -> Self {
        let target = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
        Self { method: request.method().clone(), target, headers: request.headers().clone() }
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

/// Whether the gates tell by a field which page sent the request, to which host, and for what.
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
