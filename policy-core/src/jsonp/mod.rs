//! JSONP: a response as a script that calls a function, for pages too old for CORS.
//!
//! Any page can read such a response, so it is only for public data: cookies and tokens are ignored
//! for it. Errors are not wrapped; a page is notified of them by the `error` event of its script
//! element.
//!
//! [`JsonpSpec`] is a policy as written, before validation; the attribute and the start apply the
//! same rules to it. [`JsonpPolicy`] is the policy that a route follows.

#[cfg(feature = "engine")]
mod callback;
mod check;
mod policy;
#[cfg(feature = "engine")]
mod script;
mod spec;

#[cfg(feature = "engine")]
pub use callback::Callback;
pub use policy::{JsonpPolicy, JsonpPolicyBuilder};
#[cfg(feature = "engine")]
pub use script::{apply, script};
pub use spec::{Grammar, JsonpPart, JsonpSpec};
