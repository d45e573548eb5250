//! What all peers agree on: the command line, the secret, the values of the CORS policy, the routes;
//! and the stores of sessions for who has none.

mod arguments;
mod routes;
mod sessions;
mod store;

pub use arguments::Arguments;
pub use routes::{Routes, routes};
pub use sessions::Sessions;
pub use store::Store;

/// The key that tokens are signed with; `benches/rig/rows.py` signs with the same.
pub const SECRET: &[u8] = b"an-hs256-secret-of-exactly-32-by";

/// The body of `/plain` and `/cors`.
pub const HELLO: &str = "Hello, World!";

/// The name of the session's cookie.
pub const COOKIE: &str = "sid";

/// How many sessions there are besides the one that is measured.
pub const SESSIONS: u64 = 10_000;

/// The origins that may read what `/cors`, `/token` and `/session` answer, with credentials.
pub const ORIGINS: [&str; 3] =
    ["https://app.example.com", "https://admin.example.com", "https://shop.example.org"];

/// The request fields that these origins may send; their methods are GET and PUT.
pub const ALLOWED_HEADERS: [&str; 2] = ["content-type", "x-request-id"];

/// The response field that these origins may read.
pub const EXPOSED_HEADER: &str = "x-request-id";

/// How many seconds a browser may keep a preflight's answer.
pub const MAX_AGE: u64 = 600;
