//! Step 2: the same router behind one layer of Policy.

use policy_server::{Error, PolicyLayer, prelude::*};
use tower::Layer;

use crate::{notes::Notes, step1_axum};

// ANCHOR: policy
/// The origins whose pages may call.
pub const PAGES: CorsPolicy =
    CorsPolicy::origins(&["https://app.example"]).headers(&["content-type", "x-api-key"]).build();

/// The maximum length of a body.
pub const BODY: Limits = Limits::NONE.body(1024);
// ANCHOR_END: policy

/// The service. For axum's own server, it is the `fallback_service` of an empty router.
///
/// # Errors
///
/// All mistakes in the policies.
// ANCHOR: service
pub fn service(notes: Notes) -> Result<axum::Router, Error> {
    let layer = PolicyLayer::builder()
        .policies(Policies::new().cors(PAGES).headers(HeadersPolicy::API).limits(BODY))
        .build()?;
    let routes = layer.layer(step1_axum::routes(notes));
    Ok(axum::Router::new().fallback_service(routes))
}
// ANCHOR_END: service
