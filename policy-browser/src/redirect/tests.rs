use super::*;
use crate::{
    Fetch, Outcome, Redirect, ReferrerPolicy, ResponseType, run,
    trial::{app, browser, engine, load, load_by, load_in, page, response},
};

const STAR: (&str, &str) = ("access-control-allow-origin", "*");

fn to(status: u16, location: &str) -> ServerResponse {
    response(status, &[STAR, ("location", location), ("access-control-allow-headers", "*")])
}

fn end() -> ServerResponse {
    response(200, &[STAR])
}

/// The method after a redirect, and whether the content and its type were sent again.
fn after(status: u16, method: &str) -> (String, bool, bool) {
    let mut fetch = Fetch::new(method, "/a").header("content-type", "text/plain");
    if method != "GET" {
        fetch = fetch.body("x");
    }
    let trial = load(&app(), fetch, &[to(status, "/b"), end()]);
    let last = trial.sent.last().unwrap();
    let has_type = last.headers.contains_key("content-type");
    (last.method.to_string(), last.body.is_some(), has_type)
}

#[test]
fn a_post_becomes_a_get_where_the_web_expects_it() {
    for status in [301, 302] {
        assert_eq!(after(status, "POST"), ("GET".into(), false, false), "{status}");
        assert_eq!(after(status, "PUT"), ("PUT".into(), true, true), "{status}");
        // RFC 10008 2.5
        assert_eq!(after(status, "QUERY"), ("QUERY".into(), true, true), "{status}");
    }
    for method in ["POST", "PUT", "QUERY", "DELETE"] {
        assert_eq!(after(303, method), ("GET".into(), false, false));
    }
    for (status, method) in [(307, "POST"), (308, "POST"), (307, "PUT")] {
        assert_eq!(after(status, method), (method.into(), true, true));
    }
    assert_eq!(after(303, "GET"), ("GET".into(), false, true));
}

/// A field of the last request, after redirects to these addresses.
fn last(profile: Profile, fetch: Fetch, targets: &[(u16, &str)], name: &str) -> Option<String> {
    let mut left = targets.iter();
    let mut value = None;
    let _ = run(engine(profile), Some(&app()), fetch, |request| {
        let granted = [STAR, ("access-control-allow-headers", "authorization, *")];
        if request.is_preflight {
            return response(204, &[granted[0], granted[1], ("access-control-allow-methods", "*")]);
        }
        value = request.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        left.next().map_or_else(end, |(status, target)| to(*status, target))
    });
    assert!(left.next().is_none(), "{value:?}");
    value
}

#[test]
fn chromium_drops_client_hints_on_a_redirect() {
    let hint = |profile, to| {
        last(profile, Fetch::get("/a").header("rtt", "50"), &[(302, to)], "rtt").is_some()
    };
    for (profile, is_kept) in [(Profile::STANDARD, true), (Profile::CHROMIUM, false)] {
        assert_eq!(hint(profile, "https://api.test/"), is_kept);
        assert!(hint(profile, "/b"));
    }
}

#[test]
fn in_firefox_a_field_comes_back_with_the_redirect_after_the_one_that_removed_it() {
    let away = (302, "https://api.test/a");
    let fetch = || Fetch::get("/").header("authorization", "Bearer x");
    for (profile, comes_back) in [(Profile::STANDARD, false), (Profile::FIREFOX, true)] {
        let authorization =
            |targets: &[_]| last(profile, fetch(), targets, "authorization").is_some();
        assert!(!authorization(&[away]));
        assert_eq!(authorization(&[away, (302, "/b")]), comes_back);
    }
    let content = |method, targets: &[_]| {
        let fetch = Fetch::new(method, "/").header("content-type", "text/plain").body("x");
        last(Profile::FIREFOX, fetch, targets, "content-type").is_some()
    };
    assert!(!content("PATCH", &[(303, "/b")]));
    assert!(content("PATCH", &[(303, "/b"), (302, "/c")]));
    assert!(!content("POST", &[(303, "/b"), (302, "/c")]));
}

#[test]
fn firefox_asks_for_the_type_of_a_content_that_it_no_longer_sends() {
    for (profile, expected) in [(Profile::STANDARD, None), (Profile::FIREFOX, Some("content-type"))]
    {
        let targets = [(302, "/b"), (302, "https://api.test/")];
        let fetch = Fetch::post("/a").header("content-type", "application/json").body("x");
        let names = preflight_field(profile, fetch, &targets, "access-control-request-headers");
        assert_eq!(names.as_deref(), expected, "{}", profile.name);
    }
}

#[test]
fn in_firefox_redirected_beacons_do_not_regain_their_content_type() {
    let plain = Fetch::post("/").header("content-type", "text/plain").body("x");
    let beacon = Fetch::beacon("/", "text/plain", "x");
    for (fetch, comes_back) in [(plain, true), (beacon, false)] {
        let targets = [(303, "/b"), (307, "/c")];
        let value = last(Profile::FIREFOX, fetch, &targets, "content-type");
        assert_eq!(value.is_some(), comes_back);
    }
    let json = Fetch::post("/").header("content-type", "application/json").body("x");
    let beacon = Fetch::beacon("/", "application/json", "x");
    for (fetch, is_asked) in [(json, true), (beacon, false)] {
        let targets = [(303, "https://api.test/")];
        let method =
            preflight_field(Profile::FIREFOX, fetch, &targets, "access-control-request-method");
        assert_eq!(method.is_some(), is_asked);
    }
}

#[test]
fn webkit_sends_the_type_of_a_content_that_was_to_be_deleted_elsewhere() {
    for (method, status, is_sent) in [("DELETE", 307, true), ("POST", 302, false)] {
        let fetch = Fetch::new(method, "/").header("content-type", "text/plain").body("x");
        let target = (status, "https://api.test/a");
        let value = last(Profile::WEBKIT, fetch, &[target], "content-type");
        assert_eq!(value.is_some(), is_sent, "{method}");
    }
}

#[test]
fn webkit_asks_for_an_authorization_that_it_does_not_send() {
    for (profile, expected) in [(Profile::STANDARD, None), (Profile::WEBKIT, Some("authorization"))]
    {
        let targets = [(307, "https://api.test/a")];
        let fetch = Fetch::put("/a").header("authorization", "Bearer x");
        let names = preflight_field(profile, fetch, &targets, "access-control-request-headers");
        assert_eq!(names.as_deref(), expected, "{}", profile.name);
    }
}

#[test]
fn in_webkit_the_type_of_a_content_comes_back_after_the_redirect_that_removed_it() {
    let [here, there] = ["/b", "https://api.test/c"];
    let has_type = |profile, targets: &[_]| {
        let fetch = Fetch::post("/").credentials(Credentials::Omit);
        let fetch = fetch.header("content-type", "text/plain").body("x");
        last(profile, fetch, targets, "content-type").is_some()
    };
    for (targets, comes_back) in [
        ([(302, here), (302, here)], false),
        ([(302, here), (307, here)], true),
        ([(302, here), (302, there)], true),
        ([(302, there), (302, "/d")], true),
        ([(307, here), (302, there)], false),
    ] {
        assert_eq!(has_type(Profile::WEBKIT, &targets), comes_back, "{targets:?}");
        assert!(!has_type(Profile::STANDARD, &targets), "{targets:?}");
    }
}

/// The value of a field of the preflight that follows redirects to these addresses.
fn preflight_field(
    profile: Profile,
    fetch: Fetch,
    targets: &[(u16, &str)],
    name: &str,
) -> Option<String> {
    let mut left = targets.iter();
    let mut value = None;
    let page = page("https://app.test/page");
    let _ = run(engine(profile), Some(&page), fetch, |request| {
        if !request.is_preflight {
            return left.next().map_or_else(end, |(status, target)| to(*status, target));
        }
        if left.len() > 0 {
            return response(204, &[STAR, ("access-control-allow-methods", "*")]);
        }
        value = request.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        response(403, &[])
    });
    value
}

#[test]
fn in_webkit_preflights_after_a_redirect_are_for_a_new_request() {
    let away = "https://api.app.test/";
    let typed = || Fetch::put("/a").header("content-type", "application/json").body("x");
    for (profile, [names, referrer, site]) in [
        (Profile::STANDARD, [None, Some("https://app.test/"), Some("same-site")]),
        (
            Profile::WEBKIT,
            [Some("content-type"), Some("https://app.test/page"), Some("cross-site")],
        ),
    ] {
        let named = typed().header("x-a", "1");
        let targets = [(303, away)];
        let value = preflight_field(profile, named, &targets, "access-control-request-headers");
        let all = names.map_or("x-a".to_owned(), |names| format!("{names},x-a"));
        assert_eq!(value, Some(all), "{}", profile.name);
        let value = preflight_field(profile, Fetch::put("/a"), &[(307, away)], "referer");
        assert_eq!(value.as_deref(), referrer, "{}", profile.name);
        let targets = [(307, "https://app.test/b")];
        let value = preflight_field(profile, Fetch::put(away), &targets, "sec-fetch-site");
        assert_eq!(value.as_deref(), site, "{}", profile.name);
    }
}

#[test]
fn webkit_shows_the_content_of_a_redirect_to_nowhere() {
    let has_content = |profile, fields: &[_]| {
        let fetch = Fetch::get("/a").redirect(Redirect::Manual);
        let trial = load_by(profile, &app(), fetch, &[response(302, fields)]);
        !trial.outcome.response().unwrap().body.is_empty()
    };
    assert!(has_content(Profile::WEBKIT, &[]) && !has_content(Profile::STANDARD, &[]));
    assert!(!has_content(Profile::WEBKIT, &[("location", "/b")]));
}

#[test]
fn webkit_forgets_the_origin_of_a_post_that_leads_to_another_origin_as_a_get() {
    let origin = |profile, mode, target| {
        last(profile, Fetch::post("/a").mode(mode), &[(302, target)], "origin")
    };
    for mode in [Mode::NoCors, Mode::SameOrigin] {
        assert_eq!(origin(Profile::WEBKIT, mode, "/b").as_deref(), Some("https://app.test"));
        assert_eq!(origin(Profile::STANDARD, mode, "/b"), None);
    }
    assert_eq!(origin(Profile::WEBKIT, Mode::NoCors, "https://api.test/b"), None);
    let away = "https://api.test/b";
    for (targets, has_origin) in [
        (&[(307, away), (302, "/c")][..], true),
        (&[(302, "/b"), (302, away)], false),
        (&[(302, away), (302, "/c")], false),
    ] {
        let post = || Fetch::post("/a").mode(Mode::NoCors);
        let origin = |profile| last(profile, post(), targets, "origin");
        assert_eq!(origin(Profile::WEBKIT).is_some(), has_origin, "{targets:?}");
        assert_eq!(origin(Profile::STANDARD), None, "{targets:?}");
    }
}

#[test]
fn webkit_decides_about_the_credentials_of_all_redirects_at_the_start() {
    let is_led_on = |profile, fetch: Fetch, credentials| {
        let granted = ("access-control-allow-origin", "https://app.test");
        let credentials = ("access-control-allow-credentials", credentials);
        let mut count = 0;
        let _ = run(engine(profile), Some(&app()), fetch, |request| {
            count += 1;
            match request.url.path() {
                "/own" => to(302, "https://api.test/a"),
                "/a" => response(302, &[granted, credentials, ("location", "/b")]),
                _ => end(),
            }
        });
        count == 3
    };
    let own = || Fetch::get("/own");
    assert!(is_led_on(Profile::STANDARD, own(), "false"));
    assert!(!is_led_on(Profile::WEBKIT, own(), "false"));
    assert!(is_led_on(Profile::WEBKIT, own(), "true"));
    assert!(is_led_on(Profile::WEBKIT, own().credentials(Credentials::Omit), "false"));
}

#[test]
fn authorization_stays_with_the_origin_that_it_was_for() {
    let fetch = || Fetch::get("/a").header("authorization", "Bearer x");
    let own = load(&app(), fetch(), &[to(302, "/b"), end()]);
    assert_eq!(own.last("authorization"), Some("Bearer x"));
    let other = load(&app(), fetch(), &[to(302, "https://api.test/"), end()]);
    assert_eq!(other.last("authorization"), None);
}

#[test]
fn twenty_redirects_are_followed() {
    let mut responses = vec![to(302, "/a"); 20];
    responses.push(end());
    assert!(load(&app(), Fetch::get("/a"), &responses).outcome.is_readable());
    let trial = load(&app(), Fetch::get("/a"), &vec![to(302, "/a"); 21]);
    assert_eq!(*trial.reason(), Reason::TooManyRedirects);
}

#[test]
fn an_image_that_firefox_has_upgraded_follows_one_redirect_less() {
    for (profile, count) in [(Profile::STANDARD, 21), (Profile::FIREFOX, 20)] {
        let mut sent = 0;
        let image = Fetch::image("http://app.test/a");
        run(engine(profile), Some(&app()), image, |_| {
            sent += 1;
            to(302, "/a")
        });
        assert_eq!(sent, count, "{}", profile.name);
    }
}

#[test]
fn a_stream_is_not_sent_twice() {
    let fetch = || Fetch::post("/a").body("x").stream_body();
    let trial = load(&app(), fetch(), &[to(307, "/b")]);
    assert_eq!(*trial.reason(), Reason::RedirectedStream);
    assert!(load(&app(), fetch(), &[to(303, "/b"), end()]).outcome.is_readable());
}

#[test]
fn a_target_that_cannot_be_fetched_is_an_error() {
    for target in ["data:,x", "https://", "file:///etc/passwd"] {
        let trial = load(&app(), Fetch::get("/a"), &[to(302, target)]);
        assert_eq!(*trial.reason(), Reason::RedirectTarget(target.into()));
    }
}

#[test]
fn two_targets_are_none() {
    let response = response(302, &[("location", "/b"), ("location", "/b")]);
    let trial = load(&app(), Fetch::get("/a"), &[response]);
    assert_eq!(*trial.reason(), Reason::RedirectTarget("/b".into()));
}

#[test]
fn a_redirect_to_nowhere_is_a_response() {
    let trial = load(&app(), Fetch::get("/a"), &[response(302, &[])]);
    assert_eq!(trial.outcome.response().unwrap().status, 302);
}

#[test]
fn a_password_in_the_target_is_for_the_own_origin_only() {
    let own = load(&app(), Fetch::get("/a"), &[to(302, "https://u:p@app.test/b"), end()]);
    assert_eq!(own.sent[1].url.as_str(), "https://app.test/b");
    let target = "https://u:p@api.test/b";
    let other = load(&app(), Fetch::get("/a"), &[to(302, target)]);
    assert_eq!(*other.reason(), Reason::RedirectTarget(target.into()));
}

#[test]
fn a_password_in_the_target_is_for_beacons_too_in_chromium() {
    let target = "https://u:p@api.test/b";
    let post = Fetch::post("/a").mode(Mode::NoCors).body("x");
    for (fetch, is_sent) in [(post, false), (Fetch::beacon("/a", "", "x"), true)] {
        let mut sent = 0;
        let _ = run(engine(Profile::CHROMIUM), Some(&app()), fetch, |_| {
            sent += 1;
            if sent == 1 { to(302, target) } else { end() }
        });
        assert_eq!(sent == 2, is_sent);
    }
}

#[test]
fn the_redirect_mode_decides_whether_it_is_followed() {
    let fetch = |mode| Fetch::get("https://api.test/a").redirect(mode);
    let error = load(&app(), fetch(Redirect::Error), &[to(302, "/b")]);
    assert_eq!(*error.reason(), Reason::Redirect);
    let manual = load(&app(), fetch(Redirect::Manual), &[to(302, "/b")]);
    let response = manual.outcome.response().unwrap();
    assert_eq!((response.kind, response.status), (ResponseType::OpaqueRedirect, 0));
    assert!(response.headers.is_empty() && !manual.outcome.is_readable());
}

#[test]
fn a_redirect_that_is_not_followed_needs_an_address_in_chromium() {
    let is_shown = |profile, location| {
        let fetch = Fetch::get("/a").redirect(Redirect::Manual);
        let trial = load_by(profile, &app(), fetch, &[to(302, location)]);
        trial.outcome.response().is_some()
    };
    for (location, in_chromium) in [("https://[", false), ("javascript:1", true), ("", true)] {
        assert!(is_shown(Profile::STANDARD, location), "{location}");
        assert_eq!(is_shown(Profile::CHROMIUM, location), in_chromium, "{location}");
    }
}

#[test]
fn a_cross_origin_redirect_makes_the_origin_opaque() {
    let origins = |targets: &[&str]| {
        let mut responses: Vec<_> = targets.iter().map(|target| to(302, target)).collect();
        responses.push(end());
        let trial = load(&app(), Fetch::get("https://api.test/a"), &responses);
        trial.last("origin").map(str::to_owned)
    };
    assert_eq!(origins(&["/b"]).as_deref(), Some("https://app.test"));
    assert_eq!(origins(&["https://app.test/b"]).as_deref(), Some("null"));
    assert_eq!(origins(&["https://other.test/b", "https://api.test/"]).as_deref(), Some("null"));
}

/// `Sec-Fetch-Site` of the requests that are no preflights, from a page of `https://app.test`
/// through `https://api.test` back to its own origin.
fn sites(profile: Profile, status: u16, fetch: Fetch) -> Vec<Option<String>> {
    let mut sites = Vec::new();
    let (_, outcome) = run(engine(profile), Some(&app()), fetch, |request| {
        let origin = request.headers["origin"].to_str().unwrap();
        let granted = [
            ("access-control-allow-origin", origin),
            ("access-control-allow-methods", "*"),
            ("access-control-allow-headers", "*"),
            ("location", "https://app.test/end"),
        ];
        if request.is_preflight {
            return response(204, &granted[..3]);
        }
        let site = request.headers.get("sec-fetch-site");
        sites.push(site.map(|site| site.to_str().unwrap().to_owned()));
        match request.url.path() {
            "/end" => response(200, &granted[..3]),
            _ => response(status, &granted),
        }
    });
    assert!(outcome.is_readable(), "{outcome:?}");
    sites
}

#[test]
fn a_request_that_comes_back_from_another_origin_is_cross_site() {
    let url = "https://api.test/go";
    for (status, fetch) in [
        (307, Fetch::put(url)),
        (302, Fetch::post(url)),
        (307, Fetch::get(url).header("x-a", "1")),
        (307, Fetch::post(url)),
        (302, Fetch::get(url)),
    ] {
        for profile in [Profile::STANDARD, Profile::FIREFOX, Profile::CHROMIUM] {
            let sites = sites(profile, status, fetch.clone());
            let expected = ["cross-site", "cross-site"].map(|site| Some(site.to_owned()));
            assert_eq!(sites, expected, "{} {fetch:?}", profile.name);
        }
    }
}

#[test]
fn webkit_says_nothing_of_a_request_that_was_led_to_another_origin() {
    let sites = sites(Profile::WEBKIT, 302, Fetch::get("https://api.test/go"));
    assert_eq!(sites, [Some("cross-site".to_owned()), None]);
    let image = Fetch::image("https://api.test/go");
    let responses = [to(302, "https://app.test/end"), end()];
    let trial = load_by(Profile::WEBKIT, &app(), image, &responses);
    assert_eq!(trial.last("sec-fetch-site"), Some("cross-site"));
}

#[test]
fn in_webkit_a_cross_origin_redirect_of_delete_becomes_get() {
    let methods = |profile, target: &str| {
        let mut sent = Vec::new();
        let _ = run(engine(profile), Some(&app()), Fetch::delete("/a"), |request| {
            sent.push(request.method.to_string());
            if request.url.path() == "/a" { to(308, target) } else { end() }
        });
        sent
    };
    assert_eq!(methods(Profile::WEBKIT, "https://api.test/b"), ["DELETE", "GET"]);
    assert_eq!(methods(Profile::WEBKIT, "/b"), ["DELETE", "DELETE"]);
    assert_eq!(methods(Profile::STANDARD, "https://api.test/b"), ["DELETE", "OPTIONS"]);
}

#[test]
fn a_response_changes_the_referrer_policy_for_the_next_request() {
    let response = response(302, &[("location", "/b"), ("referrer-policy", "no-referrer")]);
    let trial = load(&app(), Fetch::get("/a"), &[response, end()]);
    assert_eq!(trial.sent[0].headers["referer"], "https://app.test/");
    assert_eq!(trial.last("referer"), None);
    assert_eq!(ReferrerPolicy::default(), app().referrer_policy);
}

#[test]
fn the_fragment_of_the_start_stays_if_the_target_has_none() {
    for (target, fragment) in [("/b", "top"), ("/b#end", "end")] {
        let trial = load(&app(), Fetch::navigate("/a#top"), &[to(302, target), end()]);
        let Outcome::Page(page, _) = trial.outcome else { panic!("{:?}", trial.outcome) };
        assert_eq!(page.url.fragment(), Some(fragment));
        assert!(trial.sent.iter().all(|sent| sent.url.fragment().is_none()));
    }
}

#[test]
fn a_login_page_of_another_site_may_redirect_back_with_lax_cookies() {
    let bar = Fetch::navigate("https://app.test/");
    let cookies = [("set-cookie", "lax=1; SameSite=Lax"), ("set-cookie", "s=1; SameSite=Strict")];
    let state = load_in(browser(), None, bar, &[response(200, &cookies)]).state;
    let back = Fetch::navigate("https://login.example/");
    let login = page("https://login.example/");
    let trial = load_in(state, Some(&login), back, &[to(302, "https://app.test/"), end()]);
    assert_eq!(trial.last("cookie"), Some("lax=1"));
}
