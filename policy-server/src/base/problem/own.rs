//! The members of a problem, and its body in JSON.

use std::{borrow::Cow, sync::LazyLock};

use bytes::Bytes;
use http::StatusCode;
use policy_core::Refusal;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};

/// The type of a problem about which there is no page.
pub(super) const NO_TYPE: &str = "about:blank";

#[derive(Clone, Debug, Default)]
pub(super) struct Own {
    pub(super) type_uri: Cow<'static, str>,
    pub(super) title: Option<Cow<'static, str>>,
    pub(super) status: StatusCode,
    pub(super) code: Option<Cow<'static, str>>,
    pub(super) detail: Option<Cow<'static, str>>,
    pub(super) instance: Option<Cow<'static, str>>,
    pub(super) members: Map<String, Value>,
    /// In seconds; a header, not a member.
    pub(super) retry_after: Option<u64>,
    /// Whether no cache may store it, since it depends on what a shared cache does not know.
    pub(super) is_uncacheable: bool,
}

impl Own {
    pub(super) fn new(status: StatusCode) -> Self {
        Self { type_uri: Cow::Borrowed(NO_TYPE), status, ..Self::default() }
    }

    pub(super) fn title(&self) -> &str {
        let reason = || self.status.canonical_reason().unwrap_or("Unknown Status");
        self.title.as_deref().unwrap_or_else(reason)
    }

    pub(super) fn body(&self) -> Bytes {
        // Strings and JSON values always serialize.
        Bytes::from(serde_json::to_vec(self).unwrap_or_default())
    }
}

impl From<Refusal> for Own {
    fn from(refusal: Refusal) -> Self {
        Self {
            title: Some(Cow::Borrowed(refusal.title())),
            code: Some(Cow::Borrowed(refusal.code())),
            retry_after: refusal.retry_after().map(u64::from),
            is_uncacheable: refusal.is_uncacheable(),
            ..Self::new(status_of(refusal))
        }
    }
}

impl Serialize for Own {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("type", &self.type_uri)?;
        object.serialize_entry("title", self.title())?;
        object.serialize_entry("status", &self.status.as_u16())?;
        let optional =
            [("code", &self.code), ("detail", &self.detail), ("instance", &self.instance)];
        for (name, text) in optional {
            if let Some(text) = text {
                object.serialize_entry(name, text)?;
            }
        }
        for (name, value) in &self.members {
            object.serialize_entry(name, value)?;
        }
        object.end()
    }
}

pub(super) fn status_of(refusal: Refusal) -> StatusCode {
    StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// The body of a refusal without additions, built once and shared by all responses.
pub(super) fn listed_body(refusal: Refusal) -> Bytes {
    static BODIES: LazyLock<Vec<Bytes>> =
        LazyLock::new(|| Refusal::ALL.iter().map(|refusal| Own::from(*refusal).body()).collect());
    // `ALL` is in the order of the declaration.
    BODIES.get(refusal as usize).cloned().unwrap_or_else(|| Own::from(refusal).body())
}
