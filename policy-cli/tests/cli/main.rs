//! The built binary on real manifests.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod check;
mod ci;
mod diff;
mod explain;
mod fixtures;
mod fleets;
mod gate;
mod hostile;
mod lint;
mod manifests;
mod manual;
mod new;
mod objects;
mod openapi;
mod page;
mod play;
mod readme;
mod run;
mod sarif;
mod schema;
mod show;
mod validate;
mod wrong_use;
