//! Request ids, by which a request is found in the logs of all servers on its path.

use std::{convert::Infallible, fmt};

use axum_core::extract::FromRequestParts;
use http::{HeaderMap, HeaderName, HeaderValue, request::Parts};

use crate::{
    base::clock::Random,
    handler::extract::{ContextRejection, Rejects, optional},
};

/// The header that carries the id.
pub(crate) const FIELD: HeaderName = HeaderName::from_static("x-request-id");

/// The longest id that is accepted from a proxy.
const MAX: usize = 128;

/// The id of a request: `x-request-id` in its response, and `request_id` in the logs.
///
/// ```
/// use policy_server::{RequestId, prelude::*};
///
/// #[get("/orders")]
/// #[auth(public)]
/// async fn orders(id: RequestId) -> String {
///     id.as_str().to_owned()
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let response = App::new(()).request_ids().routes(routes![orders]).test().get("/orders").send().await;
/// assert_eq!(response.text().len(), 32);
/// assert_eq!(response.header("x-request-id"), Some(&*response.text()));
/// # });
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(HeaderValue);

impl RequestId {
    /// Sets the id of a request, and replaces one from an untrusted client. `None` if the system
    /// has no random source.
    pub(crate) fn give(headers: &mut HeaderMap, is_trusted: bool, random: &Random) -> Option<Self> {
        let mut sent = headers.get_all(&FIELD).iter();
        if is_trusted
            && let (Some(id), None) = (sent.next(), sent.next())
            && is_well_formed(id.as_bytes())
        {
            return Some(Self(id.clone()));
        }
        headers.remove(&FIELD);
        let drawn = u128::from_le_bytes(random.draw().ok()?);
        let id = HeaderValue::try_from(format!("{drawn:032x}")).ok()?;
        headers.insert(FIELD, id.clone());
        Some(Self(id))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        // The value is ASCII only.
        self.0.to_str().unwrap_or_default()
    }

    pub(crate) fn value(&self) -> &HeaderValue {
        &self.0
    }
}

fn is_well_formed(id: &[u8]) -> bool {
    let is_fine = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(byte);
    (1..=MAX).contains(&id.len()) && id.iter().all(is_fine)
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Rejects for RequestId {
    type Problems = Infallible;
}

impl<S: Send + Sync> FromRequestParts<S> for RequestId {
    type Rejection = ContextRejection;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ContextRejection> {
        parts.extensions.get().cloned().ok_or(ContextRejection::NO_REQUEST_ID)
    }
}

optional!(RequestId);

#[cfg(test)]
mod tests {
    use super::*;

    fn give(sent: &[&str], is_trusted: bool) -> (String, HeaderMap) {
        let mut headers = HeaderMap::new();
        for id in sent {
            headers.append(FIELD, id.parse().unwrap());
        }
        let random = Random::from_fn(|bytes| bytes.fill(0xab));
        let id = RequestId::give(&mut headers, is_trusted, &random).unwrap();
        (id.as_str().to_owned(), headers)
    }

    #[test]
    fn only_a_trusted_proxy_brings_an_id_of_its_own() {
        let own = "ab".repeat(16);
        let longest = "x".repeat(MAX);
        for (sent, is_trusted, id) in [
            (&[][..], true, &*own),
            (&["a-._~+/=Z9"], true, "a-._~+/=Z9"),
            (&["a"], false, &own),
            (&[&longest], true, &longest),
            (&[&format!("{longest}x")], true, &own),
            (&[""], true, &own),
            (&["two words"], true, &own),
            (&["a\"b"], true, &own),
            (&["a", "a"], true, &own),
        ] {
            let (actual, headers) = give(sent, is_trusted);
            assert_eq!(actual, id, "{sent:?}");
            let left: Vec<_> = headers.get_all(FIELD).iter().collect();
            assert_eq!(left, [id], "what others behind the gates see");
        }
    }
}
