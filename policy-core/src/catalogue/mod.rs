//! The catalogue of all rules, refusals, events and lints: stable codes, messages, fixes.
//!
//! Compile errors, const panics, start-up errors, log lines and problem+json responses all take
//! their texts from here, so one rule has the same text everywhere. A code never changes its
//! meaning.
//!
//! Each kind has a file: a table with a row for each entry, in the order of the areas.

/// The fields of a row.
struct Row<M> {
    about: &'static str,
    code: &'static str,
    /// The title of a refusal.
    message: &'static str,
    /// Empty where there is no fix.
    help: &'static str,
    help_in_builder: &'static str,
    /// The severity, the status, the level or the confidence.
    mark: M,
}

/// Turns a table into an enum, whose documentation has the texts and is found by code.
macro_rules! entries {
    ($(#[$attribute:meta])* $kind:ident, $mark_type:ident $(::$marks:ident)?:
        $($(#[doc = $doc:literal])* $name:ident $mark:tt $code:literal, $message:literal
            $(, $help:literal)? $(, builder $builder:literal)?;)*
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $kind {
            $($(#[doc = $doc])*
            #[doc = ""]
            #[doc = concat!("`", $code, "`, ", stringify!($mark), ": ", $message, ".")]
            $(#[doc = ""]
            #[doc = concat!("Fix: ", $help, ".")])?
            #[doc(alias = $code)]
            $name,)*
        }

        impl $kind {
            /// All entries.
            pub const ALL: &[$kind] = &[$($kind::$name,)*];

            const ROWS: &[Row<$mark_type>] = {
                $(use $marks::*;)?
                &[$(Row {
                    about: concat!($($doc),*).trim_ascii(),
                    code: $code,
                    message: $message,
                    // The first text; `""` if the row has none.
                    help: [$($help,)? ""][0],
                    help_in_builder: [$($builder,)? $($help,)? ""][0],
                    mark: $mark,
                },)*]
            };

            #[expect(clippy::indexing_slicing, reason = "each entry has its row")]
            const fn row(self) -> &'static Row<$mark_type> {
                &Self::ROWS[self as usize]
            }

            /// The explanation of the entry, which is its documentation.
            pub const fn about(self) -> &'static str {
                self.row().about
            }

            /// The stable code, for programs, logs and searching the documentation.
            pub const fn code(self) -> &'static str {
                self.row().code
            }
        }
    };
}

/// An error that names the rule that is broken, and has its message.
#[cfg(feature = "engine")]
macro_rules! broken_rules {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident $rule:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// The rule that is broken.
            pub const fn rule(self) -> Rule {
                match self { $(Self::$variant => Rule::$rule,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.rule().message())
            }
        }

        impl std::error::Error for $name {}
    };
}

mod entry;
mod events;
mod lints;
mod page;
mod refusals;
mod rules;

pub use self::{
    entry::Entry,
    events::{Event, EventLevel},
    lints::{Confidence, Lint},
    page::CodePage,
    refusals::Refusal,
    rules::{Rule, Severity},
};

#[cfg(feature = "engine")]
pub(crate) use broken_rules;

#[cfg(test)]
mod tests;
