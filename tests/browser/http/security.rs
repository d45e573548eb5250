//! What the security headers prevent in a browser.

use axum::response::Html;

use super::*;

#[get("/nonce")]
#[headers(PAGES)]
#[auth(public)]
async fn with_nonce(nonce: CspNonce, Query(query): Query<Said>) -> Html<String> {
    let Said { text } = query;
    // The mistake that the policy is for: input is written into the page unescaped.
    Html(format!(
        "<!doctype html><title>page</title><p>{text}</p>
         <script nonce=\"{nonce}\">window.own = true;</script>
         <button onclick=\"window.smuggled = 'handler'\">b</button>"
    ))
}

/// The same without any security headers, to show that the attack works without them.
#[get("/bare")]
#[headers(none)]
#[auth(public)]
async fn bare(Query(query): Query<Said>) -> Html<String> {
    let Said { text } = query;
    Html(format!("<!doctype html><title>page</title><p>{text}</p>"))
}

const PAGES: HeadersPolicy = HeadersPolicy::PAGES;

#[derive(serde::Deserialize)]
struct Said {
    text: String,
}

const TELLS: &str = "<!doctype html><title>framed</title>
    <script>parent.postMessage('framed', '*')</script>";

#[get("/framed")]
#[auth(public)]
async fn framed() -> Html<&'static str> {
    Html(TELLS)
}

#[get("/framed-by-anybody")]
#[headers(frame = any)]
#[auth(public)]
async fn framed_by_anybody() -> Html<&'static str> {
    Html(TELLS)
}

#[get("/framed-by-nobody")]
#[headers(frame = none)]
#[auth(public)]
async fn framed_by_nobody() -> Html<&'static str> {
    Html(TELLS)
}

#[get("/blank")]
#[auth(public)]
async fn blank() -> Html<&'static str> {
    Html("<!doctype html><title>blank</title><body>")
}

/// A text that a user uploaded, and that a page loads as a script.
#[get("/upload.txt")]
#[auth(public)]
async fn upload() -> &'static str {
    "window.sniffed = true;"
}

#[get("/upload-bare.txt")]
#[headers(none)]
#[auth(public)]
async fn upload_bare() -> &'static str {
    "window.sniffed = true;"
}

fn site() -> Result<Site, Failure> {
    let pages = routes![with_nonce, bare, framed, framed_by_anybody, framed_by_nobody, blank];
    Site::open(App::new(()).routes(pages).routes(routes![upload, upload_bare]))
}

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_script_with_the_nonce_runs_and_a_smuggled_one_does_not() -> Result<(), Failure> {
    let site = site()?;
    let browser = Browser::start()?;
    let open = |path: &str, text: &str| {
        let encode = |byte: u8| format!("%{byte:02x}");
        let text: String = text.bytes().map(encode).collect();
        browser.goto(&format!("{}{path}?text={text}", site.origin()))
    };
    let state = "
        document.querySelector('button')?.click();
        await new Promise(resolve => setTimeout(resolve, 50));
        const { own = null, smuggled = null } = window;
        return { own, smuggled, base: document.baseURI };";
    // The nonce of one response does not work in another.
    open("/nonce", "")?;
    let nonce = browser.run("return document.querySelector('script').nonce;", &Value::Null)?;
    let nonce = nonce.as_str().filter(|nonce| nonce.len() >= 20).ok_or("no nonce")?;
    let foreign = site.foreign();
    for smuggled in [
        "<script>window.smuggled = 'script'</script>".to_owned(),
        format!("<script nonce=\"{nonce}\">window.smuggled = 'old nonce'</script>"),
        "<img src=data: onerror=\"window.smuggled = 'image'\">".to_owned(),
        "<iframe srcdoc=\"<script>parent.smuggled = 'frame'</script>\"></iframe>".to_owned(),
    ] {
        open("/nonce", &smuggled)?;
        let kept = browser.run(state, &Value::Null)?;
        assert_eq!((&kept["own"], &kept["smuggled"]), (&json!(true), &Value::Null), "{smuggled}");
        open("/bare", &smuggled)?;
        // Without the policy, the script runs.
        browser.wait_for("window.smuggled")?;
    }
    // No `<base>` changes the target of relative URLs.
    open("/nonce", &format!("<base href=\"{foreign}/\">"))?;
    let base = browser.run(state, &Value::Null)?["base"].take();
    assert!(base.as_str().is_some_and(|base| base.starts_with(&site.origin())), "{base}");
    open("/bare", &format!("<base href=\"{foreign}/\">"))?;
    assert_eq!(browser.run(state, &Value::Null)?["base"], format!("{foreign}/"));
    Ok(())
}

/// Loads a page in a frame, and returns whether its script ran there, which the script reports by a
/// message. A blocked page only fires `load`; a message would arrive soon after that.
const FRAME: &str = "
    const frame = document.createElement('iframe');
    let told = false, listen;
    const message = new Promise(resolve => {
        listen = event => {
            if (event.source !== frame.contentWindow) return;
            told = true;
            resolve();
        };
    });
    addEventListener('message', listen);
    const loaded = new Promise(resolve => {
        frame.onload = () => setTimeout(resolve, 100);
        frame.src = input.url;
        document.body.append(frame);
    });
    await (input.shown ? message : loaded);
    removeEventListener('message', listen);
    frame.remove();
    return told;";

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_page_is_framed_only_by_its_own_origin_by_default() -> Result<(), Failure> {
    let site = site()?;
    let browser = Browser::start()?;
    for (opener, expected) in [
        (format!("{}/blank", site.origin()), [true, true, false]),
        (site.foreign(), [false, true, false]),
    ] {
        browser.goto(&opener)?;
        let paths = ["/framed", "/framed-by-anybody", "/framed-by-nobody"];
        for (path, expected) in paths.into_iter().zip(expected) {
            let url = format!("{}{path}", site.origin());
            let actual = browser.run(FRAME, &json!({ "url": url, "shown": expected }))?;
            assert_eq!(actual, expected, "{path} in {opener}");
        }
    }
    Ok(())
}

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn plain_text_does_not_run_as_a_script() -> Result<(), Failure> {
    let site = site()?;
    let browser = Browser::start()?;
    browser.goto(&format!("{}/blank", site.origin()))?;
    let load = "
        window.sniffed = false;
        const script = document.createElement('script');
        script.src = input;
        const event = await new Promise(resolve => {
            script.onload = () => resolve('load');
            script.onerror = () => resolve('error');
            document.body.append(script);
        });
        return [event, window.sniffed];";
    assert_eq!(browser.run(load, &json!("/upload.txt"))?, json!(["error", false]));
    assert_eq!(browser.run(load, &json!("/upload-bare.txt"))?, json!(["load", true]));
    browser.console_with("MIME type", 1)?;
    Ok(())
}
