//! From an app to a service or a server.

use crate::{app::App, base::error::Error, build, pipeline::service::AppService, server::Server};

impl<S> App<S> {
    /// Checks everything, opens nothing, and makes the app a `tower::Service`. Sessions and
    /// tokens are kept in memory, wherever the app says that they are kept: this is for looking
    /// at an app. [`open`](Self::open) is for serving, [`into_service`](Self::into_service) for
    /// tests.
    ///
    /// # Errors
    ///
    /// Every problem at once.
    pub fn build(self) -> Result<AppService, Error> {
        build::compile(self.parts)?.in_memory()
    }

    /// Checks everything, opens the stores, and makes the app a `tower::Service` for another
    /// server than [`serve`](Self::serve).
    ///
    /// # Errors
    ///
    /// Every problem at once; then everything that cannot be opened.
    pub async fn open(self) -> Result<AppService, Error> {
        build::compile(self.parts)?.open().await
    }

    /// Checks everything, binds `address`, and serves until ctrl-c or SIGTERM; requests in
    /// flight are finished then. Without a port it is 80, or 443 with TLS. These signals are
    /// caught for the whole process, as [`Server::run`] says.
    ///
    /// # Errors
    ///
    /// Every problem at once: of the app, its certificates and the addresses that it listens on.
    /// Then everything that cannot be opened.
    pub async fn serve(self, address: impl AsRef<str>) -> Result<(), Error> {
        self.bind(address).await?.run().await
    }

    /// Binds `address` without serving yet, to learn the port that was chosen or to stop the
    /// server by other means.
    ///
    /// # Errors
    ///
    /// As [`serve`](Self::serve).
    pub async fn bind(self, address: impl AsRef<str>) -> Result<Server, Error> {
        Server::bind(self.parts, address.as_ref()).await
    }
}
