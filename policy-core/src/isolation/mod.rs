//! Resource isolation: which pages of other sites may load a response (W3C Fetch Metadata).
//!
//! Browsers state with each request which site's page made it and for what purpose. A service that
//! checks this keeps other sites from loading its responses as images, scripts or frames, to which
//! neither the same-origin policy nor CORS applies, and from inferring their content from its
//! timing and size.

#[cfg(feature = "engine")]
mod metadata;

#[cfg(feature = "engine")]
pub(crate) use metadata::is_tainted;
#[cfg(feature = "engine")]
pub use metadata::{FetchMetadata, SEC_FETCH_DEST, SEC_FETCH_MODE, SEC_FETCH_SITE, StatedOrigin};

/// The pages that may send requests, by `Sec-Fetch-Site`. Requests from origins that CORS grants,
/// and links, are always admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum Isolation {
    /// Pages of the same origin.
    SameOrigin,
    /// Pages of the same site.
    SameSite,
}

#[cfg(feature = "engine")]
impl crate::facet::FromSpec for Isolation {
    type Spec = Self;

    fn from_spec(spec: Self) -> Result<Self, crate::Violation<'static, &'static str>> {
        Ok(spec)
    }
}

#[cfg(feature = "engine")]
impl crate::facet::FacetPolicy for Isolation {
    type Compiled = Self;

    fn compile(&self) -> Self {
        *self
    }
}
