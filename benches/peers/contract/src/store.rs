use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

/// Sessions in memory for frameworks without such a store, or with one that two routes cannot
/// share.
#[derive(Debug, Default)]
pub struct Store<T>(Arc<RwLock<HashMap<String, T>>>);

impl<T> Clone for Store<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Clone> Store<T> {
    /// The value of an id.
    pub fn load(&self, id: &str) -> Option<T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// Stores the value of an id.
    pub fn save(&self, id: &str, state: T) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), state);
    }

    /// Removes an id.
    pub fn remove(&self, id: &str) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}
