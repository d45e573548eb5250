//! How a gateway changes the messages that it forwards (RFC 9110 7.6): which headers it removes,
//! how it maps paths, how it describes the client, and which headers of an upstream reach a browser
//! that knows only the gateway.

mod address;
mod cookies;
mod fields;
mod framing;
mod location;
mod mapping;
mod sender;

pub use address::Upstream;
pub use cookies::{rewrite_cookie, without_cookies};
pub use fields::{
    asks_for_websocket, count_hop, end_to_end, is_last_hop, keep_end_to_end, keep_trailers,
    remove_connection_fields, switches_to_websocket,
};
pub use mapping::Mapping;
pub use sender::OriginalRequest;
