//! What arguments take from requests.

use policy_core::outcome::ArgumentKind;
use serde::de::DeserializeOwned;

use super::{Of, Signature};
use crate::{
    auth::{
        caller::Caller,
        principal::Principal,
        session::{Session, Sessions},
        tokens::Tokens,
    },
    base::problem::Problems,
    handler::extract::{
        Accept, ClientAddr, CspNonce, CsrfToken, Form, Json, MatchedRoute, PageQuery, PeerAddr,
        Preconditions, Query, SentTarget, State, Valid,
        content::media_type::{FORM, JSON},
    },
};

/// An extractor whose input this crate knows.
pub trait Takes {
    /// Describes it.
    fn describe(signature: &mut Signature);
}

/// An app's own extractor, with the problems with which it rejects requests. Without this trait, a
/// document of the app (feature `openapi`) says that its routes may respond with any problem.
///
/// Implement it for an extractor that reads only the head of a request, and nothing in it that
/// clients have to know.
///
/// ```
/// use policy_server::{Problem, Problems, extract::Rejects, http::request::Parts, prelude::*};
/// use std::convert::Infallible;
///
/// /// The languages that the client prefers.
/// struct Languages(String);
///
/// impl<S: Sync> policy_server::FromRequestParts<S> for Languages {
///     type Rejection = Infallible;
///
///     async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
///         let value = parts.headers.get("accept-language");
///         Ok(Self(value.and_then(|value| value.to_str().ok()).unwrap_or("en").to_owned()))
///     }
/// }
///
/// impl Rejects for Languages {
///     type Problems = Infallible;
/// }
/// ```
pub trait Rejects {
    /// The problems.
    type Problems: Problems;
}

impl<T: Rejects> Takes for T {
    fn describe(signature: &mut Signature) {
        signature.problems::<T::Problems>();
    }
}

#[cfg(feature = "openapi")]
impl<T: Rejects> super::TypedTakes for T {
    fn describe(_: &mut Signature) {}
}

/// An argument of a known type.
pub trait KnownArgument {
    /// Describes it.
    fn describe_argument(self, signature: &mut Signature);
}

impl<T: Takes> KnownArgument for Of<T> {
    fn describe_argument(self, signature: &mut Signature) {
        T::describe(signature);
        #[cfg(feature = "openapi")]
        signature.unknown::<T>(super::Side::Request);
    }
}

/// An argument of any other type.
pub trait UnknownArgument {
    /// Describes it.
    fn describe_argument(&self, signature: &mut Signature);
}

impl<T> UnknownArgument for Of<T> {
    fn describe_argument(&self, signature: &mut Signature) {
        signature.take([ArgumentKind::Other]);
        signature.is_open = true;
        #[cfg(feature = "openapi")]
        signature.unknown::<T>(super::Side::Request);
    }
}

/// Extractors whose values need no schema from the user. After the comma is content that the handler
/// reads itself: its extractor refuses nothing.
macro_rules! takes {
    ($(
        $(#[$attribute:meta])*
        [$($generic:tt)*] $Type:ty => $($taken:ident)* $(, $content:ident)?;
    )*) => {$(
        $(#[$attribute])*
        impl<$($generic)*> Takes for $Type {
            fn describe(signature: &mut Signature) {
                signature.take([$(ArgumentKind::$taken)*]);
            }
        }

        $(#[$attribute])*
        #[cfg(feature = "openapi")]
        impl<$($generic)*> super::TypedTakes for $Type {
            #[allow(unused_variables, reason = "some take nothing")]
            fn describe(signature: &mut Signature) {
                $(signature.content_of::<Self>(ArgumentKind::$taken);)*
                $(
                    signature.content_of::<Self>(ArgumentKind::$content);
                    signature.optional(ArgumentKind::$content);
                )?
            }
        }
    )*};
}

takes! {
    [T] State<T> => ;
    [] MatchedRoute => ;
    [] ClientAddr => ;
    [] PeerAddr => ;
    [] SentTarget => ;
    [] CspNonce => ;
    [] Tokens => ;
    [] Principal => User;
    [] Option<Principal> => User;
    [] Caller => ;
    [] Option<Caller> => ;
    [] Session => Session;
    [] Sessions => Sessions;
    [] CsrfToken => CsrfToken;
    [] Accept => Accept;
    [] Preconditions => Preconditions;
    [] http::Method => ;
    [] http::Uri => ;
    [] http::Version => ;
    [] http::HeaderMap => ;
    [] http::Extensions => ;
    [] axum_core::extract::Request => , Body;
    [] axum_core::body::Body => , Body;
    [] bytes::Bytes => Body;
    [] String => Body;
    #[cfg(feature = "multipart")]
    [] crate::handler::extract::multipart::Multipart => Multipart;
    #[cfg(feature = "ws")]
    [] crate::handler::extract::ws::WebSocketUpgrade => WebSocket;
    #[cfg(feature = "cookies")]
    [] crate::handler::extract::cookie::CookieJar => ;
}

/// Extractors of a value of a user-defined type.
macro_rules! takes_value {
    ($($Type:ident => $taken:ident $(, $reads:expr)?;)*) => {$(
        impl<T: DeserializeOwned> Takes for $Type<T> {
            fn describe(signature: &mut Signature) {
                signature.take([ArgumentKind::$taken]);
                #[cfg(feature = "manifest")]
                signature.ids.push(super::fields::ids_of::<T>);
                $(signature.reads = Some($reads);)?
            }
        }
    )*};
}

takes_value! {
    Json => Json, JSON;
    Form => Form, FORM;
    Query => Query;
}

impl<C, const MAX: usize> Takes for PageQuery<C, MAX> {
    fn describe(signature: &mut Signature) {
        signature.take([ArgumentKind::Query]);
    }
}

impl<T: DeserializeOwned> Takes for Option<Json<T>> {
    fn describe(signature: &mut Signature) {
        Json::<T>::describe(signature);
    }
}

impl<T: DeserializeOwned> Takes for Option<Query<T>> {
    fn describe(signature: &mut Signature) {
        Query::<T>::describe(signature);
    }
}

/// The handler responds to the failure itself. What it uses after the extraction can fail then as
/// well, and a WebSocket is opened in the same way.
impl<E: Takes, R> Takes for Result<E, R> {
    fn describe(signature: &mut Signature) {
        let mut inner = Signature::default();
        E::describe(&mut inner);
        signature.take(inner.takes.into_iter().filter(|taken| {
            matches!(
                taken,
                ArgumentKind::Session
                    | ArgumentKind::Sessions
                    | ArgumentKind::Accept
                    | ArgumentKind::Preconditions
                    | ArgumentKind::WebSocket
            )
        }));
        signature.reads = inner.reads.or(signature.reads);
        signature.objects.extend(inner.objects);
        #[cfg(feature = "manifest")]
        signature.ids.extend(inner.ids);
    }
}

impl<E: Takes> Takes for Valid<E> {
    fn describe(signature: &mut Signature) {
        E::describe(signature);
        signature.take([ArgumentKind::Valid]);
    }
}

#[cfg(feature = "decompression")]
impl<E: Takes> Takes for crate::handler::extract::Decoded<E> {
    fn describe(signature: &mut Signature) {
        E::describe(signature);
        signature.take([ArgumentKind::Decoded]);
    }
}

/// Tuples of as many extractors as axum extracts together. The macro of a route describes each part of
/// a tuple that it sees by itself; these are in a `Result`, or have a name.
macro_rules! takes_tuples {
    () => {};
    ($First:ident $($Rest:ident)*) => {
        impl<$First: Takes, $($Rest: Takes,)*> Takes for ($First, $($Rest,)*) {
            fn describe(signature: &mut Signature) {
                <$First as Takes>::describe(signature);
                $(<$Rest as Takes>::describe(signature);)*
            }
        }

        #[cfg(feature = "openapi")]
        impl<$First: super::TypedTakes, $($Rest: super::TypedTakes,)*> super::TypedTakes
            for ($First, $($Rest,)*)
        {
            fn describe(signature: &mut Signature) {
                <$First as super::TypedTakes>::describe(signature);
                $(<$Rest as super::TypedTakes>::describe(signature);)*
            }
        }

        takes_tuples! { $($Rest)* }
    };
}

takes_tuples! { A B C D E F G H I J K L M N O P }

#[cfg(test)]
mod tests {
    /// Without a description, each document of an app that uses the extractor has a gap.
    #[test]
    fn each_extractor_of_the_table_is_described() {
        let [table, here] = [include_str!("../extract/mod.rs"), include_str!("argument.rs")];
        let described =
            here.lines().filter(|line| line.contains(" => ") || line.contains("Takes for"));
        let described: Vec<&str> =
            described.flat_map(|line| line.split(|sign: char| !sign.is_alphanumeric())).collect();
        let cells = table.lines().filter_map(|line| line.strip_prefix("//! | ")?.split('|').next());
        let names: Vec<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        assert!(names.len() > 15, "{names:?}");
        for name in names {
            assert!(described.contains(&name), "{name}");
        }
    }
}
