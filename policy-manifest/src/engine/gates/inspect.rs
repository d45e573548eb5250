//! What each part of a request means to the route that serves it, apart from the other parts.

use http::{
    HeaderMap,
    header::{COOKIE, MAX_FORWARDS},
};

use super::{Caller, CompiledRoute, CsrfToken, Engine, Known, Run, with_run};
use crate::RouteKind;
use policy_core::{
    csrf::{OriginFacts, Provenance},
    gate::{Head, Single},
    reverse_proxy::is_last_hop,
};

/// The parts of a request on which its decision depends. Two requests for which these are equal are
/// let through alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inspection {
    /// The number of the path among those of the manifest.
    pub(crate) found: Option<usize>,
    /// The path has an encoded slash.
    pub(crate) has_slash: bool,
    /// The index of the route; `None` if no route gets to decide, or it is a preflight.
    pub(crate) route: Option<usize>,
    /// Which page sent it; `None` if that, or the host that it names, is refused.
    pub(crate) sender: Option<SenderFacts>,
    /// Who sent it; `None` if that is refused, whichever page it comes from.
    pub(crate) caller: Option<CallerFacts>,
    /// The target can take it: its media type, its range, the function of JSONP, and the hops that are left.
    pub(crate) is_taken: bool,
    /// The body is longer than the route allows.
    pub(crate) is_too_long: bool,
}

/// What the page that sent a request means to a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SenderFacts {
    /// It is one of another origin, and states it.
    pub(crate) is_other_page: bool,
    /// CORS grants it.
    pub(crate) is_granted: bool,
    /// What it may do with the credentials of its visitor.
    pub(crate) provenance: Provenance,
}

/// Whom the credentials of a request name, as far as it matters to a route that admits them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum CallerFacts {
    /// Nobody, and whether there is a cookie, which what answers may know.
    Nobody { has_cookie: bool, handler: HandlerSession },
    /// The holder of a token.
    Token,
    /// The holder of a ticket.
    Ticket,
    /// The owner of a session, and whether its CSRF token is there.
    Session { has_token: bool },
    /// Somebody whom a scheme of the app knows.
    Scheme { is_ambient: bool, handler: HandlerSession },
}

/// The session that a handler takes itself: whether it does, whether there is one, and whether its
/// CSRF token is there.
pub(crate) type HandlerSession = Option<Option<bool>>;

pub(in super::super) fn inspect(
    engine: &Engine,
    head: Head<'_>,
    headers: &HeaderMap,
    caller: &Caller,
) -> Inspection {
    // A request that goes no further than this server is one that the target does not take, whoever sends
    // it and from whichever page.
    let is_last = is_last_hop(head.method, headers);
    let further = is_last.then(|| {
        let mut further = headers.clone();
        further.remove(MAX_FORWARDS);
        further
    });
    let headers = further.as_ref().unwrap_or(headers);
    with_run(engine, head, headers, |mut run, path| {
        let found = engine.path_number(run.head.path);
        let is_well_formed = run.wire(path).is_ok();
        let is_addressed = is_well_formed && run.own_origin().is_ok();
        let route = is_well_formed.then(|| run.find(path == Ok(true)).ok()).flatten();
        let mut inspection = Inspection {
            found: found.filter(|_| !run.is_tunnel),
            has_slash: path == Ok(true),
            route,
            sender: None,
            caller: None,
            is_taken: false,
            is_too_long: false,
        };
        let compiled = inspection.route.and_then(|index| engine.routes.get(index));
        let Some(compiled) = compiled else { return inspection };
        run.route = inspection.route;
        let query = run.head.uri.query();
        let is_admitted = run.origin(compiled).and_then(|()| run.isolation(compiled)).is_ok();
        let is_granted = run.grant.grants(run.head.origin, compiled.cors.as_ref());
        let provenance = run.provenance(compiled);
        let is_other_page = match run.head.origin {
            Single::One(origin) => !engine.own.is_own(run.head, origin.as_bytes()),
            Single::Absent | Single::Repeated => false,
        };
        let facts = SenderFacts { is_other_page, is_granted, provenance };
        inspection.sender = (is_addressed && is_admitted).then_some(facts);
        inspection.caller = run.caller_facts(compiled, caller, query);
        inspection.is_too_long = run.is_too_long(compiled);
        let ends_here = is_last && compiled.route.kind == RouteKind::Proxy;
        inspection.is_taken =
            !ends_here && run.takes_part(compiled) && run.target(compiled, query).is_ok();
        inspection
    })
}

impl Run<'_> {
    fn caller_facts(
        &mut self,
        compiled: &CompiledRoute,
        caller: &Caller,
        query: Option<&str>,
    ) -> Option<CallerFacts> {
        // Asked as if the page were trusted, which is a fact of the sender.
        let trusted = Provenance::of(&nothing(), |_| true, |_| true);
        let requirement = Self::requirement(compiled);
        let known = match requirement {
            None => None,
            Some(requirement) => {
                self.credential((compiled, requirement), caller, trusted, query).ok()?
            }
        };
        self.authorize(compiled, trusted, known.as_ref()).ok()?;
        let handler = || -> Option<HandlerSession> {
            if !compiled.route.takes_session {
                return Some(None);
            }
            let session = self.session(caller).ok()?;
            Some(Some(session.map(|_| caller.csrf == CsrfToken::Valid)))
        };
        Some(match known {
            None => {
                let has_cookie = self.headers.contains_key(COOKIE);
                CallerFacts::Nobody { has_cookie, handler: handler()? }
            }
            Some(Known { has_ticket: true, .. }) => CallerFacts::Ticket,
            Some(Known { is_explicit: true, .. }) => CallerFacts::Token,
            Some(Known { is_session: true, .. }) => {
                CallerFacts::Session { has_token: caller.csrf == CsrfToken::Valid }
            }
            Some(Known { is_ambient, .. }) => {
                CallerFacts::Scheme { is_ambient, handler: handler()? }
            }
        })
    }
}

/// The facts of a request that changes nothing.
fn nothing() -> OriginFacts<'static> {
    OriginFacts {
        method: &http::Method::GET,
        is_upgrade: false,
        origin: Single::Absent,
        sec_fetch_site: Single::Absent,
        sec_fetch_mode: Single::Absent,
        referer: Single::Absent,
    }
}
