//! What the examples with users share: passwords that are expensive to guess, without a way to lock
//! anybody out, and keys in files.
#![expect(missing_debug_implementations, reason = "a part of examples, which print none of it")]

pub mod attempts;
pub mod devices;
pub mod keys;
pub mod passwords;
