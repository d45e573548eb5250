//! Laws of security headers and of resource isolation, each with an oracle of its own.

mod contents;
mod fields;
mod isolation;
