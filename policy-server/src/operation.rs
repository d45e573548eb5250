#![doc = include_str!("../docs/operation.md")]
