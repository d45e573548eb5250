//! What a gateway does to the messages that it passes on (RFC 9110 7.6): which fields end with it,
//! where a path leads, what it says of a client, and what an upstream may say to a browser that
//! knows the gateway alone.

mod address;
mod cookies;
mod fields;
mod location;
mod mapping;
mod sender;

pub use address::Upstream;
pub use cookies::{rewrite_cookie, without_cookies};
pub use fields::{
    asks_for_websocket, end_to_end, keep_end_to_end, keep_trailers, switches_to_websocket,
};
pub use mapping::Mapping;
pub use sender::Sender;
