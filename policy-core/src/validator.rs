//! How the rules about what somebody wrote are asked: one entry at a time, so that the compiler can
//! ask them of constants, and everybody else gets every violation at once.

/// Gives a spec its two ways of being asked. It has `slots(part)`, which says how many questions a
/// part has, and `violation(part, index)`, which answers one, both `const`; and a third function for
/// whom constants do not count: `violation` again, or one that remarks on more.
macro_rules! validator {
    ($spec:ident, $violation:ident) => {
        impl<'a> $spec<'a> {
            /// Every violation, errors and warnings, in the order of the parts.
            pub fn violations(&self) -> impl Iterator<Item = Violation<'a>> + use<'a> {
                let spec = *self;
                Part::ALL.into_iter().flat_map(move |part| {
                    (0..spec.slots(part)).filter_map(move |index| spec.$violation(part, index))
                })
            }

            /// The first error, as constants can be asked for it.
            pub const fn first_error(&self) -> Option<Violation<'a>> {
                let mut parts: &[Part] = &Part::ALL;
                while let [part, tail @ ..] = parts {
                    let mut index = 0;
                    while index < self.slots(*part) {
                        if let Some(violation) = self.violation(*part, index)
                            && matches!(violation.rule.severity(), $crate::Severity::Error)
                        {
                            return Some(violation);
                        }
                        index += 1;
                    }
                    parts = tail;
                }
                None
            }
        }
    };
}

pub(crate) use validator;
