//! Gate 9: authorization.

use http::{HeaderValue, Method};
use policy_core::{
    Refusal,
    auth::{Requirement, local_path},
};

use super::authenticate::{Authenticated, RequestView};
use crate::auth::{Denied, RequestAuth};

/// Refuses where the route requires another caller than the request has.
pub(crate) fn check(
    auth: &RequestAuth,
    policy: &Requirement,
    view: RequestView<'_>,
    caller: Option<&Authenticated>,
) -> Result<(), Denied> {
    match caller {
        None if policy.optional => Ok(()),
        None => {
            let login = if policy.session { login_page(auth, view) } else { None };
            Err(Denied::from(Refusal::CredentialsMissing).login(login))
        }
        Some(Authenticated { principal, .. }) => {
            principal.satisfies(policy, || auth.guard().clock.steady()).map_err(Denied::from)
        }
    }
}

/// The login page for a navigation without a session.
fn login_page(auth: &RequestAuth, view: RequestView<'_>) -> Option<HeaderValue> {
    let page = auth.guard().sessions.as_ref()?.login_page()?;
    let navigates = view.headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate");
    if !navigates || *view.method != Method::GET {
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
