//! Resource isolation: which pages of others may load an answer (W3C Fetch Metadata).

/// Whose pages may send requests, as `Sec-Fetch-Site` tells it. What CORS grants may, in each
/// case, and so may links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// Those of the same origin.
    SameOrigin,
    /// Those of the same site.
    SameSite,
}
