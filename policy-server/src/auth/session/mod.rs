//! Sessions: their settings, the changes of one request, and the handler arguments.

mod commit;
mod current;
mod error;
mod loaded;
mod place;
mod request;
mod service;
mod sessions;
mod settings;
mod summary;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub(crate) use commit::CommitFacts;
pub use current::Session;
pub(crate) use error::CommitError;
pub(crate) use loaded::{Load, LoadedSession, PresentedSession};
pub(crate) use policy_core::session::HandlerOutcome;
pub use policy_core::{cookie::SameSite, session::Handle};
pub(crate) use request::RequestSession;
pub(crate) use service::SessionService;
pub use sessions::Sessions;
pub use settings::SessionSettings;

/// A duration in minutes.
///
/// ```
/// assert_eq!(policy_server::session::minutes(15).as_secs(), 900);
/// ```
pub const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(minutes.saturating_mul(60))
}

/// A duration in hours.
///
/// ```
/// use policy_server::session::{hours, minutes};
///
/// assert_eq!(hours(1), minutes(60));
/// ```
pub const fn hours(hours: u64) -> Duration {
    Duration::from_secs(hours.saturating_mul(3600))
}

/// A duration in days.
///
/// ```
/// use policy_server::session::{days, hours};
///
/// assert_eq!(days(1), hours(24));
/// ```
pub const fn days(days: u64) -> Duration {
    Duration::from_secs(days.saturating_mul(24 * 3600))
}
