//! Whether a response may be shared with the origin of the request (Fetch, 4.9).

use http::HeaderMap;

use crate::{
    Credentials, Reason,
    headers::{combined, text},
};

/// CORS check, for the origin that the request sent.
pub(crate) fn cors_check(
    credentials: Credentials,
    origin: &str,
    response: &HeaderMap,
) -> Result<(), Reason> {
    const ALLOW_CREDENTIALS: &str = "access-control-allow-credentials";
    let includes_credentials = credentials == Credentials::Include;
    let Some(allowed) = text(response, "access-control-allow-origin") else {
        return Err(Reason::NoAllowOrigin);
    };
    if allowed == "*" {
        let refusal = Reason::AnyOriginWithCredentials;
        return if includes_credentials { Err(refusal) } else { Ok(()) };
    }
    if allowed != origin {
        return Err(Reason::AllowOrigin(allowed));
    }
    if includes_credentials && combined(response, ALLOW_CREDENTIALS).as_deref() != Some(b"true") {
        return Err(Reason::AllowCredentials(text(response, ALLOW_CREDENTIALS)));
    }
    Ok(())
}
