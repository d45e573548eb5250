//! CORS-preflight fetch (Fetch, 4.8).

use http::{HeaderMap, HeaderValue, Method, header};

use crate::{
    Credentials, Profile, Reason, ServerResponse,
    cors_check::cors_check,
    headers::{text, tokens},
    preflight_cache::{Allowed, PreflightCache},
    profile::{PreflightAge, WatchedUploads},
    request::{Request, cache_mode, is_safelisted},
};

/// Whether a cross-origin request needs a preflight at all (Fetch, 4.1).
pub(crate) fn is_due(profile: &Profile, request: &Request, unsafe_names: &[String]) -> bool {
    let sticks = profile.preflights_stick
        && !(profile.beacons_lose_fields && request.fetch.is_beacon)
        && (request.is_preflighted || request.is_unsafe);
    sticks || is_forced(request) || !is_safelisted(&request.method) || !unsafe_names.is_empty()
}

/// Whether the cache already allows what the preflight would ask for (Fetch, 4.3).
pub(crate) fn is_cached(
    cache: &PreflightCache,
    profile: &Profile,
    request: &Request,
    unsafe_names: &[String],
) -> bool {
    let is_anew = !profile.sandboxed_preflights_are_kept && request.is_redirect_tainted;
    if is_anew || profile.asks_anew.contains(&cache_mode(profile, request)) {
        return false;
    }
    let matching = cache.matching(profile, request);
    let is_star_kept = profile.stars_are_kept
        && (!profile.kept_stars_are_checked || request.fetch.credentials != Credentials::Include);
    let has_method = || matching.has_method(&request.method, is_star_kept);
    let needs_no_method = is_safelisted(&request.method)
        && !(profile.heads_need_methods && request.method == Method::HEAD);
    let is_allowed = match needs_no_method {
        false => has_method(),
        true if !is_forced(request) && !unsafe_names.is_empty() => true,
        true => match profile.watched_uploads {
            WatchedUploads::Method => has_method(),
            WatchedUploads::Anything => !matching.is_empty(),
        },
    };
    let by_star = |name: &str| match profile.kept_stars_are_checked {
        true => is_star_kept && covers(profile, name),
        false => is_star_kept && name != "authorization",
    };
    is_allowed && unsafe_names.iter().all(|name| matching.has_name(name, by_star(name)))
}

/// The fields that only a preflight has.
pub(crate) fn ask(request: &Request, unsafe_names: &[String]) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(10);
    headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
    if let Ok(method) = HeaderValue::from_str(request.method.as_str()) {
        headers.insert(header::ACCESS_CONTROL_REQUEST_METHOD, method);
    }
    if let (false, Ok(names)) =
        (unsafe_names.is_empty(), HeaderValue::from_str(&unsafe_names.join(",")))
    {
        headers.insert(header::ACCESS_CONTROL_REQUEST_HEADERS, names);
    }
    headers
}

/// Step 7, until the lists are read: what the response allows.
pub(crate) fn read(
    profile: &Profile,
    request: &Request,
    response: &ServerResponse,
) -> Result<Allowed, Reason> {
    let headers = &response.headers;
    if profile.preflights_know_taint || !request.is_same_origin() {
        cors_check(request.fetch.credentials, &request.preflight_origin(profile), headers)?;
    }
    if !(200..=299).contains(&response.status) {
        return Err(Reason::PreflightStatus(response.status));
    }
    let list = |name| tokens(headers, name).map_err(Reason::PreflightSyntax);
    let methods = list("access-control-allow-methods")?;
    let names = list("access-control-allow-headers")?.unwrap_or_default();
    let methods = match methods {
        None if is_forced(request) && !profile.uploads_need_methods => {
            vec![request.method.to_string()]
        }
        methods => methods.unwrap_or_default(),
    };
    let max_age = text(headers, "access-control-max-age");
    let is_bad = max_age.as_ref().is_some_and(|digits| !is_number(digits));
    let is_nothing =
        max_age.as_ref().filter(|_| is_bad).is_some_and(|text| match profile.max_age {
            PreflightAge::Lenient => false,
            PreflightAge::NotNegative => text.strip_prefix('-').is_some_and(is_number),
            PreflightAge::Strict => !text.is_empty(),
        });
    if is_nothing {
        return Ok(Allowed { methods, names, max_age: 0 });
    }
    let max_age = max_age.filter(|_| !is_bad);
    // A number that is too large for this type exceeds the limit of every browser.
    let max_age = max_age.map_or(5, |digits| digits.parse().unwrap_or(u64::MAX));
    Ok(Allowed { methods, names, max_age })
}

/// The rest of step 7: whether that includes the request.
pub(crate) fn judge(
    profile: &Profile,
    request: &Request,
    unsafe_names: &[String],
    allowed: &Allowed,
) -> Result<(), Reason> {
    let requested_method = request.method.as_str();
    let with_star = |list: &[String]| {
        request.fetch.credentials != Credentials::Include && list.iter().any(|one| one == "*")
    };
    if !allowed.methods.iter().any(|method| method == requested_method)
        && !is_safelisted(&request.method)
        && !with_star(&allowed.methods)
    {
        return Err(Reason::AllowMethods(requested_method.to_owned()));
    }
    let with_star = with_star(&allowed.names);
    for name in unsafe_names {
        let is_allowed = allowed.names.iter().any(|one| one.eq_ignore_ascii_case(name))
            || (with_star && covers(profile, name));
        if !is_allowed {
            return Err(Reason::AllowHeaders(name.clone()));
        }
    }
    Ok(())
}

/// The method of preflights.
pub(crate) const METHOD: Method = Method::OPTIONS;

/// The use-CORS-preflight flag: the upload has event listeners, or the content is a stream.
fn is_forced(request: &Request) -> bool {
    request.fetch.watches_upload || request.fetch.streams_body
}

/// Whether `*` matches this name; it does not match a CORS non-wildcard request-header name.
fn covers(profile: &Profile, name: &str) -> bool {
    profile.star_allows_authorization || name != "authorization"
}

fn is_number(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Fetch, run,
        trial::{Trial, app, engine, load, response},
    };

    const URL: &str = "https://api.test/";

    /// Asserts that a preflight is refused if its response has these fields besides a grant.
    fn assert_refused(fetch: Fetch, status: u16, fields: &[(&str, &str)]) -> Reason {
        let trial = preflighted(fetch, status, fields, &[]);
        assert!(trial.outcome.blocked().unwrap().in_preflight, "{:?}", trial.outcome);
        trial.reason().clone()
    }

    /// Asserts that a preflight is granted if its response has these fields besides a grant.
    fn assert_granted(fetch: Fetch, fields: &[(&str, &str)]) -> Trial {
        let trial = preflighted(fetch, 204, fields, &[grant()]);
        assert!(trial.outcome.is_readable(), "{:?}", trial.outcome);
        trial
    }

    fn preflighted(
        fetch: Fetch,
        status: u16,
        fields: &[(&str, &str)],
        rest: &[ServerResponse],
    ) -> Trial {
        let mut first = response(status, fields);
        first.headers.extend(grant().headers);
        load(&app(), fetch, &[&[first], rest].concat())
    }

    fn grant() -> ServerResponse {
        let origin = ("access-control-allow-origin", "https://app.test");
        response(200, &[origin, ("access-control-allow-credentials", "true")])
    }

    /// The methods of two loads of PUT, the second after an answer that fails or not.
    fn methods_of_two(profile: Profile, max_age: &str, second: &[(&str, &str)]) -> Vec<String> {
        let methods = "access-control-allow-methods";
        let age = ("access-control-max-age", max_age);
        let mut state = engine(profile);
        let mut sent = Vec::new();
        for fields in [second, &[("access-control-allow-origin", "https://app.test")]] {
            (state, _) = run(state, Some(&app()), Fetch::put(URL), |request| {
                sent.push(request.method.to_string());
                let star = ("access-control-allow-origin", "*");
                match request.is_preflight {
                    true => response(204, &[star, (methods, "PUT"), age]),
                    false => response(200, fields),
                }
            });
        }
        sent
    }

    #[test]
    fn webkit_keeps_no_preflight_with_a_negative_age_and_all_others_after_a_failure() {
        let granted = [("access-control-allow-origin", "https://app.test")];
        let again = ["OPTIONS", "PUT", "OPTIONS", "PUT"];
        let kept = ["OPTIONS", "PUT", "PUT"];
        for (profile, negative, failed) in [
            (Profile::STANDARD, &kept[..], &again[..]),
            (Profile::CHROMIUM, &again, &kept),
            (Profile::WEBKIT, &again, &kept),
        ] {
            assert_eq!(methods_of_two(profile, "-1", &granted), negative, "{}", profile.name);
            assert_eq!(methods_of_two(profile, "60", &[]), failed, "{}", profile.name);
        }
    }

    #[test]
    fn after_a_preflight_webkit_and_firefox_ask_every_host_on_the_way() {
        let preflights = |profile| {
            let mut count = 0;
            let fetch = Fetch::get(URL).header("authorization", "Bearer x");
            let _ = run(engine(profile), Some(&app()), fetch, |request| {
                count += usize::from(request.is_preflight);
                let star = ("access-control-allow-origin", "*");
                let names = ("access-control-allow-headers", "authorization");
                match request.url.host_str() {
                    Some("api.test") if !request.is_preflight => {
                        response(302, &[star, ("location", "https://other.test/")])
                    }
                    _ => response(200, &[star, names]),
                }
            });
            count
        };
        assert_eq!(preflights(Profile::STANDARD), 1, "`Authorization` stays behind");
        assert_eq!((preflights(Profile::FIREFOX), preflights(Profile::WEBKIT)), (2, 2));
    }

    const METHODS: &str = "access-control-allow-methods";
    const HEADERS: &str = "access-control-allow-headers";

    #[test]
    fn the_status_is_one_of_success() {
        for status in [199, 300, 302, 401, 404, 500] {
            let reason = assert_refused(Fetch::put(URL), status, &[(METHODS, "PUT")]);
            assert_eq!(reason, Reason::PreflightStatus(status));
        }
    }

    #[test]
    fn a_list_that_breaks_the_grammar_allows_nothing() {
        for field in [METHODS, HEADERS] {
            let reason =
                assert_refused(Fetch::put(URL), 204, &[(METHODS, "PUT"), (field, "PUT, a b")]);
            assert_eq!(reason, Reason::PreflightSyntax(field));
        }
    }

    #[test]
    fn methods_are_compared_letter_by_letter() {
        let reason = assert_refused(Fetch::patch(URL), 204, &[(METHODS, "patch")]);
        assert_eq!(reason, Reason::AllowMethods("PATCH".into()));
        assert_granted(Fetch::new("put", URL), &[(METHODS, "PUT")]);
    }

    #[test]
    fn names_are_compared_without_regard_to_case() {
        assert_granted(Fetch::get(URL).header("x-A", "1"), &[(HEADERS, "X-a")]);
        let reason = assert_refused(Fetch::get(URL).header("X-B", "1"), 204, &[(HEADERS, "x-a")]);
        assert_eq!(reason, Reason::AllowHeaders("x-b".into()));
    }

    #[test]
    fn a_star_is_a_name_with_credentials() {
        let star = [(METHODS, "*"), (HEADERS, "*")];
        let fetch = |credentials| Fetch::put(URL).header("x-a", "1").credentials(credentials);
        assert_granted(fetch(Credentials::Omit), &star);
        let reason = assert_refused(fetch(Credentials::Include), 204, &star);
        assert_eq!(reason, Reason::AllowMethods("PUT".into()));
    }

    #[test]
    fn engines_let_a_star_allow_authorization_unlike_the_standard() {
        let fetch = || Fetch::get(URL).header("authorization", "Bearer x");
        let reason = assert_refused(fetch(), 204, &[(HEADERS, "*")]);
        assert_eq!(reason, Reason::AllowHeaders("authorization".into()));
        for profile in [Profile::CHROMIUM, Profile::FIREFOX, Profile::WEBKIT] {
            let (_, outcome) = run(engine(profile), Some(&app()), fetch(), |_| {
                let mut response = grant();
                response.headers.insert(HEADERS, HeaderValue::from_static("*"));
                response
            });
            assert!(outcome.is_readable(), "{}: {outcome:?}", profile.name);
        }
    }

    #[test]
    fn an_upload_listener_causes_a_preflight_without_listed_methods() {
        let trial = assert_granted(Fetch::post(URL).watch_upload(), &[]);
        assert!(trial.sent[0].is_preflight);
        let stream = assert_granted(Fetch::post(URL).body("x").stream_body(), &[]);
        assert!(stream.sent[0].is_preflight && stream.sent[0].body.is_none());
    }

    #[test]
    fn an_upload_listener_needs_its_method_in_chromium_and_firefox() {
        let is_granted = |profile, fetch: Fetch| {
            let fetch = fetch.body("x").watch_upload();
            run(engine(profile), Some(&app()), fetch, |_| grant()).1.is_readable()
        };
        assert!(is_granted(Profile::STANDARD, Fetch::put(URL)));
        for engine in [Profile::CHROMIUM, Profile::FIREFOX] {
            assert!(is_granted(engine, Fetch::post(URL)), "{}", engine.name);
            assert!(!is_granted(engine, Fetch::put(URL)), "{}", engine.name);
        }
    }

    #[test]
    fn a_preflight_to_the_own_origin_needs_no_grant_in_firefox() {
        let asks = |profile| {
            let mut count = 0;
            run(engine(profile), Some(&app()), Fetch::get(URL).header("x-a", "1"), |request| {
                count += 1;
                let mut response = match request.url.host_str() {
                    Some("api.test") => grant(),
                    _ => response(200, &[]),
                };
                response.headers.insert(HEADERS, HeaderValue::from_static("x-a"));
                if request.url.as_str() == URL && !request.is_preflight {
                    response.status = 302;
                    let own = HeaderValue::from_static("https://app.test/own");
                    response.headers.insert(header::LOCATION, own);
                }
                response
            });
            count
        };
        assert_eq!((asks(Profile::STANDARD), asks(Profile::FIREFOX)), (3, 4));
    }

    #[test]
    fn a_preflight_names_the_method_and_sorted_headers() {
        let fetch = Fetch::put(URL).header("x-b", "1").header("X-A", "1").header("accept", "*/*");
        let trial = assert_granted(fetch, &[(METHODS, "PUT"), (HEADERS, "x-a,x-b")]);
        let preflight = &trial.sent[0];
        assert_eq!(preflight.method, "OPTIONS");
        assert_eq!(preflight.headers["access-control-request-method"], "PUT");
        assert_eq!(preflight.headers["access-control-request-headers"], "x-a,x-b");
        assert_eq!(preflight.headers["origin"], "https://app.test");
        assert_eq!(preflight.headers["accept"], "*/*");
        assert_eq!(preflight.headers["sec-fetch-mode"], "cors");
    }
}
