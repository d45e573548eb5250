//! The playground: it decides as a server does, its command serves only its page, and the page
//! works in browsers.

pub(crate) mod browsers;
mod served;

use policy_cli::played;
use policy_manifest::{Manifest, RouteKind, Sources};
use policy_server::{
    prelude::*,
    session::SameSite,
    testing::{TestClient, TestResponse},
    tokens::SecretKey,
};
use proptest::prelude::{Strategy, any, prop, prop_oneof};
use serde_json::{Value, json};

mod app {
    use policy_server::prelude::*;

    include!("app.rs");

    pub(super) fn routes() -> Vec<policy_server::Route<()>> {
        routes![prices, order, add, transfer, remove, reports, me, quotes, note]
    }
}

const ORIGIN: &str = "https://api.shop.example";

/// The credentials that the playground shows, and those that the app knows.
struct Known {
    cookie: String,
    csrf: String,
    token: String,
}

#[post("/login/{who}")]
#[auth(public)]
async fn login(who: String, sessions: Sessions, tokens: Tokens) -> Result<String, Problem> {
    let identity = Identity::new(&*who);
    let identity = match &*who {
        "ada" => identity.roles(["clerk"]).scopes(["reports:read"]),
        _ => identity,
    };
    sessions.login(identity.clone()).await?;
    Ok(tokens.issue(&identity)?.access_token)
}

#[get("/csrf")]
#[auth(session)]
async fn csrf(token: CsrfToken) -> CsrfToken {
    token
}

fn server(same_site: SameSite) -> App<()> {
    App::new(())
        .public_origin(ORIGIN)
        .sessions(Sessions::memory().same_site(same_site))
        .tokens(Tokens::hs256(SecretKey::from_bytes([7; 32])).unwrap())
        .routes(app::routes())
}

async fn log_in(client: &TestClient, who: &str) -> Known {
    let login = client.post(&format!("/login/{who}")).origin(ORIGIN).send().await;
    assert_eq!(login.status(), 200, "{}", login.text());
    let cookie = login.header("set-cookie").and_then(|it| it.split(';').next()).unwrap().to_owned();
    let token = login.text();
    let response = client.get("/csrf").header("cookie", &cookie).send().await;
    let csrf: std::collections::BTreeMap<String, String> = response.json();
    Known { cookie, csrf: csrf.into_values().collect(), token }
}

fn ask(source: &str, same_site: &str, attacker: &str, route: usize) -> Value {
    let question = json!({
        "source": source, "origin": ORIGIN, "same_site": same_site, "attacker": attacker, "route": route,
    });
    serde_json::from_str(&played(&question.to_string()).unwrap()).unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Sends a request of the playground to the app.
async fn replay(client: &TestClient, exchange: &Value, known: &Known) -> TestResponse {
    let (method, target) = text(&exchange["request"]).split_once(' ').unwrap();
    let mut request = client.request(method.parse().unwrap(), target);
    for field in list(&exchange["sent"]) {
        let (name, value) = (text(&field[0]), text(&field[1]));
        let value = match name {
            "host" => continue,
            "cookie" => &known.cookie,
            "x-csrf-token" => &known.csrf,
            "authorization" => &format!("Bearer {}", known.token),
            _ => value,
        };
        request = request.header(name, value);
    }
    let has_content = ["POST", "PUT"].contains(&method);
    if has_content { request.body("{}") } else { request }.send().await
}

/// The headers that policies write.
fn policy_headers(response: &TestResponse) -> Vec<[String; 2]> {
    let text = |value: &http::HeaderValue| value.to_str().unwrap().to_owned();
    let all = response.headers().iter().map(|(name, value)| [name.to_string(), text(value)]);
    let mut all: Vec<_> = all
        .filter(|[name, value]| {
            // The page about a refusal has a policy of its own.
            let is_of_page = name == "content-security-policy" && value.contains("sha256-");
            name != "content-length" && !is_of_page
        })
        .collect();
    all.sort();
    all
}

#[tokio::test]
async fn every_answer_is_that_of_a_server() {
    let source = include_str!("app.rs");
    let mut seen = std::collections::BTreeSet::new();
    for (name, same_site) in
        [("lax", SameSite::Lax), ("strict", SameSite::Strict), ("none", SameSite::None)]
    {
        let client = server(same_site).routes(routes![login, csrf]).test();
        let (ada, bob) = (log_in(&client, "ada").await, log_in(&client, "bob").await);
        for attacker in ["https://evil.test", "https://a.shop.example", "null"] {
            for route in 0..app::routes().len() {
                let answer = ask(source, name, attacker, route);
                let reports = list(&answer["reports"]).iter();
                assert_eq!(answer["problems"], json!([]));
                assert_eq!(reports.filter(|it| it["kind"] != "lint").count(), 0, "{answer}");
                for actor in list(&answer["cast"]) {
                    let is_program = actor["who"] == "program";
                    for exchange in
                        list(&actor["asks"]).iter().flat_map(|it| list(&it["exchanges"]))
                    {
                        let known = if is_program { &bob } else { &ada };
                        let response = replay(&client, exchange, known).await;
                        // Only the playground's user logged in yesterday.
                        let is_fresh = is_program && exchange["request"] == "DELETE /orders/1";
                        let simulated = (exchange["status"].clone(), exchange["written"].clone());
                        let real =
                            (json!(response.status().as_u16()), json!(policy_headers(&response)));
                        assert!(
                            simulated == real || is_fresh,
                            "{}, {}: {simulated:?}, {real:?}",
                            exchange["request"],
                            exchange["sent"]
                        );
                        seen.insert((route, response.status().as_u16()));
                    }
                }
            }
        }
    }
    let statuses: std::collections::BTreeSet<_> = seen.iter().map(|(_, status)| *status).collect();
    assert_eq!(Vec::from_iter(statuses), [200, 204, 401, 403], "{seen:?}");
}

#[test]
fn the_policy_that_is_read_is_that_of_the_macros() {
    let stated = server(SameSite::Lax).manifest();
    let mut read = Manifest::new();
    read.app = stated.app.clone();
    let mut sources = Sources::default();
    assert_eq!(policy_attributes::read(include_str!("app.rs"), &mut read, &mut sources), []);
    let handlers = stated.routes.into_iter().filter(|route| route.kind == RouteKind::Handler);
    let stated = handlers.map(|mut route| {
        // Source text has names, but not the types of a signature.
        route.handler = policy_manifest::HandlerFacts::default();
        // A server has default limits where no attribute states one.
        route.limits.timeout_ms = None;
        route.limits.body = route.limits.body.filter(|size| *size == 16 * 1024);
        route
    });
    assert_eq!(read.normal().routes, Vec::from_iter(stated));
}

#[test]
fn each_caller_gets_what_the_policy_says() {
    let cors = "#[cors(origins = [\"https://app.shop.example\"], credentials)]";
    let cases = [
        (
            "#[get(\"/\")] #[cors(origins = [\"*\"])] #[auth(public)] #[cache(public, max_age = 60)]",
            "lax",
            ["served", "served", "open", "open", "served"],
        ),
        (
            &format!("#[get(\"/\")] {cors} #[auth(session)]"),
            "lax",
            ["served", "served", "nothing", "users", "nothing"],
        ),
        (
            &format!("#[post(\"/\")] {cors} #[auth(session)]"),
            "none",
            ["served", "served", "nothing", "users", "nothing"],
        ),
        (
            "#[post(\"/\")] #[auth(session)] #[csrf(exempt = \"why\")]",
            "none",
            ["served", "nothing", "harm", "users", "nothing"],
        ),
        (
            "#[post(\"/\")] #[auth(session)] #[csrf(exempt = \"why\")]",
            "lax",
            ["served", "nothing", "nothing", "users", "nothing"],
        ),
        (
            "#[get(\"/\")] #[auth(token, scopes = [\"a\"])]",
            "lax",
            ["served", "nothing", "nothing", "nothing", "nothing"],
        ),
        (
            "#[get(\"/\")] #[auth(session, fresh = \"10m\")]",
            "lax",
            ["served", "nothing", "nothing", "nothing", "nothing"],
        ),
        ("#[post(\"/\")] #[auth(public)]", "lax", ["served", "nothing", "open", "open", "nothing"]),
        (
            "#[get(\"/\")] #[jsonp(callback = \"call\")] #[auth(public)]",
            "lax",
            ["served", "nothing", "open", "open", "served"],
        ),
        (
            "#[get(\"/\")] #[isolation(same_site)] #[auth(public)]",
            "lax",
            ["served", "nothing", "nothing", "open", "served"],
        ),
    ];
    for (attributes, same_site, expected) in cases {
        let source = format!("{attributes} async fn f() {{}}");
        let answer = ask(&source, same_site, "https://evil.test", 0);
        let cast = list(&answer["cast"]);
        let found: Vec<_> = cast.iter().map(|actor| text(&actor["gets"])).collect();
        assert_eq!(found, expected, "{attributes}: {answer}");
    }
    // Copies of a response that names one origin are kept apart.
    let listed = "#[get(\"/\")] #[cors(origins = [\"https://a.example\", \"https://b.example\"])] \
                  #[auth(public)] #[cache(public, max_age = 60)] async fn f() {}";
    let says = &ask(listed, "lax", "null", 0)["cast"][4]["says"];
    assert_eq!(says, "Keeps the public response for 60 seconds, one copy for each Origin.");
}

#[test]
fn a_page_that_a_pattern_allows_reads_the_response() {
    for (pattern, origin) in [
        ("https://*.partner.example", "https://app.partner.example"),
        ("https://shop-*-acme.partner.example", "https://shop-app-acme.partner.example"),
    ] {
        let source = format!(
            "#[get(\"/\")] #[cors(origins = [\"{pattern}\"])] #[auth(public)] async fn f() {{}}"
        );
        let answer = ask(&source, "lax", "null", 0);
        let granted = &answer["cast"][1];
        assert_eq!(
            (text(&granted["origin"]), text(&granted["gets"])),
            (origin, "served"),
            "{answer}"
        );
    }
}

#[test]
fn what_keeps_an_app_from_starting_is_an_error() {
    let of = |origin: &str, same_site: &str| {
        let source = format!(
            "#[get(\"/\")]\n#[cors(origins = [\"{origin}\"], credentials)]\n#[auth(session)]\n\
             async fn f() {{}}"
        );
        ask(&source, same_site, "null", 0)
    };
    let errors = |answer: &Value| {
        let all = list(&answer["reports"]).iter().filter(|it| it["kind"] == "error");
        all.map(|it| (text(&it["code"]).to_owned(), it["start"][0].clone())).collect::<Vec<_>>()
    };
    let refused = of("https://app.partner.example", "lax");
    assert_eq!(errors(&refused), [("session.same-site".to_owned(), json!(2))], "{refused}");
    assert_eq!(refused["cast"], json!([]));
    for (origin, same_site) in
        [("https://app.partner.example", "none"), ("https://app.shop.example", "strict")]
    {
        let answer = of(origin, same_site);
        assert_eq!((errors(&answer), list(&answer["cast"]).len()), (Vec::new(), 5), "{answer}");
    }
}

#[test]
fn what_is_odd_is_said_and_served() {
    let source = "#[get(\"/\")]\n#[cors(origins = [\"https://*.github.io\"], \
                  dangerous_public_suffix)]\n#[auth(public)]\nasync fn f() {}";
    let answer = ask(source, "lax", "null", 0);
    let reports = list(&answer["reports"]);
    let lint = reports.iter().find(|it| it["kind"] == "lint").unwrap();
    assert_eq!(lint["start"], json!([2, 0]), "{lint}");
    assert_eq!(list(&answer["cast"]).len(), 5);
}

#[test]
fn mistakes_in_the_form_are_named() {
    let fine = "#[get(\"/\")] #[auth(public)] async fn f() {}";
    let of = |source: &str, origin: &str, attacker: &str| -> Value {
        let question = json!({
            "source": source, "origin": origin, "same_site": "lax", "attacker": attacker, "route": 9,
        });
        serde_json::from_str(&played(&question.to_string()).unwrap()).unwrap()
    };
    let good = of(fine, ORIGIN, "null");
    assert_eq!(
        (list(&good["problems"]).len(), list(&good["cast"]).len(), &good["route"]),
        (0, 5, &json!(0))
    );
    for (source, origin, attacker, fields) in [
        (fine, "", "null", vec!["origin"]),
        (fine, "http://shop.example", "x", vec!["origin", "attacker"]),
        (fine, ORIGIN, "file:///a", vec!["attacker"]),
        (&"a".repeat(17_000), ORIGIN, "null", vec!["source"]),
        (&fine.repeat(2), ORIGIN, "null", vec!["source"]),
        (
            &(0..17).map(|it| fine.replace("\"/\"", &format!("\"/{it}\""))).collect::<String>(),
            ORIGIN,
            "null",
            vec!["source"],
        ),
    ] {
        let answer = of(source, origin, attacker);
        let found: Vec<_> = list(&answer["problems"]).iter().map(|it| text(&it["field"])).collect();
        assert_eq!(found, fields, "{answer}");
        assert_eq!(answer["cast"], json!([]));
    }
    assert!(played("{}").is_err());
    // With one mistake, no handler runs, and nothing is said of a start.
    let unstarted = "#[get(\"/s\")] #[auth(session)] \
                     #[cors(origins = [\"https://other.example\"], credentials)] async fn s() {}";
    let mistaken = "#[get(\"/b\")] async fn g() {}";
    for sources in [[fine, mistaken], [unstarted, ""], [unstarted, mistaken]] {
        let broken = of(&sources.concat(), ORIGIN, "null");
        assert_eq!((list(&broken["reports"]).len(), list(&broken["routes"]).len()), (1, 1));
        assert_eq!(broken["cast"], json!([]));
        let is_of_start = text(&broken["reports"][0]["text"]).starts_with("the app does not start");
        assert_eq!(is_of_start, sources == [unstarted, ""], "{broken}");
    }
}

/// Texts of pieces that attributes are made of, in any order.
fn any_source() -> impl Strategy<Value = String> {
    let words = r##"
        get post cors auth csrf cache jsonp limit headers isolation layer origins credentials
        session token public optional scopes max_age csp body callback config exempt return
        #[ ] ( ) { } [ = , - ! | & < > ' é r# 0 "*" "null" "https://*.example" "/a/{id}"
    "##
    .split_whitespace();
    let others = [
        "async fn f",
        "(id: u64)",
        "\"default-src 'self'\"",
        "\"1 MiB\"",
        "\n",
        "#[get(\"/\")] #[auth(public)] async fn f() {}",
    ];
    let pieces = prop::sample::select(words.chain(others).collect::<Vec<_>>());
    prop_oneof![
        prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.join(" ")),
        prop::collection::vec(any::<char>(), 0..80).prop_map(String::from_iter),
    ]
}

proptest::proptest! {
    /// Every text gets an answer.
    #[test]
    fn no_text_panics(source in any_source(), attacker in ".{0,20}", route in 0..3_usize) {
        let answer = ask(&source, "none", &attacker, route);
        assert!(answer["cast"].is_array());
    }
}
