//! A model of what a browser does with a server's responses: which requests it sends, with which
//! cookies, and what a page may read of a response.
//!
//! Written from the Fetch standard, HTML, RFC 6265bis, RFC 9111 and Fetch Metadata, and from
//! nothing else of this crate, since the engine is tested against it. It does no I/O and reads no
//! clock. [`step`] takes a state and an event, and returns the next state and the actions of the
//! browser:
//!
//! - [`Event::Start`]: a page or the user loads something: a [`Fetch`]
//! - [`Output::Request`]: a request goes to a server, and [`Event::Response`] is its response
//! - [`Output::Done`]: what the page gets: an [`Outcome`]
//!
//! Where engines differ, a [`Profile`] describes each difference, with its source.
//!
//! The model leaves out: what a page forbids itself (its Content Security Policy, COEP), service
//! workers, HTTP authentication by a dialog or by the URL, HSTS, opaque response blocking by
//! content, blocked ports and private networks, and every scheme but `http`, `https` and those of
//! WebSockets.

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
