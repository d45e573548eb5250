//! Schemes of authentication that an application brings itself.

/// A way to learn who calls that is the application's own, such as API keys, signatures of
/// webhooks or Basic; `#[auth(scheme = ..)]` names the type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no scheme of authentication",
    label = "this type does not implement `Scheme`"
)]
pub trait Scheme: Send + Sync + 'static {
    /// Whether browsers send the credential by themselves, as they do cookies, Basic and client
    /// certificates. Such a scheme is treated as a session is: against forged requests, in CORS
    /// and in caches.
    const AMBIENT: bool;
}
