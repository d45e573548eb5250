//! One load of a page, and its result.

use std::{fmt, rc::Rc};

use http::{HeaderMap, StatusCode, header::COOKIE};
use policy_browser::{Blocked, Fetch, Mode, Reason};
use policy_manifest::engine::Engine;

use super::{
    browsing::{LoadEnd, Node, StandIn, swapped},
    caller::Caller,
    counterexample,
    declared::Declaration,
    equivalence_classes::{PageCase, Path, RequestCase},
    probe::HandlerBehavior,
    server::Reply,
};

/// A load of a page from an app, the caller, and the result: the subject of a law.
/// [`every_exchange`](super::every_exchange) produces them.
///
/// `Display` shows what a person needs to reproduce it: the page to open, the statement for its
/// console, and the response of the app.
pub struct Exchange<'a> {
    pub(super) own: &'a str,
    pub(super) path: &'a Path<'a>,
    pub(super) page_case: &'a PageCase,
    /// The page that represents it in the browser.
    pub(super) stand_in: StandIn,
    pub(super) request_case: &'a RequestCase,
    pub(super) caller: &'a Caller,
    pub(super) behavior: HandlerBehavior,
    /// The name of the session cookie.
    pub(super) cookie: &'a str,
    pub(super) preflight: Option<Rc<Reply>>,
    /// The request itself, if the browser sent it, and the response.
    pub(super) sent: Option<(Rc<Node>, Rc<Reply>)>,
    pub(super) last: Rc<Node>,
    /// The engine of the manifest.
    pub(super) engine: Option<&'a Engine>,
}

impl Exchange<'_> {
    /// The route: `/orders/{id}`, prefix included. For unknown paths, one that no route has.
    pub fn path(&self) -> &str {
        self.path.template
    }

    /// The method that the page uses.
    pub fn method(&self) -> &str {
        &self.request_case.fetch.method
    }

    /// The function that serves the method here, if there is one: `shop::orders`.
    pub fn handler(&self) -> Option<&str> {
        Some(&self.route()?.handler.as_ref()?.name)
    }

    /// The origin of the page: `https://app.shop.example`, or `null`.
    pub fn page(&self) -> &str {
        &self.page_case.origin
    }

    /// Whether the page is of the app's own origin.
    pub fn is_own_page(&self) -> bool {
        self.page_case.is_own
    }

    /// The load.
    pub fn fetch(&self) -> &Fetch {
        &self.request_case.fetch
    }

    /// A description of the user of the browser, or of the token that the script has.
    pub fn caller(&self) -> &str {
        &self.caller.name
    }

    /// Whether the request itself was sent, and not only a preflight.
    pub fn is_sent(&self) -> bool {
        self.sent.is_some()
    }

    /// Whether the handler ran.
    pub fn handler_ran(&self) -> bool {
        self.reply().is_some_and(|reply| reply.report.is_some())
    }

    /// The principal that the handler received; `None` if it did not run or the caller is
    /// anonymous.
    pub fn principal(&self) -> Option<&str> {
        self.reply()?.report.as_ref()?.principal.as_deref()
    }

    /// The status of the response, whether or not the page may see it.
    pub fn status(&self) -> Option<StatusCode> {
        StatusCode::from_u16(self.reply()?.status).ok()
    }

    /// The headers of the response, whether or not the page may see them.
    pub fn headers(&self) -> Option<&HeaderMap> {
        Some(&self.reply()?.headers)
    }

    /// Whether the page can read the response.
    pub fn is_readable(&self) -> bool {
        matches!(self.end(), LoadEnd::Readable(_))
    }

    /// Why the browser blocked the response.
    pub fn blocked(&self) -> Option<Blocked> {
        let LoadEnd::Blocked(blocked) = self.end() else { return None };
        let mut blocked = blocked.clone();
        blocked.url = self.url();
        blocked.origin = self.page_case.page.origin.clone();
        if let Reason::AllowOrigin(named) = &mut blocked.reason {
            *named = swapped(named, self.page(), &self.stand_in.origin);
        }
        Some(blocked)
    }

    /// The address.
    pub(super) fn url(&self) -> String {
        format!("{}{}", self.own, self.path.sample)
    }

    /// The declaration of the route, if one serves the method.
    pub(super) fn route(&self) -> Option<&Declaration> {
        self.path.route_for(self.method())
    }

    pub(super) fn reply(&self) -> Option<&Reply> {
        self.sent.as_ref().map(|(_, reply)| &**reply)
    }

    pub(super) fn end(&self) -> &LoadEnd {
        self.last.end().unwrap_or(&LoadEnd::Lost)
    }

    /// Whether the request carries ambient credentials.
    pub(super) fn is_carried(&self) -> bool {
        let sent = self.sent.as_ref().and_then(|(node, _)| node.request());
        sent.is_some_and(|sent| sent.headers.contains_key(COOKIE))
    }

    pub(super) fn is_fetch(&self) -> bool {
        self.request_case.fetch.mode == Mode::Cors
    }

    /// Whether the policy allows the page to read the response; the own origin needs no grant.
    pub(super) fn is_granted(&self) -> bool {
        self.page_case.is_own || self.path.grants(self.page_case, self.request_case)
    }
}

impl fmt::Display for Exchange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        counterexample::write(self, f)
    }
}

impl fmt::Debug for Exchange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
            .field("page", &self.page())
            .field("method", &self.method())
            .field("path", &self.path())
            .field("caller", &self.caller())
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
