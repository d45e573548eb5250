//! How long a stored response may be used without revalidation (RFC 9111, 4.2).

use std::time::{Duration, UNIX_EPOCH};

use http::{
    HeaderMap, HeaderName,
    header::{AGE, CACHE_CONTROL, DATE, EXPIRES, LAST_MODIFIED, PRAGMA},
};

use crate::{Profile, ServerResponse};

/// The directives of `Cache-Control` (RFC 9111, 5.2) that a private cache implements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CacheControl {
    pub(crate) no_store: bool,
    pub(crate) no_cache: bool,
    pub(crate) must_revalidate: bool,
    /// `public` or `private`: the response may be stored with any status.
    pub(crate) allows_storing: bool,
    /// An invalid number is treated as missing, and so is one in quotes, although RFC 9111
    /// recommends to accept it: no engine does.
    pub(crate) max_age: Option<Duration>,
    pub(crate) stale_while_revalidate: Option<Duration>,
}

impl CacheControl {
    pub(crate) fn parse(profile: &Profile, headers: &HeaderMap) -> Self {
        let mut control = Self::default();
        for directive in elements(headers, &CACHE_CONTROL) {
            let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
            let name = name.trim_end().to_ascii_lowercase();
            if !value.is_empty() && profile.qualified_directives.contains(&name.as_str()) {
                control.no_cache = true;
            }
            match name.as_str() {
                "no-store" => control.no_store = true,
                "no-cache" => control.no_cache |= value.is_empty(),
                "must-revalidate" => control.must_revalidate = true,
                "public" | "private" => control.allows_storing = true,
                "max-age" => {
                    let (old, new) = (control.max_age, delta_seconds(value));
                    control.max_age =
                        if profile.last_max_age_counts { new.or(old) } else { old.or(new) };
                }
                "stale-while-revalidate" => {
                    control.stale_while_revalidate =
                        control.stale_while_revalidate.or(delta_seconds(value));
                }
                _ => {}
            }
        }
        control
    }
}

/// The age of a stored response, and how long it is fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Freshness {
    /// When the response was received.
    received: Duration,
    /// Its age at that time.
    age: Duration,
    lifetime: Duration,
    /// For how long after its lifetime it may be used while it is revalidated.
    grace: Duration,
}

impl Freshness {
    /// The freshness of a response that is received now.
    pub(crate) fn new(profile: &Profile, now: Duration, response: &ServerResponse) -> Self {
        let control = CacheControl::parse(profile, &response.headers);
        let age = single(&response.headers, &AGE).and_then(delta_seconds).unwrap_or_default();
        let apparent = now.saturating_sub(date(response, now));
        let must_ask = control.no_cache
            || profile.obeys_pragma && has_pragma(&response.headers)
            || profile.fresh_statuses.is_some_and(|fresh| !fresh.contains(&response.status));
        let grace = control.stale_while_revalidate.filter(|_| !control.must_revalidate);
        let (lifetime, grace) = if must_ask {
            (Duration::ZERO, Duration::ZERO)
        } else {
            (lifetime(profile, now, response, control), grace.unwrap_or_default())
        };
        Self { received: now, age: age.max(apparent), lifetime, grace }
    }

    pub(crate) fn received(&self) -> Duration {
        self.received
    }

    pub(crate) fn age(&self, now: Duration) -> Duration {
        self.age.saturating_add(now.saturating_sub(self.received))
    }

    pub(crate) fn is_fresh(&self, now: Duration) -> bool {
        self.age(now) < self.lifetime
    }

    /// Whether it may be used while it is revalidated (RFC 5861, 3).
    pub(crate) fn is_in_grace(&self, now: Duration) -> bool {
        self.age(now) < self.lifetime.saturating_add(self.grace)
    }
}

/// Whether the response has explicit freshness.
pub(crate) fn is_explicit(control: CacheControl, response: &ServerResponse) -> bool {
    control.max_age.is_some() || response.headers.contains_key(EXPIRES)
}

/// The freshness lifetime: 4.2.1, and 4.2.2 for responses without explicit freshness.
fn lifetime(
    profile: &Profile,
    now: Duration,
    response: &ServerResponse,
    control: CacheControl,
) -> Duration {
    if let Some(max_age) = control.max_age {
        return max_age;
    }
    let date = date(response, now);
    let expires = http_date(&response.headers, &EXPIRES);
    let is_over = |text: &str| text == "0" || profile.bad_expires_is_over;
    if expires.is_some() || single(&response.headers, &EXPIRES).is_some_and(is_over) {
        return expires.unwrap_or_default().saturating_sub(date);
    }
    let modified =
        http_date(&response.headers, &LAST_MODIFIED).filter(|modified| *modified <= date);
    if let Some(modified) = modified
        && profile.heuristic_statuses.contains(&response.status)
        && !control.must_revalidate
    {
        return ((date - modified) / 10).min(profile.heuristic_cap);
    }
    if profile.permanent_statuses.contains(&response.status) {
        Duration::MAX
    } else {
        Duration::ZERO
    }
}

pub(crate) fn has_pragma(headers: &HeaderMap) -> bool {
    elements(headers, &PRAGMA).any(|element| element.eq_ignore_ascii_case("no-cache"))
}

/// The value of `Date`, or the time of receipt.
fn date(response: &ServerResponse, now: Duration) -> Duration {
    http_date(&response.headers, &DATE).unwrap_or(now)
}

fn http_date(headers: &HeaderMap, name: &HeaderName) -> Option<Duration> {
    httpdate::parse_http_date(single(headers, name)?).ok()?.duration_since(UNIX_EPOCH).ok()
}

fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// 1.2.2: a value that is too large becomes the largest possible one.
fn delta_seconds(text: &str) -> Option<Duration> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| Duration::from_secs(text.parse().unwrap_or(u64::from(u32::MAX))))
}

/// The elements of a list, from all lines of a field.
pub(crate) fn elements<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'a str> {
    headers
        .get_all(name)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .map(|element| element.trim_matches([' ', '\t']))
        .filter(|element| !element.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::response;

    const NOW: Duration = Duration::from_secs(784_111_777);
    const DATE_OF_NOW: (&str, &str) = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    const TEN_HOURS_AGO: &str = "Sat, 05 Nov 1994 22:49:37 GMT";

    /// For how many seconds the response is fresh from now on.
    fn fresh_for(profile: &Profile, status: u16, fields: &[(&str, &str)]) -> u64 {
        let freshness = Freshness::new(profile, NOW, &response(status, fields));
        freshness.lifetime.saturating_sub(freshness.age(NOW)).as_secs()
    }

    fn standard(fields: &[(&str, &str)]) -> u64 {
        fresh_for(&Profile::STANDARD, 200, fields)
    }

    #[test]
    fn engines_differ_about_directives_that_name_fields() {
        let fresh = |value| {
            [Profile::STANDARD, Profile::CHROMIUM, Profile::FIREFOX]
                .map(|profile| fresh_for(&profile, 200, &[("cache-control", value)]))
        };
        assert_eq!(fresh("no-cache=\"x-a\", max-age=60"), [0, 60, 0]);
        assert_eq!(fresh("private=\"x-a\", max-age=60"), [60, 60, 0]);
        assert_eq!(fresh("private, max-age=60"), [60, 60, 60]);
        assert_eq!(fresh("no-cache, no-cache=\"x-a\", max-age=60"), [0, 0, 0]);
    }

    #[test]
    fn directives_are_read_in_any_case_over_all_lines() {
        let response = response(
            200,
            &[
                ("cache-control", "Private , No-Cache=\"set-cookie\",, max-age=60"),
                ("cache-control", "MUST-REVALIDATE, no-store, x=\"1"),
                ("cache-control", "stale-while-revalidate=7"),
            ],
        );
        assert_eq!(
            CacheControl::parse(&Profile::STANDARD, &response.headers),
            CacheControl {
                no_store: true,
                no_cache: true,
                must_revalidate: true,
                allows_storing: true,
                max_age: Some(Duration::from_secs(60)),
                stale_while_revalidate: Some(Duration::from_secs(7)),
            }
        );
    }

    #[test]
    fn max_age_overrides_expires() {
        let expires = ("expires", "Sun, 06 Nov 1994 08:50:37 GMT");
        assert_eq!(standard(&[DATE_OF_NOW, expires]), 60);
        assert_eq!(standard(&[DATE_OF_NOW, expires, ("cache-control", "max-age=10")]), 10);
        assert_eq!(standard(&[DATE_OF_NOW, expires, ("cache-control", "max-age=x")]), 60);
    }

    #[test]
    fn the_first_max_age_counts_and_a_large_one_is_large() {
        assert_eq!(standard(&[("cache-control", "max-age=10, max-age=20")]), 10);
        assert_eq!(
            standard(&[("cache-control", "max-age=99999999999999999999")]),
            u64::from(u32::MAX)
        );
    }

    #[test]
    fn a_malformed_expires_is_in_the_past() {
        for expires in ["0", "-1", "soon", "Sat, 05 Nov 1994 08:49:37 GMT"] {
            assert_eq!(standard(&[DATE_OF_NOW, ("expires", expires)]), 0, "{expires}");
        }
    }

    #[test]
    fn chromium_ignores_a_malformed_expires_except_zero() {
        let fresh_for = |expires| {
            let modified = ("last-modified", TEN_HOURS_AGO);
            fresh_for(&Profile::CHROMIUM, 200, &[DATE_OF_NOW, modified, ("expires", expires)])
        };
        assert_eq!(["0", "-1", "soon"].map(fresh_for), [0, 3600, 3600]);
    }

    #[test]
    fn a_response_is_as_old_as_it_says_or_its_date_says() {
        let max_age = ("cache-control", "max-age=100");
        assert_eq!(standard(&[max_age, ("age", "30")]), 70);
        assert_eq!(standard(&[max_age, ("date", "Sun, 06 Nov 1994 08:48:57 GMT")]), 60);
        assert_eq!(
            standard(&[max_age, ("date", "Sun, 06 Nov 1994 08:48:57 GMT"), ("age", "90")]),
            10,
        );
        assert_eq!(standard(&[max_age, ("age", "x")]), 100);
        let freshness = Freshness::new(&Profile::STANDARD, NOW, &response(200, &[max_age]));
        assert!(freshness.is_fresh(NOW + Duration::from_secs(99)));
        assert!(!freshness.is_fresh(NOW + Duration::from_secs(100)));
    }

    #[test]
    fn without_a_word_it_is_fresh_for_a_tenth_of_its_age() {
        let modified = ("last-modified", TEN_HOURS_AGO);
        assert_eq!(standard(&[DATE_OF_NOW, modified]), 3600);
        assert_eq!(standard(&[DATE_OF_NOW, modified, ("cache-control", "must-revalidate")]), 0);
        assert_eq!(standard(&[DATE_OF_NOW, modified, ("cache-control", "no-cache")]), 0);
        assert_eq!(fresh_for(&Profile::STANDARD, 302, &[DATE_OF_NOW, modified]), 0);
        assert_eq!(standard(&[DATE_OF_NOW, ("last-modified", "Mon, 07 Nov 1994 08:49:37 GMT")]), 0);
    }

    #[test]
    fn stale_while_revalidate_applies_unless_revalidation_is_required() {
        let freshness = |control| {
            let response = response(200, &[("cache-control", control)]);
            Freshness::new(&Profile::STANDARD, NOW, &response)
        };
        let after = |seconds| NOW + Duration::from_secs(seconds);
        let graceful = freshness("max-age=10, stale-while-revalidate=20");
        assert!(!graceful.is_fresh(after(10)));
        assert!(graceful.is_in_grace(after(29)));
        assert!(!graceful.is_in_grace(after(30)));
        assert!(
            !freshness("max-age=10, stale-while-revalidate=20, must-revalidate")
                .is_in_grace(after(10))
        );
        assert!(!freshness("no-cache, stale-while-revalidate=20").is_in_grace(NOW));
    }

    #[test]
    fn engines_cap_the_guess_differently() {
        let old = [DATE_OF_NOW, ("last-modified", "Sun, 06 Nov 1904 08:49:37 GMT")];
        let modified = [DATE_OF_NOW, ("last-modified", "Mon, 06 Nov 1989 08:49:37 GMT")];
        assert_eq!(standard(&old), 0, "before 1970");
        assert_eq!(fresh_for(&Profile::CHROMIUM, 200, &modified), 15_776_640);
        assert_eq!(fresh_for(&Profile::FIREFOX, 200, &modified), 604_800);
    }
}
