//! Objects as arguments, in place of the path parameters that name them.

use std::{fmt, future::ready, marker::PhantomData, ops::Deref, sync::Arc, time::Duration};

use axum_core::{
    extract::FromRef,
    response::{IntoResponse, Response},
};
use futures_util::future::Either;
use http::Method;
use policy_core::{
    Refusal,
    conditional::{Conditions, PreconditionVerdict, Validators},
    method::is_safe,
    object::ObjectPolicy,
};

#[cfg(feature = "testing")]
use super::samples::{self, Trial};
use super::{
    Action, Load, LoadLocked, Object, Permits, View,
    misses::Misses,
    recheck::right_ended,
    rule::{Check, KeyOrigin, ObjectDescription},
};
use crate::{
    auth::{end_when, lasts},
    base::{clock::Clock, problem::Problem},
    handler::{
        BoxFuture, Call, Respond,
        arguments::{Arguments, StatePart},
        describe::Signature,
        parameters::{FromParam, Parameters},
        reject,
        response::ETag,
    },
};

/// An object that the caller may view, and with which they may do `A`.
///
/// Only the framework creates one: from the path parameter with the argument's name, or else from
/// the next parameter that no argument takes. The object is loaded ([`Load`]) after all gates and
/// before other arguments. The client gets
///
/// - 404 `object.not-found` if there is none, or if its rule for [`View`] refuses the caller: the two
///   responses are equal
/// - 403 `object.denied` if its rule for `A` refuses the caller
/// - 412 `request.precondition-failed` if the object has a version (`#[object(version)]`), and the
///   `If-Match` of a request that changes it names another one (RFC 9110 13.1.1). Of several objects
///   in a path, this is about the last one
/// - 503 `object.engine-unavailable` if a rule asks the [`ObjectEngine`](super::ObjectEngine) of the app, and it cannot
///   decide
/// - 403 `auth.caller-foreign` for a caller of another issuer, whose name could be that of a user
/// - 429 `limit.misses`, before anything is loaded, if the caller got `object.not-found` too often
///   ([`#[limit(misses = ..)]`](macro@crate::limit))
///
/// A stream, such as a WebSocket, ends with 1008 or an event `end` and the code `object.denied`
/// when its caller has lost the right: the object is loaded and checked again every minute, or as
/// often as [`#[object(recheck = ..)]`](macro@crate::object) states. The stream also ends if the
/// object cannot be loaded within half a minute.
///
/// See [the module](mod@crate::object) for an example.
///
/// ```compile_fail,E0451
/// use policy_server::{object::View, prelude::*};
///
/// fn forged<T>(object: T) -> Allowed<T, View> {
///     Allowed { object, action: std::marker::PhantomData }
/// }
/// ```
pub struct Allowed<T, A = View> {
    object: T,
    action: PhantomData<fn() -> A>,
}

impl<T, A> Allowed<T, A> {
    pub(super) fn new(object: T) -> Self {
        Self { object, action: PhantomData }
    }

    /// The object. Its type no longer shows that it was checked.
    pub fn into_inner(self) -> T {
        self.object
    }
}

impl<T: Object, A> Allowed<T, A> {
    /// The tag of its version; `None` if it has none.
    pub fn etag(&self) -> Option<ETag> {
        self.object.version().map(ETag::version)
    }
}

impl<T, A> Deref for Allowed<T, A> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.object
    }
}

impl<T: fmt::Debug, A> fmt::Debug for Allowed<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Allowed").field(&self.object).finish()
    }
}

/// An [`Allowed`] object with the transaction in which it was loaded: the object that was checked
/// is the one that is changed.
///
/// ```
/// # use policy_server::{object::LoadLocked, prelude::*};
/// # #[derive(Object)]
/// # #[rule(View = anyone)]
/// # #[rule(Edit = owner)]
/// # struct Order { #[object(key)] id: u64, #[object(owner)] user: String }
/// # struct Transaction;
/// # impl Transaction { async fn commit(self) -> Result<(), std::io::Error> { Ok(()) } }
/// # impl Load for Order {
/// #     type Source = ();
/// #     async fn load(_: &u64, _: &(), _: &()) -> Result<Option<Self>, Problem> { Ok(None) }
/// # }
/// # impl LoadLocked for Order {
/// #     type Lock = Transaction;
/// #     async fn load_locked(_: &u64, _: &(), _: &()) -> Result<Option<(Self, Transaction)>, Problem> { Ok(None) }
/// # }
/// use policy_server::object::Locked;
///
/// #[put("/orders/{id}")]
/// #[auth(session)]
/// async fn change(order: Locked<Order, Edit>) -> Result<StatusCode, Problem> {
///     let (order, transaction) = order.into_parts();
///     // Writes by the transaction.
///     # let _ = order;
///     transaction.commit().await.or_internal()?;
///     Ok(StatusCode::NO_CONTENT)
/// }
/// ```
pub struct Locked<T: LoadLocked, A = View> {
    object: T,
    lock: T::Lock,
    action: PhantomData<fn() -> A>,
}

impl<T: LoadLocked, A> Locked<T, A> {
    /// The transaction.
    pub fn lock(&mut self) -> &mut T::Lock {
        &mut self.lock
    }

    /// The object and the transaction, which is rolled back when it is dropped.
    pub fn into_parts(self) -> (T, T::Lock) {
        (self.object, self.lock)
    }
}

impl<T: LoadLocked, A> Deref for Locked<T, A> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.object
    }
}

impl<T: LoadLocked + fmt::Debug, A> fmt::Debug for Locked<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Locked").field(&self.object).finish()
    }
}

/// An argument that is an object, [`Allowed`] or [`Locked`], and follows the argument with the
/// previous one.
#[diagnostic::on_unimplemented(
    message = "`{Self}`: this is not an object that is loaded and checked",
    label = "this type only has the name of one",
    note = "take `policy_server::object::Allowed` or `policy_server::object::Locked`"
)]
pub trait ObjectArgument<Previous>: Sized + Send {
    /// The key in the path.
    type Key: FromParam + Send + Sync + 'static;
    /// What it is loaded from.
    type Source: Send + Sync + 'static;

    /// Describes it.
    fn describe(signature: &mut Signature, parameter: &'static str);

    /// Loads and checks it.
    #[expect(private_interfaces, reason = "only this crate implements it")]
    fn admit(
        key: &Self::Key,
        previous: &Previous,
        source: &Self::Source,
        check: &Check,
    ) -> impl Future<Output = Result<Self, Problem>> + Send;

    /// The tag of its version; `None` if it has none.
    fn tag(&self) -> Option<ETag>;
}

impl<T, A, Previous> ObjectArgument<Previous> for Allowed<T, A>
where
    T: Load + Permits<View> + Permits<A>,
    A: Action,
    Previous: AsParent<T::Parent> + Sync,
{
    type Key = T::Key;
    type Source = T::Source;

    fn describe(signature: &mut Signature, parameter: &'static str) {
        let key = KeyOrigin::Parameter(parameter);
        signature.objects.push(ObjectDescription::new::<T, A>(key));
    }

    #[expect(private_interfaces, reason = "only this crate implements it")]
    async fn admit(
        key: &T::Key,
        previous: &Previous,
        source: &T::Source,
        check: &Check,
    ) -> Result<Self, Problem> {
        #[cfg(feature = "testing")]
        if let Some(sample) = samples::current::<T>() {
            return check.admit::<T, A>(sample).await.map(Self::new);
        }
        let pending = match check.admit::<T, A>(T::load(key, previous.as_parent(), source).await?) {
            Either::Left(decided) => return decided.into_inner().map(Self::new),
            Either::Right(pending) => pending,
        };
        // Only the box is held across this `await`, so that the handler's future stays small.
        pending.await.map(Self::new)
    }

    fn tag(&self) -> Option<ETag> {
        self.etag()
    }
}

impl<T, A, Previous> ObjectArgument<Previous> for Locked<T, A>
where
    T: LoadLocked + Permits<View> + Permits<A>,
    A: Action,
    Previous: AsParent<T::Parent> + Sync,
{
    type Key = T::Key;
    type Source = T::Source;

    fn describe(signature: &mut Signature, parameter: &'static str) {
        let object = ObjectDescription::new::<T, A>(KeyOrigin::Parameter(parameter));
        #[cfg(feature = "testing")]
        let object = ObjectDescription { is_locked: true, ..object };
        signature.objects.push(object);
    }

    #[expect(private_interfaces, reason = "only this crate implements it")]
    async fn admit(
        key: &T::Key,
        previous: &Previous,
        source: &T::Source,
        check: &Check,
    ) -> Result<Self, Problem> {
        #[cfg(feature = "testing")]
        if let Some(sample) = samples::current::<T>() {
            check.admit::<T, A>(sample).await?;
            // There is no lock for a sample: the probe runs without its arguments.
            samples::admit();
            return Err(Refusal::Internal.into());
        }
        let (object, lock) = T::load_locked(key, previous.as_parent(), source).await?.unzip();
        let object = check.admit::<T, A>(object).await?;
        let lock = lock.ok_or(Refusal::ObjectNotFound)?;
        Ok(Self { object, lock, action: PhantomData })
    }

    fn tag(&self) -> Option<ETag> {
        self.object.version().map(ETag::version)
    }
}

/// The object argument before an object, as its parent. An object that needs no parent can follow
/// any other.
#[diagnostic::on_unimplemented(
    message = "`{P}`: this object is loaded under its parent, which no argument before it takes (object.parent-missing)",
    label = "its parent is missing",
    note = "take `Allowed<{P}>` as the object before it, with its own path parameter"
)]
pub trait AsParent<P> {
    /// The parent.
    fn as_parent(&self) -> &P;
}

impl<T> AsParent<()> for T {
    fn as_parent(&self) -> &() {
        &()
    }
}

impl<T: Object, A> AsParent<T> for Allowed<T, A> {
    fn as_parent(&self) -> &T {
        &self.object
    }
}

impl<T: LoadLocked, A> AsParent<T> for Locked<T, A> {
    fn as_parent(&self) -> &T {
        &self.object
    }
}

/// Loads and checks the objects of one request.
#[derive(Debug)]
pub struct ObjectGate<S> {
    check: Check,
    /// The conditions of a request that changes something.
    conditions: Option<Box<Conditions>>,
    /// Whether the last object does not meet them.
    is_outdated: bool,
    state: PhantomData<fn() -> S>,
}

impl<S> ObjectGate<S> {
    pub(super) fn clock(&self) -> &Clock {
        &self.check.route.clock
    }

    /// How often the objects of a stream are loaded and checked.
    pub(super) fn interval(&self) -> Duration {
        let stated = self.check.route.description.as_ref().and_then(|it| it.policy.object);
        stated.unwrap_or(ObjectPolicy::NONE).interval()
    }

    /// The same gate after the request is served: preconditions no longer apply, and misses no
    /// longer count as the caller's attempts.
    fn for_stream(self) -> Self {
        let check = Check { misses: None, ..self.check };
        Self { check, conditions: None, ..self }
    }
}

impl<S: Send + Sync + 'static> ObjectGate<S> {
    fn new(call: &Call) -> Result<Self, Refusal> {
        let caller = call.auth.as_ref().map(|auth| auth.user()).transpose()?.flatten().cloned();
        let (method, headers) = (call.request.method(), call.request.headers());
        let conditions = match is_safe(method.as_str()) {
            true => None,
            false => Conditions::read(method, headers),
        };
        let misses = Misses::for_route(&call.route, &call.client);
        let check = Check { route: Arc::clone(&call.route), caller, misses };
        Ok(Self { check, conditions, is_outdated: false, state: PhantomData })
    }

    /// The object with this key, under the one before it.
    ///
    /// # Errors
    ///
    /// The response to a caller who may not have it.
    pub async fn object<O, P>(&mut self, key: O::Key, previous: &P) -> Result<O, Response>
    where
        O: ObjectArgument<P, Source: StatePart<S>>,
        P: Sync,
    {
        let source = match self.check.route.state.downcast_ref::<S>() {
            Some(state) => O::Source::from_ref(state),
            // The compiler has checked that the route has the state type of its app.
            None => return Err(Problem::from(Refusal::Internal).into_response()),
        };
        let admit = O::admit(&key, previous, &source, &self.check);
        let object = self.check.limit(admit).await.map_err(IntoResponse::into_response)?;
        // The conditions are about what the whole path names, and not about its parents.
        self.is_outdated = match &self.conditions {
            Some(conditions) => object.tag().is_some_and(|tag| fails(conditions, tag)),
            None => false,
        };
        Ok(object)
    }
}

/// Whether an object with this tag does not meet the conditions (RFC 9110 13.2.2).
fn fails(conditions: &Conditions, tag: ETag) -> bool {
    let current = Validators { etag: Some(tag.0), last_modified: None };
    conditions.evaluate(Some(&current)) == PreconditionVerdict::Failed
}

/// [`invoke`](crate::handler::invoke) for a handler that takes objects: `check` replaces the keys
/// with the objects before any other argument is extracted.
pub fn invoke_with_objects<S, Via, K, A, R, O, C, Checked, F, Fut>(
    call: &mut Call,
    check: C,
    handler: F,
) -> BoxFuture
where
    S: Send + Sync + 'static,
    K: Parameters,
    A: Arguments<S, Via>,
    R: Respond,
    O: Send + 'static,
    C: Fn(K, ObjectGate<S>) -> Checked + Send + 'static,
    Checked: Future<Output = Result<(O, ObjectGate<S>), Response>> + Send + 'static,
    F: FnOnce(O, A) -> Fut + Send + 'static,
    Fut: Future<Output = R> + Send,
{
    #[cfg(feature = "testing")]
    let probe = match samples::trial() {
        Some(Trial::Skipped(probe)) => return probe(call),
        Some(Trial::Checked(probe, _)) => Some(probe),
        None => None,
    };
    let keys = match K::parse(&call.values, call.request.uri().path()) {
        Ok(keys) => keys,
        Err(invalid) => return reject(call, invalid),
    };
    let gate = match ObjectGate::new(call) {
        Ok(gate) => gate,
        Err(refusal) => return Box::pin(ready(Problem::from(refusal).into_response())),
    };
    let mut call = call.take();
    Box::pin(async move {
        let (objects, gate) = match check(keys, gate).await {
            Ok(checked) => checked,
            Err(refused) => {
                #[cfg(feature = "testing")]
                if let Some(probe) = probe.filter(|_| samples::take_admitted()) {
                    return probe(&mut call).await;
                }
                return refused;
            }
        };
        if gate.is_outdated {
            return Problem::from(Refusal::PreconditionFailed).into_response();
        }
        #[cfg(feature = "testing")]
        if let Some(probe) = probe {
            return probe(&mut call).await;
        }
        let (values, uri) = (call.values, call.request.uri().clone());
        let is_connect = call.request.method() == Method::CONNECT;
        let response = A::call(&mut call, move |arguments| handler(objects, arguments)).await;
        if !lasts(is_connect, &response) {
            return response;
        }
        let keys = move || K::parse(&values, uri.path()).ok();
        end_when(right_ended(gate.for_stream(), keys, check), is_connect, response)
    })
}
