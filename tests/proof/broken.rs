//! Apps that break laws, and what they are told.

use policy_server::{
    __private::{Law, prove},
    IntoResponse, Request, Response,
    http::{HeaderMap, HeaderValue, Method},
    prelude::*,
};
use tower::util::{MapRequestLayer, MapResponseLayer};

#[get("/orders/{id}")]
#[cors(origins = ["https://app.shop.example"], credentials)]
#[auth(session)]
async fn order(_who: Principal, id: u64) -> String {
    format!("order {id}")
}

#[put("/orders/{id}")]
#[cors(origins = ["https://app.shop.example"], credentials)]
#[auth(session)]
#[csrf(origin)]
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

/// Every law that an app breaks, and what is said of one of them.
#[track_caller]
fn breaks(app: App<()>, laws: &[Law], shown: Law, text: &str) {
    let proof = prove(app);
    let broken: Vec<_> =
        Law::ALL.into_iter().filter(|law| !proof.refutation(*law).is_empty()).collect();
    assert_eq!(broken, laws, "{}", proof.refutation(shown));
    assert_eq!(proof.refutation(shown), text);
}

fn with_fields(edit: fn(&mut HeaderMap)) -> App<()> {
    app().layer(MapResponseLayer::new(move |mut response: Response| {
        edit(response.headers_mut());
        response
    }))
}

#[test]
fn a_layer_that_shares_everything_with_everybody() {
    let app = with_fields(|headers| {
        headers.insert("access-control-allow-origin", HeaderValue::from_static("*"));
        headers.insert("access-control-allow-credentials", HeaderValue::from_static("true"));
    });
    breaks(app, &[], Law::ReadSoundness, "");
}

#[test]
fn a_layer_that_strips_vary() {
    let app = with_fields(|headers| drop(headers.remove("vary")));
    breaks(app, &[], Law::VarySoundness, "");
}

#[test]
fn a_layer_that_answers_by_itself() {
    let app = app().layer(tower::layer::layer_fn(|_inner| {
        tower::service_fn(async |_: Request| {
            Ok::<_, std::convert::Infallible>(StatusCode::SERVICE_UNAVAILABLE.into_response())
        })
    }));
    breaks(app, &[], Law::ErrorsReadable, "");
}

#[test]
fn a_layer_that_says_yes_to_every_preflight() {
    let app = with_fields(|headers| {
        if headers.contains_key("access-control-allow-methods") {
            headers.insert("access-control-allow-methods", HeaderValue::from_static("PUT, DELETE"));
        }
    });
    breaks(app, &[], Law::PreflightGate, "");
}

#[test]
fn a_layer_that_calls_every_page_its_own() {
    let app = app().layer(MapRequestLayer::new(|mut request: Request| {
        if request.method() != Method::GET {
            let own = HeaderValue::from_static("https://api.shop.example");
            request.headers_mut().insert("origin", own);
            request.headers_mut().remove("sec-fetch-site");
        }
        request
    }));
    breaks(app, &[], Law::NoAmbientWrite, "");
}
