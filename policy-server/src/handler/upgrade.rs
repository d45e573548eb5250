//! What an upgraded request carries for the code that takes its stream.

use std::{any::Any, sync::Arc};

use tokio::sync::Notify;

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

/// Tells the code behind an upgrade that the client's stream is closed and its permits are free. It
/// is in the extensions of the request.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientClosed(Arc<Notify>);

impl ClientClosed {
    pub(crate) fn tell(&self) {
        self.0.notify_one();
    }

    #[cfg(feature = "gateway")]
    pub(crate) async fn wait(&self) {
        self.0.notified().await;
    }
}
