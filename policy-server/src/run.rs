//! From an app to a service or a server.

use crate::{
    app::App,
    base::error::Error,
    build,
    pipeline::service::AppService,
    server::{ListenAddress, Server},
};

impl<S> App<S> {
    /// Checks everything that a start checks before it opens the stores, and opens nothing. Use
    /// [`open`](Self::open) or [`serve`](Self::serve) to serve the app, and
    /// [`into_service`](Self::into_service) in tests.
    ///
    /// # Errors
    ///
    /// All problems of the app.
    pub fn check(self) -> Result<(), Error> {
        build::compile(self.parts)?.check()
    }

    /// The effective policy of the app as data, and where it is written (feature `manifest`). It is
    /// read from the declarations: nothing is opened, and an app that does not start has one, too.
    ///
    /// ```
    /// use policy_server::prelude::*;
    ///
    /// #[get("/orders/{id}")]
    /// #[cors(origins = ["https://app.shop.example"])]
    /// #[auth(public)]
    /// async fn order(id: u64) {}
    ///
    /// let app = App::new(()).routes(routes![order]);
    /// let manifest = app.manifest();
    /// assert!(manifest.route("GET", "/orders/{id}").is_some_and(|route| route.cors.is_some()));
    /// let sources = app.sources();
    /// assert!(sources.get("GET", "/orders/{id}", "cors").is_some_and(|source| source.line > 0));
    /// ```
    #[cfg(feature = "manifest")]
    pub fn manifest(&self) -> policy_manifest::Manifest {
        build::manifest::read(&self.parts).0
    }

    /// The source lines that decided the fields of the [manifest](Self::manifest).
    #[cfg(feature = "manifest")]
    pub fn sources(&self) -> policy_manifest::Sources {
        build::manifest::read(&self.parts).1
    }

    /// The OpenAPI document of the app (feature `openapi`), derived from its types and its policies.
    ///
    /// # Errors
    ///
    /// Two types or two operations have one name (`openapi.schema-names`, `openapi.operation-ids`).
    #[cfg(feature = "openapi")]
    pub fn openapi(&self) -> Result<build::openapi::OpenApi, Error> {
        build::openapi::read(&self.parts, &|_| true)
    }

    /// The part of the [document](Self::openapi) that is for one audience: the routes that `is_shown`
    /// selects by their policy, with the schemas that they need.
    ///
    /// ```
    /// use policy_server::{manifest::Auth, prelude::*};
    ///
    /// #[get("/news")]
    /// #[auth(public)]
    /// async fn news() -> &'static str {
    ///     "none"
    /// }
    ///
    /// #[get("/audit")]
    /// #[auth(session, roles = ["admin"])]
    /// async fn audit() -> &'static str {
    ///     "nothing"
    /// }
    ///
    /// let app = App::new(()).sessions(Sessions::memory()).routes(routes![news, audit]);
    /// let public = app.openapi_for(|route| route.auth == Auth::Public).unwrap();
    /// assert!(!public.to_json().contains("audit"));
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`openapi`](Self::openapi).
    #[cfg(feature = "openapi")]
    pub fn openapi_for(
        &self,
        is_shown: impl Fn(&policy_manifest::ManifestRoute) -> bool,
    ) -> Result<build::openapi::OpenApi, Error> {
        build::openapi::read(&self.parts, &is_shown)
    }

    /// Checks everything, opens the stores, and returns the app as a `tower::Service` for a server
    /// other than [`serve`](Self::serve).
    ///
    /// # Errors
    ///
    /// All problems of the app; if there are none, everything that cannot be opened.
    pub async fn open(self) -> Result<AppService, Error> {
        build::compile(self.parts)?.open().await
    }

    /// Checks everything, binds `address`, and serves until ctrl-c or SIGTERM, after which requests
    /// in flight are completed; in development ctrl-c ends it at once. The address is text, a
    /// `SocketAddr`, or a listener that is bound: [`ListenAddress`]. The default port is 80, or 443 with
    /// TLS. The signals are caught for the whole process; see [`Server::run`].
    ///
    /// # Errors
    ///
    /// All problems of the app, its certificates and its addresses; if there are none, everything
    /// that cannot be opened.
    pub async fn serve(self, address: impl Into<ListenAddress>) -> Result<(), Error> {
        self.bind(address).await?.run().await
    }

    /// Binds `address` without serving yet, to learn the chosen port or to stop the server by other
    /// means.
    ///
    /// # Errors
    ///
    /// As [`serve`](Self::serve).
    pub async fn bind(self, address: impl Into<ListenAddress>) -> Result<Server, Error> {
        Server::bind(self.parts, address.into()).await
    }
}
