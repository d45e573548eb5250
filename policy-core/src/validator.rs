//! Applying the rules of every facet: one entry at a time, so that the compiler can evaluate them
//! in constants, while all other callers get every violation at once.

use crate::{
    catalogue::{Rule, Severity},
    const_text::ConstText,
    grammar::eq,
};

/// The parts of a policy; no other crate can name it.
pub trait PolicyPart {
    /// The name in the attribute.
    fn name(self) -> &'static str;
}

/// One entry of a policy that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation<'a, P> {
    /// The rule.
    pub rule: Rule,
    /// The part of the policy.
    pub part: P,
    /// The index of the entry in that part, from 0.
    pub index: usize,
    /// The entry itself; empty if a part is missing or is not text.
    pub value: &'a str,
}

impl<'a, P> Violation<'a, P> {
    /// Whether the rule refuses the policy.
    pub const fn is_error(&self) -> bool {
        matches!(self.rule.severity(), Severity::Error)
    }

    /// The same violation, with the name of its part.
    pub fn into_named(self) -> Violation<'a, &'static str>
    where
        P: PolicyPart,
    {
        let Self { rule, part, index, value } = self;
        Violation { rule, part: part.name(), index, value }
    }

    /// The violation as text: `cors policy: origins #2 `null`: ..`. If the part is the policy as a
    /// whole, its name is not repeated.
    pub(crate) const fn words(
        &self,
        policy: &str,
        part: &str,
        is_list: bool,
        help: &str,
    ) -> ConstText {
        let mut text = ConstText::new(policy).text(" policy");
        if !eq(policy.as_bytes(), part.as_bytes()) {
            text = text.text(": ").text(part);
        }
        if is_list && !self.value.is_empty() {
            text = text.text(" #").number(self.index + 1);
        }
        if !self.value.is_empty() {
            text = text.text(" `").text(self.value).text("`");
        }
        text.rule(self.rule, help)
    }
}

/// Defines the parts of one policy: `Name = "as it is written"`, with `[..]` after a list.
macro_rules! parts {
    (
        $(#[$about:meta])*
        $parts:ident: $policy:literal {
            $($(#[$doc:meta])* $part:ident = $name:literal $([$list:tt])?,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $parts {
            $($(#[$doc])* $part,)*
        }

        impl $parts {
            /// Every part, in the order in which violations are reported.
            pub const ALL: &'static [Self] = &[$(Self::$part),*];

            /// The name in the attribute.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$part => $name,)*
                }
            }

            const fn is_list(self) -> bool {
                match self {
                    $(Self::$part => $crate::validator::parts!(@is_list $($list)?),)*
                }
            }
        }

        impl $crate::validator::PolicyPart for $parts {
            fn name(self) -> &'static str {
                self.name()
            }
        }

        impl $crate::Violation<'_, $parts> {
            /// The violation as text for a panic in a constant: policy, part, value, message, code
            /// and, on a separate line, the fix.
            pub const fn text(&self) -> $crate::ConstText {
                self.text_with_help(self.rule.help())
            }

            /// The same text with another fix.
            pub(crate) const fn text_with_help(&self, help: &str) -> $crate::ConstText {
                self.words($policy, self.part.name(), self.part.is_list(), help)
            }
        }
    };
    (@is_list ..) => { true };
    (@is_list) => { false };
}

/// Implements both ways of validating a spec. The spec has three `const` functions: `slots(part)`,
/// the number of checks of a part; `check(part, index)`, which runs one; and `value(part, index)`,
/// the entry it is about. A second check after `; then` has the rules that are not evaluated in
/// constants: called for a part, it reads all entries once, and returns a function that checks
/// each.
macro_rules! validator {
    ($spec:ident, $parts:ident $(; then $more:ident)?) => {
        impl<'a> $spec<'a> {
            /// Every violation, errors and warnings, in the order of the parts.
            pub fn violations(&self) -> impl Iterator<Item = $crate::Violation<'a, $parts>> + use<'a> {
                let spec = *self;
                $parts::ALL.iter().flat_map(move |&part| {
                    $(let $more = spec.$more(part);)?
                    (0..spec.slots(part)).filter_map(move |index| {
                        let rule = spec.check(part, index);
                        $(let rule = rule.or_else(|| $more(index));)?
                        Some(spec.violation(part, index, rule?))
                    })
                })
            }

            /// The first error, for use in constants.
            pub const fn first_error(&self) -> Option<$crate::Violation<'a, $parts>> {
                let mut parts = $parts::ALL;
                while let [part, tail @ ..] = parts {
                    let mut index = 0;
                    while index < self.slots(*part) {
                        if let Some(rule) = self.check(*part, index)
                            && matches!(rule.severity(), $crate::Severity::Error)
                        {
                            return Some(self.violation(*part, index, rule));
                        }
                        index += 1;
                    }
                    parts = tail;
                }
                None
            }

            const fn violation(
                &self,
                part: $parts,
                index: usize,
                rule: Rule,
            ) -> $crate::Violation<'a, $parts> {
                $crate::Violation { rule, part, index, value: self.value(part, index) }
            }
        }
    };
}

/// Implements the checks of a policy, which is a spec that passed them, and of its builder, which is
/// a spec before them.
macro_rules! policy {
    ($policy:ident, $builder:ident, $spec:ident, $parts:ident) => {
        impl $policy {
            const fn try_new(
                spec: $spec<'static>,
            ) -> Result<Self, $crate::Violation<'static, $parts>> {
                match spec.first_error() {
                    None => Ok(Self(spec)),
                    Some(violation) => Err(violation),
                }
            }

            /// The spec of the policy.
            pub const fn spec(&self) -> &$spec<'static> {
                &self.0
            }
        }

        #[cfg(feature = "engine")]
        impl $crate::facet::FromSpec for $policy {
            type Spec = $spec<'static>;

            fn from_spec(
                spec: Self::Spec,
            ) -> Result<Self, $crate::Violation<'static, &'static str>> {
                Self::try_new(spec).map_err($crate::Violation::into_named)
            }
        }

        impl $builder {
            /// The checked policy.
            ///
            /// # Errors
            ///
            /// The first violation.
            pub const fn try_build(self) -> Result<$policy, $crate::Violation<'static, $parts>> {
                $policy::try_new(self.0)
            }

            /// The checked policy; in a `const`, a violation is a compile error.
            ///
            /// # Panics
            ///
            /// On a violation. Outside of constants, use [`try_build`](Self::try_build).
            #[track_caller]
            pub const fn build(self) -> $policy {
                match self.try_build() {
                    Ok(policy) => policy,
                    Err(violation) => {
                        violation.text_with_help(violation.rule.help_in_builder()).panic()
                    }
                }
            }
        }
    };
}

pub(crate) use parts;
pub(crate) use policy;
pub(crate) use validator;
