//! Where engines differ.
//!
//! Chromium 156 and Firefox 153 were asked themselves, unless a field says otherwise; what is said
//! of WebKit comes from its source, since WebKitGTK has other cookies and another network than
//! Safari.

use std::time::Duration;

use super::CacheMode;

/// One browser engine, as far as engines differ; the source of each difference stands at its
/// field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// The name of the engine.
    pub name: &'static str,
    /// The longest that the result of a preflight is kept.
    pub preflight_cap: Duration,
    /// Whether `Access-Control-Allow-Headers: *` allows `Authorization`. Fetch says no (4.8, step
    /// 7.6: "CORS non-wildcard request-header name"); Chromium 156, Firefox 153 and WebKitGTK 2.50
    /// let it through.
    pub star_allows_authorization: bool,

    /// What becomes of cookies of another site than the window's. RFC 6265bis leaves it open
    /// (7.1); Chromium blocks (`profile.cookie_controls_mode`), Firefox partitions
    /// (`network.cookie.cookieBehavior`), Safari blocks (Intelligent Tracking Prevention).
    pub third_party: ThirdParty,
    /// Whether a cookie without `SameSite` is as with `Lax` (RFC 6265bis, 5.7). Firefox has
    /// `network.cookie.sameSite.laxByDefault`, which is off; WebKit has no such default.
    pub lax_by_default: bool,
    /// How long a new cookie without `SameSite` is sent by navigations with an unsafe method too,
    /// where it is as with `Lax` (RFC 6265bis, 5.6.7.2: "Lax-allowing-unsafe", which a browser may
    /// have). Two minutes in Chromium (`kLaxAllowUnsafePreflightAge`).
    pub lax_allows_unsafe_for: Duration,
    /// Whether a request that another site has redirected is cross-site where cookies are sent.
    /// RFC 6265bis looks at the last address alone (5.2), and so does Chromium; Firefox looks at
    /// all. Cookies that such a request brings back are stored by both.
    pub redirects_count: bool,
    /// Whether `http` and `https` are sites of their own to cookies (RFC 6265bis, 5.2). Not in
    /// Firefox, where `network.cookie.sameSite.schemeful` is off.
    pub sites_have_schemes: bool,
    /// What becomes of a cookie without `=`: a value in RFC 6265bis (5.6, step 3) and Chromium, a
    /// name in Firefox.
    pub nameless: Nameless,
    /// Whether a cookie with a tab within is refused, as Chromium does. RFC 6265bis refuses all
    /// control characters but this one (5.6, step 1).
    pub refuses_tabs: bool,
    /// Whether `__Http-` and `__Host-Http-` promise anything, as in Chromium from 140 and Firefox
    /// from 143, but not in Safari.
    pub has_http_prefixes: bool,
    /// Whether the local machine may set and get cookies with `Secure` without TLS. RFC 6265bis
    /// leaves it open (5.8.3: "potentially trustworthy"); Safari does not allow it.
    pub secure_on_loopback: bool,
    /// Whether of several `Max-Age`, or `Expires`, the last counts even if it is no number or date,
    /// and is as none then, as in Chromium and Firefox. RFC 6265bis passes over it (5.6.1, 5.6.2).
    pub bad_expiry_counts: bool,
    /// Whether a server that refuses a WebSocket sets cookies by that, whatever the status (Fetch,
    /// 4.6). In Chromium with 401 alone (`WebSocketBasicHandshakeStream::ValidateResponse`).
    pub refused_sockets_set_cookies: bool,
    /// Whether a cookie that takes another value is a new one, which is sent after older ones. RFC
    /// 6265bis keeps the time of the old one (5.7, step 24.3); Chromium only where the value is
    /// the same.
    pub new_value_is_new: bool,

    /// What parts the HTTP cache.
    pub cache_key: CacheKey,
    /// How the cache obeys `Vary`.
    pub variants: Variants,
    /// Whether HEAD is answered with what GET has brought (RFC 9111, 4). Firefox stores answers to
    /// HEAD by themselves.
    pub head_uses_get: bool,
    /// Whether a stored answer that HEAD asked about is dropped, unless the server says that it
    /// still holds, as in Chromium (`HttpCache::Transaction::DoOverwriteCachedResponse`). RFC 9111
    /// (4.3.5) compares the fields.
    pub head_drops: bool,
    /// Whether `Cache-Control: no-cache` of a request, as a script sets it, goes past the cache,
    /// and does not only ask whether the stored answer holds (RFC 9111, 5.2.1.4). Chromium does so
    /// (`LOAD_BYPASS_CACHE`).
    pub no_cache_goes_past: bool,
    /// Whether `Pragma: no-cache` of an answer is as in `Cache-Control`. The standard gives it no
    /// meaning (RFC 9111, 5.4); all engines do.
    pub obeys_pragma: bool,
    /// Whether `Expires` that is no date means that it is over (RFC 9111, 5.3). Chromium ignores it,
    /// unless it is `0`.
    pub bad_expires_is_over: bool,
    /// Whether of several `max-age` the last counts, as in Firefox, and not the first. RFC 9111
    /// (4.2.1) takes the first, or none.
    pub last_max_age_counts: bool,
    /// Whether an answer is stored whatever its status, and without a word about it, as in Chromium.
    /// RFC 9111 (3) stores what it may guess about.
    pub stores_all: bool,
    /// Whether what a page may not read is stored for the next time. Chromium drops the connection
    /// and with it what it has, unless it had to read all of it to guess its type.
    pub stores_refused: bool,
    /// The statuses of stored answers that are asked for with conditions, if not all: 200 in
    /// Chromium (`HttpCache::Transaction::ConditionalizeRequest`).
    pub validated_statuses: Option<&'static [u16]>,
    /// The statuses that are used without asking, if not all. Firefox asks again for all errors
    /// but 410 (`nsHttpResponseHead::MustValidate`).
    pub fresh_statuses: Option<&'static [u16]>,
    /// The statuses that are fresh for a tenth of their age, if they do not say how long: those of
    /// RFC 9110, 15.1, but in Chromium 200 and 203
    /// (`HttpResponseHeaders::GetFreshnessLifetimes`).
    pub heuristic_statuses: &'static [u16],
    /// The longest that they are: a week in Firefox
    /// (`nsHttpResponseHead::ComputeFreshnessLifetime`).
    pub heuristic_cap: Duration,
    /// The statuses that are fresh for ever, if they do not say how long: the permanent ones in
    /// engines (functions as above; WebKit: `computeFreshnessLifetimeForHTTPFamily`, a year),
    /// none in RFC 9111.
    pub permanent_statuses: &'static [u16],
    /// The fields of a stored answer that a status of 304 does not replace; a name that ends with
    /// `-` stands for all that begin with it. RFC 9111, 3.2; Chromium:
    /// `HttpResponseHeaders::Update`; Firefox: `nsHttpResponseHead::UpdateHeaders`; WebKit:
    /// `shouldUpdateHeaderAfterRevalidation`.
    pub kept_by_304: &'static [&'static str],

    /// Whether `https` to `http://localhost` is a downgrade, of which `Referer` says nothing.
    /// Referrer Policy (8.3) asks whether the address is trustworthy, which it is; Chromium and
    /// Firefox look at the scheme.
    pub loopback_is_downgrade: bool,
    /// Who says whether it may have cookies in a page of another site.
    pub storage_access: StorageAccess,
    /// Whether `fetch()` tells its origin in modes `no-cors` and `same-origin` too, whatever the
    /// referrer policy says, as in Chromium. By Fetch it may be `null` then ("append a request
    /// `Origin` header").
    pub fetch_tells_origin: bool,
    /// Whether a navigation tells its origin as the referrer policy of its page says, whatever
    /// redirects say on the way, until one leads to another origin, as in Chromium.
    pub navigations_keep_origin: bool,
    /// Whether `http://localhost` and `https://localhost` are one site to `Sec-Fetch-Site`, as in
    /// Firefox.
    pub localhost_is_one_site: bool,
    /// Whether elements with `crossorigin` send `Origin` to their own origin too. Fetch does so
    /// only after a redirect from another one; Chromium always.
    pub elements_tell_origin: bool,
    /// Whether elements and navigations of a sandboxed page say where they come from, and not only
    /// those of other pages (Referrer Policy, 8.3: an opaque origin has no referrer). Firefox
    /// tells the origin of its address.
    pub sandboxed_elements_have_referrer: bool,
    /// How many redirects a navigation follows: twenty (Fetch, 4.4), one less in Chromium.
    pub navigation_redirects: usize,
    /// Whether the redirect mode `error` takes what has nowhere to go to for no redirect, as in
    /// Chromium. Fetch (4.3) looks at the status alone.
    pub redirects_need_location: bool,
    /// Whether the redirect mode `manual` fails where `Location` is no address, as in Chromium. To
    /// Fetch (4.3) it is a redirect like the others.
    pub manual_needs_address: bool,
    /// Whether no redirect may lead to an address with a user and a password, and not only those
    /// of the CORS protocol (Fetch, 4.4). Chromium lets only windows go there.
    pub redirects_have_no_password: bool,
    /// Whether a script runs whose status is 300 to 399, as in Chromium. HTML asks for an ok
    /// status.
    pub scripts_of_300_run: bool,
    /// Whether lines of a response without value are as if they were not there, if the field has
    /// others or comes from the HTTP cache, as in Firefox (`nsHttpHeaderArray`).
    pub drops_empty_lines: bool,
    /// Whether a form that posts asks caches on the way for what is new, as Chromium does.
    pub forms_ask_caches: bool,
    /// Whether fields of one name are judged as one, as in Chromium, and not each for itself
    /// (Fetch, "CORS-unsafe request-header names").
    pub joins_fields: bool,
    /// Whether a script may set `User-Agent` (Fetch, from 2016 on). Chromium drops it.
    pub lets_set_user_agent: bool,
    /// Whether who listens to an upload without content needs a preflight (XMLHttpRequest, `send`:
    /// "upload listener flag"). Not in Chromium, nor Firefox.
    pub watches_empty_uploads: bool,
    /// What the cache of preflights needs to have for who listens to an upload, and for others that
    /// ask for a safelisted method and nothing else.
    pub watched_uploads: WatchedUploads,
    /// Whether `*` of a preflight stands for methods and names in the cache too (Fetch, 4.10).
    /// Firefox asks again.
    pub stars_are_kept: bool,
    /// Which values of `Access-Control-Max-Age` that are no numbers mean five seconds.
    pub max_age: PreflightAge,
    /// The cache modes that go past the cache of preflights too. None in Fetch.
    pub asks_anew: &'static [CacheMode],
    /// The cache mode of a request with conditions of its own, such as `If-None-Match`: `NoStore`
    /// by Fetch (4.5, step 8.16), `NoCache` in Chromium.
    pub own_conditions: CacheMode,
    /// Whether that is so for `XMLHttpRequest` too. Not in Firefox.
    pub uploads_have_conditions: bool,
    /// Whether the cache mode is that of the preflight too: what goes past the caches asks anew,
    /// and says so. Chromium and Firefox do so.
    pub preflights_have_cache_mode: bool,
    /// Whether `Sec-Fetch-Site` of a preflight is about all addresses of the redirects before it,
    /// as that of the request is. Fetch says so (4.8: "URL list"); Chromium looks at the last.
    pub preflights_know_redirects: bool,
    /// Whether a name stands in `Access-Control-Request-Headers` as often as the script wrote it, as
    /// in Firefox.
    pub repeats_names: bool,
    /// Whether a load that had a preflight, or had fields at its start that need one, has one at
    /// each address that it is redirected to, even if they are gone, as in Firefox.
    pub preflights_stick: bool,
    /// Whether what was allowed to `null` is kept for the next load, or for the next address after a
    /// redirect. Fetch knows one origin `null`; Chromium as many as there are.
    pub sandboxed_preflights_are_kept: bool,
    /// Whether a new preflight makes the browser forget what earlier ones allowed: when it is
    /// granted, and before there is an answer too, if the cache was looked at. As in Chromium
    /// (`PreflightCache::CheckIfRequestCanSkipPreflight` and `AppendEntry`).
    pub preflights_forget: bool,
    /// Whether a network error after a preflight makes the browser forget what it allowed (Fetch,
    /// 4.1). Not in Chromium.
    pub failures_clear_preflights: bool,
    /// The same of a redirect in spite of the redirect mode `error`. Not in Chromium, nor Firefox.
    pub refused_redirects_clear_preflights: bool,
    /// Whether `Origin` of a preflight is `null` after a redirect of another origin, as that of the
    /// request is (Fetch, 4.8). Not in Firefox, where a preflight that comes back to the page's own
    /// origin needs no `Access-Control-Allow-Origin` either.
    pub preflights_know_taint: bool,
    /// Whether who listens to an upload needs its method in `Access-Control-Allow-Methods`, even
    /// if there is no such field (Fetch, 4.8, step 7.4, puts it there). In Chromium and Firefox, but
    /// for GET, HEAD and POST.
    pub uploads_need_methods: bool,
    /// Whether the result of a preflight is kept even of a request with the cache mode `no-store`
    /// (Fetch says nothing of it). Chromium does not.
    pub no_store_keeps_preflights: bool,
    /// Whether a preflight has `Sec-Fetch-Mode` even where the address is not trustworthy, as in
    /// Chromium.
    pub preflights_tell_mode: bool,

    /// Whether the handshake of a WebSocket carries `Sec-Fetch-*` (Fetch Metadata, 2: every
    /// request). Chromium sends none.
    pub websockets_have_metadata: bool,
    /// Whether what is loaded from another site, but for navigations, is told no more of the page
    /// than by `strict-origin-when-cross-origin`. Firefox
    /// (`network.http.referer.disallowCrossSiteRelaxingDefault`) and WebKit do so.
    pub trims_referrers: bool,
}

/// What the cache of preflights needs to have for an upload with somebody who listens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WatchedUploads {
    /// Its method (Fetch, 4.3).
    Method,
    /// Anything that was allowed: Firefox.
    Anything,
    /// That a preflight was granted, whatever it allowed: Chromium.
    Grant,
}

/// How `Access-Control-Max-Age` is read where it is no number of digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PreflightAge {
    /// As if it were not there: five seconds (Fetch, 4.8, step 7.9).
    Lenient,
    /// The same, but a negative number is none at all: Chromium.
    NotNegative,
    /// Nothing is kept, unless it is empty: Firefox.
    Strict,
}

/// Who says whether it may have cookies, in a page with another site around it (Storage Access
/// Headers, not in Fetch): `Sec-Fetch-Storage-Access` of what is loaded with credentials, and
/// `Origin` with it where the page could ask for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StorageAccess {
    /// Nobody.
    Untold,
    /// All but WebSockets and preflights: Chromium.
    Told,
    /// All until a redirect leads to another domain, and `Origin` as far as the referrer policy
    /// lets it: Firefox, to which `http` and `https` are one site here.
    ToldOfDomains,
}

/// What becomes of the cookies of a site in a window of another site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ThirdParty {
    /// They are sent and stored, as far as `SameSite` lets them.
    Sent,
    /// Each window's site has its own.
    Partitioned,
    /// They are neither sent nor stored, but for those with `Partitioned`.
    Blocked,
}

/// What becomes of a cookie whose pair has no `=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Nameless {
    /// It is the value of a cookie with an empty name, and sent as it is; `=v` is the same as `v`.
    Value,
    /// It is the name of a cookie with an empty value, and sent with `=`; `=v` is refused.
    Name,
}

/// What parts an HTTP cache, besides the address (Fetch, "determine the network partition key").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CacheKey {
    /// The site of the window.
    Window,
    /// That, and the site of the frame; whether it is the document of a frame; and whether it is
    /// a document to which another site led. What a sandboxed page loads is not cached (Chromium:
    /// `HttpCache::GenerateCacheKey`).
    Frame,
    /// That, and whether another site stands between the window and the address; and whether
    /// credentials went with the request (Firefox: `OriginAttributes`, and `LOAD_ANONYMOUS`).
    Foreign,
}

/// What a cache does about `Vary`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Variants {
    /// It stores all variants of an address (RFC 9111, 4.1).
    Kept,
    /// It stores one, and asks for another with the `ETag` of that: Chromium, Firefox.
    AskedByTag,
    /// It stores one: WebKit (`NetworkCache::Cache`).
    Replaced,
}

impl Profile {
    /// The same with another setting for the cookies of other sites.
    ///
    /// ```
    /// use policy_core::browser::{Profile, ThirdParty};
    ///
    /// assert_eq!(Profile::CHROMIUM.third_party, ThirdParty::Blocked);
    /// let lenient = Profile::CHROMIUM.third_party(ThirdParty::Sent);
    /// assert_eq!(lenient.third_party, ThirdParty::Sent);
    /// ```
    #[must_use]
    pub const fn third_party(self, third_party: ThirdParty) -> Self {
        Self { third_party, ..self }
    }
}
