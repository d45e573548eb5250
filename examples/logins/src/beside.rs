//! A service, and a page on another origin of the same site that calls it.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use example_look::free;
use policy_server::{ServerSettings, prelude::*};

/// The origin of the service, known once it listens.
pub type ServiceOrigin = Arc<OnceLock<String>>;

/// Serves both on `localhost` until ctrl-c. `introduce` gets their origins, the service's first.
/// The page's origin is the one in this list of origins.
///
/// # Errors
///
/// An app cannot start, or a port cannot be used.
pub async fn serve_beside<S, P>(
    service: App<S>,
    list: &str,
    [service_port, page_port]: [u16; 2],
    page: impl FnOnce(ServiceOrigin) -> App<P>,
    introduce: impl FnOnce(&str, &str),
) -> Result<(), Error>
where
    S: Send + Sync + 'static,
    P: Send + Sync + 'static,
{
    let known = ServiceOrigin::default();
    let page = page(Arc::clone(&known)).bind(free(page_port)?).await?;
    let page_origin = format!("http://localhost:{}", page.local_addr().port());
    let service = service
        .origins(list, [&page_origin])
        // Open event streams are cut off after this.
        .settings(ServerSettings::default().shutdown_timeout(Duration::from_secs(1)))
        .bind(free(service_port)?)
        .await?;
    let service_origin = format!("http://localhost:{}", service.local_addr().port());
    introduce(known.get_or_init(|| service_origin), &page_origin);
    tokio::try_join!(service.run(), page.run())?;
    Ok(())
}
