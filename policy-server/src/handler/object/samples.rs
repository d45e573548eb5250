//! Sample objects: the laws of a proof replace loaded objects and handlers, and run the real rules.

use std::cell::Cell;

use http::request::Parts;
use policy_core::object::FieldKind;

use super::{Object, Predicate, Sample};
use crate::handler::{BoxFuture, Call, extract::ContextRejection};

/// Replaces a handler that takes objects.
pub(crate) type Probe = fn(&mut Call) -> BoxFuture;

/// How a proof treats the objects of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trial {
    /// They are not checked: the law is about something else.
    Skipped(Probe),
    /// This one is checked in their place.
    Checked(Probe, SampleObject),
}

/// The object that a request finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SampleObject {
    /// None.
    Missing,
    /// One with these values for the caller with this number: bit `n` says whether field `n` names the
    /// caller or their tenant, or is set.
    Present { values: u32, caller: u64 },
}

/// A list that is read in place of a handler that takes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListTrial {
    pub(crate) probe: ListProbe,
    /// The number that samples name as their caller.
    pub(crate) caller: u64,
    /// The number of samples; their values count up from zero.
    pub(crate) samples: u32,
}

/// Takes a list from a request as its handler does, and asks it about samples.
pub(crate) type ListProbe = fn(&Parts, ListTrial) -> Result<ListAnswers, ContextRejection>;

/// The answers of a list about samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListAnswers {
    /// Whether it contains each sample, by its filter in memory.
    pub(crate) contained: Vec<bool>,
    /// Its predicate.
    pub(crate) predicate: Predicate,
    /// Its predicate for [`ALIAS`], with placeholders from [`FIRST`] on.
    pub(crate) of_alias: Predicate,
}

pub(crate) const ALIAS: &str = "policy_probe";
pub(crate) const FIRST: usize = 3;

/// The tenant of all callers of a proof. Users and tenants are named by numbers, which also fit in
/// numeric fields.
pub(crate) const TENANT: u64 = 70;
const OTHER_TENANT: u64 = 71;
/// A number that no caller has.
const STRANGER: u64 = 0;

thread_local! {
    static TRIAL: Cell<Option<Trial>> = const { Cell::new(None) };
    /// Whether the last object was admitted, but has no lock and so cannot be an argument.
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

/// The object that replaces a loaded one, if this is a proof.
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
        sample_name(is_tenant, is_set(field), caller).to_string()
    };
    T::sample(Sample { name: &name, flag: &is_set })
}

/// The user or tenant that a field of a sample names.
pub(crate) fn sample_name(is_tenant: bool, is_set: bool, caller: u64) -> u64 {
    match (is_tenant, is_set) {
        (true, true) => TENANT,
        (true, false) => OTHER_TENANT,
        (false, true) => caller,
        (false, false) => STRANGER,
    }
}
