//! Handler arguments from axum-core's extractors.

use std::{any::Any, future::ready, marker::PhantomData, sync::Arc};

use axum_core::{
    extract::{FromRef, FromRequest, FromRequestParts, Request},
    response::{IntoResponse, Response},
};
use policy_core::{Refusal, route::MAX_EXTRACTORS};

use crate::{
    auth::principal::Principal,
    base::problem::{Problem, convert_text, is_text},
    handler::{
        BoxFuture, Call, Respond,
        extract::{ClientAddr, MatchedRoute},
    },
};

/// The response of an extractor that failed. Extractors of other crates state errors in plain text,
/// which is converted to a [`Problem`].
///
/// Boxed, so that the future of a handler stays below 1 KiB, where the allocator is fast.
fn rejected(response: Response) -> BoxFuture {
    match is_text(&response) {
        true => Box::pin(convert_text(response, Some(Refusal::Rejected))),
        false => Box::pin(ready(response)),
    }
}

/// All extracted arguments of a handler, in order: all but the last from the request head, the last
/// from the whole request.
pub trait Arguments<S, Via>: Sized + Send {
    /// Extracts them and runs the handler, or responds with the first rejection.
    fn call<F, Fut>(call: &mut Call, handler: F) -> BoxFuture
    where
        F: FnOnce(Self) -> Fut + Send + 'static,
        Fut: Future<Output: Respond> + Send;
}

/// The last argument is extracted according to axum-core's marker, which is inferred.
#[derive(Debug)]
pub struct Inferred<Via>(PhantomData<Via>);

/// The macro knows that the last argument is extracted from a body. Nothing is inferred, so the
/// compiler reports only once what its type lacks.
#[derive(Debug)]
pub enum FromBody {}

impl<S> Arguments<S, ()> for () {
    /// Nothing of the request is kept.
    fn call<F, Fut>(_call: &mut Call, handler: F) -> BoxFuture
    where
        F: FnOnce(Self) -> Fut + Send + 'static,
        Fut: Future<Output: Respond> + Send,
    {
        Box::pin(async move { handler(()).await.into_response() })
    }
}

/// An argument that the call already has, so that its handler needs nothing else of the request.
/// `None` if it must be extracted; extraction also reports why it is missing.
#[inline]
fn find<T: 'static>(call: &Call) -> Option<T> {
    let mut argument = None::<T>;
    fill(call, &mut argument);
    argument
}

/// The part of [`find`] that is the same for all types, so that it is compiled once.
#[inline]
fn fill(call: &Call, place: &mut dyn Any) {
    if let Some(user) = place.downcast_mut() {
        *user = call.user();
    } else if let Some(user) = place.downcast_mut::<Option<Option<Principal>>>() {
        *user = call.user().map(Some);
    } else if let Some(address) = place.downcast_mut() {
        *address = call.client.address().map(ClientAddr);
    } else if let Some(route) = place.downcast_mut() {
        *route = Some(MatchedRoute::new(&call.route));
    }
}

macro_rules! arguments {
    ($($head:ident)*; $last:ident) => {
        const _: () = assert!(<[&str]>::len(&[$(stringify!($head)),*]) < MAX_EXTRACTORS);

        #[expect(non_snake_case, reason = "types and values share their names here")]
        impl<S, Via, $($head,)* $last> Arguments<S, Inferred<Via>> for ($($head,)* $last,)
        where
            S: Send + Sync + 'static,
            $($head: FromRequestParts<S> + Send + 'static,)*
            $last: FromRequest<S, Via> + Send + 'static,
        {
            fn call<Handler, Answer>(call: &mut Call, handler: Handler) -> BoxFuture
            where
                Handler: FnOnce(Self) -> Answer + Send + 'static,
                Answer: Future<Output: Respond> + Send,
            {
                let known = || Some(($(find::<$head>(call)?,)* find::<$last>(call)?,));
                let known = match known() {
                    Some(arguments) => Ok(arguments),
                    None => Err((call.take_request(), Arc::clone(&call.route))),
                };
                // One future for both cases, so that a handler's future is compiled once. It awaits
                // all rejections in one place, since each `await` adds code to every handler.
                Box::pin(async move {
                    let rejection = 'rejected: {
                        let arguments = match known {
                            Ok(arguments) => arguments,
                            Err((request, route)) => {
                                // The compiler has checked that the route has the state type of its
                                // app.
                                let Some(state) = route.state.downcast_ref::<S>() else {
                                    break 'rejected Problem::from(Refusal::Internal).into_response();
                                };
                                #[allow(
                                    unused_mut,
                                    reason = "with one argument nothing reads the head first"
                                )]
                                let (mut parts, body) = request.into_parts();
                                // A rejection need not be `Send`: it is converted before anything is
                                // awaited.
                                $(let $head = $head::from_request_parts(&mut parts, state).await;
                                let $head = match $head.map_err(IntoResponse::into_response) {
                                    Ok(argument) => argument,
                                    Err(response) => break 'rejected response,
                                };)*
                                let request = Request::from_parts(parts, body);
                                let $last = $last::from_request(request, state).await;
                                match $last.map_err(IntoResponse::into_response) {
                                    Ok($last) => ($($head,)* $last,),
                                    Err(response) => break 'rejected response,
                                }
                            }
                        };
                        return handler(arguments).await.into_response();
                    };
                    rejected(rejection).await
                })
            }
        }

        impl<S, $($head,)* $last> Arguments<S, FromBody> for ($($head,)* $last,)
        where
            S: Send + Sync + 'static,
            $($head: FromRequestParts<S> + Send + 'static,)*
            $last: FromRequest<S> + Send + 'static,
        {
            fn call<Handler, Answer>(call: &mut Call, handler: Handler) -> BoxFuture
            where
                Handler: FnOnce(Self) -> Answer + Send + 'static,
                Answer: Future<Output: Respond> + Send,
            {
                <Self as Arguments<S, Inferred<_>>>::call(call, handler)
            }
        }
    };
}

arguments!(; L);
arguments!(A; L);
arguments!(A B; L);
arguments!(A B C; L);
arguments!(A B C D; L);
arguments!(A B C D E; L);
arguments!(A B C D E F; L);
arguments!(A B C D E F G; L);
arguments!(A B C D E F G H; L);
arguments!(A B C D E F G H I; L);
arguments!(A B C D E F G H I J; L);
arguments!(A B C D E F G H I J K; L);

/// `FromRequestParts` with this crate's diagnostics; `do_not_recommend` keeps the compiler from
/// expanding it to axum-core's.
#[diagnostic::on_unimplemented(
    message = "`{Self}`: this is not an extractor (handler.not-an-extractor)",
    label = "an argument of this handler has this type",
    note = "write `Query<{Self}>` for the query, `State<{Self}>` for a part of the app's state, `Json<{Self}>` or `Form<{Self}>` as the last argument for the body, or name the argument in the path",
    note = "a type of your own is an extractor if it implements `FromRequestParts`"
)]
pub trait ExtractParts<S>: FromRequestParts<S> {}

#[diagnostic::do_not_recommend]
impl<S, T: FromRequestParts<S>> ExtractParts<S> for T {}

/// `FromRequest` with this crate's diagnostics.
#[diagnostic::on_unimplemented(
    message = "`{Self}`: this is not an extractor (handler.not-an-extractor)",
    label = "an argument of this handler has this type",
    note = "write `Json<{Self}>` or `Form<{Self}>` for the body, `Query<{Self}>` for the query, `State<{Self}>` for a part of the app's state, or name the argument in the path",
    note = "a type of your own is an extractor if it implements `FromRequestParts`, or `FromRequest` to read the body"
)]
pub trait Extract<S, Via>: FromRequest<S, Via> {}

#[diagnostic::do_not_recommend]
impl<S, Via, T: FromRequest<S, Via>> Extract<S, Via> for T {}

/// `FromRef` with this crate's diagnostics: what [`State`](super::extract::State) takes.
#[diagnostic::on_unimplemented(
    message = "`{Self}`: the state of this app has no such part (handler.state-part)",
    label = "a handler takes `State<{Self}>`, and the state is `{S}`",
    note = "pass a `{Self}` to `App::new(..)`, or write `impl FromRef<{S}> for {Self}`"
)]
pub trait StatePart<S>: FromRef<S> {}

#[diagnostic::do_not_recommend]
impl<S, T: FromRef<S>> StatePart<S> for T {}
