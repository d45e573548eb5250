//! How much work a check may be: rules and policies may come from strangers.

use super::CheckError;

/// The steps that are left. A step takes less than a microsecond.
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Budget {
    /// The steps of a check: some 50 policies of 500 routes and 100 rules about all of them.
    const MOST: usize = if cfg!(test) { 500_000 } else { 10_000_000 };

    pub(super) fn new() -> Self {
        Self(Self::MOST)
    }

    pub(super) fn spend(&mut self, steps: usize) -> Result<(), CheckError> {
        self.0 = self.0.checked_sub(steps).ok_or(CheckError::TooMuch)?;
        Ok(())
    }
}
