//! What the suites share: clients, servers, processes, browsers, and the vocabulary of laws.
#![expect(
    missing_debug_implementations,
    missing_docs,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::new_without_default,
    clippy::panic,
    reason = "a part of tests: what they cannot do without fails them"
)]

pub mod authority;
pub mod axe;
pub mod bidi;
pub mod caller_scheme;
pub mod corpus;
pub mod disk;
pub mod every_policy;
pub mod example;
pub mod fetch;
pub mod frames;
pub mod guard;
pub mod handlers;
pub mod http;
pub mod http2;
pub mod image;
pub mod log;
pub mod openapi;
pub mod oracle;
pub mod output;
pub mod pages;
pub mod paths;
pub mod peers;
pub mod port;
pub mod postgres;
pub mod process;
pub mod program;
pub mod public_api;
pub mod random;
pub mod redis;
pub mod redis_cluster;
pub mod redis_sentinel;
pub mod relay;
pub mod tls;
pub mod webdriver;
pub mod webkit;
pub mod websocket;

pub use policy_core_tests::folder;
