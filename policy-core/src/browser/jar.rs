//! The cookies of a browser: which it stores, and to whom it sends them (RFC 6265bis, 5.7, 5.8).

use std::{cmp::Reverse, collections::HashSet, time::Duration};

use http::HeaderValue;

use super::{
    Cookie, Page, PageOrigin, Profile,
    cookie::Access,
    cookie_context::{CookieContext, Partition},
    set_cookie,
    site::registrable,
};

/// The most that are kept in all (5.7: at least 3000).
const MOST: usize = 3300;
/// How many stay when there are too many.
const KEPT: usize = 3000;

/// The cookies of all sites.
#[derive(Clone, Debug, Default)]
pub struct Jar {
    cookies: Vec<Cookie>,
    /// Counts what happens, since the clock may stand still meanwhile.
    ticks: u64,
}

impl Jar {
    /// All cookies, in the order in which they were stored first.
    pub fn iter(&self) -> impl Iterator<Item = &Cookie> {
        self.cookies.iter()
    }

    /// The value of the field `Cookie` of a request.
    pub(super) fn header(
        &mut self,
        profile: &Profile,
        now: Duration,
        request: &CookieContext<'_>,
    ) -> Option<HeaderValue> {
        self.drop_expired(now);
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

    /// Takes one line of the field `Set-Cookie` in the answer to a request.
    pub(super) fn store(
        &mut self,
        profile: &Profile,
        now: Duration,
        request: &CookieContext<'_>,
        set_cookie: &[u8],
    ) {
        self.receive(profile, now, request, Access::Http, set_cookie);
    }

    /// `document.cookie = text`
    pub(super) fn write(&mut self, profile: &Profile, now: Duration, page: &Page, text: &str) {
        if page.origin != PageOrigin::Opaque {
            let request = CookieContext::of(page);
            self.receive(profile, now, &request, Access::Script, text.as_bytes());
        }
    }

    /// `document.cookie`
    pub(super) fn read(&self, profile: &Profile, now: Duration, page: &Page) -> String {
        if page.origin == PageOrigin::Opaque {
            return String::new();
        }
        let request = CookieContext::of(page);
        let seen =
            self.iter().filter(|cookie| cookie.is_for(profile, now, &request, Access::Script));
        let text = cookie_string(seen.collect()).unwrap_or_default();
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
        self.drop_expired(now);
        self.ticks += 1;
        let Some(mut new) = set_cookie::parse(line, profile.nameless)
            .and_then(|line| Cookie::received(profile, now, request, access, &line, self.ticks))
        else {
            return;
        };
        if !request.is_secure(profile) && self.iter().any(|old| new.overlays(old)) {
            return;
        }
        if let Some(old) = self.cookies.iter().find(|old| new.is_same(old)) {
            if access == Access::Script && old.is_http_only {
                return;
            }
            (new.created_at, new.number) = (old.created_at, old.number);
        }
        self.cookies.retain(|old| !new.is_same(old));
        if !new.is_expired(now) {
            let place = self.cookies.partition_point(|old| old.number < new.number);
            let (domain, partition) = (new.domain.clone(), new.partition.clone());
            self.cookies.insert(place, new);
            self.drop_excess(profile, registrable(&domain), partition.as_ref());
        }
    }

    fn drop_expired(&mut self, now: Duration) {
        self.cookies.retain(|cookie| !cookie.is_expired(now));
    }

    /// "Remove excess cookies" (5.7): of one owner those without `Secure` first, of all those that
    /// nobody asked for the longest.
    fn drop_excess(&mut self, profile: &Profile, owner: &str, partition: Option<&Partition>) {
        let is_of_owner = |cookie: &Cookie| {
            registrable(&cookie.domain) == owner && cookie.partition.as_ref() == partition
        };
        let number = self.cookies.iter().filter(|cookie| is_of_owner(cookie)).count();
        if number > profile.cookies_per_domain {
            self.drop_oldest(number - profile.cookies_kept_per_domain, |cookie| {
                is_of_owner(cookie).then_some((cookie.is_secure, cookie.last_access))
            });
        }
        if self.cookies.len() > MOST {
            self.drop_oldest(self.cookies.len() - KEPT, |cookie| Some((true, cookie.last_access)));
        }
    }

    /// Drops as many as are said, of those with a rank those with the least ones.
    fn drop_oldest(&mut self, number: usize, rank: impl Fn(&Cookie) -> Option<(bool, u64)>) {
        let mut order: Vec<_> =
            self.cookies.iter().filter_map(|cookie| Some((rank(cookie)?, cookie.number))).collect();
        order.sort_unstable();
        order.truncate(number);
        let dropped: HashSet<u64> = order.into_iter().map(|(_, number)| number).collect();
        self.cookies.retain(|cookie| !dropped.contains(&cookie.number));
    }
}

/// Longer paths first, and of equal ones those that were stored first (5.8.3); `None` without
/// cookies.
fn cookie_string(mut cookies: Vec<&Cookie>) -> Option<Vec<u8>> {
    cookies.sort_by_key(|cookie| (Reverse(cookie.path.len()), cookie.number));
    let pairs: Vec<_> = cookies.into_iter().map(Cookie::pair).collect();
    (!pairs.is_empty()).then(|| pairs.join(&b"; "[..]))
}
