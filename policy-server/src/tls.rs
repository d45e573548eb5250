#![doc = include_str!("../docs/tls.md")]

pub use crate::serve::tls::Tls;
