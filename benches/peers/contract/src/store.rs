use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

/// Sessions in memory for frameworks that ship no such store, or none that two routes can share.
#[derive(Debug, Default)]
pub struct Store<T>(Arc<RwLock<HashMap<String, T>>>);

impl<T> Clone for Store<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Clone> Store<T> {
    /// What is kept under an id.
    pub fn load(&self, id: &str) -> Option<T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// Keeps something under an id.
    pub fn save(&self, id: &str, state: T) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), state);
    }

    /// Forgets an id.
    pub fn remove(&self, id: &str) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}
