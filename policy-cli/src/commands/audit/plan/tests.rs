//! Few probes, and none that does harm.

use http::header;
use policy_manifest::{Auth, RouteRequirement, RuntimeOrigins};

use super::*;

pub(in crate::commands::audit) fn options() -> Options {
    Options {
        authority: "api.shop.example".to_owned(),
        has_session: false,
        has_token: false,
        sends_unsafe_methods: false,
        asks_all_routes: false,
        max_probes: 1000,
    }
}

/// This many routes of each of three policies.
fn app(count: usize) -> Manifest {
    let mut manifest = Manifest::new();
    manifest.app.public_origin = Some("https://api.shop.example".to_owned());
    for index in 0..count {
        let public = ManifestRoute::handler(format!("/a{index}"), ["GET"], Auth::Public);
        let mut shared =
            ManifestRoute::handler(format!("/b{index}/{{id}}"), ["GET", "PUT"], Auth::Public);
        shared.cors =
            Some(RouteCors::new(RouteOrigins::Listed(vec!["https://app.example".to_owned()])));
        let token = RouteRequirement { token: true, ..RouteRequirement::default() };
        let token = ManifestRoute::handler(format!("/c{index}"), ["POST"], Auth::Required(token));
        manifest.routes.extend([public, shared, token]);
    }
    manifest.normal()
}

fn plan_of(manifest: &Manifest, options: &Options) -> Plan {
    plan(manifest, &Engine::new(manifest).unwrap(), options)
}

fn probes(plan: &Plan) -> Vec<&Probe> {
    plan.trials.iter().flat_map(|trial| &trial.probes).collect()
}

#[test]
fn each_policy_is_probed_once_and_not_each_route() {
    let (few, many) = (plan_of(&app(1), &options()), plan_of(&app(300), &options()));
    assert_eq!(probes(&few).len(), probes(&many).len());
    assert!(probes(&few).len() < 80, "{}", probes(&few).len());
    let routes: BTreeSet<_> = few.trials.iter().map(|trial| trial.route.as_str()).collect();
    assert_eq!(routes.len(), 4, "{routes:?}");
}

#[test]
fn unsafe_methods_are_sent_only_on_request() {
    let of = |sends_unsafe_methods| Options { sends_unsafe_methods, ..options() };
    let manifest = app(1);
    let engine = Engine::new(&manifest).unwrap();
    for probe in probes(&plan_of(&manifest, &of(false))) {
        assert!(matches!(probe.request.method().as_str(), "GET" | "HEAD" | "OPTIONS"));
    }
    let plan = plan_of(&manifest, &of(true));
    let unsafe_ones: Vec<_> = probes(&plan)
        .into_iter()
        .filter(|probe| !method::is_safe(probe.request.method().as_str()))
        .collect();
    assert!(unsafe_ones.len() > 5, "{}", unsafe_ones.len());
    for probe in unsafe_ones {
        let decision = engine.decide(&probe.request, &probe.caller);
        assert!(decision.refusal().is_some(), "{:?}", probe.request);
    }
}

#[test]
fn probes_name_the_host_unless_they_test_it() {
    for trial in plan_of(&app(1), &options()).trials {
        for probe in trial.probes {
            let host = probe.request.headers().get_all(header::HOST).iter().collect::<Vec<_>>();
            let is_own = host == ["api.shop.example"];
            assert_eq!(is_own, trial.purpose != Purpose::Host, "{:?}", probe.request);
        }
    }
}

#[test]
fn no_more_is_planned_than_is_allowed() {
    for most in [1, 10, 40] {
        let plan = plan_of(&app(1), &Options { max_probes: most, ..options() });
        assert!(probes(&plan).len() <= most && !plan.left_out.is_empty());
        assert_eq!(plan.trials[0].purpose, Purpose::Baseline);
    }
    assert_eq!(plan_of(&app(1), &options()).left_out, [""; 0]);
}

/// A policy with the origins of a run-time list.
fn run_time_cors(within: Option<&str>) -> RouteCors {
    let within = within.map(|within| vec![within.to_owned()]);
    let list = RuntimeOrigins { list: "partners".to_owned(), within, by: None };
    RouteCors::new(RouteOrigins::AtRunTime(list))
}

#[test]
fn origins_that_are_listed_at_run_time_are_not_taken_for_granted() {
    let bounded = origins_of(Some(&run_time_cors(Some("https://*.partner.example"))));
    assert_eq!(bounded, (Vec::new(), Some(STRANGER.to_owned())));
    assert_eq!(origins_of(Some(&run_time_cors(None))), (Vec::new(), None));
    let listed = RouteCors::new(RouteOrigins::Listed(vec!["https://a.example".to_owned()]));
    assert_eq!(origins_of(Some(&listed)).0, ["https://a.example"]);
    assert_eq!(origins_of(None), (Vec::new(), Some(STRANGER.to_owned())));
}

#[test]
fn pages_of_a_run_time_list_are_unseen() {
    let lines = |manifest: &Manifest| {
        let unseen = plan_of(manifest, &options()).unseen.into_iter();
        unseen.filter(|line| line.contains("`partners`")).collect::<Vec<_>>()
    };
    let mut manifest = app(2);
    assert_eq!(lines(&manifest), [""; 0]);
    for route in manifest.routes.iter_mut().filter(|route| route.cors.is_some()) {
        route.cors = Some(run_time_cors(Some("https://*.partner.example")));
    }
    assert_eq!(lines(&manifest), ["responses to pages of the origins in the list `partners`"]);
}

#[test]
fn a_path_has_other_forms_that_lead_to_it() {
    let of = |form| {
        let forms = path_forms("/a/b").into_iter().filter(move |(of, _)| *of == form);
        forms.flat_map(|(_, targets)| targets).collect::<Vec<_>>()
    };
    assert_eq!(of(PathForm::DotSegments), ["/policy-audit/../a/b", "/policy-audit/%2e%2e/a/b"]);
    assert_eq!(of(PathForm::Slashes), ["/policy-audit//a/b", "//a/b", "/a/b/"]);
    assert_eq!(of(PathForm::Coded), ["/policy-audit%2F../a/b", "/a/b%2Fpolicy-audit", "/a/%2562"]);
}

#[test]
fn all_routes_are_asked_on_request() {
    let all = Options { asks_all_routes: true, max_probes: 100_000, ..options() };
    let plan = plan_of(&app(5), &all);
    let routes: BTreeSet<_> = plan.trials.iter().map(|trial| trial.route.as_str()).collect();
    assert_eq!(routes.len(), 16, "{routes:?}");
    let says = |plan: &Plan, words: &str| plan.unseen.iter().any(|line| line.contains(words));
    assert!(!says(&plan, "--all-routes"));
    assert!(says(&plan_of(&app(5), &options()), "12 routes with the same policy"));
    // Omitted routes are named.
    let few = plan_of(&app(5), &Options { max_probes: 30, ..all });
    assert!(few.left_out.contains(&"POST /c4".to_owned()), "{:?}", few.left_out);
}

#[test]
fn what_credentials_would_show_is_unseen_without_them() {
    let manifest = app(1);
    let says = |options: &Options, words: &str| {
        plan_of(&manifest, options).unseen.iter().any(|line| line.contains(words))
    };
    assert!(says(&options(), "`--token`"));
    assert!(!says(&Options { has_token: true, ..options() }, "`--token`"));
    assert!(!says(&options(), "session"), "the app has none");
    assert!(says(&options(), "`--unsafe-methods`"));
}
