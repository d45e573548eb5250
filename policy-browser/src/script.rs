//! Script elements (HTML, fetch a classic script): a response that runs in the page.

use http::{HeaderMap, HeaderValue};

use crate::{
    Outcome, Profile, Reason, ServerResponse, filter::filter, grammar::trim, headers::text,
    mime::Mime, request::Request,
};

/// Runs the response, if its status and its type allow it.
pub(crate) fn load(
    profile: &Profile,
    request: &Request,
    response: ServerResponse,
    is_cached: bool,
) -> Result<Outcome, Reason> {
    check_type(&response.headers)?;
    let last = if profile.scripts_of_300_run { 399 } else { 299 };
    if !(200..=last).contains(&response.status) {
        return Ok(Outcome::Response(filter(profile, request, response, is_cached)));
    }
    Ok(Outcome::Script(response.body))
}

/// Should the response be blocked due to its MIME type, or due to nosniff (Fetch, 2.9 and 3.6).
pub(crate) fn check_type(headers: &HeaderMap) -> Result<(), Reason> {
    let mime = Mime::extract(headers);
    let is_script = mime.as_ref().is_some_and(Mime::is_script);
    let is_never_script = mime.as_ref().is_some_and(Mime::is_never_script);
    if is_never_script || (is_nosniff(headers) && !is_script) {
        return Err(Reason::ScriptType(text(headers, "content-type").unwrap_or_default()));
    }
    Ok(())
}

/// Determine nosniff (Fetch, 3.6): the first value counts.
fn is_nosniff(headers: &HeaderMap) -> bool {
    let first = headers.get("x-content-type-options").map(HeaderValue::as_bytes);
    let first = first.and_then(|line| line.split(|byte| *byte == b',').next());
    first.is_some_and(|value| trim(value).eq_ignore_ascii_case(b"nosniff"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Fetch,
        trial::{app, load, response},
    };

    fn run(status: u16, fields: &[(&str, &str)]) -> Outcome {
        load(&app(), Fetch::script("https://api.test/s"), &[response(status, fields)]).outcome
    }

    const NOSNIFF: (&str, &str) = ("x-content-type-options", "NoSniff, x");

    #[test]
    fn a_response_of_another_origin_runs_without_a_grant() {
        let Outcome::Script(text) = run(200, &[]) else { panic!("it runs") };
        assert_eq!(text, b"content");
        assert!(matches!(run(200, &[("content-type", "application/json")]), Outcome::Script(_)));
    }

    #[test]
    fn with_nosniff_the_type_must_be_that_of_a_script() {
        for (mime, runs) in [
            ("text/javascript; charset=utf-8", true),
            ("application/json", false),
            ("text/html", false),
        ] {
            let outcome = run(200, &[("content-type", mime), NOSNIFF]);
            assert_eq!(matches!(outcome, Outcome::Script(_)), runs, "{mime}");
        }
        let refused = run(200, &[NOSNIFF]);
        assert_eq!(refused.blocked().unwrap().reason, Reason::ScriptType(String::new()));
    }

    #[test]
    fn an_image_never_runs() {
        assert!(run(200, &[("content-type", "image/png")]).blocked().is_some());
    }

    #[test]
    fn an_error_does_not_run() {
        let outcome = run(404, &[("content-type", "text/javascript")]);
        assert_eq!(outcome.response().unwrap().status, 0);
    }
}
