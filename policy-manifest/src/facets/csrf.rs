//! `#[csrf]`: the protection against requests that other pages forge.

use policy_core::{csrf::CsrfPolicy, method::is_safe};
use serde::{Deserialize, Serialize};

use super::{
    Cell, Column, Direction, FacetEntry, ManifestRoute, RouteKind, ShownRoute, Side, Tone,
};

/// The CSRF protection of requests with an ambient credential.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Csrf {
    /// Its origin is one of ours, and it carries the session's token.
    #[default]
    Token,
    /// Its origin is one of ours; or its headers do not state one, and it carries the token.
    OriginElseToken,
    /// Its origin is one of ours.
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
    gates: &[(8, "csrf")],
    why: "Browsers send cookies with every request to a site, whichever page caused it. \
         Without protection, any page that a logged-in user visits can act in their name.",
    links: &[(
        "OWASP, Cross-Site Request Forgery Prevention",
        "\
         https://cheatsheetseries.owasp.org/cheatsheets/Cross-Site_Request_Forgery_Prevention_Cheat_Sheet.html",
    )],
    columns: &[(COLUMN, cell)],
    is_open,
    change,
    ..FacetEntry::NONE
};

fn is_open(route: &ManifestRoute) -> bool {
    matches!(route.csrf, Csrf::Exempt(_)) && route.is_ambient()
}

fn change(old: Side<'_>, new: Side<'_>) -> Option<(Direction, String)> {
    if old.route.csrf == new.route.csrf {
        return None;
    }
    let laxness = |csrf: &Csrf| match csrf {
        Csrf::Token => 0,
        Csrf::OriginElseToken => 1,
        Csrf::Origin => 2,
        Csrf::Exempt(_) => 3,
    };
    let protects = |route: &ManifestRoute| {
        route.is_ambient() && route.methods.iter().any(|method| !is_safe(method))
            || matches!(route.kind, RouteKind::Mount | RouteKind::Proxy | RouteKind::Fallback)
    };
    let direction = match laxness(&new.route.csrf).cmp(&laxness(&old.route.csrf)) {
        _ if !protects(old.route) && !protects(new.route) => Direction::Shifts,
        std::cmp::Ordering::Greater => Direction::Opens,
        std::cmp::Ordering::Less => Direction::Narrows,
        std::cmp::Ordering::Equal => Direction::Shifts,
    };
    let words = |csrf: &Csrf| match csrf {
        Csrf::Token => "token".to_owned(),
        Csrf::OriginElseToken => "origin_else_token".to_owned(),
        Csrf::Origin => "origin".to_owned(),
        Csrf::Exempt(reason) => format!("exempt = {reason:?}"),
    };
    Some((direction, format!("was `{}`, is `{}`", words(&old.route.csrf), words(&new.route.csrf))))
}

/// The CSRF protection, where browsers send a credential with requests that are not safe.
fn cell(ShownRoute { route, .. }: ShownRoute<'_>) -> Cell {
    if let Csrf::Exempt(reason) = &route.csrf {
        return Cell::plain(format!("exempt: {reason}")).with_tone(Tone::Risk);
    }
    let is_other_service =
        matches!(route.kind, RouteKind::Mount | RouteKind::Proxy | RouteKind::Fallback);
    let is_changing =
        route.methods.is_empty() || route.methods.iter().any(|method| !is_safe(method));
    if !is_changing || !(route.is_ambient() || is_other_service) {
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
    use super::{
        super::{Auth, RouteRequirement},
        *,
    };

    fn subject(route: &ManifestRoute) -> ShownRoute<'_> {
        ShownRoute { route, sources: None, header_sets: &[] }
    }

    #[test]
    fn csrf_is_told_where_a_browser_sends_a_credential_that_changes_something() {
        let session = RouteRequirement { session: true, ..RouteRequirement::default() };
        let session = Auth::Required(session);
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
