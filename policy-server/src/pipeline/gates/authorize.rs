//! Gate 9: what a caller without the rights is told.

use std::borrow::Cow;

use http::HeaderValue;
use policy_core::{
    Refusal,
    auth::{Requirement, is_page_load, local_path},
    cookie::{PresentedCookie, SameSite, presented},
    method::is_safe,
};

use super::authenticate::{AuthView, AuthenticatedCaller};
use crate::auth::{Denial, RequestAuth};

/// Explains why gate 9 refuses.
pub(crate) fn denied(
    auth: &RequestAuth,
    policy: &Requirement,
    view: AuthView<'_>,
    caller: Option<&AuthenticatedCaller>,
    refusal: Refusal,
) -> Denial {
    let denied = Denial::from(refusal);
    match caller {
        Some(caller) => {
            let missing = caller.principal.missing_rights(policy);
            denied.explained(missing.map(Cow::Owned))
        }
        None if policy.session => {
            denied.login(login_page(auth, view)).explained(no_session(auth, view))
        }
        None => denied,
    }
}

/// Why a request has no session, if that is known: its page is cross-site, or its cookie was set by
/// another app.
fn no_session(auth: &RequestAuth, view: AuthView<'_>) -> Option<Cow<'static, str>> {
    let sessions = auth.guard().sessions.as_ref()?;
    match presented(view.headers, sessions.cookie_name()) {
        Ok(PresentedCookie::Absent) => withheld(sessions.withheld()?, view),
        Ok(PresentedCookie::Malformed | PresentedCookie::Candidate(_)) => {
            sessions.explain_no_login().map(Cow::Owned)
        }
        Ok(PresentedCookie::Ambiguous) | Err(_) => None,
    }
}

/// Why the page sent no cookie with this `SameSite`, if the request is cross-site.
fn withheld(same_site: SameSite, view: AuthView<'_>) -> Option<Cow<'static, str>> {
    let metadata = |name: &str| view.headers.get(name).map(HeaderValue::as_bytes);
    if metadata("sec-fetch-site") != Some(b"cross-site") {
        return None;
    }
    let is_link = metadata("sec-fetch-mode") == Some(b"navigate") && is_safe(view.method.as_str());
    let words = match same_site {
        SameSite::Lax if is_link => return None,
        SameSite::Strict => SITE_STRICT,
        SameSite::Lax | SameSite::None => SITE_LAX,
    };
    Some(Cow::Borrowed(words))
}

const SITE_LAX: &str = "cookie withheld: SameSite=Lax, cross-site; the page is of another site, from \
    which browsers send no session cookie: in development open both under one host name, such as \
    `localhost`, and for production see `policy_server::guide::cross_site`";

const SITE_STRICT: &str = "cookie withheld: SameSite=Strict, cross-site; the page is of another site, \
    from which browsers send no session cookie: in development open both under one host name, such \
    as `localhost`, and for production see `policy_server::guide::cross_site`";

/// The login page for a navigation without a session.
fn login_page(auth: &RequestAuth, view: AuthView<'_>) -> Option<HeaderValue> {
    let page = auth.guard().sessions.as_ref()?.login_page()?;
    if !is_page_load(view.method, view.headers) {
        return None;
    }
    let next = view.uri.path_and_query().and_then(|next| local_path(next.as_str()));
    // The login page returns to the requested page, unless another host could be read from its
    // path.
    let Some(next) = next else { return HeaderValue::from_str(page).ok() };
    let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
    let sign = if page.contains('?') { '&' } else { '?' };
    HeaderValue::from_str(&format!("{page}{sign}next={next}")).ok()
}
