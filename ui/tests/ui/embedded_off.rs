//! The store in a file without its feature, which is off by default.
use policy_server::{prelude::*, store::EmbeddedStore};

fn main() {
    let _ = Sessions::embedded("sessions.redb").idle(minutes(15));
    let _ = Sessions::embedded(EmbeddedStore::new("sessions.redb"));
}
