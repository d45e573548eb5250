//! JSONP, for partners whose pages cannot use CORS.

use super::*;

/// Loads a script of another origin into the page, and returns the argument that it passed to
/// `show`, or the name of the event.
const SCRIPT: &str = "
    window.shown = null;
    window.show = data => { window.shown = data; };
    const script = document.createElement('script');
    script.src = input;
    const event = await new Promise(resolve => {
        script.onload = () => resolve('load');
        script.onerror = () => resolve('error');
        document.body.append(script);
    });
    script.remove();
    return { event, shown: window.shown, hostile: window.hostile ?? null };";

#[post("/plain")]
#[auth(public)]
async fn post_only() {}

#[get("/prices")]
#[jsonp(callback = "callback")]
#[auth(public)]
async fn prices() -> Json<Value> {
    Json(prices_of_today())
}

#[get("/sold-out")]
#[jsonp(callback = "callback")]
#[auth(public)]
async fn sold_out() -> Problem {
    Problem::not_found()
}

/// With every character that could end a script, a line or an element.
fn prices_of_today() -> Value {
    json!({ "lamp": 49, "name": "</script><!-- \u{2028}\u{2029} \"'\\ & \u{1f600}" })
}

fn load(browser: &Browser, site: &Site, target: &str) -> Result<Value, Failure> {
    browser.run(SCRIPT, &json!(format!("{}{target}", site.origin())))
}

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_page_of_another_origin_loads_the_script_and_gets_the_data() -> Result<(), Failure> {
    let app = App::new(())
        .policies(Policies::new().isolation(Isolation::SameOrigin).headers(HeadersPolicy::API));
    let site = Site::open(app.routes(routes![prices, sold_out, post_only]))?;
    let browser = Browser::start()?;
    browser.goto(&site.foreign())?;
    let loaded = load(&browser, &site, "/prices?callback=show")?;
    assert_eq!(loaded, json!({ "event": "load", "shown": prices_of_today(), "hostile": null }));
    // A function that does not exist is not called, without an error.
    let loaded = load(&browser, &site, "/prices?callback=absent")?;
    assert_eq!((&loaded["event"], &loaded["shown"]), (&json!("load"), &Value::Null));
    assert_eq!(browser.console()?, [""; 0], "no exception");
    // The page sees an error by the event only.
    let failed = load(&browser, &site, "/sold-out?callback=show")?;
    assert_eq!((&failed["event"], &failed["shown"]), (&json!("error"), &Value::Null));
    assert_eq!(site.arrivals.first("/sold-out?callback=show").status, 404);
    // Without a callback the response is JSON, which no script element runs.
    assert_eq!(load(&browser, &site, "/prices")?["event"], "error");
    Ok(())
}

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_hostile_name_is_refused_and_runs_nothing() -> Result<(), Failure> {
    let site = Site::open(App::new(()).routes(routes![prices]))?;
    let browser = Browser::start()?;
    browser.goto(&site.foreign())?;
    let names = [
        "hostile=1//",
        "(()=>{hostile=1})",
        "show;hostile=1;show",
        "show(hostile=1);show",
        "show`${hostile=1}`",
        "/**/hostile=1;//",
        "\nhostile=1\n",
        "\u{2028}hostile=1\u{2028}",
        "hostile\u{3d}1",
        "window[`hostile`]=show",
        "document.write",
        "setTimeout.call",
        "\\u0073how",
        "<script>hostile=1</script>",
        "CWS\x07\x0e000x",
        "eval",
        "this",
        "",
        "sh\u{f6}w",
        "%73how%",
    ];
    for name in names {
        let encode = |byte: u8| format!("%{byte:02x}");
        let target = format!("/prices?callback={}", name.bytes().map(encode).collect::<String>());
        let refused = load(&browser, &site, &target)?;
        assert_eq!(refused, json!({ "event": "error", "shown": null, "hostile": null }), "{name}");
        let arrival = site.arrivals.first(&target);
        assert_eq!(arrival.refused_with(), (400, "jsonp.callback-invalid"), "{name}");
    }
    let twice = "/prices?callback=show&callback=show";
    assert_eq!(load(&browser, &site, twice)?["event"], "error");
    assert_eq!(site.arrivals.first(twice).status, 400);
    Ok(())
}
