//! Sets of origins: cases that generators do not produce.

use http::HeaderValue;
use policy_core::{
    cors::{Cors, CorsPolicy, OriginDecision, OriginLists, SharedOrigins},
    head::Single,
    origin::OriginSet,
};

/// A header may have any value, including the text of a pattern.
#[test]
fn the_text_of_a_wildcard_pattern_is_not_an_origin() {
    for host in ["*.a.test", "a.test:*", "*.a.test:*", "*.a", "*-b.test"] {
        let pattern = format!("https://{host}");
        for others in [0, 20] {
            let others = (0..others).map(|number| format!("https://{number}.b"));
            let patterns: Vec<String> = others.chain([pattern.clone()]).collect();
            let set = OriginSet::new(patterns.iter().map(String::as_str)).expect("a set");
            assert!(!set.matches(pattern.as_bytes()), "`{pattern}` of {}", set.len());
        }
    }
}

/// Every second pattern of each kind is in the list; its neighbours are not.
#[test]
fn a_large_list_has_each_of_its_origins_and_no_neighbour() {
    const POLICY: CorsPolicy = CorsPolicy::origins_at_run_time("list").build();
    let listed = |number: usize| number.is_multiple_of(2);
    let kinds: [fn(usize) -> (String, String); 5] = [
        |n| (format!("https://h{n}.test"), format!("https://h{n}.test")),
        |n| (format!("https://test:{}", 1000 + n), format!("https://test:{}", 1000 + n)),
        |n| (format!("https://*.w{n}.test"), format!("https://a.b.w{n}.test")),
        |n| (format!("http://p{n}.test:*"), format!("http://p{n}.test:8080")),
        |n| (format!("tauri://*.{n}.b{n}.test:*"), format!("tauri://a.{n}.b{n}.test:1")),
    ];
    let all = || (0..10_000).flat_map(|number| kinds.map(|kind| (number, kind(number))));
    let patterns: Vec<String> =
        all().filter(|(number, _)| listed(*number)).map(|(_, (pattern, _))| pattern).collect();
    let (list, mut lists) = (SharedOrigins::new(), OriginLists::new());
    list.replace(&patterns).expect("a good list");
    lists.insert("list", list);
    let cors = Cors::new("the test", &POLICY, &lists).expect("a policy");
    for (number, (pattern, origin)) in all() {
        let origin = HeaderValue::from_str(&origin).expect("a header value");
        let due = if listed(number) {
            OriginDecision::Origin(origin.clone())
        } else {
            OriginDecision::Refused
        };
        assert_eq!(cors.decide_origin(Single::One(&origin)), due, "{origin:?} of `{pattern}`");
    }
}
