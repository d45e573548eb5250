//! Objects whose keys do not come from the path.

use std::{marker::PhantomData, sync::Arc};

use axum_core::extract::{FromRef, FromRequestParts};
use http::request::Parts;

use super::{
    Action, Allowed, Load, Permits, View,
    misses::Misses,
    rule::{Check, KeyOrigin, ObjectDescription},
};
use crate::{
    base::problem::Problem,
    handler::{
        describe::{Signature, Takes},
        extract::{Context, ContextRejection, user},
    },
};

/// Loads and checks objects whose keys the handler reads, for instance from a body.
///
/// ```
/// # use policy_server::{extract::Json, prelude::*};
/// # #[derive(Object)]
/// # #[rule(View = owner)]
/// # struct Order { #[object(key)] id: u64, #[object(owner)] user: String }
/// # impl Load for Order {
/// #     type Source = ();
/// #     async fn load(_: &u64, _: &(), _: &()) -> Result<Option<Self>, Problem> { Ok(None) }
/// # }
/// use policy_server::object::Lookup;
///
/// /// Copies an order that the caller may view.
/// #[post("/orders")]
/// #[auth(session)]
/// async fn copy(orders: Lookup<Order>, Json(id): Json<u64>) -> Result<String, Problem> {
///     let order = orders.get(&id).await?;
///     Ok(format!("a copy of {}", order.id))
/// }
/// ```
pub struct Lookup<T: Load, A = View> {
    source: T::Source,
    check: Check,
    action: PhantomData<fn() -> A>,
}

impl<T: Load, A> std::fmt::Debug for Lookup<T, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lookup").field("object", &T::NAME).finish_non_exhaustive()
    }
}

impl<T, A> Lookup<T, A>
where
    T: Load + Permits<View> + Permits<A>,
    A: Action,
{
    /// The object with this key.
    ///
    /// # Errors
    ///
    /// 404 `object.not-found`, 403 `object.denied`, 429 `limit.misses` and 503
    /// `object.engine-unavailable`, as for [`Allowed`]; and the errors of [`Load::load`].
    pub async fn get(&self, key: &T::Key) -> Result<Allowed<T, A>, Problem>
    where
        T: Load<Parent = ()>,
    {
        self.get_under(&(), key).await
    }

    /// The object with this key, under its parent.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    pub async fn get_under(
        &self,
        parent: &T::Parent,
        key: &T::Key,
    ) -> Result<Allowed<T, A>, Problem> {
        let admit = async {
            let object = T::load(key, parent, &self.source).await?;
            self.check.admit::<T, A>(object).await.map(Allowed::new)
        };
        self.check.limit(admit).await
    }
}

impl<S, T, A> FromRequestParts<S> for Lookup<T, A>
where
    S: Send + Sync,
    T: Load<Source: FromRef<S>>,
    A: Action,
{
    type Rejection = ContextRejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ContextRejection> {
        let caller = user(parts)?;
        let context = Context::from_extensions(&parts.extensions)?;
        let misses = Misses::for_route(&context.route, &context.client);
        let check = Check { route: Arc::clone(&context.route), caller, misses };
        Ok(Self { source: T::Source::from_ref(state), check, action: PhantomData })
    }
}

impl<T: Load, A: Action> Takes for Lookup<T, A> {
    fn describe(signature: &mut Signature) {
        signature.objects.push(ObjectDescription::new::<T, A>(KeyOrigin::Handler));
    }
}

#[cfg(feature = "openapi")]
impl<T: Load, A: Action> crate::handler::describe::TypedTakes for Lookup<T, A> {
    fn describe(_: &mut Signature) {}
}
