//! Apps that break laws, and the messages about them.

use std::{convert::Infallible, env, fs, panic::catch_unwind, path::Path};

use policy_server::{
    IntoResponse, Request, Response, Tunnel,
    codegen::{Law, prove},
    http::{HeaderMap, HeaderValue, Method},
    prelude::*,
    testing::every_exchange,
};
use tower::util::{MapRequestLayer, MapResponseLayer};

#[get("/orders/{id}")]
#[cors(origins = ["https://app.shop.example"], credentials)]
#[auth(session)]
#[object(none = "a test of something else")]
async fn order(_who: Principal, id: u64) -> String {
    format!("order {id}")
}

#[put("/orders/{id}")]
#[cors(origins = ["https://app.shop.example"], credentials)]
#[auth(session)]
#[csrf(origin)]
#[object(none = "a test of something else")]
async fn change(_who: Principal, id: u64) -> String {
    format!("changed {id}")
}

#[post("/orders")]
#[auth(session)]
#[csrf(origin)]
async fn buy() {}

#[get("/prices")]
#[cors(origins = ["https://app.shop.example"])]
#[auth(public)]
#[cache(public, max_age = 60)]
async fn prices() -> &'static str {
    "prices"
}

fn app() -> App<()> {
    App::new(())
        .public_origin("https://api.shop.example")
        .sessions(Sessions::memory())
        .routes(routes![order, change, buy, prices])
}

/// Compares the broken laws of an app, and their messages, with the file of this name.
#[track_caller]
fn breaks(app: App<()>, laws: &[Law], name: &str) {
    let (broken, texts) = super::refutations(app);
    let text = texts.join("\n\n") + "\n";
    assert_eq!(broken, laws, "{text}");
    golden(name, &text);
}

/// Compares a text with a file, which `UPDATE_GOLDEN=1` rewrites.
#[track_caller]
fn golden(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("kit/proof/broken").join(name);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, text).expect("a file that can be written");
    }
    assert_eq!(text, fs::read_to_string(file).unwrap_or_default());
}

fn with_fields(edit: fn(&mut HeaderMap)) -> App<()> {
    app().layer(MapResponseLayer::new(move |mut response: Response| {
        edit(response.headers_mut());
        response
    }))
}

#[test]
fn a_layer_that_shares_everything_with_everybody_is_found() {
    let app = with_fields(|headers| {
        headers.insert("access-control-allow-origin", HeaderValue::from_static("*"));
        headers.insert("access-control-allow-credentials", HeaderValue::from_static("true"));
    });
    breaks(
        app,
        &[
            Law::ReadSoundness,
            Law::ReadCompleteness,
            Law::ErrorsReadable,
            Law::OriginEcho,
            Law::ResponseIntegrity,
        ],
        "everybody.txt",
    );
}

#[test]
fn a_layer_that_strips_vary_is_found() {
    let app = with_fields(|headers| drop(headers.remove("vary")));
    breaks(app, &[Law::VarySoundness, Law::ResponseIntegrity], "no_vary.txt");
}

#[test]
fn a_layer_that_answers_by_itself_is_found() {
    let app = app().layer(tower::layer::layer_fn(|_inner| {
        tower::service_fn(async |_: Request| {
            Ok::<_, Infallible>(StatusCode::SERVICE_UNAVAILABLE.into_response())
        })
    }));
    breaks(
        app,
        &[
            Law::ReadCompleteness,
            Law::ErrorsReadable,
            Law::PreflightPurity,
            Law::UniformRefusal,
            Law::ResponseIntegrity,
        ],
        "answers_itself.txt",
    );
}

#[test]
fn a_layer_that_says_yes_to_every_preflight_is_found() {
    let app = with_fields(|headers| {
        if let Some(methods) = headers.get_mut("access-control-allow-methods") {
            let brewing = [methods.as_bytes(), b",BREW"].concat();
            *methods = HeaderValue::from_bytes(&brewing).expect("a list");
        }
    });
    let laws = [Law::ReadSoundness, Law::PreflightGate, Law::ResponseIntegrity];
    breaks(app, &laws, "yes_to_preflights.txt");
}

#[test]
fn a_layer_that_calls_every_page_its_own_is_found() {
    let app = app().layer(MapRequestLayer::new(|mut request: Request| {
        if request.method() != Method::GET {
            let own = HeaderValue::from_static("https://api.shop.example");
            request.headers_mut().insert("origin", own);
            request.headers_mut().remove("sec-fetch-site");
        }
        request
    }));
    breaks(
        app,
        &[
            Law::RequestIntegrity,
            Law::ReadCompleteness,
            Law::ErrorsReadable,
            Law::PreflightPurity,
            Law::NoAmbientWrite,
        ],
        "own_pages.txt",
    );
}

/// A route that the law about writing does not cover is mentioned in its report.
#[post("/hook")]
#[auth(session)]
#[csrf(exempt = "the sender signs it")]
async fn hook() {}

#[test]
fn an_exemption_is_listed_with_its_reason() {
    let proof = prove(app().routes(routes![hook]));
    let lines = proof.caveats(Law::NoAmbientWrite);
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    assert!(
        line.starts_with("outside of it: POST /hook of kit::proof::broken::hook (tests/kit/proof/"),
        "{line}"
    );
    assert!(line.ends_with("exempt: the sender signs it"), "{line}");
    assert_eq!(proof.refutation(Law::NoAmbientWrite), "");
}

/// What an app states at its own risk, and where.
#[get("/widget")]
#[cors(origins = ["https://*.shop.example", "https://partner.example"], credentials)]
#[auth(session)]
#[isolation(none)]
async fn widget() {}

#[test]
fn risky_statements_are_listed_with_their_routes() {
    let sessions = Sessions::memory().same_site(policy_server::session::SameSite::None);
    let proof = prove(app().sessions(sessions).routes(routes![widget]));
    let place = "GET /widget of kit::proof::broken::widget (tests/kit/proof/broken.rs:";
    let lines = proof.caveats(Law::ReadSoundness);
    let [wildcard, partner] = lines.as_slice() else { panic!("{lines:?}") };
    for (line, origin, risk) in [
        (wildcard, "https://*.shop.example", "whoever gets a host below this name reads it"),
        (partner, "https://partner.example", "another site reads it"),
    ] {
        let start = format!("stated: credentials for {origin} by #[cors] on {place}");
        assert!(line.starts_with(&start) && line.contains(risk), "{line}");
    }
    let lines = proof.caveats(Law::Isolation);
    let [open] = lines.as_slice() else { panic!("{lines:?}") };
    assert!(open.starts_with(&format!("stated: no isolation on {place}")), "{open}");
    assert!(open.contains("pages of every site may load it with the session"), "{open}");
}

#[get("/lent")]
#[auth(session)]
async fn lent() {}

#[test]
fn sharing_of_a_group_is_listed_with_the_line_of_the_group() {
    const PARTNERS: CorsPolicy =
        CorsPolicy::origins(&["https://partner.example"]).credentials().build();
    let sessions = Sessions::memory().same_site(policy_server::session::SameSite::None);
    let group = Group::new().policies(Policies::new().cors(PARTNERS)).routes(routes![lent]);
    let proof = prove(app().sessions(sessions).group("/partners", group));
    let lines = proof.caveats(Law::ReadSoundness);
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    let start = "stated: credentials for https://partner.example by Group::policies \
                 (tests/kit/proof/broken.rs:";
    assert!(line.starts_with(start), "{line}");
}

use super::every_attribute::ApiKeys;

#[get("/badge")]
#[auth(scheme = ApiKeys)]
async fn badge() {}

#[test]
fn a_result_lists_skipped_laws() {
    let files = Mount::new(axum::Router::new()).public();
    let fallback = Fallback::handler(async |_: Request| StatusCode::NOT_FOUND).public();
    let app = App::new(())
        .scheme(ApiKeys)
        .mount("/files", files)
        .fallback(fallback)
        .routes(routes![prices, badge]);
    let text = prove(app).confirmation(Law::ReadSoundness);
    let replaced = "; did not run: 2 handlers, the fallback, what is mounted at `/files`, the \
                    scheme `ApiKeys`";
    assert!(text.ends_with(replaced), "{text}");
    // The report of a violation says so, too.
    let text = prove(with_fields(|headers| drop(headers.remove("vary"))));
    let text = text.refutation(Law::VarySoundness);
    assert!(text.ends_with("; did not run: 4 handlers"), "{text}");
}

#[test]
fn a_result_names_what_no_law_tries() {
    let tunnel = Tunnel::to(["db.internal.example:5432"]).public();
    let text = prove(app().tunnel(tunnel)).confirmation(Law::ReadSoundness);
    assert!(text.ends_with("; not tried: tunnels; did not run: 4 handlers, tunnels"), "{text}");
}

#[test]
fn a_law_of_ones_own_holds_for_every_exchange() {
    let mut orders = 0;
    every_exchange(app(), |exchange| {
        if exchange.method() == "PUT" && exchange.handler_ran() {
            orders += 1;
            let is_ours = exchange.page() == "https://app.shop.example" || exchange.is_own_page();
            assert!(is_ours, "{exchange}");
        }
    });
    assert!(orders > 0);
}

#[test]
fn a_law_of_ones_own_fails_with_the_first_exchange_that_breaks_it() {
    let failed = catch_unwind(|| {
        every_exchange(app(), |exchange| {
            let is_ours = exchange.page() == "https://app.shop.example" || exchange.is_own_page();
            assert!(
                is_ours || exchange.status().is_none_or(|status| status != 200),
                "not ours:\n{exchange}"
            );
        });
    });
    let text = *failed.expect_err("a law that does not hold").downcast::<String>().expect("text");
    golden("own_law.txt", &text);
}
