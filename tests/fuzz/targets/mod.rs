//! One parser each, compared with a second implementation.

mod authorization;
mod cookie;
mod curl;
mod har;
mod json;
mod jwks;
mod manifest;
mod origin;
mod record;
mod set_cookie;
mod token;
mod wire;
