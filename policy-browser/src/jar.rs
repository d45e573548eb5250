//! The cookies of a browser: which ones it stores, and with which requests it sends them (RFC
//! 6265bis, 5.7, 5.8).

use std::{
    cmp::Reverse,
    collections::{HashSet, VecDeque},
    time::Duration,
};

use http::HeaderValue;
use url::Url;

use crate::{
    Cookie, Credentials, Page, PageOrigin, Profile, Withheld, WithheldCookie,
    cookie::Access,
    cookie_context::{CookieContext, Partition},
    set_cookie,
    site::registrable,
};

/// The maximum number of cookies (5.7: at least 3000).
const MOST: usize = 3300;
/// How many are left after that is exceeded.
const KEPT: usize = 3000;
/// The maximum number for one registrable domain (5.7: at least 50), as in Chromium and Firefox.
const MOST_OF_ONE: usize = 180;
/// How many are left after that is exceeded.
const KEPT_OF_ONE: usize = 150;
/// The maximum number of remembered cookies that were not stored.
const MOST_REFUSED: usize = 50;

/// The cookies of all sites.
///
/// ```
/// use std::time::Duration;
/// use policy_browser::{ServerResponse, Fetch, Profile, State, run};
///
/// let state = State::new(Profile::CHROMIUM, Duration::ZERO);
/// let (state, _) = run(state, None, Fetch::navigate("https://shop.example/"), |_| {
///     let mut response = ServerResponse::default();
///     response.status = 200;
///     for line in ["__Host-session=s; Path=/; Secure; HttpOnly", "__Host-broken=1"] {
///         response.headers.append("set-cookie", line.parse().unwrap());
///     }
///     response
/// });
/// let [cookie] = state.cookies().iter().collect::<Vec<_>>()[..] else { panic!("one is kept") };
/// assert_eq!(cookie.name(), "__Host-session");
/// assert!(cookie.is_http_only() && cookie.is_host_only());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Jar {
    cookies: Vec<Cookie>,
    /// Counts operations, since the clock may not advance between two of them.
    ticks: u64,
    /// The cookies that were last not stored, with the hosts whose responses had them.
    refused: VecDeque<(String, WithheldCookie)>,
}

impl Jar {
    /// All cookies, in the order of their creation.
    pub fn iter(&self) -> impl Iterator<Item = &Cookie> {
        self.cookies.iter()
    }

    /// The cookies that a request could carry, and why it does not. Includes cookies of the host
    /// that were not stored.
    pub(crate) fn withheld(
        &self,
        profile: &Profile,
        now: Duration,
        request: &CookieContext<'_>,
        credentials: Option<Credentials>,
    ) -> Vec<WithheldCookie> {
        let reason = |cookie: &Cookie| match credentials {
            None => cookie.withheld(profile, now, request),
            Some(mode) => {
                let would_go = cookie.is_for(profile, now, request, Access::Http);
                would_go.then_some(Withheld::Credentials(mode))
            }
        };
        let stored = self
            .cookies
            .iter()
            .filter_map(|cookie| Some(WithheldCookie::new(&cookie.name, false, reason(cookie)?)));
        stored.chain(self.not_stored(request.url).cloned()).collect()
    }

    /// The cookies that responses of this host set last, and that are not stored because of the page
    /// that had asked for them.
    pub fn not_stored(&self, url: &Url) -> impl Iterator<Item = &WithheldCookie> {
        let host = url.host_str().unwrap_or_default();
        self.refused.iter().filter(move |(of, _)| of == host).map(|(_, cookie)| cookie)
    }

    /// Notes the cookies of a response that are not stored because of its credentials mode.
    pub(crate) fn ignore(&mut self, url: &Url, set_cookie: &[u8], credentials: Credentials) {
        let name = set_cookie.split(|byte| matches!(byte, b'=' | b';')).next().unwrap_or_default();
        let reason = Withheld::Credentials(credentials);
        self.refuse(url, WithheldCookie::new(name.trim_ascii(), true, reason));
    }

    fn refuse(&mut self, url: &Url, cookie: WithheldCookie) {
        let host = url.host_str().unwrap_or_default();
        self.forget_refusal(host, &cookie.name);
        if self.refused.len() == MOST_REFUSED {
            self.refused.pop_front();
        }
        self.refused.push_back((host.to_owned(), cookie));
    }

    fn forget_refusal(&mut self, host: &str, name: &str) {
        self.refused.retain(|(of, cookie)| of != host || cookie.name != name);
    }

    /// The value of the field `Cookie` of a request.
    pub(crate) fn header(
        &mut self,
        profile: &Profile,
        now: Duration,
        request: &CookieContext<'_>,
    ) -> Option<HeaderValue> {
        self.ticks += 1;
        let mut sent = Vec::new();
        for cookie in &mut self.cookies {
            if cookie.is_for(profile, now, request, Access::Http) {
                cookie.last_access = self.ticks;
                sent.push(&*cookie);
            }
        }
        HeaderValue::from_bytes(&cookie_string(sent)?).ok()
    }

    /// Handles one line of the field `Set-Cookie` in the response to a request.
    pub(crate) fn store(
        &mut self,
        profile: &Profile,
        now: Duration,
        request: &CookieContext<'_>,
        set_cookie: &[u8],
    ) {
        self.receive(profile, now, request, Access::Http, set_cookie);
    }

    /// `document.cookie = text`
    pub(crate) fn write(&mut self, profile: &Profile, now: Duration, page: &Page, text: &str) {
        if page.origin != PageOrigin::Opaque {
            let request = CookieContext::for_page(page);
            self.receive(profile, now, &request, Access::Script, text.as_bytes());
        }
    }

    /// `document.cookie`
    pub(crate) fn read(&self, profile: &Profile, now: Duration, page: &Page) -> String {
        if page.origin == PageOrigin::Opaque {
            return String::new();
        }
        let request = CookieContext::for_page(page);
        let cookies =
            self.iter().filter(|cookie| cookie.is_for(profile, now, &request, Access::Script));
        let text = cookie_string(cookies.collect()).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// "Store a cookie" (5.7).
    fn receive(
        &mut self,
        profile: &Profile,
        now: Duration,
        request: &CookieContext<'_>,
        access: Access,
        line: &[u8],
    ) {
        self.ticks += 1;
        let Some(line) = set_cookie::parse(profile, line) else { return };
        let mut new = match Cookie::received(profile, now, request, access, &line, self.ticks) {
            Ok(new) => new,
            Err(Some(reason)) if access == Access::Http => {
                return self.refuse(request.url, WithheldCookie::new(line.name, true, reason));
            }
            Err(_) => return,
        };
        if !request.is_secure(profile) && self.iter().any(|old| new.overlays(old)) {
            return;
        }
        if let Some(old) = self.cookies.iter().find(|old| new.is_same(old)) {
            if access == Access::Script && old.is_http_only {
                return;
            }
            if old.value == new.value || !profile.new_value_is_new {
                (new.created_at, new.number) = (old.created_at, old.number);
            }
        }
        self.cookies.retain(|old| !new.is_same(old));
        self.forget_refusal(request.url.host_str().unwrap_or_default(), &new.name());
        if !new.is_expired(now) {
            let index = self.cookies.partition_point(|old| old.number < new.number);
            let (domain, partition) = (new.domain.clone(), new.partition.clone());
            self.cookies.insert(index, new);
            self.drop_excess(registrable(&domain), partition.as_ref());
        }
    }

    /// Drops expired cookies; called when time has passed.
    pub(crate) fn drop_expired(&mut self, now: Duration) {
        self.cookies.retain(|cookie| !cookie.is_expired(now));
    }

    /// "Remove excess cookies" (5.7): for one owner, those without `Secure` first; for all, the
    /// least recently used first.
    fn drop_excess(&mut self, owner: &str, partition: Option<&Partition>) {
        if self.cookies.len() <= MOST_OF_ONE {
            return;
        }
        let is_of_owner = |cookie: &Cookie| {
            cookie.domain.ends_with(owner)
                && registrable(&cookie.domain) == owner
                && cookie.partition.as_ref() == partition
        };
        let number = self.cookies.iter().filter(|cookie| is_of_owner(cookie)).count();
        if number > MOST_OF_ONE {
            self.drop_oldest(number - KEPT_OF_ONE, |cookie| {
                is_of_owner(cookie).then_some((cookie.is_secure, cookie.last_access))
            });
        }
        if self.cookies.len() > MOST {
            self.drop_oldest(self.cookies.len() - KEPT, |cookie| Some((true, cookie.last_access)));
        }
    }

    /// Drops a number of cookies: of those with a rank, the ones with the lowest.
    fn drop_oldest(&mut self, number: usize, rank: impl Fn(&Cookie) -> Option<(bool, u64)>) {
        let mut order: Vec<_> =
            self.cookies.iter().filter_map(|cookie| Some((rank(cookie)?, cookie.number))).collect();
        order.sort_unstable();
        order.truncate(number);
        let dropped: HashSet<u64> = order.into_iter().map(|(_, number)| number).collect();
        self.cookies.retain(|cookie| !dropped.contains(&cookie.number));
    }
}

/// Longer paths first, and for equal paths the ones created first (5.8.3); `None` if there are no
/// cookies.
fn cookie_string(mut cookies: Vec<&Cookie>) -> Option<Vec<u8>> {
    cookies.sort_by_key(|cookie| (Reverse(cookie.path.len()), cookie.number));
    let pairs: Vec<_> = cookies.into_iter().map(Cookie::pair).collect();
    (!pairs.is_empty()).then(|| pairs.join(&b"; "[..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Profile,
        cookie_trial::{Ask, Browser, SHOP},
        trial::page,
    };

    #[test]
    fn longer_paths_come_first_and_then_older_cookies() {
        let mut browser = Browser::new(Profile::STANDARD).gets(
            &Ask::at(SHOP),
            &["a=1", "b=2; Path=/x/y", "c=3; Path=/x", "d=4; Path=/x", "a=5"],
        );
        assert_eq!(browser.sends(&Ask::at("https://shop.example/x/y")), "b=2; c=3; d=4; a=5");
    }

    #[test]
    fn one_of_the_same_name_domain_and_path_is_replaced() {
        let ask = Ask::at("https://app.shop.example/");
        let mut browser = Browser::new(Profile::STANDARD).gets(
            &ask,
            &["a=1", "b=1", "a=2", "A=3", "a=4; Path=/x", "a=5; Domain=app.shop.example"],
        );
        assert_eq!(browser.sends(&ask), "a=2; b=1; A=3; a=5");
    }

    #[test]
    fn a_time_that_is_over_removes_a_cookie() {
        for attribute in ["Max-Age=0", "Max-Age=-1", "Expires=Thu, 01 Jan 1970 00:00:00 GMT"] {
            let ask = Ask::at(SHOP);
            let line = format!("a=; {attribute}");
            let mut browser = Browser::new(Profile::STANDARD).gets(&ask, &["a=1", &line]);
            assert_eq!(browser.sends(&ask), "");
            assert_eq!(browser.jar.iter().count(), 0);
        }
    }

    #[test]
    fn secure_ones_are_left_alone() {
        let then = |line: &str, path: &str| {
            let plain = Ask::at("http://app.shop.example/");
            let mut browser = Browser::new(Profile::STANDARD)
                .gets(&Ask::at("https://app.shop.example/"), &["a=1; Secure; Path=/login"])
                .gets(&plain, &[line]);
            browser.sends(&Ask::at(&format!("https://app.shop.example{path}")))
        };
        assert_eq!(then("a=2; Path=/login", "/login"), "a=1");
        assert_eq!(then("a=2; Path=/login/en", "/login/en"), "a=1");
        assert_eq!(then("a=2; Path=/login; Domain=shop.example", "/login"), "a=1");
        assert_eq!(then("a=2; Path=/", "/login"), "a=1; a=2");
        assert_eq!(then("a=2; Path=/foo", "/foo"), "a=2");
        assert_eq!(then("b=2; Path=/login", "/login"), "a=1; b=2");
    }

    #[test]
    fn scripts_see_and_touch_nothing_that_is_http_only() {
        let page = page(SHOP);
        let mut browser = Browser::new(Profile::STANDARD)
            .gets(&Ask::at(SHOP), &["a=1; HttpOnly", "b=2"])
            .writes(&page, "a=3")
            .writes(&page, "b=4; Path=/")
            .writes(&page, "c=5; HttpOnly")
            .writes(&page, "d=6; Secure; SameSite=Strict");
        assert_eq!(browser.reads(&page), "b=4; d=6");
        assert_eq!(browser.sends(&Ask::at(SHOP)), "a=1; b=4; d=6");
    }

    #[test]
    fn a_sandboxed_page_has_no_cookies() {
        let page = Page { origin: PageOrigin::Opaque, ..page(SHOP) };
        let browser =
            Browser::new(Profile::STANDARD).gets(&Ask::at(SHOP), &["a=1"]).writes(&page, "b=2");
        assert_eq!(browser.reads(&page), "");
        assert_eq!(browser.jar.iter().count(), 1);
    }

    #[test]
    fn a_new_value_is_a_new_cookie_in_chromium() {
        let set = |profile, line| {
            let ask = Ask::at(SHOP);
            Browser::new(profile).gets(&ask, &["a=1", "b=1", line]).sends(&ask)
        };
        assert_eq!(set(Profile::CHROMIUM, "a=2"), "b=1; a=2");
        assert_eq!(set(Profile::CHROMIUM, "a=1"), "a=1; b=1");
        assert_eq!(set(Profile::FIREFOX, "a=2"), "a=2; b=1");
    }

    #[test]
    fn one_owner_has_180_cookies_at_the_most_and_secure_ones_stay() {
        let mut browser = Browser::new(Profile::CHROMIUM);
        for number in 0..180 {
            let host = if number % 2 == 0 { SHOP } else { "https://app.shop.example/" };
            let secure = if number < 100 { "; Secure" } else { "" };
            browser = browser.gets(&Ask::at(host), &[&format!("a{number}=1{secure}")]);
        }
        let other = Ask::at("https://other.example/");
        let mut browser = browser.gets(&other, &["b=1"]);
        assert_eq!(browser.jar.iter().count(), 181);
        browser.sends(&Ask::at("http://app.shop.example/"));
        let browser = browser.gets(&Ask::at(SHOP), &["c=1"]);
        assert_eq!(browser.jar.iter().count(), 151);
        let is_left = |name: &str| browser.jar.iter().any(|cookie| cookie.name() == name);
        assert!(is_left("a0") && is_left("a99"), "those with Secure");
        assert!(!is_left("a100") && is_left("a101"), "the one that was asked for");
        assert!(is_left("b") && is_left("c"));
    }

    #[test]
    fn there_are_3300_cookies_at_the_most() {
        let mut browser = Browser::new(Profile::STANDARD);
        for number in 0..=MOST {
            let ask = Ask::at(&format!("https://shop{number}.example/"));
            browser = browser.gets(&ask, &["a=1"]);
        }
        assert_eq!(browser.jar.iter().count(), KEPT);
        assert!(browser.jar.iter().all(|cookie| cookie.domain() != "shop0.example"));
    }
}
