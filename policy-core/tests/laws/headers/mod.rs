//! Laws of security fields and of resource isolation, each against an oracle of its own.

mod contents;
mod fields;
mod isolation;
