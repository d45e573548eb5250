//! The responses of handlers.

use axum_core::response::AppendHeaders;
use http::{
    HeaderMap, HeaderName, StatusCode,
    header::{ACCEPT_RANGES, ETAG, LAST_MODIFIED, LINK, LOCATION},
};
use policy_core::outcome::ArgumentKind;

use super::{Of, Signature};
use crate::{
    auth::tokens::IssuedTokens,
    base::problem::Problems,
    handler::{
        extract::{ChosenMediaType, CsrfToken, Form, Json},
        response::{ByteRanges, Created, ETag, LastModified, NoContent, Page, TaggedJson},
    },
};

/// The response of a handler to a request that it serves, as its return type states it.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Its status; `None` if the handler chooses one at run time.
    pub(crate) status: Option<u16>,
    /// The media type of its content, `*/*` if the handler chooses one; `None` without content.
    pub(crate) media_type: Option<&'static str>,
    /// The header fields that it sets.
    pub(crate) fields: Vec<HeaderName>,
    /// The schema of its content.
    #[cfg(feature = "openapi")]
    pub(crate) schema: Option<serde_json::Value>,
}

impl Default for Reply {
    fn default() -> Self {
        Self {
            status: Some(200),
            media_type: None,
            fields: Vec::new(),
            #[cfg(feature = "openapi")]
            schema: None,
        }
    }
}

/// A response of a known form, which is no problem unless its status is chosen at run time.
pub trait Answer {
    /// Describes it.
    fn describe(reply: &mut Reply);
}

/// A part of a response in front of its content.
pub trait AnswerPart {
    /// Describes it.
    fn describe(reply: &mut Reply);
}

/// A response whose form is known.
pub trait KnownAnswer {
    /// Describes it.
    fn describe_answer(self, signature: &mut Signature);
}

impl<T: Answer> KnownAnswer for Of<T> {
    fn describe_answer(self, signature: &mut Signature) {
        signature.untyped_reply::<T>();
    }
}

/// A `Result` whose forms are known.
pub trait KnownValue {
    /// Describes it.
    fn describe_answer(self, signature: &mut Signature);
}

impl<T: Answer, E: Problems> KnownValue for Of<Result<T, E>> {
    fn describe_answer(self, signature: &mut Signature) {
        signature.untyped_reply::<T>();
        signature.problems::<E>();
    }
}

/// A `Result` whose error has an unknown form.
pub trait KnownValueOnly {
    /// Describes it.
    fn describe_answer(&self, signature: &mut Signature);
}

impl<T: Answer, E> KnownValueOnly for Of<Result<T, E>> {
    fn describe_answer(&self, signature: &mut Signature) {
        signature.untyped_reply::<T>();
        signature.is_open = true;
    }
}

/// A response of any other type.
pub trait UnknownAnswer {
    /// Describes it.
    fn describe_answer(&mut self, signature: &mut Signature);
}

impl<T> UnknownAnswer for Of<T> {
    fn describe_answer(&mut self, signature: &mut Signature) {
        signature.is_open = true;
        #[cfg(feature = "openapi")]
        signature.unknown::<T>(super::Side::Response);
    }
}

impl Signature {
    pub(super) fn reply<T: Answer>(&mut self) -> &mut Reply {
        let mut reply = Reply::default();
        T::describe(&mut reply);
        // The status may belong to an error.
        self.is_open |= reply.status.is_none();
        if reply.fields.iter().any(|field| *field == ETAG || *field == LAST_MODIFIED) {
            self.take([ArgumentKind::ReadConditions]);
        }
        if reply.fields.contains(&ACCEPT_RANGES) {
            self.take([ArgumentKind::Range]);
        }
        self.reply.insert(reply)
    }

    fn untyped_reply<T: Answer>(&mut self) {
        self.reply::<T>();
        #[cfg(feature = "openapi")]
        self.unknown::<T>(super::Side::Response);
    }
}

macro_rules! answers {
    ($(
        $(#[$attribute:meta])*
        [$($generic:tt)*] $Type:ty => $media_type:literal $($field:ident)*;
    )*) => {$(
        $(#[$attribute])*
        impl<$($generic)*> Answer for $Type {
            fn describe(reply: &mut Reply) {
                reply.media_type = Some($media_type);
                reply.fields.extend([$($field),*]);
            }
        }
    )*};
}

answers! {
    [T] Json<T> => "application/json";
    [T] TaggedJson<T> => "application/json" ETAG;
    [T] Page<T> => "application/json" LINK;
    [T] Form<T> => "application/x-www-form-urlencoded";
    [] IssuedTokens => "application/json";
    [] CsrfToken => "application/json";
    [] String => "text/plain";
    [] &'static str => "text/plain";
    [] bytes::Bytes => "application/octet-stream";
    [] Vec<u8> => "application/octet-stream";
    #[cfg(feature = "sse")]
    [S] crate::handler::response::sse::Sse<S> => "text/event-stream";
    #[cfg(feature = "sse")]
    [S] axum::response::sse::KeepAliveStream<S> => "text/event-stream";
}

impl Answer for () {
    fn describe(_: &mut Reply) {}
}

impl Answer for NoContent {
    fn describe(reply: &mut Reply) {
        reply.status = Some(204);
    }
}

impl Answer for StatusCode {
    fn describe(reply: &mut Reply) {
        reply.status = None;
    }
}

impl<T: Answer> Answer for Created<T> {
    fn describe(reply: &mut Reply) {
        T::describe(reply);
        reply.status = Some(201);
        reply.fields.push(LOCATION);
    }
}

impl<T: Answer> Answer for (StatusCode, T) {
    fn describe(reply: &mut Reply) {
        T::describe(reply);
        reply.status = None;
    }
}

impl<P: AnswerPart, T: Answer> Answer for (P, T) {
    fn describe(reply: &mut Reply) {
        T::describe(reply);
        P::describe(reply);
    }
}

impl<P: AnswerPart, Q: AnswerPart, T: Answer> Answer for (P, Q, T) {
    fn describe(reply: &mut Reply) {
        <(Q, T)>::describe(reply);
        P::describe(reply);
    }
}

impl<P: AnswerPart, T: Answer> Answer for (StatusCode, P, T) {
    fn describe(reply: &mut Reply) {
        <(P, T)>::describe(reply);
        reply.status = None;
    }
}

macro_rules! parts {
    ($([$($generic:tt)*] $Type:ty => $($field:ident)*;)*) => {$(
        impl<$($generic)*> AnswerPart for $Type {
            #[allow(unused_variables, reason = "some state no field of a known name")]
            fn describe(reply: &mut Reply) {
                $(reply.fields.push($field);)*
            }
        }
    )*};
}

parts! {
    [] ETag => ETAG;
    [] LastModified => LAST_MODIFIED;
    [] ByteRanges => ACCEPT_RANGES;
    [I] AppendHeaders<I> => ;
}

/// Parts that can replace the media type of the content.
macro_rules! media_types {
    ($($Type:ty),*) => {$(
        impl AnswerPart for $Type {
            fn describe(reply: &mut Reply) {
                reply.media_type = reply.media_type.and(Some("*/*"));
            }
        }
    )*};
}

media_types! { ChosenMediaType, HeaderMap }

#[cfg(feature = "cookies")]
parts! { [] crate::handler::extract::cookie::CookieJar => ; }
