//! A cache that keeps a page of a user as a static file is found.

use super::*;

/// The trials of files of a route, in an app with sessions.
fn file_trials(route: ManifestRoute) -> (Manifest, Engine, Vec<Trial>) {
    let mut manifest = Manifest::new();
    manifest.app.public_origin = Some("https://api.shop.example".to_owned());
    manifest.app.sessions = Some(SessionFacts::new("memory", "__Host-sid", "lax"));
    manifest.routes.push(route);
    let engine = Engine::new(&manifest).unwrap();
    let options = Options { has_session: true, ..options() };
    let mut trials = plan(&manifest, &engine, &options).trials;
    trials.retain(|trial| trial.purpose == Purpose::StaticFile);
    (manifest, engine, trials)
}

fn page(body: impl Into<Vec<u8>>) -> Response {
    Response { status: 200, body: body.into(), ..Response::default() }
}

/// The findings for these responses to the probes of a trial.
fn found_by(
    (manifest, engine): (&Manifest, &Engine),
    trial: &Trial,
    responses: impl IntoIterator<Item = Response>,
) -> Vec<Code> {
    let exchange = |(probe, response): (&Probe, Response)| {
        let mut request = probe.request.clone();
        if probe.credential.is_some() {
            let cookie = HeaderValue::from_static("__Host-sid=1");
            request.headers_mut().insert(header::COOKIE, cookie);
        }
        Exchange { request, response }
    };
    let exchanges: Vec<_> = trial.probes.iter().zip(responses).map(exchange).collect();
    let found = judge(manifest, engine, trial, &exchanges);
    found.iter().map(|finding| finding.code).collect()
}

/// The owner of an account is served any path, or any name, below it.
#[test]
fn a_user_s_page_that_is_kept_as_a_static_file_is_found() {
    for (path, first) in [
        ("/account/{*rest}", "/account/1/1/1/policy-audit.css"),
        ("/account/{name}", "/account/policy-audit.css"),
    ] {
        let session = RouteRequirement { session: true, ..RouteRequirement::default() };
        let account = ManifestRoute::handler(path, ["GET"], Auth::Required(session));
        let (manifest, engine, trials) = file_trials(account);
        assert!(trials.len() >= 4, "{path}: {}", trials.len());
        assert_eq!(trials[0].probes[0].request.uri().path(), first);
        let refused = Response { status: 401, ..Response::default() };
        let mut kept = page("");
        kept.headers.insert("x-cache", HeaderValue::from_static("HIT"));
        for trial in trials {
            for (second, is_found) in [
                (page("ada"), true),
                (kept.clone(), true),
                (page("a style sheet"), false),
                (refused.clone(), false),
            ] {
                let found = found_by((&manifest, &engine), &trial, [page("ada"), second]);
                let expected: &[Code] = if is_found { &[Code::StaticFileCached] } else { &[] };
                assert_eq!(found, expected, "{path}");
            }
        }
    }
}

/// The policy does not say whether a public service reads the session: its responses show it.
#[test]
fn a_page_of_a_public_service_that_is_kept_is_found_if_it_is_personal() {
    let of = |kind: RouteKind, path: &str| {
        let mut route = ManifestRoute::handler(path, ["GET"], Auth::Public);
        route.kind = kind;
        route
    };
    let mut forwarding = of(RouteKind::Proxy, "/shop");
    assert_eq!(file_trials(forwarding.clone()).2.len(), 0, "it does not get the session");
    forwarding.target.forwards_session = true;
    let services = [of(RouteKind::Mount, "/portal"), forwarding, of(RouteKind::Fallback, "*")];
    for route in services {
        let (manifest, engine, trials) = file_trials(route);
        assert!(trials.len() >= 2, "{}", trials.len());
        let of_all = |body: &str| {
            let mut page = page(body);
            page.headers
                .insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=60"));
            page
        };
        let guest = || page("a guest at policy-audit-of-nobody-1policy-audit.css");
        let at = |who: &str| page(format!("{who} at 1policy-audit.css"));
        for trial in trials {
            for (responses, is_found) in [
                ([guest(), at("ada"), at("ada")], true),
                ([guest(), at("ada"), at("a guest")], false),
                ([guest(), at("a guest"), at("a guest")], false),
                ([guest(), of_all("ada"), of_all("ada")], false),
                ([Response { status: 429, ..page("") }, at("ada"), at("ada")], false),
            ] {
                let found = found_by((&manifest, &engine), &trial, responses);
                let expected: &[Code] = if is_found { &[Code::StaticFileCached] } else { &[] };
                assert_eq!(found, expected, "{}", trial.route);
            }
        }
    }
}
