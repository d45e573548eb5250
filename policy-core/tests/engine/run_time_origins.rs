//! Lists of origins that are given at start and replaced while the app runs.

use http::HeaderValue;
use policy_core::{
    Rule,
    cors::{Cors, CorsPolicy, OriginDecision, OriginLists, PolicyErrors, SharedOrigins},
    head::Single,
};

const BOUND: &[&str] = &["https://*.partner.example", "http://localhost:*"];
const PARTNERS: CorsPolicy =
    CorsPolicy::origins_at_run_time("partners").within(BOUND).credentials().build();
const GUESTS: CorsPolicy = CorsPolicy::origins_at_run_time("partners").build();

#[test]
fn a_list_serves_every_policy_that_names_it() {
    let (list, lists) = setup(&["https://a.partner.example"]);
    let partners = Cors::new("GET /a", &PARTNERS, &lists).expect("a policy");
    let guests = Cors::new("GET /b", &GUESTS, &lists).expect("a policy");
    list.replace(&["https://b.partner.example"]).expect("a good list");
    for cors in [partners, guests] {
        assert!(grants(&cors, "https://b.partner.example"));
        assert!(!grants(&cors, "https://a.partner.example"));
    }
}

#[test]
fn a_bad_list_is_refused_whole_and_the_old_one_stays() {
    let (list, lists) = setup(&["https://a.partner.example"]);
    let cors = Cors::new("GET /a", &PARTNERS, &lists).expect("a policy");
    for (bad, rule) in [
        ("https://evil.example", Rule::OriginOutsideBound),
        ("https://partner.example", Rule::OriginOutsideBound),
        ("https://*.example", Rule::PublicSuffixWithCredentials),
        ("http://b.partner.example", Rule::InsecureOriginWithCredentials),
        ("https://b.partner.example:*", Rule::OriginOutsideBound),
        ("https://b.partner.example/", Rule::OriginPath),
        ("null", Rule::NullOrigin),
        ("*", Rule::AnyOriginAtRunTime),
    ] {
        let errors = list.replace(&["https://b.partner.example", bad]).expect_err("a bad list");
        assert_eq!(rules(&errors), [rule], "{bad}");
        assert!(grants(&cors, "https://a.partner.example"), "{bad}");
        assert!(!grants(&cors, "https://b.partner.example"), "{bad}");
    }
}

#[test]
fn each_error_of_a_list_names_its_route_and_origin() {
    let (list, lists) = setup(&[]);
    Cors::new("GET /a", &PARTNERS, &lists).expect("a policy");
    let errors = list.replace(&["https://evil.example", "https://x", "*"]).expect_err("a bad list");
    let details: Vec<_> = errors
        .errors()
        .iter()
        .map(|error| (error.location(), error.value(), error.rule()))
        .collect();
    let want = [
        ("GET /a, list `partners`", "https://evil.example", Rule::OriginOutsideBound),
        ("GET /a, list `partners`", "https://x", Rule::OriginOutsideBound),
        ("list of origins", "*", Rule::AnyOriginAtRunTime),
    ];
    assert_eq!(details, want);
}

/// A list that exists before the policy is checked when the policy is compiled.
#[test]
fn a_policy_does_not_start_with_a_list_outside_of_its_bound() {
    let (_, lists) = setup(&["https://evil.example"]);
    let errors = Cors::new("GET /a", &PARTNERS, &lists).expect_err("a bad list");
    assert_eq!(rules(&errors), [Rule::OriginOutsideBound]);
    assert!(Cors::new("GET /b", &GUESTS, &lists).is_ok());
}

#[test]
fn a_policy_does_not_start_without_its_list() {
    let errors = Cors::new("GET /a", &GUESTS, &OriginLists::new()).expect_err("no list");
    assert_eq!(rules(&errors), [Rule::OriginListMissing]);
}

#[test]
fn credentials_need_a_bound() {
    let unbounded = CorsPolicy::origins_at_run_time("partners").credentials().try_build();
    assert_eq!(unbounded.expect_err("no bound").rule, Rule::BoundMissing);
    let everybody =
        CorsPolicy::origins_at_run_time("partners").within(&["*"]).credentials().try_build();
    assert_eq!(everybody.expect_err("no bound").rule, Rule::AnyOriginWithCredentials);
}

#[test]
fn an_unused_list_is_reported() {
    let (_, mut lists) = setup(&[]);
    lists.insert("others", SharedOrigins::new());
    Cors::new("GET /a", &GUESTS, &lists).expect("a policy");
    assert_eq!(lists.unused().collect::<Vec<_>>(), ["others"]);
}

fn setup(origins: &[&str]) -> (SharedOrigins, OriginLists) {
    let list = SharedOrigins::new();
    list.replace(origins).expect("a good list");
    let mut lists = OriginLists::new();
    lists.insert("partners", list.clone());
    (list, lists)
}

fn grants(cors: &Cors, origin: &'static str) -> bool {
    let origin = HeaderValue::from_static(origin);
    cors.decide_origin(Single::One(&origin)) == OriginDecision::Origin(origin.clone())
}

fn rules(errors: &PolicyErrors) -> Vec<Rule> {
    errors.errors().iter().map(policy_core::cors::PolicyError::rule).collect()
}
