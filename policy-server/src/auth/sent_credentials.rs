//! The credentials of a request, kept from the layers around the app.

use http::{
    HeaderMap, HeaderName, Request, Uri,
    header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL},
    uri::PathAndQuery,
};

/// The fields that may contain a session or a token.
const FIELDS: [HeaderName; 4] =
    [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL];

/// The credentials that a client sent, by which callers are authenticated. They are an extension of
/// the request while it passes the layers of its app. A layer can make any client send a
/// credential, knowingly or by mistake, for example by copying a header that browsers let pages
/// set. So gate 7 never reads what a layer has written.
#[derive(Clone, Debug)]
pub(crate) struct SentCredentials {
    fields: HeaderMap,
    query: Option<Box<str>>,
}

impl SentCredentials {
    pub(crate) fn from_request<B>(request: &Request<B>) -> Self {
        let query = request.uri().query().map(Into::into);
        Self { fields: request.headers().clone(), query }
    }

    /// The fields as they were sent, for the schemes of the app, which may read any.
    pub(crate) fn fields(&self) -> &HeaderMap {
        &self.fields
    }

    /// These fields, for a gate that moves the credential of a proxy.
    #[cfg(feature = "gateway")]
    pub(crate) fn fields_mut(&mut self) -> &mut HeaderMap {
        &mut self.fields
    }

    /// Restores the credentials of a request that has passed the layers. A request that a layer
    /// created has none.
    pub(crate) fn restore<B>(request: &mut Request<B>) {
        let none = Self { fields: HeaderMap::new(), query: None };
        let sent = request.extensions_mut().remove::<Self>().unwrap_or(none);
        for name in FIELDS {
            request.headers_mut().remove(&name);
            for value in sent.fields.get_all(&name) {
                request.headers_mut().append(name.clone(), value.clone());
            }
        }
        // A ticket is a parameter of the query.
        if request.uri().query() != sent.query.as_deref()
            && let Some(uri) = with_query(request.uri(), sent.query.as_deref())
        {
            *request.uri_mut() = uri;
        }
        request.extensions_mut().insert(sent);
    }
}

/// A target with another query.
fn with_query(uri: &Uri, query: Option<&str>) -> Option<Uri> {
    let target = match query {
        Some(query) => format!("{}?{query}", uri.path()),
        None => uri.path().to_owned(),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(target).ok()?);
    Uri::from_parts(parts).ok()
}
