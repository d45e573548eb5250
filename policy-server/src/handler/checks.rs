//! Trait bounds that generated code states one by one, at the type in the signature that must
//! satisfy them.
//!
//! [`invoke`](super::invoke) has the same bounds, but the compiler would report them at the return
//! type, or in the list of routes. It does not report an error here and again there: within one
//! function, it checks the same bound of the same type once.

use std::marker::PhantomData;

use axum_core::{
    extract::{FromRequest, FromRequestParts},
    response::IntoResponse,
};

use super::{Respond, parameters::FromParam};

/// An argument that is extracted from a body. A handler's signature takes its type through this trait.
pub trait OfBody<S> {
    /// The type itself.
    type Argument;
}

impl<S, T: FromRequest<S>> OfBody<S> for T {
    type Argument = T;
}

/// An argument that is extracted from the head of a request; otherwise like [`OfBody`].
pub trait OfHead<S> {
    /// The type itself.
    type Argument;
}

impl<S, T: FromRequestParts<S>> OfHead<S> for T {
    type Argument = T;
}

/// A parameter of the path.
#[derive(Debug)]
pub struct Parameter<T: FromParam>(PhantomData<T>);

/// A part of the app's state: the compiler suggests deriving `Clone`.
#[derive(Debug)]
pub struct OfState<T: Clone>(PhantomData<T>);

/// The value of a returned `Result`.
#[derive(Debug)]
pub struct ReturnedValue<T: Respond>(PhantomData<T>);

/// A returned `Json<T>`: the compiler reports what `T` lacks.
#[derive(Debug)]
pub struct ReturnedJson<T: IntoResponse>(PhantomData<T>);
