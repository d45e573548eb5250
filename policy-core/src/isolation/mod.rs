//! Resource isolation: which pages of others may load an answer (W3C Fetch Metadata).
//!
//! Browsers say with each request whose page made it and what for. A service that listens keeps
//! pages of others from loading its answers as images, scripts or frames, where neither the same
//! origin policy nor CORS is asked, and from guessing by time and size what they say.

#[cfg(feature = "engine")]
mod metadata;

#[cfg(feature = "engine")]
pub use metadata::FetchMetadata;

/// Whose pages may send requests, as `Sec-Fetch-Site` tells it. What CORS grants may, in each
/// case, and so may links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Isolation {
    /// Those of the same origin.
    SameOrigin,
    /// Those of the same site.
    SameSite,
}

#[cfg(feature = "engine")]
impl crate::route::FromSpec for Isolation {
    type Spec = Self;

    fn from_spec(spec: Self) -> Result<Self, crate::Violation<'static, &'static str>> {
        Ok(spec)
    }
}

#[cfg(feature = "engine")]
impl crate::route::FacetPolicy for Isolation {
    type Compiled = Self;

    fn compile(&self) -> Self {
        *self
    }
}
