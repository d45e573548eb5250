//! Objects of a proof: the laws replace what is loaded, and the handler, but not the rules.

use std::cell::Cell;

use super::{Object, Sample};
use crate::handler::{BoxFuture, Call};

/// What replaces a handler that takes objects.
pub(crate) type Probe = fn(&mut Call) -> BoxFuture;

/// What happens to the objects of a request in a proof.
#[derive(Clone, Copy)]
pub(crate) enum Trial {
    /// They are not checked: the law is about something else.
    Skipped(Probe),
    /// The sample is checked in their place.
    Sampled(Probe),
}

/// The object that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SampleObject {
    /// None.
    Missing,
    /// One with these values: bit `n` says whether the field `n` names the caller, or the flag is set.
    Present(u32),
}

/// The users and tenants of samples. They are numbers, so that fields of numbers can name them.
pub(crate) const CALLER: &str = "7001";
pub(crate) const OTHER: &str = "7002";

thread_local! {
    static TRIAL: Cell<Option<Trial>> = const { Cell::new(None) };
    static SAMPLE: Cell<SampleObject> = const { Cell::new(SampleObject::Missing) };
}

/// Sets what replaces the handlers and objects of requests on this thread.
pub(crate) fn set(trial: Option<Trial>, sample: SampleObject) {
    TRIAL.set(trial);
    SAMPLE.set(sample);
}

pub(crate) fn trial() -> Option<Trial> {
    TRIAL.get()
}

/// The object in place of one that is loaded, if this is a proof.
pub(super) fn of<T: Object>() -> Option<Option<T>> {
    trial()?;
    Some(match SAMPLE.get() {
        SampleObject::Missing => None,
        SampleObject::Present(values) => sample(values),
    })
}

/// The sample with these values; `None` if the type has none.
pub(crate) fn sample<T: Object>(values: u32) -> Option<T> {
    let is_set = |name: &str| {
        let position = T::FIELDS.iter().position(|field| field.name == name);
        position.is_some_and(|position| values >> position & 1 == 1)
    };
    T::sample(Sample {
        name: &|field| if is_set(field) { CALLER } else { OTHER }.to_owned(),
        flag: &is_set,
    })
}
