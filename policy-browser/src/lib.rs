//! A model of what a browser does with a server's responses: which requests it sends, with which
//! cookies, and what a page may read of a response.
//!
//! It tests any server, since it only needs its responses:
//!
//! ```
//! use std::time::Duration;
//!
//! use http::{Response, header};
//! use policy_browser::{Fetch, Page, Profile, SentRequest, ServerResponse, State, Url, run};
//!
//! /// A handler of `api.shop.example`, for the pages of the shop.
//! fn account(request: &SentRequest) -> Response<&'static str> {
//!     let mut response = Response::new("ada");
//!     response.headers_mut().insert(header::VARY, header::HeaderValue::from_static("origin"));
//!     match request.headers.get(header::ORIGIN) {
//!         // A mistake: `https://evilshop.example` ends like this, too.
//!         Some(origin) if origin.as_bytes().ends_with(b"shop.example") => {
//!             response.headers_mut().insert("access-control-allow-origin", origin.clone());
//!         }
//!         _ => {}
//!     }
//!     response
//! }
//!
//! let can_read = |page: &str| {
//!     let browser = State::new(Profile::CHROMIUM, Duration::ZERO);
//!     let page = Page::at(Url::parse(page).unwrap());
//!     let fetch = Fetch::get("https://api.shop.example/account");
//!     let (_, outcome) = run(browser, Some(&page), fetch, |request| {
//!         let (parts, body) = account(request).into_parts();
//!         ServerResponse::new(parts.status.as_u16(), parts.headers, body.into())
//!     });
//!     outcome.is_readable()
//! };
//! assert!(can_read("https://app.shop.example"));
//! assert!(!can_read("https://evil.test"));
//! assert!(can_read("https://evilshop.example"), "the test has found the mistake");
//! ```
//!
//! The tests of `policy-server` use it through its `Browser` and `Tab`; so do the laws that
//! `policy-server` checks for an app.
//!
//! The model is written from the Fetch standard, HTML, RFC 6265bis, RFC 9111 and Fetch Metadata,
//! and shares no code with the engine of Policy, which is tested against it. It does no I/O and
//! reads no clock. [`run`] makes a whole load. Below it, [`step`] takes a state and an event, and
//! returns the next state and the actions of the browser:
//!
//! - [`Event::Start`]: a page or the user loads something: a [`Fetch`]
//! - [`Output::Request`]: a request goes to a server, and [`Event::Response`] is its response
//! - [`Output::Done`]: what the page gets: an [`Outcome`]
//!
//! Where engines differ, a [`Profile`] describes each difference, with its source, and says which
//! engine was measured.
//!
//! # What the model leaves out
//!
//! - What a page forbids itself: its Content Security Policy (but `frame-ancestors` and `sandbox`),
//!   COEP, `Permissions-Policy`.
//! - Service workers, HTTP authentication by a dialog or by the URL, HSTS, opaque response blocking
//!   by content, blocked ports, and every scheme of a request but `http`, `https` and those of
//!   WebSockets.
//! - Everything about pages of installed apps and extensions except their origin, which makes their
//!   requests cross-site. Not modelled are an extension's host permissions, which let it read
//!   without CORS and send `SameSite` cookies, and mixed content.
//! - Destinations other than those of [`Destination`]: styles, fonts, modules, media.
//! - `EventSource` as such: it is a `fetch()` with the same fields.
//! - In Firefox, the `Referer` of beacons of a sandboxed page.
//! - `keepalive`. In Chromium, `Sec-Fetch-Site` of such a request depends on each URL alone, and it
//!   follows redirects to a URL with a password; in Firefox it has no `Sec-Fetch-Storage-Access`,
//!   and its refused response is not stored.
//! - Ranges of stored responses, when `stale-while-revalidate` sends its request, and the spelling
//!   in which Chromium sends `Range: BYTES=0-5`.
//! - In Chromium, the stored response whose `ETag` a script names in its own `If-None-Match`.
//! - `Available-Dictionary` of a script, for which Chromium sends nothing.
//! - In Firefox, the `Content-Type` of a form that comes back when a redirect to another origin
//!   follows one that changed the method to GET.
//! - In WebKit, the preflight that is sent to `http` when a page of `https` is redirected there,
//!   before the request is blocked as mixed content, and the one that is sent to a URL with a
//!   password.
//! - `document.cookie` with values that are not UTF-8.
//! - Local Network Access in frames, which needs the permission of all pages around it, and the
//!   option `targetAddressSpace` of `fetch()`.

mod address_space;
mod cache_partition;
mod console;
mod cookie;
mod cookie_context;
mod cookie_date;
#[cfg(test)]
mod cookie_trial;
mod cors_check;
mod csp;
mod document;
mod engines;
mod event;
mod fetch;
mod filter;
mod framing;
mod freshness;
mod grammar;
mod headers;
mod initiator;
mod invalidation;
mod jar;
mod main_fetch;
mod metadata;
mod mime;
mod mixed_content;
mod network;
mod outcome;
mod page;
mod preflight;
mod preflight_cache;
mod profile;
mod redirect;
mod referrer;
mod request;
mod resource_policy;
mod script;
mod set_cookie;
mod site;
mod state;
mod storage_access;
mod store;
mod stored;
#[cfg(test)]
mod trial;
mod withheld;

pub use address_space::{AddressSpace, LocalNetwork};
pub use cookie::Cookie;
pub use event::{Event, LoadId, Output, SentRequest, ServerResponse};
pub use fetch::{CacheMode, Credentials, Destination, Fetch, Mode, Redirect};
pub use jar::Jar;
pub use outcome::{Blocked, Outcome, Reason, Response, ResponseType};
pub use page::{Page, PageOrigin, ReferrerPolicy};
pub use profile::{Profile, ThirdParty};
pub use set_cookie::SameSite;
pub use state::{State, run, step};
pub use url::Url;
pub use withheld::{Withheld, WithheldCookie};

/// Tests the example of the README like those of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
