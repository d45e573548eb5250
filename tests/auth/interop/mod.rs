//! Tokens and cookies with other implementations: PyJWT and `jose` for tokens, Python's
//! `http.cookiejar` and `tough-cookie` as clients of a server.
//!
//! They need Python, Node.js and packages, which plain `cargo test` cannot expect. `cargo xtask
//! test` installs them below `target/interop` and runs these tests too.

mod cookies;
mod tokens;
