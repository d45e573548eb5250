//! What all peers share: the command line, the secret, the values of the CORS policy, the routes,
//! the order, and session stores for frameworks without one.

mod arguments;
mod orders;
mod routes;
mod sessions;
mod store;

pub use arguments::Arguments;
pub use orders::{ORDER, Order};
pub use routes::{Routes, routes};
pub use sessions::{Login, Sessions};
pub use store::Store;

/// The key with which tokens are signed; `benches/rig/rows.py` uses the same.
pub const SECRET: &[u8] = b"an-hs256-secret-of-exactly-32-by";

/// The body of `/plain` and `/cors`.
pub const HELLO: &str = "Hello, World!";

/// The name of the session's cookie.
pub const COOKIE: &str = "sid";

/// The number of sessions besides the one that is measured.
pub const SESSIONS: u64 = 10_000;

/// The origins that may read the responses of `/cors`, `/token` and `/session`, with credentials.
pub const ORIGINS: [&str; 3] =
    ["https://app.example.com", "https://admin.example.com", "https://shop.example.org"];

/// The request headers that these origins may send; their methods are GET and PUT.
pub const ALLOWED_HEADERS: [&str; 2] = ["content-type", "x-request-id"];

/// The response header that these origins may read.
pub const EXPOSED_HEADER: &str = "x-request-id";

/// How many seconds a browser may cache a preflight.
pub const MAX_AGE: u64 = 600;
