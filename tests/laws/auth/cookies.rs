//! The cookies that a server sets, and how a browser stores them.

use std::time::Duration;

use http::{HeaderMap, Method, header::SET_COOKIE};
use policy_browser::{CacheMode, Cookie, Fetch, Page, ServerResponse, State, Url, run};
use policy_core::{
    cookie::{CookieSpec, SameSite},
    head::{OwnOrigin, PublicOrigin},
};
use policy_server::{http, prelude::*};
use proptest::{collection::vec, option, prelude::*, sample::select};

use super::test_server::{End, OWN, Request, START, Script, Step, TestServer, act};
use crate::{
    generate,
    law::{Precondition, holds},
    scenario::{Group, Site},
    shared_cache::stored_by,
    theorems::met_if,
};

fn own_page() -> Page {
    Page::at(Url::parse(&format!("{OWN}/shop/x")).expect("an address"))
}

const SAME_SITES: [SameSite; 3] = [SameSite::Strict, SameSite::Lax, SameSite::None];

fn same_site(own: SameSite) -> policy_browser::SameSite {
    match own {
        SameSite::Strict => policy_browser::SameSite::Strict,
        SameSite::Lax => policy_browser::SameSite::Lax,
        SameSite::None => policy_browser::SameSite::None,
    }
}

/// The attributes of a cookie with arbitrary values, valid or not.
#[derive(Clone, Debug)]
struct Wanted {
    name: &'static str,
    value: &'static str,
    domain: Option<&'static str>,
    path: Option<&'static str>,
    max_age: Option<u64>,
    same_site: SameSite,
    /// `Secure`, `HttpOnly`, `Partitioned`.
    flags: [bool; 3],
}

impl Wanted {
    fn spec(&self) -> CookieSpec {
        let mut spec = CookieSpec::new(self.name).same_site(self.same_site);
        let [is_secure, is_http_only, is_partitioned] = self.flags;
        if let Some(domain) = self.domain {
            spec = spec.domain(domain);
        }
        if let Some(path) = self.path {
            spec = spec.path(path);
        }
        if let Some(seconds) = self.max_age {
            spec = spec.max_age(Duration::from_secs(seconds));
        }
        if is_secure {
            spec = spec.secure();
        }
        if is_http_only {
            spec = spec.http_only();
        }
        if is_partitioned { spec.partitioned() } else { spec }
    }

    /// Whether a browser stored it with these attributes.
    fn is(&self, cookie: &Cookie) -> bool {
        let [is_secure, is_http_only, is_partitioned] = self.flags;
        let now = Duration::from_secs(START);
        cookie.name() == self.name
            && cookie.value() == self.value
            && cookie.domain() == self.domain.unwrap_or("api.shop.example")
            && cookie.is_host_only() == self.domain.is_none()
            && cookie.path() == self.path.unwrap_or("/shop")
            && cookie.expires() == self.max_age.map(|age| now + Duration::from_secs(age))
            && cookie.is_secure() == is_secure
            && cookie.is_http_only() == is_http_only
            && cookie.same_site() == Some(same_site(self.same_site))
            && cookie.partition().is_some() == is_partitioned
    }
}

fn wanted_cookie() -> impl Strategy<Value = Wanted> {
    let name = select(
        &["a", "sid", "__Host-sid", "__Secure-x", "__Http-x", "__Host-Http-x", "__host-x", "a b"][..],
    );
    let value = select(&["v", "", "dark-1", "a=b", "a b", "\"v\"", "ä", "a;b", "a,b"][..]);
    let domain = select(&["shop.example", "api.shop.example", "example", "evil.test", ".x"][..]);
    let path = select(&["/", "/shop", "/shop/", "/other", "shop", "/a;b"][..]);
    let max_age = select(&[1, 600, 34_560_000, 34_560_001][..]);
    let same_site = select(&SAME_SITES[..]);
    let parts = (name, value, option::weighted(0.3, domain), option::of(path));
    (parts, option::of(max_age), same_site, any::<[bool; 3]>()).prop_map(
        |((name, value, domain, path), max_age, same_site, mut flags)| {
            // Mostly secure, which most rules require.
            flags[0] |= flags[2] || name.starts_with("__") && value.len() % 2 == 1;
            Wanted { name, value, domain, path, max_age, same_site, flags }
        },
    )
}

/// The state of a browser after a response with these fields.
fn browse(state: State, lines: HeaderMap) -> State {
    let fetch = Fetch::get(format!("{OWN}/shop/x")).cache(CacheMode::NoStore);
    let response = ServerResponse::new(200, lines, Vec::new());
    run(state, Some(&own_page()), fetch, |_| response.clone()).0
}

/// T18, cookies that can be set. Every browser stores what the engine writes as `Set-Cookie`, with
/// exactly these attributes, and removes what it removes.
#[test]
fn t18_browsers_keep_the_cookies_of_the_engine_as_they_are() {
    let own = OwnOrigin::Public(PublicOrigin::parse(OWN).expect("an origin"));
    holds("T18", 9, (wanted_cookie(), generate::profile()), |(wanted, profile)| {
        let Ok(spec) = wanted.spec().at(&own) else { return met_if(false) };
        let Ok(line) = spec.set(wanted.value) else { return met_if(false) };
        let lines = |line| HeaderMap::from_iter([(SET_COOKIE, line)]);
        let state = browse(State::new(profile, Duration::from_secs(START)), lines(line));
        let kept: Vec<&Cookie> = state.cookies().iter().collect();
        prop_assert!(kept.len() == 1 && wanted.is(kept[0]), "{}: {:?}", profile.name, kept);
        let state = browse(state, lines(spec.remove().expect("a removal")));
        prop_assert_eq!(state.cookies().iter().count(), 0);
        Ok(Precondition::Met)
    });
}

/// T18, cookies of sessions. Whatever a handler does with its session and writes itself, the
/// browser has one session cookie, the engine's: for this host only, over TLS only, hidden from
/// scripts, with the configured `SameSite`. After a logout there is none.
#[test]
fn t18_the_cookie_of_a_session_is_the_engines_own() {
    thread_local! {
        static SERVERS: [TestServer; 3] = SAME_SITES.map(|same_site| {
            let app = App::new(()).sessions(Sessions::memory().same_site(same_site));
            TestServer::new(app.routes(routes![act, planted]))
        });
    }
    let step = select(vec![
        Step::Login { user: "ada", is_remembered: false },
        Step::Login { user: "ada", is_remembered: true },
        Step::Write { key: "a" },
        Step::Logout,
        Step::RevokeAll,
    ]);
    let deeds = vec((step, select(&[200, 303, 404, 500][..]), prop::bool::weighted(0.3)), 1..5);
    let cases = (deeds, 0..3_usize, generate::profile());
    holds("T18, sessions", 43, cases, |(deeds, place, profile)| {
        SERVERS.with(|servers| {
            let server = &servers[place];
            let mut state = State::new(profile, Duration::from_millis(server.now() * 1000));
            let mut was_set = false;
            for (step, status, is_planted) in deeds {
                let path = if is_planted { "planted" } else { "act" };
                let is_logout = step == Step::Logout && !is_planted;
                let script = Script::at_once(vec![step], End::Status(status));
                let fetch = Fetch::post(format!("{OWN}/{path}"));
                state = run(state, Some(&own_page()), fetch, |sent| {
                    let reply = server.send(Request::from_sent(sent).script(&script));
                    was_set |= reply.headers.contains_key(SET_COOKIE);
                    reply.into()
                })
                .0;
                let mut kept = state.cookies().iter();
                if let Some(cookie) = kept.next() {
                    let is_ours = cookie.name() == "__Host-sid"
                        && cookie.value().len() == 43
                        && cookie.value() != PLANTED
                        && cookie.is_secure()
                        && cookie.is_http_only()
                        && cookie.is_host_only()
                        && cookie.path() == "/"
                        && cookie.same_site() == Some(same_site(SAME_SITES[place]));
                    prop_assert!(is_ours, "{:?}", cookie);
                    prop_assert!(!is_logout, "after a logout: {:?}", cookie);
                }
                prop_assert!(kept.next().is_none());
            }
            Ok(Precondition::met_if(was_set))
        })
    });
}

const PLANTED: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Sets the session cookie itself.
#[post("/planted")]
#[auth(public)]
#[csrf(origin)]
async fn planted(_session: Session) -> impl IntoResponse {
    [("set-cookie", format!("__Host-sid={PLANTED}; Secure; Path=/"))]
}

/// T18, cookies and shared caches. No shared cache may store a response that sets a cookie,
/// whatever wrote it and whatever is declared.
#[test]
fn t18_responses_that_set_a_cookie_are_in_no_shared_cache() {
    let caches = [
        CachePolicy::public().max_age(600).build(),
        CachePolicy::public().build(),
        CachePolicy::private().max_age(60).build(),
    ];
    let cases = (generate::exchange(), option::weighted(0.5, select(caches.to_vec())));
    holds("T18, caches", 10, cases, |((mut scenario, mut request), cache)| {
        request.method = Method::GET;
        scenario.groups = vec![Group { methods: vec!["GET"], cache, ..Group::default() }];
        let site = Site::new(&scenario);
        let response = site.ask(&request);
        let sets = response.headers.contains_key(SET_COOKIE);
        let (status, headers) = (response.status, &response.headers);
        let by = stored_by(&request.method, &request.headers, status, headers).filter(|_| sets);
        prop_assert_eq!(by, None, "{:?}", response);
        met_if(sets)
    });
}
