//! The laws of HTTP over the whole server: generated apps with policies on every level, handlers
//! that respond as a request plans, and random requests.
//!
//! They judge only by what a client can see, and each oracle is written from the standards.

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
