//! The facts about an app as a whole.

use serde::{Deserialize, Serialize};

use policy_core::path::TrailingSlash;

/// The facts about an app as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct AppFacts {
    /// The origin under which browsers reach it; none in the development profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_origin: Option<String>,
    /// Its sessions, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<SessionFacts>,
    /// Its tokens, if it accepts any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenFacts>,
    /// The networks of the proxies that it trusts, and the format in which they report clients.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proxies: Vec<String>,
    /// How a path is treated that differs from its route in the trailing slash.
    #[serde(skip_serializing_if = "is_strict")]
    pub trailing_slash: TrailingSlash,
    /// Whether TRACE is served.
    #[serde(skip_serializing_if = "super::facets::is_false")]
    pub trace: bool,
}

fn is_strict(trailing_slash: &TrailingSlash) -> bool {
    *trailing_slash == TrailingSlash::Strict
}

/// The sessions of an app.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SessionFacts {
    /// The kind of its store, such as `memory` or `postgres`.
    pub store: String,
    /// The name of the cookie.
    pub cookie: String,
    /// `SameSite` of the cookie: `strict`, `lax` or `none`.
    pub same_site: String,
    /// `Domain` of the cookie.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Whether browsers keep a separate cookie below each top-level site.
    #[serde(default, skip_serializing_if = "super::facets::is_false")]
    pub partitioned: bool,
}

impl SessionFacts {
    /// The facts of sessions whose cookie has no `Domain`.
    pub fn new(store: &str, cookie: &str, same_site: &str) -> Self {
        let [store, cookie, same_site] = [store, cookie, same_site].map(str::to_owned);
        Self { store, cookie, same_site, domain: None, partitioned: false }
    }
}

/// The tokens of an app.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct TokenFacts {
    /// The issuer of its own tokens, if it signs any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The other issuers that it accepts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepts: Vec<String>,
    /// Whether tokens are also taken from `Sec-WebSocket-Protocol`.
    #[serde(skip_serializing_if = "super::facets::is_false")]
    pub websocket_protocol: bool,
}
