//! What the types of a handler's signature say: what it takes from requests, and what it responds
//! with.
//!
//! A macro sees names, not types. So the code that it generates calls a method of a probe for each
//! type, and the compiler takes the first that exists for the type (Rust Reference, "Method call
//! expressions"): an inherent method before a trait method, and one that takes `self` before one
//! that takes `&self`, before one that takes `&mut self`. So types with a schema come before those
//! that this crate knows, and these before all others. A trait with a default could not tell them
//! apart, since Rust has no specialization.
//!
//! The names of these methods are long, since the compiler considers every trait in scope with a
//! method of that name.

mod answer;
mod argument;
#[cfg(feature = "manifest")]
mod fields;
#[cfg(feature = "openapi")]
mod schemas;
#[cfg(feature = "openapi")]
mod types;

use std::{convert::Infallible, marker::PhantomData, str::FromStr};

use policy_core::outcome::ArgumentKind;

pub use answer::{Answer, KnownAnswer, KnownValue, KnownValueOnly, Reply, UnknownAnswer};
pub use argument::{KnownArgument, Rejects, Takes, UnknownArgument};
#[cfg(feature = "openapi")]
pub use schemas::{Schemas, Side};
#[cfg(feature = "openapi")]
pub use types::{Input, TypedContent, TypedParameter, TypedTakes, TypedValueOnly, Types};

use policy_core::problem::DeclaredProblem;

use crate::{
    base::problem::Problems,
    handler::object::{ObjectArgument, ObjectDescription},
};

/// A type of a signature; its methods describe it.
#[derive(Debug)]
pub struct Of<T>(PhantomData<fn() -> T>);

impl<T> Of<T> {
    /// The probe of this type.
    pub const NEW: Self = Self(PhantomData);
}

/// What the known types in the signature of a handler say.
#[derive(Debug, Default)]
pub struct Signature {
    /// What its arguments take from requests.
    pub(crate) takes: Vec<ArgumentKind>,
    /// The media type of its body, if it takes one of a known type.
    pub(crate) reads: Option<&'static str>,
    /// The problems that its type of errors declares.
    pub(crate) problems: Vec<DeclaredProblem>,
    /// The objects that it checks.
    pub(crate) objects: Vec<ObjectDescription>,
    /// Functions that return the id-like field names of each type that a body or a query is read
    /// into. Only manifests call them.
    #[cfg(feature = "manifest")]
    pub(crate) ids: Vec<fn() -> Vec<&'static str>>,
    /// Whether it may respond with problems that it does not declare.
    pub(crate) is_open: bool,
    /// Its response to a request that it serves, if its form is known.
    pub(crate) reply: Option<Reply>,
    /// What a document needs beyond that.
    #[cfg(feature = "openapi")]
    pub(crate) types: Option<Box<Types>>,
}

impl Signature {
    /// The signature of a handler.
    pub(crate) fn new(describe: fn(&mut Self)) -> Self {
        let mut signature = Self::default();
        describe(&mut signature);
        signature
    }

    fn take(&mut self, taken: impl IntoIterator<Item = ArgumentKind>) {
        self.takes.extend(taken);
    }

    /// Its documentation, and the ids of its routes.
    #[cfg_attr(not(feature = "openapi"), expect(unused_variables, reason = "for documents"))]
    pub fn document(
        &mut self,
        docs: &'static [&'static str],
        ids: &'static [Option<&'static str>],
    ) {
        #[cfg(feature = "openapi")]
        if let Some(types) = &mut self.types {
            (types.docs, types.ids) = (docs, ids);
        }
    }

    /// A parameter of the path names this object.
    pub fn object<O: ObjectArgument<P>, P>(&mut self, parameter: &'static str) {
        O::describe(self, parameter);
    }

    /// It returns a type without a name.
    pub fn opaque(&mut self) {
        self.is_open = true;
        #[cfg(feature = "openapi")]
        if let Some(types) = &mut self.types {
            types.unknown.push((Side::Response, "impl IntoResponse"));
        }
    }

    fn problems<E: Problems>(&mut self) {
        self.problems.extend(E::PROBLEMS);
        self.is_open |= E::IS_OPEN;
    }
}

/// A parameter of the path whose type takes any text, without a schema.
pub trait TextParameter {
    /// Describes it.
    fn describe_parameter(self, signature: &mut Signature, name: &'static str);
}

impl<T: FromStr<Err = Infallible>> TextParameter for Of<T> {
    fn describe_parameter(self, signature: &mut Signature, name: &'static str) {
        signature.untyped_parameter(name);
    }
}

/// A parameter of the path of any other type, which can refuse a text.
pub trait ParsedParameter {
    /// Describes it.
    fn describe_parameter(&self, signature: &mut Signature, name: &'static str);
}

impl<T> ParsedParameter for Of<T> {
    fn describe_parameter(&self, signature: &mut Signature, name: &'static str) {
        signature.take([ArgumentKind::Parameter]);
        signature.untyped_parameter(name);
    }
}

impl Signature {
    /// A parameter of the path whose schema is unknown.
    #[cfg_attr(not(feature = "openapi"), expect(unused_variables, reason = "for documents"))]
    fn untyped_parameter(&mut self, name: &'static str) {
        #[cfg(feature = "openapi")]
        if let Some(types) = &mut self.types {
            types.parameters.push((name, None));
        }
    }
}
