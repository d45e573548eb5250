//! One parser each, held against a second reading.

mod authorization;
mod cookie;
mod json;
mod jwks;
mod origin;
mod record;
mod set_cookie;
mod token;
mod wire;
