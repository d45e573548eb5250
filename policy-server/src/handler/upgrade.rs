//! Keeps the connection of an upgraded request open.

use std::{any::Any, sync::Arc};

/// Keeps the connection of an upgraded request from counting as idle while a clone of this lives.
/// The server puts it into the extensions of the request.
#[derive(Clone, Debug)]
pub(crate) struct OpenStream(
    #[expect(dead_code, reason = "it is held")] Arc<dyn Any + Send + Sync>,
);

impl OpenStream {
    pub(crate) fn new(request: impl Any + Send + Sync) -> Self {
        Self(Arc::new(request))
    }
}
