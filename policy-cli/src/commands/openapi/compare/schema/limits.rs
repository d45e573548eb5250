//! How much of two schemas is compared.

use std::{cell::Cell, ptr};

use serde_json::Value;

/// The deepest nesting that is compared. References can nest without end.
pub(super) const DEPTH: usize = 64;
/// The most schemas that one consists of by `allOf` and references.
pub(super) const PARTS: usize = 256;

/// The steps that a comparison may still take, so that no document takes forever.
#[derive(Debug)]
pub(crate) struct Steps(Cell<u64>);

impl Steps {
    pub(crate) fn new(steps: u64) -> Self {
        Self(Cell::new(steps))
    }

    /// Takes this many steps. Returns whether any are left.
    pub(super) fn take(&self, steps: usize) -> bool {
        self.0.set(self.0.get().saturating_sub(steps as u64));
        self.0.get() > 0
    }
}

pub(super) fn address(value: &Value) -> usize {
    ptr::from_ref(value).addr()
}
