//! Fields: the groups that they belong to, and those that protect who reads an answer.

/// The security fields of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadersPolicy;
