//! A value that is set at most once.

use std::sync::OnceLock;

/// Like a [`OnceLock`], but its owner can fill it without synchronisation, before it is shared.
#[derive(Debug)]
pub(crate) enum Slot<T> {
    Filled(T),
    Shared(OnceLock<T>),
}

impl<T> Slot<T> {
    pub(crate) const fn new() -> Self {
        Self::Shared(OnceLock::new())
    }

    pub(crate) fn fill(&mut self, value: T) {
        *self = Self::Filled(value);
    }

    pub(crate) fn get(&self) -> Option<&T> {
        match self {
            Self::Filled(value) => Some(value),
            Self::Shared(cell) => cell.get(),
        }
    }

    pub(crate) fn get_or_init(&self, value: impl FnOnce() -> T) -> &T {
        match self {
            Self::Filled(value) => value,
            Self::Shared(cell) => cell.get_or_init(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_stays() {
        let slot = Slot::new();
        assert_eq!(slot.get(), None);
        assert_eq!(slot.get_or_init(|| 1), &1);
        assert_eq!(slot.get_or_init(|| 2), &1);

        let mut slot = Slot::new();
        slot.fill(1);
        assert_eq!(slot.get_or_init(|| 2), &1);
        assert_eq!(slot.get(), Some(&1));
    }
}
