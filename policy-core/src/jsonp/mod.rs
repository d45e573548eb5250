//! JSONP: an answer as a script that calls a function, for pages too old for CORS.
//!
//! Any page can read such an answer, so it is for data that everybody may have: no cookie and no
//! token is looked at where one is made. Errors are not wrapped; a page learns of them by the
//! `error` event of its script element.
//!
//! [`JsonpSpec`] is what somebody wrote; its rules are those of the attribute and of the start.
//! [`JsonpPolicy`] is what a route does.

#[cfg(feature = "engine")]
mod callback;
mod check;
mod policy;
#[cfg(feature = "engine")]
mod script;
mod spec;

#[cfg(feature = "engine")]
pub use callback::Callback;
pub use policy::{Grammar, JsonpPolicy};
#[cfg(feature = "engine")]
pub use script::{apply, script};
pub use spec::{JsonpSpec, Part, Violation};
