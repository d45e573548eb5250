//! What the examples with users share: passwords that are expensive to guess, without a way to lock
//! anybody out, keys in files, and a page on another origin.
#![expect(missing_debug_implementations, reason = "a part of examples, which print none of it")]

pub mod attempts;
pub mod beside;
pub mod devices;
pub mod files;
pub mod keys;
pub mod passwords;
