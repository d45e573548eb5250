//! The result of a load.

use http::HeaderMap;
use url::Url;

use crate::{AddressSpace, Page, PageOrigin};

/// How a load ended.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "made once a load, and matched on by tests")]
pub enum Outcome {
    /// The page has a response, filtered to what it may see. It sees nothing of an image of another
    /// origin, of a script that did not run, or of a response that led to no document.
    Response(Response),
    /// A script ran: its text, which the page executes but cannot read.
    Script(Vec<u8>),
    /// A document was loaded: the page that it is, and all of its response.
    Page(Page, Response),
    /// A WebSocket is open.
    Open,
    /// The browser blocked the load: a network error, or a `TypeError` about the arguments.
    Blocked(Blocked),
}

impl Outcome {
    /// The response that the page got, or that of the document.
    pub fn response(&self) -> Option<&Response> {
        match self {
            Self::Response(response) | Self::Page(_, response) => Some(response),
            Self::Script(_) | Self::Open | Self::Blocked(_) => None,
        }
    }

    /// Whether a script of the page that started the load may read the response. It may not read
    /// another document, even where it has led to it.
    pub fn is_readable(&self) -> bool {
        let Self::Response(response) = self else { return false };
        matches!(response.kind, ResponseType::Basic | ResponseType::Cors)
    }

    /// The document that was loaded.
    pub fn page(&self) -> Option<&Page> {
        match self {
            Self::Page(page, _) => Some(page),
            _ => None,
        }
    }

    /// Why the browser blocked the load.
    pub fn blocked(&self) -> Option<&Blocked> {
        match self {
            Self::Blocked(blocked) => Some(blocked),
            _ => None,
        }
    }
}

/// A response as a script sees it (Fetch, 2.2.6: filtered responses).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Response {
    /// Which parts of it are shown.
    pub kind: ResponseType,
    /// Where it came from, after redirects.
    pub url: Option<Url>,
    /// Whether there were redirects.
    pub is_redirected: bool,
    /// The status code; 0 where nothing is shown.
    pub status: u16,
    /// The fields that are shown.
    pub headers: HeaderMap,
    /// The content that is shown.
    pub body: Vec<u8>,
    /// Whether it came from the HTTP cache without revalidation.
    pub is_cached: bool,
}

/// The type of a response (Fetch, 2.2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResponseType {
    /// Of the page's own origin: all but `Set-Cookie`.
    Basic,
    /// Of another origin, which granted it: safelisted and exposed fields.
    Cors,
    /// Of another origin, without CORS: nothing.
    Opaque,
    /// A redirect that the script wants to see: nothing.
    OpaqueRedirect,
}

/// Why the browser blocked a load. `Display` shows the text of a browser's console, followed by the
/// reason, which consoles do not give.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Blocked {
    /// The requested address.
    pub url: String,
    /// The origin of the page.
    pub origin: PageOrigin,
    /// Whether the preflight failed, and the request itself was never sent.
    pub in_preflight: bool,
    /// The reason.
    pub reason: Reason,
}

/// What was wrong with a load, its request or its response.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The address is invalid, or has a user and a password.
    Address,
    /// The method is not a token, or one that pages may not use: CONNECT, TRACE, TRACK; in mode
    /// `no-cors` anything but GET, HEAD, POST.
    Method,
    /// A header with an invalid name or value: the header.
    Header(String),
    /// GET and HEAD have no content.
    Content,
    /// Another origin in mode `same-origin`, or a redirect mode other than `follow` in `no-cors`.
    Mode,
    /// The scheme is neither `http` nor `https`.
    Scheme,
    /// A page of `https` loads from `http`.
    MixedContent,
    /// No server could be reached, or its response was not HTTP.
    Unreachable,
    /// There is no `Access-Control-Allow-Origin`.
    NoAllowOrigin,
    /// `Access-Control-Allow-Origin` is not the page's origin.
    AllowOrigin(String),
    /// `Access-Control-Allow-Origin` is `*`, with credentials.
    AnyOriginWithCredentials,
    /// `Access-Control-Allow-Credentials` is not `true`.
    AllowCredentials(Option<String>),
    /// The response to a preflight has a status other than 200 to 299.
    PreflightStatus(u16),
    /// A list in the response to a preflight breaks the grammar: the field.
    PreflightSyntax(&'static str),
    /// `Access-Control-Allow-Methods` does not contain this method.
    AllowMethods(String),
    /// `Access-Control-Allow-Headers` does not contain this name.
    AllowHeaders(String),
    /// The status 407, which only proxies use.
    ProxyStatus,
    /// A host in this address space, which is more private than that of the page, without the
    /// permission of the user.
    LocalNetwork(AddressSpace),
    /// The same, and the page was loaded without TLS, so that the user is not even asked.
    InsecureLocalNetwork(AddressSpace),
    /// A redirect in mode `error`.
    Redirect,
    /// More than twenty redirects.
    TooManyRedirects,
    /// A redirect to a URL that is not `http` or `https`, or has a user and a password.
    RedirectTarget(String),
    /// A redirect would send a stream a second time.
    RedirectedStream,
    /// `Cross-Origin-Resource-Policy` blocks the response for this page: its value.
    ResourcePolicy(String),
    /// `X-Frame-Options` or `frame-ancestors` forbid this frame: the value.
    Framing(String),
    /// A script with `nosniff` and a type that is not JavaScript.
    ScriptType(String),
    /// The response to a WebSocket handshake has another status than 101.
    NoUpgrade(u16),
}
