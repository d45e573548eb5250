//! A running app, and pages of another site. For a browser, `localhost` and `127.0.0.1` are two
//! sites. It treats both as secure, and therefore sends Fetch Metadata to them.

use std::{future::pending, net::SocketAddr};

use axum::middleware::from_fn_with_state;
use tokio::runtime::{Builder, Runtime};

use policy_tests::{pages, webdriver::Failure};

use crate::arrivals::{Arrivals, note};

pub(crate) struct Site {
    address: SocketAddr,
    foreign: SocketAddr,
    pub(crate) arrivals: Arrivals,
    /// Stops the servers.
    _runtime: Runtime,
}

impl Site {
    pub(crate) fn open<S: Send + Sync + 'static>(
        app: policy_server::App<S>,
    ) -> Result<Self, Failure> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let arrivals = Arrivals::default();
        let (address, foreign) = runtime.block_on(async {
            let app = app.layer(from_fn_with_state(arrivals.clone(), note));
            let server = app.bind("127.0.0.1:0").await?;
            let address = server.local_addr();
            tokio::spawn(server.run_until(pending()));
            Ok::<_, Failure>((address, pages::serve().await?))
        })?;
        Ok(Self { address, foreign, arrivals, _runtime: runtime })
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://localhost:{}", self.address.port())
    }

    /// The origin of blank pages of another site.
    pub(crate) fn foreign(&self) -> String {
        format!("http://127.0.0.1:{}", self.foreign.port())
    }
}
