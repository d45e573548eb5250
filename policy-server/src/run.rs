//! From an app to a service, a server or a test client.

use crate::{
    app::App, base::error::Error, build, pipeline::service::AppService, server::Server,
    test_client::TestClient,
};

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
        build::assemble(self.parts)?.in_memory()
    }

    /// Checks everything, opens the stores, and makes the app a `tower::Service` for another
    /// server than [`serve`](Self::serve).
    ///
    /// # Errors
    ///
    /// Every problem at once; then everything that cannot be opened.
    pub async fn open(self) -> Result<AppService, Error> {
        build::assemble(self.parts)?.open().await
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

    /// The app as a `tower::Service` for a test, which stops with all of its problems if it has
    /// some. Sessions and tokens are kept in memory, as [`build`](Self::build) does.
    ///
    /// ```
    /// use policy_server::{TestClient, prelude::*};
    ///
    /// #[get("/")]
    /// #[auth(public)]
    /// async fn index() -> &'static str {
    ///     "hello"
    /// }
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// let inner = App::new(()).routes(routes![index]).into_service();
    /// let router = axum::Router::new().nest_service("/app", inner);
    /// let response = TestClient::new(router, "localhost").get("/app/").send().await;
    /// assert_eq!(response.text(), "hello");
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// If the app has problems, with all of them.
    #[track_caller]
    #[expect(clippy::panic, reason = "a test stops with the words of the errors")]
    pub fn into_service(self) -> AppService {
        match self.build() {
            Ok(service) => service,
            Err(error) => panic!("{error}"),
        }
    }

    /// A client that calls the app without a socket. Requests name the public origin's host,
    /// or `localhost`.
    ///
    /// # Panics
    ///
    /// As [`into_service`](Self::into_service).
    #[track_caller]
    pub fn test(self) -> TestClient {
        let service = self.into_service();
        let host = service.authority().unwrap_or("localhost").to_owned();
        TestClient::new(service, host)
    }
}
