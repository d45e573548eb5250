//! `#[csrf]`: the protection against requests that other pages forge.

use policy_core::{Refusal, csrf::CsrfPolicy, gates::Gate, method::is_safe, outcome::ArgumentKind};
use serde::{Deserialize, Serialize};

use super::{
    Cell, Column, Direction, FacetEntry, ManifestRoute, MethodRequests, RouteKind, ShownRoute,
    Side, Tone,
};

/// The CSRF protection of requests with an ambient credential.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Csrf {
    /// The session's token, and a trusted origin or headers that do not state one.
    #[default]
    Token,
    /// A trusted origin; or headers that do not state one, and the token.
    OriginElseToken,
    /// A trusted origin.
    Origin,
    /// No check, for this reason.
    Exempt(String),
}

impl From<&CsrfPolicy> for Csrf {
    fn from(policy: &CsrfPolicy) -> Self {
        match policy {
            CsrfPolicy::Token => Self::Token,
            CsrfPolicy::OriginElseToken => Self::OriginElseToken,
            CsrfPolicy::Origin => Self::Origin,
            CsrfPolicy::Exempt(reason) => Self::Exempt((*reason).to_owned()),
        }
    }
}

const COLUMN: Column = Column { position: 3, ..Column::new("CSRF") };

pub(super) const FACET: FacetEntry = FacetEntry {
    name: "csrf",
    attribute: "csrf",
    about: "requests that other pages forge",
    gates: &[Gate::Csrf],
    why: "Browsers send cookies with every request to a site, whichever page caused it. \
         Without protection, any page that a logged-in user visits can act in their name.",
    links: &[(
        "OWASP, Cross-Site Request Forgery Prevention",
        "\
         https://cheatsheetseries.owasp.org/cheatsheets/Cross-Site_Request_Forgery_Prevention_Cheat_Sheet.html",
    )],
    columns: &[(COLUMN, cell)],
    refusals,
    relax: |route, refused| {
        (refused.refusal == Refusal::CsrfToken).then(|| {
            route.csrf = Csrf::Origin;
            "csrf: `origin`, which asks for no token".to_owned()
        })
    },
    is_open,
    change,
    ..FacetEntry::NONE
};

fn refusals(MethodRequests { route, method, .. }: MethodRequests<'_>, found: &mut Vec<Refusal>) {
    if matches!(route.csrf, Csrf::Exempt(_)) || route.kind == RouteKind::Tunnel {
        return;
    }
    if opens_socket(route) {
        found.push(Refusal::CsrfOrigin);
    }
    if is_safe(method) {
        return;
    }
    if route.is_ambient() || route.kind.is_service() {
        found.push(Refusal::CsrfOrigin);
    }
    if route.is_ambient() && route.csrf != Csrf::Origin {
        found.push(Refusal::CsrfToken);
    }
}

/// Whether it opens WebSockets by a credential that any page can have a browser send: automatically, or as
/// a ticket in the URL. The request acts for its caller, though its method is safe.
pub(crate) fn opens_socket(route: &ManifestRoute) -> bool {
    let takes_ticket = route.auth.requirement().is_some_and(|requirement| requirement.ticket);
    route.handler.takes.contains(&ArgumentKind::WebSocket) && (takes_ticket || route.is_ambient())
}

fn is_open(route: &ManifestRoute) -> bool {
    matches!(route.csrf, Csrf::Exempt(_)) && (route.is_ambient() || opens_socket(route))
}

fn change(old: Side<'_>, new: Side<'_>) -> Option<(Direction, String)> {
    let [old, new] = [old.route, new.route];
    let writes = |route: &ManifestRoute, other: &ManifestRoute| {
        let is_common = |method: &&String| other.methods.is_empty() || other.serves(method);
        route.kind.is_service()
            || route.is_ambient()
                && route.methods.iter().filter(is_common).any(|method| !is_safe(method))
    };
    let (was_writing, is_writing) = (writes(old, new), writes(new, old));
    if let (Csrf::Exempt(_), Csrf::Exempt(reason)) = (&old.csrf, &new.csrf)
        && (is_writing && !was_writing || opens_socket(new) && !opens_socket(old))
    {
        let words = format!("`exempt = {reason:?}` now covers a credential that browsers send");
        return Some((Direction::Opens, words));
    }
    if old.csrf == new.csrf {
        return None;
    }
    let takes_tokens = was_writing || is_writing;
    let is_protected = takes_tokens || opens_socket(old) || opens_socket(new);
    let [before, after] = [old, new].map(|route| match &route.csrf {
        // No page can add a token to a WebSocket, so its origin alone decides.
        Csrf::Token | Csrf::OriginElseToken if !takes_tokens => admits(&Csrf::Origin),
        csrf => admits(csrf),
    });
    let gains = |less: [bool; 3], more: [bool; 3]| {
        is_protected && less.iter().zip(more).any(|(less, more)| more && !less)
    };
    let direction = Direction::from_effects(gains(before, after), gains(after, before))
        .unwrap_or(Direction::Shifts);
    let words = |csrf: &Csrf| match csrf {
        Csrf::Token => "token".to_owned(),
        Csrf::OriginElseToken => "origin_else_token".to_owned(),
        Csrf::Origin => "origin".to_owned(),
        Csrf::Exempt(reason) => format!("exempt = {reason:?}"),
    };
    Some((direction, format!("was `{}`, is `{}`", words(&old.csrf), words(&new.csrf))))
}

/// Whether requests with a session are admitted: with a trusted origin and no token, with no origin and a
/// token, and with another origin.
fn admits(csrf: &Csrf) -> [bool; 3] {
    match csrf {
        Csrf::Token => [false, true, false],
        Csrf::OriginElseToken => [true, true, false],
        Csrf::Origin => [true, false, false],
        Csrf::Exempt(_) => [true, true, true],
    }
}

/// The CSRF protection, where browsers send a credential with requests that are not safe.
fn cell(ShownRoute { route, .. }: ShownRoute<'_>) -> Cell {
    if let Csrf::Exempt(reason) = &route.csrf {
        return Cell::plain(format!("exempt: {reason}")).with_tone(Tone::Risk);
    }
    let is_changing =
        route.methods.is_empty() || route.methods.iter().any(|method| !is_safe(method));
    if !is_changing || !(route.is_ambient() || route.kind.is_service()) {
        return Cell::nothing();
    }
    match &route.csrf {
        Csrf::Token => Cell::plain("token"),
        Csrf::OriginElseToken => Cell::plain("origin else token"),
        Csrf::Origin => Cell::plain("origin"),
        Csrf::Exempt(_) => Cell::nothing(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use http::{HeaderValue, Method};
    use policy_core::{
        csrf::{OriginFacts, Provenance, TokenVerdict},
        head::Single,
    };

    use super::{
        super::{Auth, RouteRequirement},
        *,
    };
    use crate::{
        Manifest,
        samples::{session, token},
    };

    fn subject(route: &ManifestRoute) -> ShownRoute<'_> {
        static NO_SETS: BTreeMap<&str, String> = BTreeMap::new();
        ShownRoute { route, sources: None, header_sets: &NO_SETS }
    }

    /// What each policy admits is what gate 8 admits.
    #[test]
    fn the_order_of_policies_is_the_order_of_decisions() {
        let sent = |origin: Option<&'static str>| {
            let value = origin.map(HeaderValue::from_static);
            let facts = OriginFacts {
                method: &Method::POST,
                is_upgrade: false,
                origin: value.as_ref().map_or(Single::Absent, Single::One),
                sec_fetch_site: Single::Absent,
                sec_fetch_mode: Single::Absent,
                referer: Single::Absent,
            };
            Provenance::judge(&facts, |origin| origin == b"https://own.example", |_| false)
        };
        let invalid = Some(TokenVerdict::Invalid);
        let valid = Some(TokenVerdict::Valid);
        for policy in [
            CsrfPolicy::Token,
            CsrfPolicy::OriginElseToken,
            CsrfPolicy::Origin,
            CsrfPolicy::Exempt("a webhook"),
        ] {
            let decided = [
                (Some("https://own.example"), invalid),
                (None, valid),
                (Some("https://other.example"), valid),
            ]
            .map(|(origin, token)| sent(origin).admit(policy, || token).is_ok());
            assert_eq!(admits(&Csrf::from(&policy)), decided, "{policy:?}");
        }
    }

    #[test]
    fn an_exemption_opens_where_a_websocket_acts_for_its_caller() {
        use Direction::{Narrows, Opens, Shifts};
        let (session, token) = (session(), token());
        let ticket = RouteRequirement { ticket: true, ..RouteRequirement::default() };
        let exempt = || Csrf::Exempt("a test".to_owned());
        let socket = Some(ArgumentKind::WebSocket);
        for (requirement, takes, old, new, expected) in [
            (&session, socket, Csrf::Token, exempt(), Opens),
            (&session, socket, exempt(), Csrf::Origin, Narrows),
            (&session, socket, Csrf::Token, Csrf::Origin, Shifts),
            (&session, None, Csrf::Token, exempt(), Shifts),
            (&ticket, socket, Csrf::Token, exempt(), Opens),
            (&token, socket, Csrf::Token, exempt(), Shifts),
        ] {
            let manifest = Manifest::new();
            let auth = Auth::Required(requirement.clone());
            let mut route = ManifestRoute::handler("/live", ["GET"], auth);
            route.handler.takes.extend(takes);
            let [before, after] = [old, new].map(|csrf| ManifestRoute { csrf, ..route.clone() });
            let [before, after] =
                [&before, &after].map(|route| Side { manifest: &manifest, route });
            let (direction, words) = change(before, after).unwrap();
            assert_eq!(direction, expected, "{requirement:?} {takes:?} {words}");
        }
    }

    #[test]
    fn an_exemption_opens_once_a_handler_acts_for_its_visitor() {
        use Direction::Opens;
        let hook = |methods: &[&str]| {
            let mut route = ManifestRoute::handler("/hook", methods.iter().copied(), Auth::Public);
            route.csrf = Csrf::Exempt("signed".to_owned());
            route
        };
        let with_session =
            |methods: &[&str]| ManifestRoute { takes_session: true, ..hook(methods) };
        let live = ManifestRoute { auth: Auth::Required(session()), ..hook(&["GET"]) };
        let mut socket = live.clone();
        socket.handler.takes.push(ArgumentKind::WebSocket);
        for (before, after, expected) in [
            (hook(&["POST"]), with_session(&["POST"]), Some(Opens)),
            (live, socket, Some(Opens)),
            (with_session(&["POST"]), hook(&["POST"]), None),
            (hook(&["GET"]), with_session(&["GET"]), None),
            // Only GET has both policies.
            (with_session(&["GET"]), with_session(&["GET", "POST"]), None),
        ] {
            let manifest = Manifest::new();
            let [before, after] =
                [&before, &after].map(|route| Side { manifest: &manifest, route });
            let found = change(before, after);
            assert_eq!(found.as_ref().map(|(direction, _)| *direction), expected, "{found:?}");
        }
    }

    #[test]
    fn csrf_is_told_where_a_browser_sends_a_credential_that_changes_something() {
        let session = Auth::Required(session());
        let of = |kind, methods: &[&str], auth: &Auth| {
            let route = ManifestRoute::new(kind, "/", methods.iter().copied(), auth.clone());
            cell(subject(&route))
        };
        let token = Cell::plain("token");
        for (kind, methods, auth, expected) in [
            (RouteKind::Handler, &["POST"][..], &session, &token),
            (RouteKind::Handler, &["GET", "QUERY"], &session, &Cell::nothing()),
            (RouteKind::Handler, &["POST"], &Auth::Public, &Cell::nothing()),
            (RouteKind::Mount, &["POST"], &Auth::Public, &token),
            (RouteKind::Fallback, &[], &Auth::Public, &token),
        ] {
            assert_eq!(of(kind, methods, auth), *expected, "{kind:?} {methods:?}");
        }
        let mut exempt = ManifestRoute::handler("/", ["GET"], Auth::Public);
        exempt.csrf = Csrf::Exempt("a webhook".to_owned());
        assert_eq!(cell(subject(&exempt)), Cell::plain("exempt: a webhook").with_tone(Tone::Risk));
    }
}
