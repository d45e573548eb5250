//! The apps of the examples.

#![expect(dead_code, reason = "their `main` and the pages beside them are not used here")]

#[path = "../../examples/accounts.rs"]
pub(crate) mod accounts;
#[path = "../../examples/catalogue.rs"]
pub(crate) mod catalogue;
#[path = "../../examples/dev_proxy.rs"]
pub(crate) mod dev_proxy;
#[path = "../../examples/gateway.rs"]
pub(crate) mod gateway;
#[path = "../../examples/protocols.rs"]
pub(crate) mod protocols;
#[path = "../../examples/quickstart.rs"]
pub(crate) mod quickstart;
