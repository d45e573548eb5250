//! Fetch Metadata of a request, and the decision that follows from it.

use http::{HeaderMap, HeaderName, Method, header::ORIGIN};

use super::Isolation;
use crate::{catalogue::Refusal, head::Single};

/// The site of the page, compared with the site of the request.
pub const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// The mode of the request: a navigation, a WebSocket, or how far the response may be read.
pub const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
/// What the response is loaded as: a document, a script, an image.
pub const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// The site of the page that made a request, and the purpose of the request (Fetch Metadata 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchMetadata {
    sender: Sender,
    /// The response becomes the document of a tab, not part of another page.
    is_link: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sender {
    /// Neither a site nor an `Origin`: the client is a program.
    Unsaid,
    /// A browser that is too old, or that states `Origin` alone: WebKit does so for CORS requests
    /// that were redirected.
    OriginAlone,
    /// The same origin, or the user, who typed the address.
    Own,
    SameSite,
    CrossSite,
    /// Values that no browser sends.
    Malformed,
}

impl FetchMetadata {
    /// Reads the fields of a request.
    ///
    /// ```
    /// use http::{HeaderMap, Method};
    /// use policy_core::isolation::{FetchMetadata, Isolation, StatedOrigin};
    ///
    /// // Programs send none of them.
    /// let metadata = FetchMetadata::read(&HeaderMap::new());
    /// let admitted = Isolation::SameOrigin.admit(&metadata, &Method::POST, StatedOrigin::Other);
    /// assert_eq!(admitted, Ok(()));
    /// ```
    pub fn read(headers: &HeaderMap) -> Self {
        let field = |name: &HeaderName| Single::read(headers, name);
        let sender = match field(&SEC_FETCH_SITE) {
            Single::Absent if headers.contains_key(ORIGIN) => Sender::OriginAlone,
            Single::Absent => Sender::Unsaid,
            Single::One(site) => match site.as_bytes() {
                b"same-origin" if is_tainted(field(&ORIGIN), field(&SEC_FETCH_MODE)) => {
                    Sender::CrossSite
                }
                b"same-origin" | b"none" => Sender::Own,
                b"same-site" => Sender::SameSite,
                b"cross-site" => Sender::CrossSite,
                _ => Sender::Malformed,
            },
            Single::Repeated => Sender::Malformed,
        };
        // The purpose matters only for requests from other origins.
        let is_link = matches!(sender, Sender::SameSite | Sender::CrossSite)
            && field(&SEC_FETCH_MODE).is("navigate")
            && field(&SEC_FETCH_DEST).is("document");
        Self { sender, is_link }
    }
}

/// The meaning of the `Origin` of a request for its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatedOrigin {
    /// CORS grants it, or the route is open to pages of any origin.
    Granted,
    /// It is the server's own origin.
    Own,
    /// None of these, or there is none.
    Other,
}

/// Whether a request with `Origin: null` comes from another site though `Sec-Fetch-Site` is
/// `same-origin`: in `cors` mode it is from a document with an opaque origin, or other sites
/// redirected it, and Chromium still reports `same-origin` (Fetch, tainted origin).
pub(crate) fn is_tainted(origin: Single<'_>, mode: Single<'_>) -> bool {
    let is_cors = match mode {
        Single::Absent => false,
        Single::One(mode) => mode == "cors",
        Single::Repeated => true,
    };
    is_cors && origin.is("null")
}

impl Isolation {
    /// Whether a request may proceed to its handler. `origin` is the meaning of its `Origin` for
    /// the route. Preflights are exempt: the request that they announce is checked.
    ///
    /// Requests with neither `Sec-Fetch-Site` nor `Origin` are admitted: programs send none, and an
    /// attack needs the browser of a victim. A request with `Origin` alone is admitted if that
    /// origin is the server's own or is granted. Links are admitted, too, because they show the
    /// response as a separate page; form submissions and frames are refused.
    ///
    /// # Errors
    ///
    /// [`Refusal::CrossSite`].
    ///
    /// ```
    /// use http::{HeaderMap, HeaderValue, Method};
    /// use policy_core::{Refusal, isolation::{FetchMetadata, Isolation, StatedOrigin}};
    ///
    /// let mut headers = HeaderMap::new();
    /// headers.insert("sec-fetch-site", HeaderValue::from_static("cross-site"));
    /// headers.insert("sec-fetch-dest", HeaderValue::from_static("image"));
    /// let metadata = FetchMetadata::read(&headers);
    /// let refused = Isolation::SameOrigin.admit(&metadata, &Method::GET, StatedOrigin::Other);
    /// assert_eq!(refused, Err(Refusal::CrossSite));
    /// ```
    pub fn admit(
        self,
        metadata: &FetchMetadata,
        method: &Method,
        origin: StatedOrigin,
    ) -> Result<(), Refusal> {
        let is_granted = origin == StatedOrigin::Granted;
        let is_link = metadata.is_link && matches!(*method, Method::GET | Method::HEAD);
        let is_admitted = match metadata.sender {
            Sender::Unsaid | Sender::Own => true,
            Sender::OriginAlone => origin != StatedOrigin::Other,
            Sender::SameSite => self == Self::SameSite || is_granted || is_link,
            Sender::CrossSite => is_granted || is_link,
            Sender::Malformed => false,
        };
        if is_admitted { Ok(()) } else { Err(Refusal::CrossSite) }
    }
}
