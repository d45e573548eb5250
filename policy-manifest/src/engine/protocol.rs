//! The part of a request that no header states.

use http::{Method, Request};

/// The `:protocol` of an extended CONNECT (RFC 8441 4), as an extension of the request: a WebSocket over
/// HTTP/2.
///
/// ```
/// use http::{Request, Version};
/// use policy_manifest::{Auth, Manifest, ManifestRoute, engine::{RequestCredentials, Engine, Outcome, Protocol}};
///
/// let mut manifest = Manifest::new();
/// manifest.routes.push(ManifestRoute::handler("/live", ["GET"], Auth::Public));
/// let engine = Engine::new(&manifest).unwrap();
/// let request = Request::connect("http://localhost/live").version(Version::HTTP_2);
/// let request = request.extension(Protocol::new("websocket")).body(()).unwrap();
/// assert_eq!(engine.decide(&request, &RequestCredentials::default()).outcome, Outcome::Reached);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol(Box<str>);

impl Protocol {
    /// A protocol, such as `websocket`.
    pub fn new(name: impl Into<Box<str>>) -> Self {
        Self(name.into())
    }

    /// The protocol of an extended CONNECT; `None` for other requests.
    pub(crate) fn from_request<B>(request: &Request<B>) -> Option<&Self> {
        request.extensions().get().filter(|_| *request.method() == Method::CONNECT)
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
