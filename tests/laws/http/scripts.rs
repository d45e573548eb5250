//! Responses as scripts.

use http::{HeaderValue, Method};
use policy_browser::{Fetch, Outcome, Page, Profile, ServerResponse, State, Url, run};
use policy_server::CorsPolicy;
use proptest::{prelude::*, sample::select, sample::subsequence};

use super::{
    generate::plan,
    handlers::Content,
    site::{Level, Said, Scenario, Site},
};
use crate::{
    auth::test_server::OWN,
    exchange::Request,
    law::{Precondition, holds},
};

/// ECMA-262 12.7.2, with what strict code and modules add.
const RESERVED: &str = "arguments await break case catch class const continue debugger default \
    delete do else enum eval export extends false finally for function if implements import in \
    instanceof interface let new null package private protected public return static super switch \
    this throw true try typeof var void while with yield";

fn is_callable(name: &str) -> bool {
    let mut signs = name.chars();
    let begins = |sign: char| sign.is_ascii_alphabetic() || "_$".contains(sign);
    signs.next().is_some_and(begins)
        && signs.all(|sign| begins(sign) || sign.is_ascii_digit())
        && name.len() <= 64
        && !RESERVED.split_whitespace().any(|word| word == name)
}

fn callback() -> impl Strategy<Value = String> {
    let good = prop_oneof![Just("f".to_owned()), "[a-zA-Z_$][a-zA-Z0-9_$]{0,66}"];
    let reserved = select(RESERVED.split_whitespace().collect::<Vec<_>>());
    let bad = prop_oneof![
        reserved.prop_map(str::to_owned),
        Just("thisOne".to_owned()),
        "[ -~]{0,12}",
        "[a-z]{1,3}[.\\[(;<\"'`/*=&\\u{2028}ä]{1,2}[a-z]{0,3}",
        Just("alert(1)//".to_owned()),
        Just("f=alert".to_owned()),
        Just(String::new()),
    ];
    prop_oneof![1 => good, 1 => bad]
}

/// T29, JSONP. A response to a query with a function name is a script exactly if the name is
/// callable and the handler responds with JSON: a call of it with that JSON, after a comment, with
/// a script's type and `nosniff`. It is the same for every client: neither cookies nor tokens reach
/// the handler, it sets no cookie, and CORS shares it like the JSON. All names that are not
/// callable get the same response.
#[test]
fn t29_a_script_calls_a_name_with_json_and_depends_on_no_caller() {
    let noise = vec![
        ("cookie", "__Host-sid=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
        ("authorization", "Bearer a.b.c"),
        ("origin", "https://app.shop.example"),
        ("x-csrf-token", "A"),
    ];
    let cors = CorsPolicy::origins(&["https://app.shop.example"]).build();
    let cors = select(vec![Said::Not, Said::This(cors)]);
    let cases = (callback(), plan(), subsequence(noise, 0..4), cors, 0..3_u8);
    holds("T29", 14, cases, |(name, mut plan, noise, cors, as_json)| {
        if as_json > 0 {
            (plan.content, plan.status) = (Content::Json, 200);
        }
        let scenario = Scenario { app: Level { cors, ..Level::default() }, ..Scenario::default() };
        let site = Site::new(&scenario, "/script");
        let query: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
        let query = query.replace('+', "%20");
        let mut request = Request::new(Method::GET, &format!("/script?cb={query}"));
        if let Some((name, value)) = noise.iter().find(|(name, _)| *name == "origin") {
            request.headers.insert(*name, HeaderValue::from_static(value));
        }
        let reply = site.ask(&request, &plan);
        let mut noisy = request.clone();
        for (name, value) in &noise {
            noisy.headers.insert(*name, HeaderValue::from_static(value));
        }
        prop_assert_eq!(&site.ask(&noisy, &plan), &reply);
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        let field = |name: &str| reply.headers.get(name).and_then(|value| value.to_str().ok());
        let is_script = field("content-type").is_some_and(|kind| kind.contains("javascript"));
        let is_due = is_callable(&name)
            && plan.content == Content::Json
            && (200..300).contains(&plan.status);
        prop_assert_eq!(is_script, is_due, "{:?}", reply);
        if !is_callable(&name) {
            prop_assert_eq!(reply.status, 400);
            let other = Request { path: "/script?cb=1".to_owned(), ..request.clone() };
            prop_assert_eq!(&site.ask(&other, &plan), &reply);
        }
        if is_script {
            let call = format!("/**/typeof {name}==='function'&&{name}(");
            let argument = text.strip_prefix(&call).and_then(|rest| rest.strip_suffix(");"));
            let argument =
                argument.and_then(|json| serde_json::from_str::<serde_json::Value>(json).ok());
            prop_assert_eq!(argument, Some(serde_json::json!([1, 2])), "{}", text);
            prop_assert_eq!(field("x-content-type-options"), Some("nosniff"));
            prop_assert!(!reply.headers.contains_key("set-cookie"), "{:?}", reply);
            let bare = Request { path: "/script".to_owned(), ..request.clone() };
            let json = site.ask(&bare, &plan);
            let shared =
                |headers: &http::HeaderMap| headers.get("access-control-allow-origin").cloned();
            prop_assert_eq!(shared(&reply.headers), shared(&json.headers));
        }
        let page = Page::at(Url::parse("https://reader.test").expect("an address"));
        let state = State::new(Profile::STANDARD, std::time::Duration::ZERO);
        let fetch = Fetch::script(format!("{OWN}/script?cb={query}"));
        let (_, outcome) = run(state, Some(&page), fetch, |_| {
            ServerResponse::new(reply.status, reply.headers.clone(), reply.body.to_vec())
        });
        let has_run = matches!(outcome, Outcome::Script(_));
        prop_assert_eq!(has_run, is_due, "{:?}", outcome);
        Ok(Precondition::met_if(is_due && noise.len() > 1))
    });
}
