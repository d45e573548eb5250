//! Tokens and cookies against the libraries of others, which run for real: PyJWT and `jose` for
//! tokens, python's `http.cookiejar` and `tough-cookie` as the clients of a server.
//!
//! They need Python, Node and packages, which plain `cargo test` cannot expect: `cargo xtask test`
//! installs them below `target/interop` and runs these tests too.

mod cookies;
mod tokens;
