use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// How many items are kept.
const CAPACITY: usize = 1000;

/// The last items of a kind, such as the requests that arrived. Clones share them.
#[derive(Clone, Debug)]
pub struct Recent<T>(Arc<Mutex<VecDeque<T>>>);

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Clone> Recent<T> {
    /// Adds an item, in place of the oldest one if there are too many.
    pub fn push(&self, item: T) {
        let mut items = self.lock();
        if items.len() == CAPACITY {
            items.pop_front();
        }
        items.push_back(item);
    }

    /// The items for which this holds, the oldest first.
    #[must_use]
    pub fn filter(&self, is_wanted: impl Fn(&T) -> bool) -> Vec<T> {
        self.lock().iter().filter(|item| is_wanted(item)).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_item_makes_room_for_the_newest() {
        let numbers = Recent::default();
        for number in 0..=CAPACITY {
            numbers.push(number);
        }
        assert_eq!(numbers.filter(|number| *number < 2), [1]);
        assert_eq!(numbers.filter(|number| *number + 2 > CAPACITY), [CAPACITY - 1, CAPACITY]);
    }
}
