//! Sequences of loads: what a browser keeps from one load for the next.

use std::time::Duration;

use policy_browser::{
    Credentials::Include, Event, Fetch, Outcome, Page, Profile, Reason, SentRequest,
    ServerResponse, State, ThirdParty, Url, run, step,
};

use crate::case::response;

const APP: &str = "https://app.shop.example/";
const ADMIN: &str = "https://admin.shop.example/";
const API: &str = "https://api.shop.example/";
const EVIL: &str = "https://evil.test/";
const WIDGET: &str = "https://widget.test/";

/// A browser and the requests that it sent.
struct Visit {
    state: State,
    sent: Vec<SentRequest>,
}

impl Visit {
    fn new(profile: Profile) -> Self {
        Self { state: State::new(profile, Duration::from_secs(1_800_000_000)), sent: Vec::new() }
    }

    /// A load whose every request gets this response.
    fn load(&mut self, page: Option<&Page>, fetch: Fetch, response: &ServerResponse) -> Outcome {
        self.load_from(page, fetch, |_| response.clone())
    }

    fn load_from(
        &mut self,
        page: Option<&Page>,
        fetch: Fetch,
        mut server: impl FnMut(&SentRequest) -> ServerResponse,
    ) -> Outcome {
        let sent = &mut self.sent;
        let (state, outcome) = run(self.state.clone(), page, fetch, |request| {
            sent.push(request.clone());
            server(request)
        });
        self.state = state;
        outcome
    }

    /// The `Cookie` field of a load.
    fn cookies(&mut self, page: Option<&Page>, fetch: Fetch) -> String {
        self.load(page, fetch, &response(200, &[]));
        self.last("cookie")
    }

    /// A field of the last request, or an empty text.
    fn last(&self, name: &str) -> String {
        let value = self.sent.last().and_then(|request| request.headers.get(name));
        value.map(|value| value.to_str().expect("text").to_owned()).unwrap_or_default()
    }

    fn waits(&mut self, seconds: u64) {
        let time = Event::Elapse(Duration::from_secs(seconds));
        self.state = step(self.state.clone(), time).0;
    }

    /// Loads the document of a window or frame, which sets cookies.
    fn opens(&mut self, page: Option<&Page>, fetch: Fetch, cookies: &[&str]) -> Page {
        let fields: Vec<_> = cookies.iter().map(|cookie| ("set-cookie", *cookie)).collect();
        let outcome = self.load(page, fetch, &response(200, &fields));
        outcome.page().expect("a document").clone()
    }
}

/// A response that the page may read, with credentials.
fn grant(to: &str, fields: &[(&str, &str)]) -> ServerResponse {
    let grant = [
        ("access-control-allow-origin", to.trim_end_matches('/')),
        ("access-control-allow-credentials", "true"),
    ];
    response(200, &[&grant[..], fields].concat())
}

fn page(address: &str) -> Page {
    Page::at(Url::parse(address).expect("an address"))
}

fn api(path: &str) -> String {
    format!("{API}{path}")
}

#[test]
fn a_login_lasts_until_the_logout() {
    let mut visit = Visit::new(Profile::CHROMIUM);
    let app = page(APP);
    let session = "__Host-session=s; Path=/; Secure; HttpOnly; SameSite=Lax";
    let login = Fetch::post(api("login")).credentials(Include);
    visit.load(Some(&app), login, &grant(APP, &[("set-cookie", session)]));

    let me = || Fetch::get(api("me"));
    assert_eq!(visit.cookies(Some(&app), me().credentials(Include)), "__Host-session=s");
    assert_eq!(visit.cookies(Some(&app), me()), "", "of another origin, and not asked for");
    assert_eq!(visit.cookies(Some(&page(EVIL)), me().credentials(Include)), "");
    assert_eq!(visit.state.read_cookies(&page(API)), "", "not for scripts");

    let logout = Fetch::post(api("logout")).credentials(Include);
    let removed = "__Host-session=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0";
    visit.load(Some(&app), logout, &grant(APP, &[("set-cookie", removed)]));
    assert_eq!(visit.cookies(Some(&app), me().credentials(Include)), "");
    assert_eq!(visit.state.cookies().iter().count(), 0);
}

#[test]
fn preflights_neither_send_nor_set_cookies() {
    let mut visit = Visit::new(Profile::CHROMIUM);
    visit.opens(None, Fetch::navigate(API), &["a=1"]);
    let put = Fetch::put(api("me")).credentials(Include);
    let says_yes = grant(APP, &[("access-control-allow-methods", "PUT"), ("set-cookie", "b=2")]);
    visit.load_from(Some(&page(APP)), put, |request| {
        assert_eq!(request.headers.contains_key("cookie"), !request.is_preflight);
        if request.is_preflight { says_yes.clone() } else { grant(APP, &[]) }
    });
    assert_eq!(visit.cookies(None, Fetch::navigate(API)), "a=1");
}

/// The cookies that navigations from another site carry: a form and a link in the last second of two
/// minutes, and a form after them.
fn from_elsewhere(profile: Profile) -> [String; 3] {
    let mut visit = Visit::new(profile);
    let cookies = [
        "strict=1; Secure; SameSite=Strict",
        "lax=1; Secure; SameSite=Lax",
        "none=1; Secure; SameSite=None",
        "unsaid=1; Secure",
    ];
    visit.opens(None, Fetch::navigate(API), &cookies);
    let evil = visit.opens(None, Fetch::navigate(EVIL), &[]);
    let pay = || Fetch::form(api("pay"), [("to", "mallory")]);
    visit.waits(119);
    let form = visit.cookies(Some(&evil), pay());
    let link = visit.cookies(Some(&evil), Fetch::navigate(API));
    visit.waits(1);
    [form, link, visit.cookies(Some(&evil), pay())]
}

#[test]
fn a_cross_site_form_sends_the_cookies_that_same_site_allows() {
    assert_eq!(
        from_elsewhere(Profile::CHROMIUM),
        ["none=1; unsaid=1", "lax=1; none=1; unsaid=1", "none=1"],
    );
    assert_eq!(
        from_elsewhere(Profile::FIREFOX),
        ["none=1; unsaid=1", "lax=1; none=1; unsaid=1", "none=1; unsaid=1"],
    );
    assert_eq!(from_elsewhere(Profile::STANDARD), ["none=1", "lax=1; none=1; unsaid=1", "none=1"],);
}

/// A frame of another site that gets cookies and then requests its own server: the cookies sent
/// in the same window, in one of a third site, and in a window of its own.
fn framed(third_party: ThirdParty) -> [String; 3] {
    let mut visit = Visit::new(Profile::STANDARD.third_party(third_party));
    let cookies = [
        "a=1; Secure; SameSite=None",
        "chip=1; Secure; SameSite=None; Partitioned",
        "insecure=1; SameSite=None; Partitioned",
    ];
    let frame = visit.opens(Some(&page(APP)), Fetch::frame(WIDGET), &cookies);
    let same = visit.cookies(Some(&frame), Fetch::get("/data"));
    let frame = visit.opens(Some(&page(EVIL)), Fetch::frame(WIDGET), &[]);
    let other = visit.cookies(Some(&frame), Fetch::get("/data"));
    [same, other, visit.cookies(None, Fetch::navigate(WIDGET))]
}

#[test]
fn a_frame_has_the_cookies_that_the_setting_gives_it() {
    assert_eq!(framed(ThirdParty::Sent), ["a=1; chip=1", "a=1", "a=1"]);
    assert_eq!(framed(ThirdParty::Partitioned), ["a=1; chip=1", "", ""]);
    assert_eq!(framed(ThirdParty::Blocked), ["chip=1", "", ""]);
}

#[test]
fn a_frame_within_a_cross_site_frame_is_cross_site() {
    let mut visit = Visit::new(Profile::CHROMIUM);
    let app = visit.opens(None, Fetch::navigate(APP), &["a=1; Secure; SameSite=None"]);
    let widget = visit.opens(Some(&app), Fetch::frame(WIDGET), &[]);
    assert_eq!(visit.cookies(Some(&app), Fetch::frame(APP)), "a=1");
    assert_eq!(visit.cookies(Some(&widget), Fetch::frame(APP)), "");
}

#[test]
fn a_sister_host_can_plant_a_cookie_unless_its_name_promises_a_host() {
    let mut visit = Visit::new(Profile::CHROMIUM);
    visit.opens(None, Fetch::navigate(API), &["session=own", "__Host-own=1; Path=/; Secure"]);
    let planted = [
        "session=planted; Domain=shop.example; Path=/me",
        "__Host-own=2; Secure; Path=/; Domain=shop.example",
    ];
    visit.opens(None, Fetch::navigate("https://taken.shop.example/"), &planted);
    assert_eq!(
        visit.cookies(None, Fetch::navigate(api("me"))),
        "session=planted; session=own; __Host-own=1",
    );
}

#[test]
fn a_response_that_still_holds_is_not_sent_again() {
    let mut visit = Visit::new(Profile::CHROMIUM);
    let app = page(APP);
    let versioned = |request: &SentRequest| {
        let fields = [("etag", "\"1\""), ("cache-control", "no-cache")];
        let mut response = grant(APP, &fields);
        match request.headers.get("if-none-match") {
            Some(tag) if tag == "\"1\"" => response.status = 304,
            _ => response.body = b"content".to_vec(),
        }
        response
    };
    for tag in ["", "\"1\""] {
        let asset = Fetch::get(api("asset")).credentials(Include);
        let outcome = visit.load_from(Some(&app), asset, versioned);
        let response = outcome.response().expect("a response");
        assert_eq!((response.status, response.body.as_slice()), (200, &b"content"[..]));
        assert!(!response.is_cached);
        assert_eq!(visit.last("if-none-match"), tag);
    }
}

/// Two pages of one site read the same URL, whose response names the requesting origin.
fn two_pages(profile: Profile, has_vary: bool) -> [Outcome; 2] {
    let mut visit = Visit::new(profile);
    [APP, ADMIN].map(|address| {
        let list = Fetch::get(api("list")).credentials(Include);
        visit.load_from(Some(&page(address)), list, |request| {
            let origin = request.headers["origin"].to_str().expect("text");
            let caching = [("cache-control", "max-age=60"), ("etag", "\"1\""), ("vary", "Origin")];
            let fields = if has_vary { &caching[..] } else { &caching[..2] };
            let is_known = request.headers.contains_key("if-none-match");
            let mut response = grant(origin, fields);
            response.status = if is_known { 304 } else { 200 };
            response
        })
    })
}

#[test]
fn without_vary_one_page_gets_the_grant_of_another() {
    for profile in [Profile::STANDARD, Profile::CHROMIUM, Profile::FIREFOX, Profile::WEBKIT] {
        let [app, admin] = two_pages(profile, false);
        assert!(app.is_readable());
        let Outcome::Blocked(blocked) = &admin else { panic!("{}: {admin:?}", profile.name) };
        assert_eq!(blocked.reason, Reason::AllowOrigin(APP.trim_end_matches('/').into()));
        let [app, admin] = two_pages(profile, true);
        assert!(app.is_readable() && admin.is_readable(), "{}", profile.name);
    }
}

#[test]
fn a_stale_response_is_used_while_the_next_one_comes() {
    let mut visit = Visit::new(Profile::CHROMIUM);
    let (app, mut version) = (page(APP), 0);
    let bodies = [(); 4].map(|()| {
        let outcome = visit.load_from(Some(&app), Fetch::get("/news"), |_| {
            version += 1;
            let fields = [("cache-control", "max-age=0, stale-while-revalidate=60")];
            let mut response = response(200, &fields);
            response.body = vec![version];
            response
        });
        outcome.response().expect("a response").body[0]
    });
    assert_eq!(bodies, [1, 1, 2, 3], "as Chromium 156 and Firefox 153 do");
}

#[test]
fn an_order_makes_the_browser_forget_the_list() {
    let mut visit = Visit::new(Profile::CHROMIUM);
    let app = page(APP);
    let fresh = response(200, &[("cache-control", "max-age=600")]);
    for (fetch, requests) in [
        (Fetch::get("/orders"), 1),
        (Fetch::get("/orders"), 1),
        (Fetch::post("/orders").body("{}"), 2),
        (Fetch::get("/orders"), 3),
    ] {
        visit.load(Some(&app), fetch, &fresh);
        assert_eq!(visit.sent.len(), requests);
    }
}

#[test]
fn in_firefox_a_cross_site_redirect_drops_strict_cookies() {
    for (profile, expected) in [(Profile::CHROMIUM, "s=1; l=1"), (Profile::FIREFOX, "l=1")] {
        let mut visit = Visit::new(profile);
        let cookies = ["s=1; Secure; SameSite=Strict", "l=1; Secure; SameSite=Lax"];
        visit.opens(None, Fetch::navigate(APP), &cookies);
        visit.load_from(None, Fetch::navigate(EVIL), |request| match request.url.as_str() {
            EVIL => response(302, &[("location", APP)]),
            _ => response(200, &[]),
        });
        assert_eq!(visit.last("cookie"), expected, "{}", profile.name);
    }
}

#[test]
fn cookies_of_scripts_are_sent_to_the_server() {
    let mut visit = Visit::new(Profile::CHROMIUM);
    let app = page(APP);
    let text = "theme=dark; Domain=shop.example; Max-Age=60".to_owned();
    visit.state = step(visit.state.clone(), Event::WriteCookie { page: app.clone(), text }).0;
    assert_eq!(visit.state.read_cookies(&page(ADMIN)), "theme=dark");
    let me = Fetch::get(api("me")).credentials(Include);
    assert_eq!(visit.cookies(Some(&app), me), "theme=dark");
    visit.waits(59);
    assert_eq!(visit.state.read_cookies(&app), "theme=dark");
    visit.waits(1);
    assert_eq!(visit.state.read_cookies(&app), "");
    assert_eq!(visit.state.cookies().iter().count(), 0);
}
