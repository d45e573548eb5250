//! The cases of `jsonp_response` that are requests to a server with sessions.

use policy_server::http::Method;

use super::*;

#[get("/prices")]
#[jsonp(callback = "callback")]
#[auth(public)]
async fn prices(State(shared): State<All>) -> Json<u8> {
    shared.count_call();
    Json(7)
}

#[get("/fails")]
#[jsonp(callback = "callback")]
#[auth(public)]
async fn fails() -> Result<Json<u8>, Problem> {
    Err(Problem::internal("the handler fails"))
}

#[tokio::test]
async fn every_request_for_a_script_goes_as_the_cases_say() {
    let mut sent = 0;
    for case in section("jsonp_response", 9) {
        let Some(request) = case["request"].as_object() else {
            assert!(case["json"].is_string(), "neither a request nor a script: {case}");
            continue;
        };
        let scenario = Scenario::new(routes![prices, fails]).await;
        let text = |key: &str| request.get(key).map(|value| value.as_str().expect("text"));
        let path = match text("handler") {
            None => "/prices",
            Some("500") => "/fails",
            Some(other) => panic!("{other}"),
        };
        let query = text("query").expect("a query");
        let path = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
        let method: Method = text("method").expect("a method").parse().expect("a method");
        let mut sending = scenario.client.request(method, &path);
        if let Some(cookie) = text("cookie") {
            sending = sending.header("cookie", cookie);
        }
        if let Some(body) = text("body") {
            let form = "application/x-www-form-urlencoded";
            sending = sending.header("content-type", form).body(body.to_owned());
        }
        scenario.store.take_calls();
        let response = sending.send().await;
        let calls = scenario.store.take_calls();
        for (name, expected) in case["expect"].as_object().expect("expectations") {
            match &**name {
                "status" => assert_eq!(response.status().as_u16(), *expected, "{case}"),
                "allow" => {
                    // OPTIONS is answered everywhere (RFC 9110 9.3.7).
                    let listed = response.header("allow").expect("methods");
                    assert_eq!(listed.strip_suffix(", OPTIONS"), expected.as_str(), "{case}");
                }
                "content_type" => {
                    assert_eq!(response.header("content-type"), expected.as_str(), "{case}");
                }
                "session" => {
                    assert_eq!(expected, "not loaded", "{case}");
                    assert_eq!(calls, [""; 0], "{case}");
                    assert_eq!(scenario.shared.calls(), 1, "{case}");
                }
                "set_cookie" => {
                    assert_eq!(expected, false, "{case}");
                    assert!(leaves_cookie(&response), "{case}");
                }
                other => panic!("{case}: unknown expectation {other}"),
            }
        }
        sent += 1;
    }
    assert_eq!(sent, 5);
}
