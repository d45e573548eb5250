//! Objects of a proof: its laws replace loaded objects and handlers, and run the real rules.

use std::cell::Cell;

use policy_core::object::FieldKind;

use super::{Object, Sample};
use crate::handler::{BoxFuture, Call};

/// What replaces a handler that takes objects.
pub(crate) type Probe = fn(&mut Call) -> BoxFuture;

/// What happens to the objects of a request in a proof.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trial {
    /// They are not checked: the law is about something else.
    Skipped(Probe),
    /// This one is checked in their place.
    Checked(Probe, SampleObject),
}

/// The object that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SampleObject {
    /// None.
    Missing,
    /// One with these values for the caller with this number: bit `n` says whether field `n` names the
    /// caller or their tenant, or is set.
    Present { values: u32, caller: u64 },
}

/// The tenant of all callers of a proof. Users and tenants have numbers as names, which fit in numeric
/// fields too.
pub(crate) const TENANT: u64 = 70;
const OTHER_TENANT: u64 = 71;
/// A number that no caller has.
const STRANGER: u64 = 0;

thread_local! {
    static TRIAL: Cell<Option<Trial>> = const { Cell::new(None) };
    /// Whether the last object was admitted, and has no lock with which it could be an argument.
    static ADMITTED: Cell<bool> = const { Cell::new(false) };
}

/// Sets what replaces the handlers and objects of requests on this thread.
pub(crate) fn set(trial: Option<Trial>) {
    TRIAL.set(trial);
}

/// Notes that the caller may have an object that is loaded with a lock.
pub(super) fn admit() {
    ADMITTED.set(true);
}

pub(super) fn take_admitted() -> bool {
    ADMITTED.take()
}

pub(super) fn trial() -> Option<Trial> {
    TRIAL.get()
}

/// The object in place of one that is loaded, if this is a proof.
pub(super) fn current<T: Object>() -> Option<Option<T>> {
    match trial()? {
        Trial::Skipped(_) => None,
        Trial::Checked(_, SampleObject::Missing) => Some(None),
        Trial::Checked(_, SampleObject::Present { values, caller }) => Some(sample(values, caller)),
    }
}

/// The sample with these values; `None` if the type has none.
pub(super) fn sample<T: Object>(values: u32, caller: u64) -> Option<T> {
    let find = |name: &str| T::FIELDS.iter().enumerate().find(|(_, field)| field.name == name);
    let is_set = |name: &str| find(name).is_some_and(|(position, _)| values >> position & 1 == 1);
    let name = |field: &str| {
        let is_tenant = find(field).is_some_and(|(_, field)| field.kind == FieldKind::Tenant);
        let number = match (is_tenant, is_set(field)) {
            (true, true) => TENANT,
            (true, false) => OTHER_TENANT,
            (false, true) => caller,
            (false, false) => STRANGER,
        };
        number.to_string()
    };
    T::sample(Sample { name: &name, flag: &is_set })
}
