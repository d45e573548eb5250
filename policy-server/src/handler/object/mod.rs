//! Rights on objects: a handler takes the object that its path names, and gets it only if its rules
//! permit the caller.
//!
//! The identifier never reaches the handler, which therefore cannot forget the check or check a
//! different object than the one it uses.
//!
//! ```
//! use std::{collections::BTreeMap, sync::Arc};
//! use policy_server::prelude::*;
//!
//! /// What the app stores; usually a pool of connections to a database.
//! #[derive(Clone)]
//! struct Orders(Arc<BTreeMap<u64, Order>>);
//!
//! #[derive(Clone, Object)]
//! #[rule(View = owner | same(tenant))]
//! #[rule(Edit = owner | same(tenant) & role("lead"))]
//! struct Order {
//!     #[object(key)]
//!     id: u64,
//!     #[object(owner)]
//!     customer: String,
//!     #[object(tenant)]
//!     company: String,
//!     note: String,
//! }
//!
//! impl Load for Order {
//!     type Source = Orders;
//!
//!     async fn load(id: &u64, _: &(), orders: &Orders) -> Result<Option<Self>, Problem> {
//!         Ok(orders.0.get(id).cloned())
//!     }
//! }
//!
//! #[get("/orders/{id}")]
//! #[auth(session)]
//! async fn show(order: Allowed<Order>) -> String {
//!     order.note.clone()
//! }
//!
//! #[put("/orders/{id}")]
//! #[auth(session)]
//! async fn change(order: Allowed<Order, Edit>, note: String) -> String {
//!     format!("{}: {note}", order.id)
//! }
//!
//! # #[post("/login/{name}")]
//! # #[auth(public)]
//! # async fn login(name: String, sessions: Sessions) -> Result<(), CredentialError> {
//! #     sessions.login(name).await
//! # }
//! # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
//! # runtime.block_on(async {
//! let order = Order { id: 7, customer: "ada".into(), company: "a".into(), note: "lamp".into() };
//! let orders = Orders(Arc::new(BTreeMap::from([(7, order)])));
//! let app = App::new(orders).sessions(Sessions::memory()).routes(routes![login, show, change]);
//! let client = app.test();
//! # let log_in = async |name| {
//! #     let response = client.post(&format!("/login/{name}")).origin("http://localhost").send().await;
//! #     let (cookie, _) = response.header("set-cookie").unwrap().split_once(';').unwrap();
//! #     cookie.to_owned()
//! # };
//! # let [ada, eve] = [log_in("ada").await, log_in("eve").await];
//! # let get = |path, cookie| client.get(path).header("cookie", cookie).send();
//! assert_eq!(get("/orders/7", &ada).await.text(), "lamp");
//! // As if there were none.
//! assert_eq!(get("/orders/7", &eve).await.status(), 404);
//! assert_eq!(get("/orders/8", &eve).await.status(), 404);
//! # });
//! ```
//!
//! A route whose caller may be known does not compile if it takes a path parameter without a check,
//! unless it states why no object is needed: [`object`](macro@crate::object).

mod allowed;
mod engine;
mod lookup;
mod misses;
mod recheck;
mod rule;
#[cfg(feature = "testing")]
pub(crate) mod samples;
mod scope;

use policy_core::object::Condition;
pub use policy_core::object::{Field, FieldKind, Relation};

pub use allowed::{Allowed, Locked};
#[doc(hidden)]
pub use allowed::{AsParent, ObjectArgument, ObjectGate, invoke_with_objects};
pub use engine::{EngineDecision, FieldValue, ObjectEngine, ObjectFacts, ObjectSchema, Question};
pub use lookup::Lookup;
pub(crate) use misses::MissRate;
#[cfg(feature = "manifest")]
pub(crate) use rule::KeyOrigin;
pub(crate) use rule::ObjectDescription;
#[doc(hidden)]
pub use rule::{condition, is_text_of};
pub use scope::{Predicate, PredicateValue, Scope};

use crate::{auth::principal::Principal, base::problem::Problem, handler::parameters::FromParam};

/// An object of an app with its rules. `#[derive(Object)]` implements it: see
/// [`Object`](macro@crate::Object).
#[diagnostic::on_unimplemented(
    message = "`{Self}`: this is not an object with rules",
    label = "this type has no rules",
    note = "write `#[derive(Object)]` and `#[rule(View = ..)]` at `{Self}`"
)]
pub trait Object: Sized + Send + Sync + 'static {
    /// The type of its key in paths.
    type Key: FromParam + Send + Sync + 'static;

    /// The object under which it is loaded; `()` if there is none.
    type Parent: Send + Sync + 'static;

    /// Its name in manifests.
    const NAME: &'static str;

    /// The column of its key.
    const KEY: &'static str;

    /// The fields that its rules name.
    const FIELDS: &'static [Field];

    /// Its actions, with the text of their rules.
    const RULES: &'static [(&'static str, &'static str)];

    /// The places of these rules: a file and a line for each; empty if they are not known.
    const PLACES: &'static [(&'static str, u32)] = &[];

    /// Whether it may have a [`version`](Self::version).
    const IS_VERSIONED: bool = false;

    /// Whether a field is, or contains, the name of a user or a tenant.
    fn names(&self, field: &str, name: &str) -> bool;

    /// Whether a flag is set.
    fn flag(&self, field: &str) -> bool;

    /// Whether a function of the app permits an action.
    fn decide(&self, function: &str, caller: &Principal) -> bool;

    /// The facts for an [`ObjectEngine`], if one of its rules asks one.
    fn facts(&self) -> ObjectFacts {
        ObjectFacts::default()
    }

    /// The version that `If-Match` is compared with, if it has one.
    fn version(&self) -> Option<u64> {
        None
    }

    /// An object with these values in the fields that its rules name, for tests; `None` if one of them
    /// cannot have such a value.
    fn sample(values: Sample<'_>) -> Option<Self>;
}

/// The values of an object for tests.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Sample<'a> {
    /// The user or tenant that a field names; a field for several users has only this one.
    pub name: &'a dyn Fn(&str) -> String,
    /// The value of a flag.
    pub flag: &'a dyn Fn(&str) -> bool,
}

impl std::fmt::Debug for Sample<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sample")
    }
}

/// Something that callers do with objects: a type, so that a misspelt action does not compile.
///
/// ```
/// use policy_server::object::Action;
///
/// /// Closes an order.
/// struct Close;
///
/// impl Action for Close {
///     const NAME: &'static str = "close";
/// }
/// ```
pub trait Action: Send + Sync + 'static {
    /// Its name in manifests: small letters and underscores.
    const NAME: &'static str;
}

macro_rules! actions {
    ($($(#[$doc:meta])* $Name:ident $name:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub enum $Name {}

        impl Action for $Name {
            const NAME: &'static str = $name;
        }
    )*};
}

actions! {
    /// Seeing an object, and that it exists. Each object has a rule for it: callers who may not view an
    /// object get the same response as if there were none.
    View "view";
    /// Changing an object.
    Edit "edit";
    /// Deleting an object.
    Delete "delete";
}

/// An object with a rule for an action. `#[rule(..)]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{A}`: the object has no rule for this action (object.rule-missing)",
    label = "no rule says which callers may do this",
    note = "write `#[rule({A} = ..)]` at `{Self}`, such as `#[rule({A} = owner)]`"
)]
pub trait Permits<A: Action>: Object {
    /// The condition.
    fn condition() -> &'static Condition;
}

/// An object whose rule for an action uses only data in a database, so that the rule can filter
/// lists.
#[diagnostic::on_unimplemented(
    message = "`{A}`: no list can be filtered by the object's rule for this action (object.list-opaque)",
    label = "the rule has `with(..)` or `engine`, or members without a table, or is missing",
    note = "write the rule without `with(..)` and `engine`, and `table = \"..\", object = \"..\", user = \"..\"` at the field of members",
    note = "or take each object by itself as `Allowed<{Self}, {A}>`"
)]
pub trait PermitsByData<A: Action>: Permits<A> {}

/// An object that can be loaded by its key.
///
/// For an object under a parent, `#[object(parent = Team)]`, [`load`](Load::load) gets the parent,
/// which was loaded before it, and must not return an object of another parent.
#[diagnostic::on_unimplemented(
    message = "`{Self}`: nothing says how this object is loaded",
    label = "this object cannot be loaded",
    note = "implement `policy_server::Load` for `{Self}`"
)]
pub trait Load: Object {
    /// The part of the app's state that it is loaded from.
    type Source: Send + Sync + 'static;

    /// Loads the object with this key; `None` if there is none.
    ///
    /// # Errors
    ///
    /// The response to the client if the object cannot be loaded, such as
    /// [`Problem::internal`](crate::Problem::internal).
    fn load(
        key: &Self::Key,
        parent: &Self::Parent,
        source: &Self::Source,
    ) -> impl Future<Output = Result<Option<Self>, Problem>> + Send;
}

/// An object that can be loaded together with a lock or in a transaction, so that it does not
/// change between the check and the update: see [`Locked`].
#[diagnostic::on_unimplemented(
    message = "`{Self}`: nothing says how this object is locked",
    label = "this object cannot be loaded in a transaction",
    note = "implement `policy_server::object::LoadLocked` for `{Self}`, or take `Allowed` in place of `Locked`"
)]
pub trait LoadLocked: Load {
    /// The transaction, which is rolled back when it is dropped.
    type Lock: Send + 'static;

    /// Loads the object with this key, and keeps others from changing it until the lock is dropped; for
    /// instance by `BEGIN IMMEDIATE` in SQLite, and by `SELECT .. FOR UPDATE` in PostgreSQL. What a rule
    /// reads from other rows, such as members, needs a lock as well.
    ///
    /// # Errors
    ///
    /// As in [`Load::load`].
    fn load_locked(
        key: &Self::Key,
        parent: &Self::Parent,
        source: &Self::Source,
    ) -> impl Future<Output = Result<Option<(Self, Self::Lock)>, Problem>> + Send;
}
