//! Generated manifests, requests and callers.

mod apps;
mod callers;
mod requests;

pub(super) use apps::{OWN, Site, site, wordy};
pub(super) use callers::caller;
pub(super) use requests::sketch;
