//! Reads the attributes of Policy. `policy-macros`, whose macros these are, and the playground of
//! `cargo policy play` share it; depend on `policy-server` instead, where each attribute is
//! documented.
//!
//! A handler is an ordinary `async fn`; attributes state which requests it takes and which policies
//! apply, in any order. They become constant data next to the function, which itself stays
//! unchanged: it can be called, and tested, like any other.
//!
//! There are no rules of policies here. Literals are checked by the validators of `policy-core`:
//! all mistakes are reported at once, each on its own token; values of named constants are checked
//! by the same validators when the compiler evaluates constants. Rules that only warn give a
//! compiler warning, which `#[allow(deprecated)]` on the handler silences.

mod attributes;
mod checks;
mod collect;
mod diagnostics;
mod directive;
mod emit;
mod endpoint;
mod expand;
#[cfg(test)]
mod golden;
mod item;
mod nearest;
mod objects;
mod parse;
mod problems;
mod routes;
mod signature;
#[cfg(feature = "manifest")]
mod text;
mod type_names;

pub use directive::Directive;
pub use expand::attribute;
pub use objects::expand as objects;
pub use problems::expand as problems;
pub use routes::expand as routes;
#[cfg(feature = "manifest")]
pub use text::{Report, read};
