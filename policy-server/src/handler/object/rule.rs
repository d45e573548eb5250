//! What a rule says about a caller and an object.

use std::{
    any::TypeId,
    fmt::{self, Display, Write as _},
    future::{Ready, ready},
    pin::Pin,
    sync::Arc,
};

use futures_util::future::Either;
use policy_core::{
    Refusal,
    object::{Atom, Condition, Field},
};

use super::{
    Action, Object, Permits, View,
    engine::{ObjectSchema, ask},
    misses::Misses,
};
use crate::{auth::principal::Principal, base::problem::Problem, handler::RouteInfo};

/// A use of an object by a handler, as its types state it.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "manifest"), expect(dead_code, reason = "for manifests"))]
pub(crate) struct ObjectDescription {
    /// Its type, since names may be equal.
    pub(crate) id: TypeId,
    pub(crate) name: &'static str,
    pub(crate) action: &'static str,
    pub(crate) key: KeyOrigin,
    pub(crate) rules: &'static [(&'static str, &'static str)],
    /// Their files and lines.
    #[cfg_attr(not(feature = "manifest"), expect(dead_code, reason = "for manifests"))]
    pub(crate) places: &'static [(&'static str, u32)],
    /// The fields that its rules name.
    pub(crate) fields: &'static [Field],
    /// Whether it may have a version.
    #[cfg(feature = "manifest")]
    pub(crate) is_versioned: bool,
    /// Whether it is loaded with a lock.
    #[cfg(feature = "testing")]
    pub(crate) is_locked: bool,
    /// Whether there is a sample with these values.
    #[cfg(feature = "testing")]
    pub(crate) has_sample: fn(u32) -> bool,
    /// The column of its key.
    #[cfg(feature = "testing")]
    pub(crate) key_column: &'static str,
    /// Reads it, if it is a list.
    #[cfg(feature = "testing")]
    pub(crate) list: Option<super::samples::ListProbe>,
}

/// Where the key of an object comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyOrigin {
    Parameter(&'static str),
    Handler,
    List,
}

impl ObjectDescription {
    pub(crate) fn new<T: Object, A: Action>(key: KeyOrigin) -> Self {
        let (id, name, action) = (TypeId::of::<T>(), T::NAME, A::NAME);
        Self {
            id,
            name,
            action,
            key,
            rules: T::RULES,
            places: T::PLACES,
            fields: T::FIELDS,
            #[cfg(feature = "manifest")]
            is_versioned: T::IS_VERSIONED,
            #[cfg(feature = "testing")]
            is_locked: false,
            #[cfg(feature = "testing")]
            has_sample: |values| super::samples::sample::<T>(values, 1).is_some(),
            #[cfg(feature = "testing")]
            key_column: T::KEY,
            #[cfg(feature = "testing")]
            list: None,
        }
    }

    /// The schema that the engine has to know; `None` if no rule asks the engine.
    pub(crate) fn asked_schema(&self) -> Option<ObjectSchema> {
        let schema = ObjectSchema::new(self.name, self.rules, self.fields);
        (!schema.actions.is_empty()).then_some(schema)
    }
}

/// The condition of a rule, from the text that its macro has checked. An invalid text permits
/// nobody.
pub fn condition(text: &str) -> Condition {
    text.parse().unwrap_or(Condition::Any(Vec::new()))
}

/// Whether a value is written as this text.
pub fn is_text_of(value: &impl Display, text: &str) -> bool {
    /// What is left of the text.
    struct Rest<'a>(&'a str);

    impl fmt::Write for Rest<'_> {
        fn write_str(&mut self, part: &str) -> fmt::Result {
            self.0 = self.0.strip_prefix(part).ok_or(fmt::Error)?;
            Ok(())
        }
    }

    let mut rest = Rest(text);
    write!(rest, "{value}").is_ok() && rest.0.is_empty()
}

/// `Err` says whether the caller may do this with the object; `Ok` is the part of the condition
/// that the engine decides.
pub(super) fn undecided<T: Permits<A>, A: Action>(
    caller: Option<&Principal>,
    object: &T,
) -> Result<Condition, bool> {
    T::condition().reduced(&mut |atom| match (atom, caller) {
        (Atom::Engine, Some(_)) => None,
        _ => Some(holds(atom, caller, object)),
    })
}

fn holds<T: Object>(atom: &Atom, caller: Option<&Principal>, object: &T) -> bool {
    decide_by_caller(atom, caller).unwrap_or_else(|| match (atom, caller) {
        (Atom::Flag(field), _) => object.flag(field),
        (Atom::With(function), Some(caller)) => object.decide(function, caller),
        (atom, Some(caller)) => {
            required_name(atom, caller).is_some_and(|(field, name)| object.names(field, name))
        }
        (_, None) => false,
    })
}

/// The value of a statement, if it is the same for all objects of a type.
pub(super) fn decide_by_caller(atom: &Atom, caller: Option<&Principal>) -> Option<bool> {
    match (atom, caller) {
        (Atom::Anyone, _) => Some(true),
        (Atom::Flag(_), _) => None,
        (_, None) => Some(false),
        (Atom::Authenticated, Some(_)) => Some(true),
        (Atom::Role(role), Some(caller)) => Some(caller.has_role(role)),
        (Atom::Scope(scope), Some(caller)) => Some(caller.has_scope(scope)),
        (_, Some(_)) => None,
    }
}

/// The field that a statement is about, and the user or tenant that it has to name. `None` for
/// other statements, and for a caller without a name or tenant, which no field names.
pub(super) fn required_name<'a>(
    atom: &'a Atom,
    caller: &'a Principal,
) -> Option<(&'a str, &'a str)> {
    let (field, name) = match atom {
        Atom::Owner(field) | Atom::Member(field) => (field, caller.subject()),
        Atom::SameTenant(field) => (field, caller.tenant()?),
        _ => return None,
    };
    (!name.is_empty()).then_some((field, name))
}

/// An object that the handler gets, or the response in its place.
type Admission<'a, T> = Either<
    Ready<Result<T, Problem>>,
    Pin<Box<dyn Future<Output = Result<T, Problem>> + Send + 'a>>,
>;

/// Decides about an object that was loaded.
#[derive(Debug)]
pub(super) struct Check {
    pub(super) route: Arc<RouteInfo>,
    pub(super) caller: Option<Principal>,
    pub(super) misses: Option<Misses>,
}

impl Check {
    /// Loads an object, unless the caller has had too many misses.
    pub(super) async fn limit<O>(
        &self,
        load: impl Future<Output = Result<O, Problem>>,
    ) -> Result<O, Problem> {
        match &self.misses {
            None => load.await,
            Some(misses) => misses.limit(self.caller.as_ref(), load).await,
        }
    }

    /// The object, if the handler gets it. Only an engine is awaited, and its future is boxed, so
    /// that handlers without an engine keep no space for it.
    pub(super) fn admit<T, A>(&self, object: Option<T>) -> Admission<'_, T>
    where
        T: Permits<View> + Permits<A>,
        A: Action,
    {
        let Some(object) = object else {
            return Either::Left(ready(Err(Refusal::ObjectNotFound.into())));
        };
        let caller = self.caller.as_ref();
        let view = undecided::<T, View>(caller, &object);
        let action = match &view {
            _ if TypeId::of::<A>() == TypeId::of::<View>() => Err(true),
            Err(false) => Err(false),
            _ => undecided::<T, A>(caller, &object),
        };
        match (view, action) {
            (Err(is_visible), Err(is_permitted)) => {
                Either::Left(ready(Self::verdict(object, is_visible, is_permitted)))
            }
            (view, action) => Either::Right(Box::pin(async move {
                let is_visible = self.answer::<T, View>(&object, view).await?;
                let is_permitted = match is_visible {
                    true => self.answer::<T, A>(&object, action).await?,
                    false => false,
                };
                Self::verdict(object, is_visible, is_permitted)
            })),
        }
    }

    /// The value of a condition; asks the engine if that decides.
    async fn answer<T: Object, A: Action>(
        &self,
        object: &T,
        condition: Result<Condition, bool>,
    ) -> Result<bool, Refusal> {
        match condition {
            Err(value) => Ok(value),
            Ok(left) => {
                let (engine, caller) = (self.route.engine.as_deref(), self.caller.as_ref());
                let decision = ask::<T, A>(engine, caller, object).await?;
                Ok(left.holds(&mut |_| decision))
            }
        }
    }

    /// The object, if its rules permit it. An object that the caller may not view counts as
    /// missing.
    fn verdict<T>(object: T, is_visible: bool, is_permitted: bool) -> Result<T, Problem> {
        if !is_visible {
            return Err(Refusal::ObjectNotFound.into());
        }
        if !is_permitted {
            return Err(Refusal::ObjectDenied.into());
        }
        Ok(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_its_whole_text() {
        assert!(is_text_of(&17, "17") && is_text_of(&"ada", "ada"));
        for text in ["1", "170", "017", "", "17 "] {
            assert!(!is_text_of(&17, text), "{text}");
        }
    }

    #[test]
    fn a_text_that_is_no_condition_permits_nobody() {
        assert!(!condition("owner(").holds(&mut |_| true));
    }
}
