//! A model of what a browser does with a server's answers: which requests it sends, with which
//! cookies, and what a page may read of what comes back.
//!
//! Written from the Fetch standard, HTML, RFC 6265bis, RFC 9111 and Fetch Metadata, and from
//! nothing else of this crate: it is what the engine is held against. It does no I/O and knows no
//! clock. [`step`] takes a state and what happened, and gives the next state and what the browser
//! does about it:
//!
//! - [`Event::Start`]: a page, or the person in front of it, loads something: a [`Fetch`]
//! - [`Output::Request`]: a request goes to a server; [`Event::Response`] is what it says
//! - [`Output::Done`]: what the page got: an [`Outcome`]
//!
//! Where engines differ, a [`Profile`] says so, with the source of each difference.
//!
//! Left out are: what a page forbids itself (its Content Security Policy, COEP), service workers,
//! HTTP authentication by dialog or by the address, HSTS, the blocking of opaque responses by their
//! content, ports and networks that browsers keep pages from, and all that is not `http`, `https`
//! or their WebSockets.

mod cache_partition;
mod console;
mod cookie;
mod cookie_context;
mod cookie_date;
#[cfg(test)]
mod cookie_trial;
mod cors_check;
mod document;
mod engines;
mod event;
mod fetch;
mod filter;
mod framing;
mod freshness;
mod headers;
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
mod store;
mod stored;
#[cfg(test)]
mod trial;

pub use cookie::Cookie;
pub use event::{Event, LoadId, Output, Sent, ServerResponse};
pub use fetch::{CacheMode, Credentials, Destination, Fetch, Mode, Redirect};
pub use jar::Jar;
pub use outcome::{Blocked, Outcome, Reason, Response, ResponseType};
pub use page::{Page, PageOrigin, ReferrerPolicy};
pub use profile::{
    CacheKey, Nameless, PreflightAge, Profile, StorageAccess, ThirdParty, Variants, WatchedUploads,
};
pub use set_cookie::SameSite;
pub use state::{State, run, step};
pub use url::Url;
