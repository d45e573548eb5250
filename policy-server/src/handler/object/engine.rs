//! Policy engines, which decide where the rule of an object says `engine`.

use std::{fmt, pin::Pin};

use axum_core::BoxError;
use policy_core::{
    Refusal,
    object::{Condition, Field},
};

use super::{Action, Object};
use crate::{
    auth::principal::Principal,
    base::{escape::printable, event::log},
};

/// A policy engine. It decides about objects whose rule says `engine`, such as
/// `#[rule(Edit = owner | engine)]`.
///
/// [`App::engine`](crate::App::engine) registers it. It is asked only if the rest of the rule does
/// not decide, once per object and action, and only about callers with a name. The package
/// `policy-cedar` has an engine for Cedar policies.
///
/// ```
/// use policy_server::{
///     object::{EngineDecision, ObjectEngine, Lookup, ObjectSchema, Question},
///     prelude::*,
/// };
///
/// /// Members of the support may do what the owner may.
/// struct Support;
///
/// impl ObjectEngine for Support {
///     fn name(&self) -> &str {
///         "support"
///     }
///
///     fn digest(&self) -> String {
///         "1".to_owned()
///     }
///
///     fn validate(&self, objects: &[ObjectSchema]) -> Vec<String> {
///         let unknown = objects.iter().filter(|object| object.name != "Order");
///         unknown.map(|object| format!("no policy is about `{}`", object.name)).collect()
///     }
///
///     fn decide<'a>(&'a self, question: Question<'a>) -> EngineDecision<'a> {
///         Box::pin(async move { Ok(question.caller.has_role("support")) })
///     }
/// }
///
/// #[derive(Object)]
/// #[rule(View = owner | engine)]
/// struct Order {
///     #[object(key)]
///     id: u64,
///     #[object(owner)]
///     customer: String,
/// }
///
/// impl Load for Order {
///     type Source = ();
///
///     async fn load(id: &u64, _: &(), _: &()) -> Result<Option<Self>, Problem> {
///         Ok(Some(Self { id: *id, customer: "ada".to_owned() }))
///     }
/// }
///
/// #[get("/orders/{id}")]
/// #[auth(session)]
/// async fn show(order: Allowed<Order>) -> String {
///     order.id.to_string()
/// }
///
/// let app = || App::new(()).sessions(Sessions::memory()).routes(routes![show]);
/// assert!(app().engine(Support).check().is_ok());
/// assert!(app().check().unwrap_err().to_string().contains("object.engine-missing"));
/// ```
pub trait ObjectEngine: Send + Sync + 'static {
    /// Its name in manifests, such as `cedar`.
    fn name(&self) -> &str;

    /// The digest or the version of its policies. It is part of the manifest, so that a change of
    /// the policies is reviewed like a change of a rule.
    fn digest(&self) -> String;

    /// The problems of its policies with these objects, each with the policy that it is about;
    /// empty if the engine can decide. The app does not start with problems.
    ///
    /// It must not block: a remote engine loads what it needs for this before it is registered.
    fn validate(&self, objects: &[ObjectSchema]) -> Vec<String>;

    /// Whether the caller may do this.
    ///
    /// # Errors
    ///
    /// The engine cannot decide. The request gets 503 `object.engine-unavailable`, and the log has the error
    /// (`object.engine-failed`).
    fn decide<'a>(&'a self, question: Question<'a>) -> EngineDecision<'a>;
}

/// The decision of an [`ObjectEngine`], as a future.
pub type EngineDecision<'a> = Pin<Box<dyn Future<Output = Result<bool, BoxError>> + Send + 'a>>;

/// A type of objects with rules that ask the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectSchema {
    /// The name of the object.
    pub name: &'static str,
    /// The actions whose rules ask the engine.
    pub actions: Vec<&'static str>,
    /// The fields that are passed to the engine, besides the key.
    pub fields: &'static [Field],
}

impl ObjectSchema {
    /// The schema of a type of objects, for tests of an engine and for its tools.
    pub fn for_type<T: Object>() -> Self {
        Self::new(T::NAME, T::RULES, T::FIELDS)
    }

    pub(super) fn new(
        name: &'static str,
        rules: &[(&'static str, &'static str)],
        fields: &'static [Field],
    ) -> Self {
        let asks = |text: &str| text.parse().is_ok_and(|rule: Condition| rule.asks_engine());
        let actions = rules.iter().filter(|(_, text)| asks(text)).map(|(action, _)| *action);
        Self { name, actions: actions.collect(), fields }
    }
}

/// What an [`ObjectEngine`] decides: whether this caller may do this with this object.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Question<'a> {
    /// The caller, whose name is not empty.
    pub caller: &'a Principal,
    /// The name of the action, such as `edit`.
    pub action: &'static str,
    /// The name of the object, such as `Order`.
    pub object: &'static str,
    /// Its key as text, and its fields.
    pub facts: &'a ObjectFacts,
}

/// The facts that an [`ObjectEngine`] gets about an object. `#[derive(Object)]` generates them for
/// objects whose rules ask an engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectFacts {
    /// The key.
    pub key: String,
    /// The fields that are marked as `owner`, `tenant`, `members` or `flag`, by name.
    pub fields: Vec<(&'static str, FieldValue)>,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldValue {
    /// The owner; `None` if there is none.
    User(Option<String>),
    /// The users who have a relation to the object.
    Users(Vec<String>),
    /// The tenant; `None` if there is none.
    Tenant(Option<String>),
    /// Whether something is true.
    Flag(bool),
}

/// Asks the engine about an object.
pub(super) async fn ask<T: Object, A: Action>(
    engine: Option<&dyn ObjectEngine>,
    caller: Option<&Principal>,
    object: &T,
) -> Result<bool, Refusal> {
    let Some(caller) = caller.filter(|caller| !caller.subject().is_empty()) else {
        return Ok(false);
    };
    let facts = object.facts();
    let question = Question { caller, action: A::NAME, object: T::NAME, facts: &facts };
    let decision = match engine {
        Some(engine) => engine.decide(question).await,
        // An app whose rules ask an engine does not start without one.
        None => Err("the app has no engine".into()),
    };
    decision.map_err(|error| {
        let text = error.to_string();
        let (object, action) = (T::NAME, A::NAME);
        log!(EngineFailed, object = %object, action = %action, error = %printable(&text));
        Refusal::EngineUnavailable
    })
}

impl fmt::Debug for dyn ObjectEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectEngine").field("name", &self.name()).finish_non_exhaustive()
    }
}
