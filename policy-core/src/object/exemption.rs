//! `#[object(none = "..")]`: path parameters that are taken without an object.

use crate::catalogue::Rule;

/// The reason for which a route takes path parameters without an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObjectExemption(&'static str);

impl ObjectExemption {
    /// An exemption for this reason.
    ///
    /// # Panics
    ///
    /// If the reason is empty; the attribute checks that first.
    ///
    /// ```
    /// use policy_core::object::ObjectExemption;
    ///
    /// const BOARDS: ObjectExemption = ObjectExemption::new("every member may read every board");
    /// assert_eq!(BOARDS.reason(), "every member may read every board");
    /// ```
    #[expect(clippy::panic, reason = "a const panic is how a constant says that it is wrong")]
    pub const fn new(reason: &'static str) -> Self {
        match check_reason(reason) {
            Ok(()) => Self(reason),
            Err(_) => panic!("`object` policy: the reason is missing"),
        }
    }

    /// The reason.
    pub const fn reason(&self) -> &'static str {
        self.0
    }
}

/// Validates the reason of an exemption: it is for a reviewer, so it is not empty.
///
/// # Errors
///
/// [`Rule::ObjectReasonMissing`].
pub const fn check_reason(reason: &str) -> Result<(), Rule> {
    if reason.trim_ascii().is_empty() { Err(Rule::ObjectReasonMissing) } else { Ok(()) }
}

#[cfg(feature = "engine")]
impl crate::facet::FromSpec for ObjectExemption {
    type Spec = Self;

    fn from_spec(spec: Self) -> Result<Self, crate::Violation<'static, &'static str>> {
        Ok(spec)
    }
}

#[cfg(feature = "engine")]
impl crate::facet::FacetPolicy for ObjectExemption {
    type Compiled = Self;

    fn compile(&self) -> Self {
        *self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_not_empty() {
        assert_eq!(check_reason("public boards"), Ok(()));
        assert_eq!(check_reason(" \t"), Err(Rule::ObjectReasonMissing));
    }
}
