//! What the stores that instances share have in common: PostgreSQL and Redis.

pub(super) mod circuit;
pub(super) mod loads;
pub(super) mod notification;
pub(super) mod outcome;
pub(super) mod revocation;
