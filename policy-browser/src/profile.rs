//! Where engines differ.

use std::time::Duration;

use crate::{CacheMode, LocalNetwork};

/// One browser engine, described by its differences from others. What tests compare or change is
/// public; the source has the rest, a field and its source for each difference, since each version of
/// a browser may add one.
///
/// | profile | source of its values |
/// |---|---|
/// | [`CHROMIUM`](Self::CHROMIUM) | measured in Chromium 156, unless a field says otherwise |
/// | [`FIREFOX`](Self::FIREFOX) | measured in Firefox ESR 153, unless a field says otherwise |
/// | [`WEBKIT`](Self::WEBKIT) | CORS, `Sec-Fetch-*`, `Origin`, redirects, mixed content and frames: measured in WebKitGTK 2.50. Cookies and the HTTP cache: from the source of WebKit and the settings of Safari, since WebKitGTK has another cookie store and another network stack |
/// | [`STANDARD`](Self::STANDARD) | the text of the standards; no browser behaves like this |
///
/// The [module](super) lists what the model leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// The name of the engine.
    pub name: &'static str,
    /// The longest time for which the result of a preflight is cached.
    pub preflight_cap: Duration,
    /// Whether `Access-Control-Allow-Headers: *` allows `Authorization`. Fetch says no (4.8, step
    /// 7.6: "CORS non-wildcard request-header name"); Chromium 156, Firefox 153 and WebKitGTK 2.50
    /// allow it.
    pub star_allows_authorization: bool,

    /// How third-party cookies are treated. RFC 6265bis leaves this open (7.1); Chromium blocks
    /// them (`profile.cookie_controls_mode`), Firefox partitions them
    /// (`network.cookie.cookieBehavior`), Safari blocks them (Intelligent Tracking Prevention).
    pub third_party: ThirdParty,
    /// Whether a cookie without `SameSite` is treated as `Lax` (RFC 6265bis, 5.7). In Firefox,
    /// `network.cookie.sameSite.laxByDefault` is off; WebKit has no such default.
    pub lax_by_default: bool,
    /// For how long a new cookie without `SameSite`, if treated as `Lax`, is also sent by
    /// navigations with an unsafe method (RFC 6265bis, 5.6.7.2: "Lax-allowing-unsafe", which is
    /// optional). Two minutes in Chromium (`kLaxAllowUnsafePreflightAge`).
    pub(crate) lax_allows_unsafe_for: Duration,
    /// Whether a redirect by another site makes a request cross-site for the cookies that it sends.
    /// RFC 6265bis looks at the last URL only (5.2), and so does Chromium; Firefox looks at all.
    /// Both store the cookies of the response.
    pub(crate) redirects_count: bool,
    /// Whether `http` and `https` are different sites for cookies (RFC 6265bis, 5.2). Not in
    /// Firefox, where `network.cookie.sameSite.schemeful` is off.
    pub(crate) sites_have_schemes: bool,
    /// How a cookie without `=` is parsed: as a value in RFC 6265bis (5.6, step 3) and Chromium, as
    /// a name in Firefox.
    pub(crate) nameless: Nameless,
    /// Whether a cookie with a tab inside is refused, as in Chromium. RFC 6265bis refuses all other
    /// control characters (5.6, step 1).
    pub(crate) refuses_tabs: bool,
    /// Whether the prefixes `__Http-` and `__Host-Http-` are enforced, as in Chromium from 140 and
    /// Firefox from 143, but not in Safari.
    pub(crate) has_http_prefixes: bool,
    /// Whether a loopback host may set and get cookies with `Secure` without TLS. RFC 6265bis
    /// leaves this open (5.8.3: "potentially trustworthy"); Safari does not allow it.
    pub(crate) secure_on_loopback: bool,
    /// Whether the last of several `Max-Age`, or `Expires`, counts even if it is invalid, and is
    /// then treated as missing, as in Chromium and Firefox. RFC 6265bis skips an invalid one
    /// (5.6.1, 5.6.2).
    pub(crate) bad_expiry_counts: bool,
    /// Whether a refused WebSocket handshake can set cookies with any status (Fetch, 4.6). In
    /// Chromium only with 401 (`WebSocketBasicHandshakeStream::ValidateResponse`).
    pub(crate) refused_sockets_set_cookies: bool,
    /// Whether a cookie that gets another value counts as new, and is sent after older ones. RFC
    /// 6265bis keeps the creation time of the old one (5.7, step 24.3); Chromium does so only if
    /// the value is equal.
    pub(crate) new_value_is_new: bool,

    /// The partition key of the HTTP cache.
    pub(crate) cache_key: CacheKey,
    /// How the cache implements `Vary`.
    pub(crate) variants: Variants,
    /// Whether a stored response to GET can be the response to HEAD (RFC 9111, 4). Firefox stores
    /// responses to HEAD separately, and no unsafe request drops them.
    pub(crate) head_uses_get: bool,
    /// Whether a stored response that HEAD revalidated is dropped, unless the server confirms it,
    /// as in Chromium (`HttpCache::Transaction::DoOverwriteCachedResponse`). RFC 9111 (4.3.5)
    /// compares the fields.
    pub(crate) head_drops: bool,
    /// Whether a request with `Authorization` revalidates the stored response to one without, in
    /// any cache mode, as in Firefox (`nsHttpChannel::OnCacheEntryCheck`). RFC 9111 does not
    /// require this of a private cache.
    pub(crate) authorization_revalidates: bool,
    /// Whether `Cache-Control: no-cache` in a request, as a script sets it, bypasses the cache,
    /// instead of only revalidating the stored response (RFC 9111, 5.2.1.4). Chromium does so
    /// (`LOAD_BYPASS_CACHE`).
    pub(crate) no_cache_goes_past: bool,
    /// Whether `Pragma: no-cache` in a response means the same as in `Cache-Control`. The standard
    /// gives it no meaning (RFC 9111, 5.4); all engines do.
    pub(crate) obeys_pragma: bool,
    /// The response directives `no-cache` and `private` that forbid to use a stored response without
    /// revalidation although they name fields, as in `no-cache="x-a"`. RFC 9111 (5.2.2.4) allows
    /// both readings of `no-cache`, and `private` (5.2.2.7) concerns shared caches only. Chromium
    /// ignores both forms, Firefox obeys both.
    pub(crate) qualified_directives: &'static [&'static str],
    /// Whether an unsafe request with the cache mode `no-store` drops the stored responses of its
    /// URL (RFC 9111, 4.4). Not in Chromium.
    pub(crate) no_store_invalidates: bool,
    /// Whether an unsafe request also drops the stored responses of the URLs that `Location` and
    /// `Content-Location` of its response name, if they have the same host. RFC 9111 (4.4) leaves
    /// it open; Firefox does so (`nsHttpChannel::MaybeInvalidateCacheEntryForSubsequentGet`).
    pub(crate) drops_named_urls: bool,
    /// Whether an invalid `Expires` means that the response is stale (RFC 9111, 5.3). Chromium
    /// ignores it, unless it is `0`.
    pub(crate) bad_expires_is_over: bool,
    /// Whether the last of several `max-age` counts, as in Firefox, and not the first. RFC 9111
    /// (4.2.1) uses the first, or none.
    pub(crate) last_max_age_counts: bool,
    /// Whether a response is stored with any status, even without explicit freshness, as in
    /// Chromium. RFC 9111 (3) stores it only with a status that is heuristically cacheable.
    pub(crate) stores_all: bool,
    /// Whether a response that the page may not read is stored. Chromium closes the connection and
    /// drops the response, unless it had to read all of it to determine its type.
    pub(crate) stores_refused: bool,
    /// Whether a response is stored that its `Cross-Origin-Resource-Policy` blocks, or its type, if a
    /// script was requested. Firefox checks both before it stores the response
    /// (`nsHttpChannel::ContinueProcessNormal`).
    pub(crate) stores_blocked: bool,
    /// The statuses of stored responses that are revalidated with conditions, if not all: 200 in
    /// Chromium (`HttpCache::Transaction::ConditionalizeRequest`).
    pub(crate) validated_statuses: Option<&'static [u16]>,
    /// The statuses that are used without revalidation, if not all. Firefox revalidates all errors
    /// but 410 (`nsHttpResponseHead::MustValidate`).
    pub(crate) fresh_statuses: Option<&'static [u16]>,
    /// The statuses with heuristic freshness, a tenth of the age: those of RFC 9110, 15.1, but in
    /// Chromium 200 and 203 (`HttpResponseHeaders::GetFreshnessLifetimes`).
    pub(crate) heuristic_statuses: &'static [u16],
    /// The maximum of heuristic freshness: a week in Firefox
    /// (`nsHttpResponseHead::ComputeFreshnessLifetime`).
    pub(crate) heuristic_cap: Duration,
    /// The statuses that are fresh for ever without explicit freshness: the permanent ones in
    /// engines (functions as above; WebKit: `computeFreshnessLifetimeForHTTPFamily`, a year), none
    /// in RFC 9111.
    pub(crate) permanent_statuses: &'static [u16],
    /// The fields of a stored response that a 304 does not replace; a name that ends with `-`
    /// matches all names with that prefix. RFC 9111, 3.2; Chromium: `HttpResponseHeaders::Update`;
    /// Firefox: `nsHttpResponseHead::UpdateHeaders`; WebKit: `shouldUpdateHeaderAfterRevalidation`.
    pub(crate) kept_by_304: &'static [&'static str],

    /// Whether `https` to `http://localhost` is a downgrade, on which no `Referer` is sent.
    /// Referrer Policy (8.3) asks whether the URL is potentially trustworthy, which it is; Chromium
    /// and Firefox look at the scheme.
    pub(crate) loopback_is_downgrade: bool,
    /// Which requests carry the storage access status of an embedded page.
    pub(crate) storage_access: StorageAccess,
    /// Whether `fetch()` also sends its origin in modes `no-cors` and `same-origin`, with any
    /// referrer policy, as in Chromium. In Fetch it may then be `null` ("append a request `Origin`
    /// header").
    pub(crate) fetch_tells_origin: bool,
    /// Whether the `Origin` of a navigation depends only on the referrer policy of its page, not on
    /// those of redirects, until one leads to another origin, as in Chromium.
    pub(crate) navigations_keep_origin: bool,
    /// Whether `http://localhost` and `https://localhost` are the same site for `Sec-Fetch-Site`,
    /// as in Firefox.
    pub(crate) localhost_is_one_site: bool,
    /// Whether elements with `crossorigin` also send `Origin` to their own origin. Fetch does so
    /// only after a redirect from another one; Chromium and WebKit always.
    pub(crate) elements_tell_origin: bool,
    /// Whether an image with `crossorigin` that is upgraded to `https`, and so to the page's own
    /// origin, is sent with `Origin`, also after redirects, as in Firefox.
    pub(crate) upgraded_images_tell_origin: bool,
    /// Whether `Origin` of a `fetch()` is decided at its start and, outside of mode `cors`, by
    /// redirects to another origin, as in WebKit: it stays when a redirect changes the method to GET,
    /// and the referrer policy counts at the start only. Fetch decides for each URL, by its method.
    pub(crate) origin_outlives_method: bool,
    /// Which loads of a sandboxed page have a `Referer`.
    pub(crate) sandboxed_referrer: SandboxedReferrer,
    /// How many redirects a navigation follows: twenty (Fetch, 4.4), and one less in Chromium.
    pub(crate) navigation_redirects: usize,
    /// Whether an upgrade of an image to `https` counts as a redirect, as in Firefox, where it is
    /// an internal one.
    pub(crate) upgrades_are_redirects: bool,
    /// Whether the redirect mode `error` does not treat a response without a location URL as a
    /// redirect, as in Chromium. Fetch (4.3) looks only at the status.
    pub(crate) redirects_need_location: bool,
    /// Whether the redirect mode `manual` fails if `Location` is not a valid URL, as in Chromium.
    /// In Fetch (4.3) it is a redirect like the others.
    pub(crate) manual_needs_address: bool,
    /// Whether the redirect mode `manual` shows the content of a redirect without a location URL, as
    /// in WebKit.
    pub(crate) manual_shows_content: bool,
    /// Whether every redirect to a URL with a user and a password fails, and not only those of the
    /// CORS protocol (Fetch, 4.4). Chromium allows them only for navigations of a window and for
    /// beacons.
    pub(crate) redirects_have_no_password: bool,
    /// Whether DELETE becomes GET when it is redirected to another origin, with any status. Fetch
    /// (4.4) changes it with 303 only; WebKitGTK does so (`shouldRedirectAsGET`).
    pub(crate) delete_becomes_get_elsewhere: bool,
    /// Whether the status 407 is a network error, since no proxy was used, as in Chromium and
    /// WebKit. Firefox treats it like other errors of a client.
    pub(crate) refuses_proxy_status: bool,
    /// Whether fields that a redirect removes, such as `Authorization` and `Content-Type`, come back
    /// with the next one, unless that removes them too. As in Firefox
    /// (`FetchDriver::SetRequestHeaders`), which starts from the fields of the script each time. A
    /// preflight then asks for the fields of the content even if they are removed again.
    pub(crate) redirects_restore_fields: bool,
    /// Whether the fields of the content, which a redirect removes when it changes the method to GET,
    /// come back with the next one: with any status in the CORS protocol, and elsewhere with 307 and
    /// 308. As in WebKit (`NetworkLoadChecker::checkCORSRedirectedRequest`).
    pub(crate) redirects_restore_content: bool,
    /// Whether a script with a status of 300 to 399 runs, as in Chromium and WebKit. HTML requires
    /// an ok status.
    pub(crate) scripts_of_300_run: bool,
    /// Whether response lines with an empty value are ignored, if the field has other lines or
    /// comes from the HTTP cache, as in Firefox (`nsHttpHeaderArray`). In a request such a line also
    /// replaces those before it.
    pub(crate) drops_empty_lines: bool,
    /// Whether a form submission with POST asks HTTP caches for a new response, as in Chromium.
    pub(crate) forms_ask_caches: bool,
    /// Whether repeated fields are combined before they are checked, as in Chromium, and not
    /// checked one by one (Fetch, "CORS-unsafe request-header names").
    pub(crate) joins_fields: bool,
    /// Whether the client hints `DPR`, `Device-Memory`, `Downlink`, `ECT`, `RTT`, `Save-Data: on`,
    /// `Viewport-Width` and `Width` need no preflight, and are dropped by redirects to another
    /// origin than that of the page and its window, as in Chromium. Fetch no longer has them among
    /// the CORS-safelisted request-headers.
    pub(crate) client_hints_are_safelisted: bool,
    /// Whether `Range` is safelisted with its unit in any case (`Bytes=0-5`), as in WebKit. Fetch
    /// (parse a single range header value) requires `bytes`.
    pub(crate) range_ignores_case: bool,
    /// Whether `*` in `Access-Control-Expose-Headers` counts although an element behind it is not a
    /// token, as in Firefox. In Fetch the whole field is then invalid.
    pub(crate) star_ends_expose_list: bool,
    /// Whether a script may set `User-Agent` (Fetch, from 2016 on). Chromium drops it.
    pub(crate) lets_set_user_agent: bool,
    /// Whether an upload listener on a request without content causes a preflight (XMLHttpRequest,
    /// `send`: "upload listener flag"). Not in Chromium.
    pub watches_empty_uploads: bool,
    /// What the preflight cache must contain for an upload with listeners, and for other requests
    /// that ask for a safelisted method and nothing else.
    pub(crate) watched_uploads: WatchedUploads,
    /// Whether `*` in a preflight response also matches methods and names in the cache (Fetch,
    /// 4.10). Firefox sends a new preflight.
    pub(crate) stars_are_kept: bool,
    /// Whether the preflight cache must contain the method HEAD although a preflight need not allow
    /// it, as in Firefox (`nsPreflightCache::CacheEntry::CheckRequest`).
    pub(crate) heads_need_methods: bool,
    /// Whether a permission for requests with credentials is also one for requests without them
    /// (Fetch, 4.10: "cache entry match"). Firefox keeps them apart (`nsPreflightCache`).
    pub(crate) permissions_cover_fewer_credentials: bool,
    /// Which invalid values of `Access-Control-Max-Age` mean five seconds.
    pub(crate) max_age: PreflightAge,
    /// The cache modes that also bypass the preflight cache. None in Fetch.
    pub(crate) asks_anew: &'static [CacheMode],
    /// The cache mode of a request with its own conditions, such as `If-None-Match`: `NoStore` in
    /// Fetch (4.5, step 8.16), `NoCache` in Chromium.
    pub(crate) own_conditions: CacheMode,
    /// Whether a request with its own conditions neither reads nor writes the HTTP cache in any
    /// cache mode, as in Chromium and WebKit. In Fetch and Firefox, other cache modes than `default`
    /// stay as they are: the script's conditions are sent instead of those of the cache, and the
    /// response is stored.
    pub(crate) own_conditions_go_past: bool,
    /// Whether `own_conditions` also applies to `XMLHttpRequest`. Not in Firefox.
    pub(crate) uploads_have_conditions: bool,
    /// Whether the cache mode also applies to the preflight: a request that bypasses the caches
    /// causes a new preflight, with `Cache-Control`. Chromium and Firefox do so.
    pub(crate) preflights_have_cache_mode: bool,
    /// Whether `Sec-Fetch-Site` of a preflight depends on all URLs of the redirects before it, as
    /// that of the request does. Fetch says so (4.8: "URL list"); Chromium looks at the last one.
    pub(crate) preflights_know_redirects: bool,
    /// Whether `Access-Control-Request-Headers` repeats a name as often as the script wrote it, as
    /// in Firefox.
    pub(crate) repeats_names: bool,
    /// Whether a load that had a preflight, or began with fields that need one, sends one to each
    /// URL that it is redirected to, even if these fields are gone, as in Firefox and WebKit.
    pub(crate) preflights_stick: bool,
    /// Whether [`redirects_restore_fields`](Self::redirects_restore_fields) and
    /// [`preflights_stick`](Self::preflights_stick) do not apply to beacons, as in Firefox, where they
    /// are rules of `fetch()` and `XMLHttpRequest`.
    pub(crate) beacons_lose_fields: bool,
    /// Whether a preflight asks for all fields of the script, even those that a redirect has removed,
    /// as in WebKit (`NetworkLoadChecker::checkCORSRequestWithPreflight`).
    pub(crate) preflights_name_removed_fields: bool,
    /// Whether a preflight has the referrer of the first URL, even if the policy allows less for the
    /// one after a redirect, as in WebKit.
    pub(crate) preflights_keep_referrer: bool,
    /// Whether a permission for `null` is kept for the next load, or for the next URL after a
    /// redirect. Fetch has one origin `null`; in Chromium each opaque origin differs.
    pub(crate) sandboxed_preflights_are_kept: bool,
    /// Whether a permission for a request with `Origin: null` after a redirect by another origin is
    /// kept for the next load. Not in WebKit, where each such load has an opaque origin of its own,
    /// unless its page is sandboxed.
    pub(crate) tainted_preflights_are_kept: bool,
    /// Whether a new preflight removes the entries of earlier ones: when it is granted, and also
    /// before its response if the cache was read. As in Chromium
    /// (`PreflightCache::CheckIfRequestCanSkipPreflight` and `AppendEntry`) and in WebKit
    /// (`CrossOriginPreflightResultCache`).
    pub(crate) preflights_forget: bool,
    /// Whether the cache also contains what a preflight response allows if that is not the request
    /// that asked, as in WebKit (`validatePreflightResponse`).
    pub(crate) refused_preflights_are_kept: bool,
    /// Whether the rules for `*` in a preflight response also apply to the cache: nothing with
    /// credentials, and `Authorization` if [`star_allows_authorization`](Self::star_allows_authorization).
    /// As in WebKit (`CrossOriginPreflightResultCacheItem::allowsRequest`). In Fetch (4.10) `*` in the
    /// cache matches everything but `Authorization`.
    pub(crate) kept_stars_are_checked: bool,
    /// Whether a network error after a preflight removes its cache entries (Fetch, 4.1), as in
    /// Firefox. Not in Chromium or WebKit.
    pub(crate) failures_clear_preflights: bool,
    /// The same for a redirect in redirect mode `error`. Not in any engine.
    pub(crate) refused_redirects_clear_preflights: bool,
    /// Whether the network error of a request to another origin that needed no preflight removes
    /// cache entries too, as in Firefox (`nsCORSListenerProxy::OnStartRequest`).
    pub(crate) any_failure_clears_preflights: bool,
    /// Whether a redirect that is blocked as mixed content removes the cache entries of the URL
    /// that redirects, as in Firefox. Fetch clears the entries of the URL that it leads to.
    pub(crate) blocked_redirects_clear_preflights: bool,
    /// Whether `Origin` of a preflight is `null` after a redirect by another origin, as that of the
    /// request is (Fetch, 4.8). Not in Firefox, where a preflight that comes back to the page's own
    /// origin needs no `Access-Control-Allow-Origin` either.
    pub preflights_know_taint: bool,
    /// Whether an upload with listeners needs its method in `Access-Control-Allow-Methods`, even if
    /// the field is missing (in that case Fetch, 4.8, step 7.4, adds it). In Chromium and Firefox,
    /// but not for GET, HEAD and POST.
    pub(crate) uploads_need_methods: bool,
    /// Whether the result of a preflight is cached even for a request with the cache mode
    /// `no-store`. Fetch does not exclude it; Chromium does not cache it.
    pub(crate) no_store_keeps_preflights: bool,
    /// Whether `Sec-Fetch-Site` of a preflight is `cross-site` when its `Origin` is `null` after a
    /// redirect by another origin, as in WebKit.
    pub(crate) tainted_preflights_are_cross_site: bool,
    /// Whether a preflight has `Sec-Fetch-Mode` even if the URL is not trustworthy, as in Chromium.
    pub(crate) preflights_tell_mode: bool,
    /// Whether a preflight has `Sec-Fetch-*` only if the first URL of the load is trustworthy too, as
    /// in WebKit, where a redirected request begins with the fields of the first one.
    pub(crate) first_url_allows_metadata: bool,
    /// Whether the CORS check of a redirect requires a grant with credentials if the load began at the
    /// page's own origin with the credentials mode `same-origin`. As in WebKit, which decides about
    /// credentials once for all redirects (`checkRedirectionCrossOriginAccessControl`).
    pub(crate) redirects_know_own_credentials: bool,

    /// Whether a request in mode `cors` has `Sec-Fetch-*` and the fields of its cache mode directly
    /// after a redirect to another origin (Fetch Metadata, 2: every request). Not in WebKit, which
    /// then makes a new request; after the next redirect it has `Sec-Fetch-*` again.
    pub(crate) redirected_cors_has_metadata: bool,
    /// Whether `Sec-Fetch-Dest` of a WebSocket is `websocket`, as in WebKit. In Fetch it is
    /// `empty`.
    pub(crate) websockets_name_themselves: bool,
    /// Whether the handshake of a WebSocket carries `Sec-Fetch-*` (Fetch Metadata, 2: every
    /// request). Chromium sends none.
    pub(crate) websockets_have_metadata: bool,
    /// Whether loads of other domains, except navigations of a window, send no more than
    /// `strict-origin-when-cross-origin` allows. Firefox
    /// (`network.http.referer.disallowCrossSiteRelaxingDefault`) does so.
    pub(crate) trims_referrers: bool,
    /// Whether requests to other domains than that of the window send no more than the origin of
    /// their referrer, and all others what the policy says, as in WebKit.
    pub(crate) trims_third_party_referrers: bool,

    /// Whether images of `http` are upgraded to `https` in pages of `https` on loopback too (Mixed
    /// Content, 4.1). Firefox loads them over `http`.
    pub(crate) loopback_upgrades_images: bool,
    /// Whether `http` on loopback is mixed content in a page of `https`, except for images. Mixed
    /// Content (4.4) allows it, since loopback is trustworthy; WebKit does not.
    pub(crate) loopback_is_mixed: bool,
    /// The permission of pages to reach the network of their user (Local Network Access, not in
    /// Fetch), in the engines that ask the user for it.
    pub local_network: LocalNetwork,
    /// Whether that permission covers WebSockets, as in Chromium, but not in Firefox
    /// (`network.lna.websocket.enabled`).
    pub(crate) local_network_has_sockets: bool,
    /// Whether the permission also lifts the block of mixed content for `http` to an address that
    /// is local by its URL, as in Chromium.
    pub(crate) local_network_lifts_mixed_content: bool,
    /// Whether the path of a source of `frame-ancestors` counts. An ancestor is an origin, whose
    /// path is `/` (CSP 3, 6.4.2.1), so a source with another path matches nothing. Firefox ignores
    /// the path.
    pub(crate) ancestors_have_paths: bool,
    /// Whether a source of `http` that names a port other than 80 matches the page of `https` with
    /// that port (CSP 3, 6.7.2.8). Not in Chromium.
    pub(crate) ancestors_upgrade_with_port: bool,
    /// Whether the source `*:port` matches any host with that port (CSP 3, 6.7.2.8). Not in WebKit.
    pub(crate) ancestors_have_any_host_with_port: bool,
    /// Whether the sources of `ws` and `wss` match pages of `http` and `https` (CSP 3, 6.7.2.8:
    /// "scheme-part match"). Chromium and Firefox compare the schemes.
    pub(crate) ancestors_have_socket_schemes: bool,
}

/// Which loads of a sandboxed page have a `Referer`. The standard gives none to an opaque origin
/// (Referrer Policy, 8.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SandboxedReferrer {
    /// None.
    Untold,
    /// Elements and navigations, as if all URLs were of other origins: Firefox.
    OfElements,
    /// All, as if the page were not sandboxed: WebKit.
    Told,
}

/// What the preflight cache must contain for an upload with listeners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum WatchedUploads {
    /// Its method (Fetch, 4.3).
    Method,
    /// A preflight response, whatever it allowed: all engines.
    Anything,
}

/// How an invalid `Access-Control-Max-Age` is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PreflightAge {
    /// As if it were missing: five seconds (Fetch, 4.8, step 7.9).
    Lenient,
    /// The same, but a negative number means zero: Chromium, WebKit.
    NotNegative,
    /// Nothing is cached, unless the value is empty: Firefox.
    Strict,
}

/// Which requests of a page that is embedded in another site carry its storage access status
/// (Storage Access Headers, not in Fetch): `Sec-Fetch-Storage-Access` on loads with credentials,
/// and `Origin` if the page could request access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StorageAccess {
    /// No request.
    Untold,
    /// All requests but WebSockets and preflights: Chromium.
    Told,
    /// All requests until a redirect leads to another domain, and `Origin` if the referrer policy
    /// allows it: Firefox, for which `http` and `https` are the same site here.
    ToldOfDomains,
}

/// How the cookies of a site are treated in a window of another site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ThirdParty {
    /// They are sent and stored, if `SameSite` allows it.
    Sent,
    /// Each top-level site has its own.
    Partitioned,
    /// They are neither sent nor stored, except those with `Partitioned`.
    Blocked,
}

/// How a cookie pair without `=` is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Nameless {
    /// As the value of a cookie with an empty name, and sent as it is; `=v` is the same as `v`.
    Value,
    /// As the name of a cookie with an empty value, and sent with `=`; `=v` is refused.
    Name,
}

/// The partition key of an HTTP cache, besides the URL (Fetch, "determine the network partition
/// key").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CacheKey {
    /// The site of the window.
    Window,
    /// The site of the window and the site of the frame; whether the response is the document of a
    /// frame; and whether another site navigated to it. Loads of a sandboxed page are not cached
    /// (Chromium: `HttpCache::GenerateCacheKey`).
    Frame,
    /// The same key, and whether another site is between the window and the URL; and whether the
    /// request had credentials (Firefox: `OriginAttributes`, and `LOAD_ANONYMOUS`). Responses that
    /// scripts fetch from other sites have a separate partition, and no unsafe request drops them
    /// (`network.fetch.cache_partition_cross_origin`, `nsHttpChannel::DoInvalidateCacheEntry`).
    Foreign,
}

/// How a cache implements `Vary`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Variants {
    /// It stores all variants of a URL (RFC 9111, 4.1).
    Kept,
    /// It stores one, and requests another with its `ETag`: Chromium, Firefox.
    AskedByTag,
    /// It stores one: WebKit (`NetworkCache::Cache`).
    Replaced,
}

impl Profile {
    /// The same profile with another setting for third-party cookies.
    ///
    /// ```
    /// use policy_browser::{Profile, ThirdParty};
    ///
    /// assert_eq!(Profile::CHROMIUM.third_party, ThirdParty::Blocked);
    /// let lenient = Profile::CHROMIUM.third_party(ThirdParty::Sent);
    /// assert_eq!(lenient.third_party, ThirdParty::Sent);
    /// ```
    #[must_use]
    pub const fn third_party(self, third_party: ThirdParty) -> Self {
        Self { third_party, ..self }
    }

    /// The same profile after another decision of the user about their local network. Engines that
    /// do not ask for a permission ([`LocalNetwork::Open`]) stay as they are.
    ///
    /// ```
    /// use policy_browser::{LocalNetwork, Profile};
    ///
    /// assert_eq!(Profile::CHROMIUM.local_network, LocalNetwork::Prompt);
    /// let allowed = Profile::CHROMIUM.local_network(LocalNetwork::Granted);
    /// assert_eq!(allowed.local_network, LocalNetwork::Granted);
    /// let webkit = Profile::WEBKIT.local_network(LocalNetwork::Denied);
    /// assert_eq!(webkit.local_network, LocalNetwork::Open);
    /// ```
    #[must_use]
    pub const fn local_network(self, permission: LocalNetwork) -> Self {
        match self.local_network {
            LocalNetwork::Open => self,
            _ => Self { local_network: permission, ..self },
        }
    }
}
