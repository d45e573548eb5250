//! Responses name the origin of a granted page, or none.

use super::*;

#[get("/stock")]
#[post("/stock")]
#[cors(origins = ["https://app.shop.example", "https://till.shop.example"])]
#[auth(public)]
async fn stock() {}

#[get("/prices")]
#[cors(origins = ["*"])]
#[auth(public)]
async fn prices() {}

fn shop() -> App<()> {
    app().routes(routes![stock])
}

/// Asserts that the laws about the names of origins find an edit of a response, in these words.
fn assert_broken(app: App<()>, edit: fn(&Parts, &mut Response), words: &str) {
    breaks(responding(app, edit), &[Law::OriginEcho, Law::ResponseIntegrity], words);
}

/// Whether no `fetch()` reads the response, so that no other law looks at its fields.
fn is_load(sent: &Parts) -> bool {
    !matches!(text(&sent.headers, "sec-fetch-mode"), "" | "cors")
}

#[test]
fn every_origin_with_credentials() {
    let edit = |_: &Parts, response: &mut Response| {
        if text(response.headers(), ALLOW_ORIGIN) == "*" {
            set(response.headers_mut(), "access-control-allow-credentials", "true");
        }
    };
    assert_broken(app().routes(routes![prices]), edit, "access-control-allow-credentials: true");
}

#[test]
fn every_origin_where_some_are_granted() {
    let edit = |sent: &Parts, response: &mut Response| {
        if is_load(sent) {
            set(response.headers_mut(), ALLOW_ORIGIN, "*");
        }
    };
    assert_broken(shop(), edit, "access-control-allow-origin: *");
}

#[test]
fn the_origin_of_a_page_that_is_not_granted() {
    let edit = |sent: &Parts, response: &mut Response| {
        // `null` breaks another clause, since pages without a name send it too.
        let origin = text(&sent.headers, "origin");
        if is_load(sent) && origin.starts_with("http") {
            set(response.headers_mut(), ALLOW_ORIGIN, origin);
        }
    };
    assert_broken(
        shop(),
        edit,
        "expected  no `Access-Control-Allow-Origin` but that of a granted page",
    );
}

#[test]
fn the_granted_origin_of_another_page() {
    let edit = |sent: &Parts, response: &mut Response| {
        if is_load(sent) {
            set(response.headers_mut(), ALLOW_ORIGIN, "https://till.shop.example");
        }
    };
    assert_broken(shop(), edit, "access-control-allow-origin: https://till.shop.example");
}

#[test]
fn a_stranger_in_the_response_to_its_preflight() {
    let edit = |sent: &Parts, response: &mut Response| {
        let neighbour = "https://policy-neighbour.shop.example";
        if is_preflight(sent) && text(&sent.headers, "origin") == neighbour {
            set(response.headers_mut(), ALLOW_ORIGIN, neighbour);
        }
    };
    assert_broken(shop(), edit, "(a page of the same site)");
}

#[test]
fn an_origin_in_capitals() {
    let edit = |sent: &Parts, response: &mut Response| {
        if !is_preflight(sent) && text(&sent.headers, "origin") == "HTTPS://APP.SHOP.EXAMPLE" {
            set(response.headers_mut(), ALLOW_ORIGIN, "https://app.shop.example");
        }
    };
    assert_broken(shop(), edit, "this is no origin of the policy");
}

#[test]
fn an_origin_in_capitals_in_a_preflight() {
    let edit = |sent: &Parts, response: &mut Response| {
        if is_preflight(sent) && text(&sent.headers, "origin") == "HTTPS://APP.SHOP.EXAMPLE" {
            set(response.headers_mut(), ALLOW_ORIGIN, "https://app.shop.example");
        }
    };
    assert_broken(shop(), edit, "curl -i -X OPTIONS");
}

#[get("/orders")]
#[auth(public)]
async fn orders() {}

#[post("/orders")]
#[cors(origins = ["https://app.shop.example"])]
#[auth(public)]
async fn order() {}

#[test]
fn the_first_of_two_origins_with_a_method_that_is_shared() {
    let edit = |sent: &Parts, response: &mut Response| {
        if sent.method == "POST" && sent.headers.get_all("origin").iter().count() > 1 {
            set(response.headers_mut(), ALLOW_ORIGIN, text(&sent.headers, "origin"));
        }
    };
    assert_broken(app().routes(routes![orders, order]), edit, "this is no origin of the policy");
}

#[test]
fn an_origin_from_the_referrer_for_a_path_that_is_unknown() {
    const ALL: CorsPolicy = CorsPolicy::origins(&["https://app.shop.example"]).build();
    let edit = |sent: &Parts, response: &mut Response| {
        let is_stranger = text(&sent.headers, "origin") == "https://stranger.example";
        let is_unknown = sent.uri.path() != "/stock";
        if is_unknown && is_stranger && text(&sent.headers, "referer") == "https://app.shop.example"
        {
            set(response.headers_mut(), ALLOW_ORIGIN, "https://app.shop.example");
        }
    };
    let app = shop().policies(Policies::new().cors(ALL));
    assert_broken(app, edit, "access-control-allow-origin: https://app.shop.example");
}

#[get("/profile")]
#[cors(origins = ["https://app.shop.example"], credentials)]
#[auth(session)]
async fn profile() {}

/// Asserts that the laws find a layer that grants credentials to pages with similar hosts.
fn named_with_credentials(edit: fn(&Parts, &mut Response), words: &str) {
    let app = responding(with_sessions().routes(routes![profile]), edit);
    let laws = [Law::ReadSoundness, Law::OriginEcho, Law::ResponseIntegrity];
    breaks(app, &laws, words);
}

fn grant(sent: &Parts, response: &mut Response, end: &str) {
    let origin = text(&sent.headers, "origin");
    if origin.ends_with(end) && !is_preflight(sent) {
        set(response.headers_mut(), ALLOW_ORIGIN, origin);
        set(response.headers_mut(), "access-control-allow-credentials", "true");
    }
}

#[test]
fn a_page_below_the_host_of_a_granted_origin() {
    named_with_credentials(
        |sent, response| grant(sent, response, ".app.shop.example"),
        "https://a.app.shop.example (a page of nearly such a name)",
    );
}

#[test]
fn a_page_below_the_own_host() {
    named_with_credentials(
        |sent, response| grant(sent, response, ".api.shop.example"),
        "https://a.api.shop.example (a page of nearly such a name)",
    );
}
