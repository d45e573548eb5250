//! The result of a response for a page: the model of a browser loads it.

use std::time::Duration;

use policy_browser::{
    Credentials, Fetch, Outcome, Page, PageOrigin, Profile, Reason, Redirect, SentRequest,
    ServerResponse, State, Url, run,
};

use crate::exchange::{Request, TestResponse, combined, elements};

/// The stage at which a preflight failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Origin,
    Status,
    Syntax,
    Method,
    Headers,
}

/// Whether the requesting page may read the response; `None` for a request that no page sends by
/// CORS.
pub fn is_shared(
    request: &Request,
    credentials: Credentials,
    response: &TestResponse,
) -> Option<bool> {
    let fetch = Fetch::get(SERVER).credentials(credentials).redirect(Redirect::Manual);
    Some(load(&page(request)?, fetch, |_| server_response(response)).blocked().is_none())
}

/// The outcome of a preflight for the page that it belongs to.
pub fn preflight(
    request: &Request,
    credentials: Credentials,
    response: &TestResponse,
) -> Result<(), Stage> {
    let page = page(request).expect("a preflight names its origin");
    let method = combined(&request.headers, "access-control-request-method");
    let method = method.expect("a preflight names a method");
    let fetch = Fetch::new(latin1(&method), SERVER).credentials(credentials);
    // A value that is not safelisted for any name.
    let names = elements(&request.headers, "access-control-request-headers");
    let fetch = names.iter().fold(fetch, |fetch, name| fetch.header(name, "\u{1}"));
    // Only such a page sends a preflight before GET or POST without fields.
    let is_plain = names.is_empty() && ["GET", "HEAD", "POST"].contains(&&*fetch.method);
    let fetch = if is_plain { fetch.watch_upload() } else { fetch };
    let mut is_allowed = false;
    let outcome = load(&page, fetch, |sent| {
        is_allowed = !sent.is_preflight;
        if is_allowed { ServerResponse::default() } else { server_response(response) }
    });
    match outcome {
        Outcome::Blocked(blocked) if !is_allowed => Err(stage(&blocked.reason)),
        _ => Ok(()),
    }
}

const SERVER: &str = "https://server.test/r";

fn load(page: &Page, fetch: Fetch, server: impl FnMut(&SentRequest) -> ServerResponse) -> Outcome {
    run(State::new(Profile::STANDARD, Duration::ZERO), Some(page), fetch, server).1
}

/// The page behind a request, whose origin may be any text.
fn page(request: &Request) -> Option<Page> {
    let origin = latin1(request.headers.get("origin")?.as_bytes());
    let url = Url::parse("https://page.test/").expect("an address");
    let mut page = Page::at(url);
    page.origin = PageOrigin::Tuple(origin);
    Some(page)
}

fn server_response(response: &TestResponse) -> ServerResponse {
    let TestResponse { status, headers, body, .. } = response.clone();
    ServerResponse::new(status, headers, body)
}

fn stage(reason: &Reason) -> Stage {
    match reason {
        Reason::PreflightStatus(_) => Stage::Status,
        Reason::PreflightSyntax(_) => Stage::Syntax,
        // Requests that no page may send are refused without a preflight.
        Reason::AllowMethods(_) | Reason::Method => Stage::Method,
        Reason::AllowHeaders(_) => Stage::Headers,
        _ => Stage::Origin,
    }
}

fn latin1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}
