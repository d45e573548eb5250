//! Who may call a route.

/// How a route learns who calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AuthPolicy {
    /// Anybody may call, and nobody is asked who they are.
    Public,
}

impl AuthPolicy {
    /// The policy as the attribute writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
        }
    }
}
