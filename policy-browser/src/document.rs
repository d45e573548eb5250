//! Navigations (HTML, 7.4): how a response becomes a document.

use crate::{
    Destination, Outcome, Page, Profile, Reason, ResponseType, ServerResponse,
    csp::{csp, directive},
    filter::{filter, nothing},
    framing,
    headers::text,
    referrer,
    request::Request,
};

/// Creates a page from a response, if it may be displayed in its window or frame.
pub(crate) fn load(
    profile: &Profile,
    request: &Request,
    response: ServerResponse,
    is_cached: bool,
) -> Result<Outcome, Reason> {
    if !is_document(&response) {
        return Ok(Outcome::Response(nothing(request, ResponseType::Opaque, is_cached)));
    }
    let url = &request.url;
    let frame_of = match request.fetch.destination {
        Destination::Frame => request.page.as_ref(),
        _ => None,
    };
    if let Some(parent) = frame_of {
        framing::check(profile, parent, request, &response.headers)?;
    }
    let is_sandboxed = csp(&response.headers).any(|policy| is_sandbox(&policy));
    let page = frame_of.map_or_else(|| Page::at(url.clone()), |parent| parent.framed(url.clone()));
    let page = if is_sandboxed { page.sandboxed() } else { page };
    let referrer_policy = referrer::policy(&response.headers).unwrap_or_default();
    let page = Page { referrer_policy, ..page };
    Ok(Outcome::Page(page, filter(profile, request, response, is_cached)))
}

/// Whether a policy makes the origin opaque.
fn is_sandbox(policy: &str) -> bool {
    directive(policy, "sandbox").is_some_and(|flags| !flags.contains(&"allow-same-origin"))
}

/// With other responses the current document stays, because there is no content or it is a
/// download.
fn is_document(response: &ServerResponse) -> bool {
    let is_saved = || {
        text(&response.headers, "content-disposition").is_some_and(|disposition| {
            let kind = disposition.split(';').next().unwrap_or_default();
            !kind.trim().is_empty() && !kind.trim().eq_ignore_ascii_case("inline")
        })
    };
    !matches!(response.status, 204 | 205) && !is_saved()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Fetch, ReferrerPolicy,
        trial::{app, load, response},
    };

    fn open(fetch: Fetch, status: u16, fields: &[(&str, &str)]) -> Outcome {
        load(&app(), fetch, &[response(status, fields)]).outcome
    }

    #[test]
    fn a_link_leads_to_a_page_of_its_own() {
        let outcome = open(Fetch::navigate("https://api.test/a"), 404, &[]);
        assert_eq!(outcome.page(), Some(&Page::at("https://api.test/a".parse().unwrap())));
        assert!(!outcome.is_readable());
    }

    #[test]
    fn a_frame_belongs_to_the_window_of_its_parent() {
        let page = open(Fetch::frame("https://api.test/a"), 200, &[]);
        let page = page.page().unwrap();
        assert_eq!(page.top_level, app().url);
        assert_eq!(page.origin.to_string(), "https://api.test");
        assert!(!page.has_same_site_ancestors);
        assert!(open(Fetch::frame("/b"), 200, &[]).page().unwrap().has_same_site_ancestors);
    }

    #[test]
    fn a_sandbox_makes_the_origin_opaque() {
        for (policy, origin) in [
            ("sandbox", "null"),
            ("Sandbox allow-scripts", "null"),
            ("sandbox allow-same-origin", "https://app.test"),
            ("default-src 'none'", "https://app.test"),
        ] {
            let outcome = open(Fetch::navigate("/"), 200, &[("content-security-policy", policy)]);
            assert_eq!(outcome.page().unwrap().origin.to_string(), origin, "{policy}");
        }
    }

    #[test]
    fn a_frame_in_a_sandbox_is_sandboxed() {
        let url = || "https://api.test/a".parse().unwrap();
        let sandbox = ("content-security-policy", "sandbox allow-scripts");
        let sandboxed = open(Fetch::navigate("/"), 200, &[sandbox]);
        for (parent, origin) in [
            (sandboxed.page().unwrap(), "null"),
            (&app().framed(app().url).sandboxed(), "null"),
            (&app(), "https://api.test"),
            // Its origin is opaque, and none of its frames inherits it.
            (&Page::at("data:text/html,x".parse().unwrap()), "https://api.test"),
        ] {
            let trial = load(parent, Fetch::frame("https://api.test/a"), &[response(200, &[])]);
            let page = trial.outcome.page().unwrap();
            assert_eq!(*page, parent.framed(url()));
            assert_eq!(page.origin.to_string(), origin);
            assert_eq!(page.framed(url()).origin.to_string(), origin, "and so on");
        }
    }

    #[test]
    fn a_page_has_the_referrer_policy_that_it_says() {
        let outcome = open(Fetch::navigate("/"), 200, &[("referrer-policy", "origin")]);
        assert_eq!(outcome.page().unwrap().referrer_policy, ReferrerPolicy::Origin);
    }

    #[test]
    fn nothing_and_a_download_leave_the_page_where_it_is() {
        assert!(open(Fetch::navigate("/"), 204, &[]).page().is_none());
        for (disposition, leaves) in [("attachment; filename=a", false), ("INLINE", true)] {
            let outcome = open(Fetch::navigate("/"), 200, &[("content-disposition", disposition)]);
            assert_eq!(outcome.page().is_some(), leaves, "{disposition}");
        }
    }

    #[test]
    fn a_form_states_its_origin() {
        let form = Fetch::form("https://api.test/pay", [("to", "me")]);
        let trial = load(&app(), form, &[response(200, &[])]);
        assert_eq!(trial.last("origin"), Some("https://app.test"));
        assert_eq!(trial.last("sec-fetch-site"), Some("cross-site"));
        assert_eq!(trial.sent[0].body.as_deref(), Some(&b"to=me"[..]));
    }
}
