//! The laws of HTTP, over the whole server: generated apps with policies on every level, handlers
//! that do what a request tells them, and random requests.
//!
//! What a client can see is all that they judge by, and every judge is written from the standards.

mod bodies;
mod conditions;
mod generate;
mod handlers;
mod heads;
mod paths;
mod personal;
mod rates;
mod scripts;
mod site;
mod variants;
