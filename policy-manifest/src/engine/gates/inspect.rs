//! The meaning of each part of a request for the route that serves it, independent of the other
//! parts.

use std::ops::ControlFlow;

use http::{
    HeaderMap, HeaderValue,
    header::{AUTHORIZATION, COOKIE, MAX_FORWARDS},
};
use policy_core::{
    Refusal,
    csrf::Provenance,
    gates::{
        self, AdmittedHead, EndResponse, ExplicitCredential, Gate, RequestEnd, RequestView, Steps,
        has_ambient_credential,
    },
    head::{Head, Single},
    reverse_proxy::is_last_hop,
};

use super::{
    CallerGates, CsrfTokenState, Engine, GatedEngine, IdentifiedCaller, RequestCredentials,
    with_view,
};
use crate::RouteKind;

/// The parts of a request on which its decision depends. Requests with equal parts are decided
/// alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inspection {
    /// The number of the path among those of the manifest.
    pub(crate) found: Option<usize>,
    /// Whether the path has an encoded slash.
    pub(crate) has_slash: bool,
    /// The index of the route; `None` if the request reaches no route, or is a preflight.
    pub(crate) route: Option<usize>,
    /// The page that sent it; `None` if the page, or the host that the request names, is refused.
    pub(crate) sender: Option<SenderFacts>,
    /// The caller; `None` if its credentials are refused for every page.
    pub(crate) caller: Option<CallerFacts>,
    /// What a browser may have added to a request for a service, which may know it.
    pub(crate) ambient: AmbientCredential,
    /// Whether the target can take it: its media type, its range, the function of JSONP, and the
    /// remaining hops.
    pub(crate) is_taken: bool,
    /// Whether the body is longer than the route allows.
    pub(crate) is_too_long: bool,
}

/// The meaning of the page that sent a request for a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SenderFacts {
    /// Whether it is of another origin, and states it.
    pub(crate) is_other_page: bool,
    /// Whether CORS grants it.
    pub(crate) is_granted: bool,
    /// The permission of the page to act with the credentials of its visitor.
    pub(crate) provenance: Provenance,
    /// Whether it opens a WebSocket that is refused with an [`AmbientCredential`].
    pub(crate) opens_bare_socket: bool,
}

/// A credential that browsers add by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum AmbientCredential {
    #[default]
    Absent,
    /// HTTP authentication, without a cookie.
    Authentication,
    Cookie,
}

/// The caller that the credentials of a request name, reduced to the facts that matter to a route
/// that admits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum CallerFacts {
    /// No caller.
    Nobody { handler: HandlerSession },
    /// The holder of a token.
    Token,
    /// The holder of a ticket.
    Ticket,
    /// The owner of a session, and whether its CSRF token is there.
    Session { has_token: bool },
    /// A caller that a scheme of the app identifies.
    Scheme { is_ambient: bool, handler: HandlerSession },
}

/// The session that a handler takes itself: whether it does, whether there is one, and whether its
/// CSRF token is there.
pub(crate) type HandlerSession = Option<Option<bool>>;

/// What the gates of the head refuse, each independent of the others.
#[derive(Default)]
struct Refusals {
    /// The host that the request names, or the page that sent it.
    sender: bool,
    /// The length of its body.
    length: bool,
    /// Anything else.
    other: bool,
}

impl Steps for Refusals {
    fn on_pass(&mut self, _gate: Gate, _is_asked: bool) {}

    fn on_refusal<'a, R, Rate>(
        &mut self,
        end: RequestEnd<'a, R, Rate>,
    ) -> ControlFlow<RequestEnd<'a, R, Rate>> {
        match (end.gate, end.response) {
            (Gate::OwnOrigin | Gate::Cors | Gate::FetchMetadata, _) => self.sender = true,
            (_, EndResponse::Refused(Refusal::BodyTooLarge)) => self.length = true,
            _ => self.other = true,
        }
        ControlFlow::Continue(())
    }
}

pub(in super::super) fn inspect(
    engine: &Engine,
    head: Head<'_>,
    headers: &HeaderMap,
    caller: &RequestCredentials,
) -> Inspection {
    // A request with no remaining hops is one that the target does not take, for every sender and
    // every page.
    let is_last = is_last_hop(head.method, headers);
    let further = is_last.then(|| {
        let mut further = headers.clone();
        further.remove(MAX_FORWARDS);
        further
    });
    let headers = further.as_ref().unwrap_or(headers);
    with_view(engine, head, headers, |request| {
        let found = engine.path_number(request.head.path);
        let is_tunnel = request.head.is_tunnel() && engine.tunnel.is_some();
        let mut refusals = Refusals::default();
        // The sender is judged without credentials. Among the gates of the head, only the check of
        // WebSockets reads any, so the fields of other requests need no copy.
        let bare = request.head.is_upgrade().then(|| without_credentials(request.headers));
        let bare_request =
            RequestView { headers: bare.as_ref().unwrap_or(request.headers), ..request };
        let admitted = gates::check_head(&GatedEngine(engine), &bare_request, &mut refusals);
        let mut inspection = Inspection {
            found: found.filter(|_| !is_tunnel),
            has_slash: request.path == Ok(true),
            route: None,
            sender: None,
            caller: None,
            ambient: AmbientCredential::default(),
            is_taken: false,
            is_too_long: refusals.length,
        };
        let ControlFlow::Continue(AdmittedHead { route: compiled, grant, .. }) = admitted else {
            return inspection;
        };
        let gates = CallerGates::new(engine, compiled, &request, &grant, caller);
        let is_other_page = match request.head.origin {
            Single::One(origin) => !engine.own.is_own(request.head, origin.as_bytes()),
            Single::Absent | Single::Repeated => false,
        };
        let (is_granted, provenance) = (gates.sender.is_granted(), gates.sender.provenance());
        let opens_bare_socket = !refusals.sender
            && bare.as_ref().is_some_and(|bare| {
                let mut with_cookie = bare.clone();
                with_cookie.insert(COOKIE, HeaderValue::from_static("a=b"));
                let lent_request = RequestView { headers: &with_cookie, ..request };
                let mut lent = Refusals::default();
                let _ = gates::check_head(&GatedEngine(engine), &lent_request, &mut lent);
                lent.sender
            });
        let facts = SenderFacts { is_other_page, is_granted, provenance, opens_bare_socket };
        inspection.route = Some(compiled.index);
        inspection.sender = (!refusals.sender).then_some(facts);
        let ends_here = is_last && compiled.route.kind == RouteKind::Proxy;
        inspection.is_taken = !ends_here && !refusals.other && gates.target().is_ok();
        inspection.caller = gates.trusting().caller_facts();
        if compiled.route.kind.reads_ambient_credentials() {
            inspection.ambient = AmbientCredential::from_headers(headers);
        }
        inspection
    })
}

fn without_credentials(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    headers.remove(COOKIE);
    headers.remove(AUTHORIZATION);
    headers
}

impl AmbientCredential {
    fn from_headers(headers: &HeaderMap) -> Self {
        match headers.contains_key(COOKIE) {
            true => Self::Cookie,
            false if has_ambient_credential(headers) => Self::Authentication,
            false => Self::Absent,
        }
    }
}

impl<'a> CallerGates<'a> {
    /// The same for a fully trusted page, which is a fact of the sender.
    fn trusting(self) -> Self {
        Self { sender: self.sender.trusted(), ..self }
    }

    fn caller_facts(&self) -> Option<CallerFacts> {
        let known = self.authenticate().ok()?;
        self.check_rights(known.as_ref()).ok()?;
        let has_token = self.caller.csrf == CsrfTokenState::Valid;
        let handler = || -> Option<HandlerSession> {
            if !self.compiled.route.takes_session {
                return Some(None);
            }
            let session = self.session().ok()?;
            Some(Some(session.map(|_| has_token)))
        };
        Some(match known {
            None => CallerFacts::Nobody { handler: handler()? },
            Some(IdentifiedCaller { explicit: Some(ExplicitCredential::Ticket), .. }) => {
                CallerFacts::Ticket
            }
            Some(IdentifiedCaller { explicit: Some(ExplicitCredential::Token), .. }) => {
                CallerFacts::Token
            }
            Some(IdentifiedCaller { is_session: true, .. }) => CallerFacts::Session { has_token },
            Some(IdentifiedCaller { is_ambient, .. }) => {
                CallerFacts::Scheme { is_ambient, handler: handler()? }
            }
        })
    }
}
