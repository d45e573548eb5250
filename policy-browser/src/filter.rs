//! Filtered responses (Fetch, 2.2.6): which parts of a response a page sees.

use http::{HeaderMap, HeaderName, Method};
use url::Url;

use crate::{
    Credentials, Profile, Response, ResponseType, ServerResponse,
    headers::{has_star, is_forbidden_response, is_shown, tokens},
    request::{Request, Tainting},
};

const EXPOSED: &str = "access-control-expose-headers";

/// The filtered response that the page gets.
pub(crate) fn filter(
    profile: &Profile,
    request: &Request,
    response: ServerResponse,
    is_cached: bool,
) -> Response {
    let keep: &dyn Fn(&HeaderName) -> bool = match request.tainting {
        Tainting::Opaque => return nothing(request, ResponseType::Opaque, is_cached),
        Tainting::Basic => &|name| !is_forbidden_response(name),
        Tainting::Cors => {
            let written = tokens(&response.headers, EXPOSED);
            let by_star = profile.star_ends_expose_list
                && written.is_err()
                && has_star(&response.headers, EXPOSED);
            let exposed = written.ok().flatten().unwrap_or_default();
            let all = request.fetch.credentials != Credentials::Include
                && (by_star || exposed.iter().any(|name| name == "*"));
            &move |name| is_shown(name, &exposed, all)
        }
    };
    Response {
        kind: match request.tainting {
            Tainting::Cors => ResponseType::Cors,
            _ => ResponseType::Basic,
        },
        url: Some(shown_url(request)),
        is_redirected: !request.redirected_from.is_empty(),
        status: response.status,
        headers: retain(response.headers, keep),
        body: if has_content(request, response.status) { response.body } else { Vec::new() },
        is_cached,
    }
}

/// A response that shows nothing: an opaque one, or a redirect in mode `manual`.
pub(crate) fn nothing(request: &Request, kind: ResponseType, is_cached: bool) -> Response {
    Response {
        kind,
        url: (kind == ResponseType::OpaqueRedirect).then(|| shown_url(request)),
        is_redirected: false,
        status: 0,
        headers: HeaderMap::new(),
        body: Vec::new(),
        is_cached,
    }
}

/// The URL without its fragment (Fetch, the `url` getter of `Response`).
fn shown_url(request: &Request) -> Url {
    let mut url = request.url.clone();
    url.set_fragment(None);
    url
}

/// Whether the response has content: not after HEAD, nor with a null body status.
fn has_content(request: &Request, status: u16) -> bool {
    request.method != Method::HEAD && !matches!(status, 101 | 103 | 204 | 205 | 304)
}

fn retain(mut headers: HeaderMap, keep: &dyn Fn(&HeaderName) -> bool) -> HeaderMap {
    let hidden: Vec<HeaderName> = headers.keys().filter(|name| !keep(name)).cloned().collect();
    for name in hidden {
        headers.remove(name);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Fetch,
        trial::{app, load, load_by, response},
    };

    /// The names that a page of another origin sees.
    fn visible_names(credentials: Credentials, exposed: &str) -> Vec<String> {
        let fields = [
            ("access-control-allow-origin", "https://app.test"),
            ("access-control-allow-credentials", "true"),
            ("access-control-expose-headers", exposed),
            ("content-type", "text/plain"),
            ("set-cookie", "a=1"),
            ("x-a", "1"),
            ("x-b", "1"),
        ];
        let fetch = Fetch::get("https://api.test/").credentials(credentials);
        let trial = load(&app(), fetch, &[response(200, &fields)]);
        let response = trial.outcome.response().unwrap();
        let mut names: Vec<_> = response.headers.keys().map(ToString::to_string).collect();
        names.retain(|name| !name.starts_with("access-control-"));
        names.sort();
        names
    }

    #[test]
    fn firefox_stops_reading_the_exposed_fields_at_a_star() {
        let is_shown = |profile, lines: [&str; 2], credentials| {
            let name = "access-control-expose-headers";
            let origin = ("access-control-allow-origin", "https://app.test");
            let allowed = ("access-control-allow-credentials", "true");
            let fields = [origin, allowed, (name, lines[0]), (name, lines[1]), ("x-a", "1")];
            let fetch = Fetch::get("https://api.test/").credentials(credentials);
            let trial = load_by(profile, &app(), fetch, &[response(200, &fields)]);
            trial.outcome.response().unwrap().headers.contains_key("x-a")
        };
        let [omit, include] = [Credentials::Omit, Credentials::Include];
        assert!(is_shown(Profile::FIREFOX, ["*", "x b"], omit));
        assert!(!is_shown(Profile::FIREFOX, ["*", "x b"], include));
        assert!(!is_shown(Profile::FIREFOX, ["x b", "*"], omit));
        assert!(!is_shown(Profile::FIREFOX, ["x-a", "x b"], omit));
        assert!(!is_shown(Profile::STANDARD, ["*", "x b"], omit));
    }

    #[test]
    fn safelisted_and_exposed_fields_are_seen() {
        assert_eq!(visible_names(Credentials::Omit, "X-A, Set-Cookie"), ["content-type", "x-a"]);
    }

    #[test]
    fn a_star_is_all_but_cookies_and_with_credentials_a_name() {
        assert_eq!(visible_names(Credentials::Omit, "*"), ["content-type", "x-a", "x-b"]);
        assert_eq!(visible_names(Credentials::Include, "*"), ["content-type"]);
    }

    #[test]
    fn a_list_that_is_none_exposes_nothing() {
        assert_eq!(visible_names(Credentials::Omit, "x-a, x b"), ["content-type"]);
    }

    #[test]
    fn the_own_origin_sees_all_but_cookies() {
        let fields = [("set-cookie", "a=1"), ("x-a", "1")];
        let trial = load(&app(), Fetch::get("/"), &[response(200, &fields)]);
        let response = trial.outcome.response().unwrap();
        assert_eq!(response.kind, ResponseType::Basic);
        assert_eq!(response.headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["x-a"]);
    }

    #[test]
    fn without_cors_nothing_is_seen() {
        let fetch = Fetch::image("https://api.test/");
        let trial = load(&app(), fetch, &[response(200, &[("x-a", "1")])]);
        let response = trial.outcome.response().unwrap();
        assert_eq!((response.kind, response.status), (ResponseType::Opaque, 0));
        assert!(response.headers.is_empty() && response.body.is_empty() && response.url.is_none());
    }

    #[test]
    fn responses_to_head_and_with_204_have_no_content() {
        for (method, status) in [("HEAD", 200), ("GET", 204)] {
            let trial = load(&app(), Fetch::new(method, "/"), &[response(status, &[])]);
            assert!(trial.outcome.response().unwrap().body.is_empty(), "{method} {status}");
        }
    }
}
