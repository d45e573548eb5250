#![doc = include_str!("../docs/tls.md")]

pub use crate::server::tls::Tls;
