//! Laws of security headers and of resource isolation, each with a separate oracle.

mod contents;
mod fields;
mod isolation;
