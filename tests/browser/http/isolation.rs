//! Which requests of pages of another site an isolated app refuses, and which it admits.

use axum::response::Html;

use super::*;

const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"8\" height=\"8\"></svg>";

fn image() -> impl IntoResponse {
    ([("content-type", "image/svg+xml")], SVG)
}

fn code() -> impl IntoResponse {
    ([("content-type", "text/javascript")], "window.ran = true;")
}

/// Each kind twice: with the isolation of the app, and without isolation.
#[get("/image")]
#[auth(public)]
async fn isolated_image() -> impl IntoResponse {
    image()
}

#[get("/open/image")]
#[isolation(none)]
#[auth(public)]
async fn open_image() -> impl IntoResponse {
    image()
}

#[get("/script")]
#[auth(public)]
async fn isolated_script() -> impl IntoResponse {
    code()
}

#[get("/open/script")]
#[isolation(none)]
#[auth(public)]
async fn open_script() -> impl IntoResponse {
    code()
}

#[get("/data")]
#[post("/data")]
#[auth(public)]
async fn isolated_data() -> Json<u32> {
    Json(1)
}

#[get("/open/data")]
#[post("/open/data")]
#[isolation(none)]
#[auth(public)]
async fn open_data() -> Json<u32> {
    Json(1)
}

#[get("/page")]
#[headers(frame = any)]
#[auth(public)]
async fn isolated_page() -> Html<&'static str> {
    Html("<!doctype html><title>isolated</title><body>")
}

#[get("/open/page")]
#[headers(frame = any)]
#[isolation(none)]
#[auth(public)]
async fn open_page() -> Html<&'static str> {
    Html("<!doctype html><title>open</title><body>")
}

#[get("/granted")]
#[put("/granted")]
#[cors(origins = ["http://127.0.0.1:*"])]
#[auth(public)]
async fn granted() -> Json<u32> {
    Json(1)
}

fn site() -> Result<Site, Failure> {
    let isolated = routes![isolated_image, isolated_script, isolated_data, isolated_page, granted];
    let open = routes![open_image, open_script, open_data, open_page];
    Site::open(
        App::new(())
            .policies(Policies::new().isolation(Isolation::SameOrigin))
            .routes(isolated)
            .routes(open),
    )
}

/// Makes a page load something in a way that needs no CORS, and returns whether it succeeded.
const LOAD: &str = "
    const { kind, url } = input;
    if (kind === 'no-cors' || kind === 'no-cors POST') {
        await fetch(url, { mode: 'no-cors', method: kind === 'no-cors' ? 'GET' : 'POST' });
        return null;
    }
    const element = document.createElement(kind);
    return new Promise(resolve => {
        element.onload = () => resolve('load');
        element.onerror = () => resolve('error');
        element.src = url;
        document.body.append(element);
    });";

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn subresource_loads_of_other_sites_are_refused() -> Result<(), Failure> {
    let site = site()?;
    let browser = Browser::start()?;
    browser.goto(&site.foreign())?;
    for (kind, path) in [
        ("img", "/image"),
        ("script", "/script"),
        ("iframe", "/page"),
        ("no-cors", "/data"),
        ("no-cors POST", "/data"),
    ] {
        let target = |path: &str| format!("{path}?{}", kind.replace(' ', "-"));
        let load = |target: &str| {
            let url = format!("{}{target}", site.origin());
            browser.run(LOAD, &json!({ "kind": kind, "url": url }))
        };
        let isolated = target(path);
        let loaded = load(&isolated)?;
        assert_eq!(site.arrivals.first(&isolated).refused_with(), (403, CROSS_SITE), "{kind}");
        assert_eq!(site.arrivals.first(&isolated).fetch_site.as_deref(), Some("cross-site"));
        let open = target(&format!("/open{path}"));
        let opened = load(&open)?;
        assert_eq!(site.arrivals.first(&open).status, 200, "it would be answered: {kind}");
        // A frame fires `load` for error pages too.
        if kind == "img" || kind == "script" {
            assert_eq!((loaded, opened), (json!("error"), json!("load")), "{kind}");
        }
    }
    let ran = browser.run("return window.ran ?? null;", &Value::Null)?;
    assert_eq!(ran, true, "the open script ran");
    Ok(())
}

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn isolation_admits_granted_fetches_and_links() -> Result<(), Failure> {
    let site = site()?;
    let browser = Browser::start()?;
    browser.goto(&site.foreign())?;
    let call = "
        try {
            const response = await fetch(input.url, { method: input.method });
            return [response.status, await response.json()];
        } catch (error) {
            return [error.name];
        }";
    let call = |method: &str, path: &str| {
        let url = format!("{}{path}", site.origin());
        browser.run(call, &json!({ "method": method, "url": url }))
    };
    assert_eq!(call("GET", "/granted?get")?, json!([200, 1]));
    assert_eq!(site.arrivals.first("/granted?get").fetch_site.as_deref(), Some("cross-site"));
    assert_eq!(call("PUT", "/granted?put")?, json!([200, 1]));
    assert_eq!(site.arrivals.methods("/granted?put"), ["OPTIONS", "PUT"]);
    assert_eq!(call("GET", "/data?cors")?, json!(["TypeError"]));
    assert_eq!(site.arrivals.first("/data?cors").refused_with(), (403, CROSS_SITE));

    let link = format!("{}/page?link", site.origin());
    browser.leave("location.href = input", &json!(link))?;
    browser.wait_for("document.title === 'isolated'")?;
    assert_eq!(site.arrivals.first("/page?link").fetch_site.as_deref(), Some("cross-site"));
    // A form submission from another site is not a link.
    browser.goto(&site.foreign())?;
    let form = "
        const form = Object.assign(document.createElement('form'), { method: 'post', action: input });
        document.body.append(form);
        form.submit();";
    browser.leave(form, &json!(format!("{}/data?form", site.origin())))?;
    assert_eq!(site.arrivals.first("/data?form").refused_with(), (403, CROSS_SITE));
    Ok(())
}

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn pages_of_the_same_origin_load_everything() -> Result<(), Failure> {
    let site = site()?;
    let browser = Browser::start()?;
    browser.goto(&format!("{}/page?typed", site.origin()))?;
    assert_eq!(site.arrivals.first("/page?typed").fetch_site.as_deref(), Some("none"));
    for (kind, path) in [("img", "/image"), ("script", "/script"), ("iframe", "/page")] {
        let loaded = browser.run(LOAD, &json!({ "kind": kind, "url": path }))?;
        assert_eq!(loaded, "load", "{kind}");
        assert_eq!(site.arrivals.first(path).status, 200, "{kind}");
        assert_eq!(site.arrivals.first(path).fetch_site.as_deref(), Some("same-origin"));
    }
    Ok(())
}

const CROSS_SITE: &str = "isolation.cross-site";
