//! The schemas of the types in a signature.

use std::{convert::Infallible, str::FromStr};

use serde_json::Value;

use super::{
    Answer, Of, Problems, Signature, Takes,
    schemas::{Schemas, Side},
};
use crate::handler::{
    extract::{Form, Json, PageQuery, Query, Valid},
    response::{Created, Page, TaggedJson},
};
use policy_core::outcome::ArgumentKind;
use schemars::JsonSchema;

/// The parts of a signature that a document needs.
#[derive(Debug, Default)]
pub struct Types {
    /// The schemas of the whole app.
    pub(crate) schemas: Schemas,
    /// The lines of the handler's documentation.
    pub(crate) docs: &'static [&'static str],
    /// The ids that its routes state.
    pub(crate) ids: &'static [Option<&'static str>],
    /// The parameters of the path: their names, and their schemas if these are known.
    pub(crate) parameters: Vec<(&'static str, Option<Value>)>,
    /// What the query is read into.
    pub(crate) query: Vec<Input>,
    /// What the body is read into.
    pub(crate) body: Option<Input>,
    /// The types without a known schema, with the side on which they are.
    pub(crate) unknown: Vec<(Side, &'static str)>,
}

/// What a part of a request is read into.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its kind.
    pub(crate) taken: ArgumentKind,
    /// The name of the extractor's type.
    pub(crate) extractor: &'static str,
    /// Its schema, if it is known.
    pub(crate) schema: Option<Value>,
    /// Whether it may be absent.
    pub(crate) is_optional: bool,
}

/// An extractor whose values have a schema.
pub trait TypedTakes {
    /// Describes its content.
    fn describe(signature: &mut Signature);
}

impl<T: Takes + TypedTakes> Of<T> {
    /// Describes an argument of a known type with a schema.
    pub fn describe_argument(self, signature: &mut Signature) {
        <T as Takes>::describe(signature);
        <T as TypedTakes>::describe(signature);
    }
}

/// A response whose content has a schema.
pub trait TypedContent {
    /// The schema.
    fn schema(schemas: &mut Schemas) -> Option<Value>;
}

impl<T: Answer + TypedContent> Of<T> {
    /// Describes a response of a known form with a schema.
    pub fn describe_answer(self, signature: &mut Signature) {
        signature.typed_reply::<T>();
    }
}

impl<T: Answer + TypedContent, E: Problems> Of<Result<T, E>> {
    /// Describes a `Result` of known forms, whose value has a schema.
    pub fn describe_answer(self, signature: &mut Signature) {
        signature.typed_reply::<T>();
        signature.problems::<E>();
    }
}

/// A `Result` whose value has a schema and whose error has an unknown form.
pub trait TypedValueOnly {
    /// Describes it.
    fn describe_answer(self, signature: &mut Signature);
}

impl<T: Answer + TypedContent, E> TypedValueOnly for Of<Result<T, E>> {
    fn describe_answer(self, signature: &mut Signature) {
        signature.typed_reply::<T>();
        signature.is_open = true;
    }
}

impl<T: FromStr<Err = Infallible> + JsonSchema> Of<T> {
    /// Describes a parameter of the path whose type takes any text, with a schema.
    pub fn describe_parameter(self, signature: &mut Signature, name: &'static str) {
        signature.typed_parameter::<T>(name);
    }
}

/// A parameter of the path with a schema, whose type can refuse a text.
pub trait TypedParameter {
    /// Describes it.
    fn describe_parameter(self, signature: &mut Signature, name: &'static str);
}

impl<T: JsonSchema> TypedParameter for Of<T> {
    fn describe_parameter(self, signature: &mut Signature, name: &'static str) {
        signature.take([ArgumentKind::Parameter]);
        signature.typed_parameter::<T>(name);
    }
}

impl Signature {
    fn typed_parameter<T: JsonSchema>(&mut self, name: &'static str) {
        if let Some(types) = &mut self.types {
            let schema = types.schemas.schema_for::<T>(Side::Request);
            types.parameters.push((name, Some(schema)));
        }
    }

    fn typed_reply<T: Answer + TypedContent>(&mut self) {
        let schema = self.types.as_mut().and_then(|types| T::schema(&mut types.schemas));
        self.reply::<T>().schema = schema;
    }

    /// A type of which no schema is known.
    pub(super) fn unknown<T: ?Sized>(&mut self, side: Side) {
        if let Some(types) = &mut self.types {
            types.unknown.push((side, std::any::type_name::<T>()));
        }
    }

    /// What a part of the request is read into.
    fn input<E>(
        &mut self,
        taken: ArgumentKind,
        schema: impl FnOnce(&mut Schemas) -> Option<Value>,
    ) {
        let Some(types) = &mut self.types else { return };
        let (extractor, schema) = (std::any::type_name::<E>(), schema(&mut types.schemas));
        let input = Input { taken, extractor, schema, is_optional: false };
        match taken {
            ArgumentKind::Query => types.query.push(input),
            _ => types.body = Some(input),
        }
    }

    /// A body without a schema.
    pub(super) fn content_of<E>(&mut self, taken: ArgumentKind) {
        if taken.is_body() {
            self.input::<E>(taken, |_| None);
        }
    }

    /// The handler also serves requests without it.
    pub(super) fn optional(&mut self, taken: ArgumentKind) {
        let Some(types) = &mut self.types else { return };
        let inputs = types.query.iter_mut().chain(&mut types.body);
        inputs.filter(|input| input.taken == taken).for_each(|input| input.is_optional = true);
    }
}

macro_rules! typed {
    ($($Type:ident => $taken:ident;)*) => {$(
        impl<T: JsonSchema> TypedTakes for $Type<T> {
            fn describe(signature: &mut Signature) {
                let schema = |schemas: &mut Schemas| Some(schemas.schema_for::<T>(Side::Request));
                signature.input::<Self>(ArgumentKind::$taken, schema);
            }
        }
    )*};
}

typed! {
    Json => Json;
    Form => Form;
    Query => Query;
}

macro_rules! optional {
    ($($Type:ident => $taken:ident;)*) => {$(
        impl<T: JsonSchema> TypedTakes for Option<$Type<T>> {
            fn describe(signature: &mut Signature) {
                <$Type<T> as TypedTakes>::describe(signature);
                signature.optional(ArgumentKind::$taken);
            }
        }
    )*};
}

optional! {
    Json => Json;
    Query => Query;
}

/// The query of [`PageQuery`]. It is inline, since it is no component: an app may have a type of its name.
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "its schema is read")]
struct PageFields {
    /// How many rows the page may have; a larger number is reduced to the maximum.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
    /// Where the page begins: `next` of the previous one.
    cursor: Option<String>,
}

impl<C, const MAX: usize> TypedTakes for PageQuery<C, MAX> {
    fn describe(signature: &mut Signature) {
        <Query<PageFields> as TypedTakes>::describe(signature);
    }
}

impl<E: TypedTakes> TypedTakes for Valid<E> {
    fn describe(signature: &mut Signature) {
        E::describe(signature);
    }
}

#[cfg(feature = "decompression")]
impl<E: TypedTakes> TypedTakes for crate::handler::extract::Decoded<E> {
    fn describe(signature: &mut Signature) {
        E::describe(signature);
    }
}

impl<E: TypedTakes, R> TypedTakes for Result<E, R> {
    fn describe(signature: &mut Signature) {
        E::describe(signature);
    }
}

macro_rules! contents {
    ($([$($generic:tt)*] $Type:ty => $of:ty;)*) => {$(
        impl<$($generic)*> TypedContent for $Type {
            fn schema(schemas: &mut Schemas) -> Option<Value> {
                Some(schemas.schema_for::<$of>(Side::Response))
            }
        }
    )*};
}

/// A page of a list.
#[derive(JsonSchema)]
#[schemars(rename = "PageOf{T}")]
#[expect(dead_code, reason = "its schema is read")]
struct PageBody<T> {
    /// The rows of the page.
    items: Vec<T>,
    /// The cursor of the next page; null on the last one.
    next: Option<String>,
}

/// Tokens for a client (RFC 6749 5.1).
#[derive(JsonSchema)]
#[schemars(rename = "IssuedTokens")]
#[expect(dead_code, reason = "its schema is read")]
struct IssuedBody {
    /// The token that the client sends in `Authorization: Bearer`.
    access_token: String,
    /// `Bearer`.
    token_type: String,
    /// In how many seconds the access token expires.
    expires_in: u64,
    /// The token that the client exchanges for the next access token.
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
}

/// The CSRF token of a session.
#[derive(JsonSchema)]
#[schemars(rename = "CsrfToken")]
#[expect(dead_code, reason = "its schema is read")]
struct CsrfBody {
    /// What `X-CSRF-Token` of a request states; null without a session.
    token: Option<String>,
}

contents! {
    [T: JsonSchema] Json<T> => T;
    [T: JsonSchema] TaggedJson<T> => T;
    [T: JsonSchema] Form<T> => T;
    [T: JsonSchema] Page<T> => PageBody<T>;
    [] crate::auth::tokens::IssuedTokens => IssuedBody;
    [] crate::handler::extract::CsrfToken => CsrfBody;
    [] String => String;
    [] &'static str => String;
}

macro_rules! without_schema {
    ($($(#[$attribute:meta])* [$($generic:tt)*] $Type:ty;)*) => {$(
        $(#[$attribute])*
        impl<$($generic)*> TypedContent for $Type {
            fn schema(_: &mut Schemas) -> Option<Value> {
                None
            }
        }
    )*};
}

without_schema! {
    [] ();
    [] crate::handler::response::NoContent;
    [] http::StatusCode;
    [] bytes::Bytes;
    [] Vec<u8>;
    #[cfg(feature = "sse")]
    [S] crate::handler::response::sse::Sse<S>;
    #[cfg(feature = "sse")]
    [S] axum::response::sse::KeepAliveStream<S>;
}

impl<T: TypedContent> TypedContent for Created<T> {
    fn schema(schemas: &mut Schemas) -> Option<Value> {
        T::schema(schemas)
    }
}

impl<P, T: TypedContent> TypedContent for (P, T) {
    fn schema(schemas: &mut Schemas) -> Option<Value> {
        T::schema(schemas)
    }
}

impl<P, Q, T: TypedContent> TypedContent for (P, Q, T) {
    fn schema(schemas: &mut Schemas) -> Option<Value> {
        T::schema(schemas)
    }
}
