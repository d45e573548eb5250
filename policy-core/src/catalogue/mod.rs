//! The catalogue of all rules, refusals and events: stable codes, messages, fixes.
//!
//! Compile errors, const panics, start-up errors, log lines and problem+json responses all take
//! their texts from here, so one rule has the same text everywhere. A code never changes its
//! meaning.
//!
//! Each area has a file, with up to four tables: `rules` (mistakes that a programmer or operator
//! corrects: severity, code, message, help, and the help in a builder where that differs), `refusals`
//! (reasons to refuse a request: status, code, title), `events` (log events: level, code, message) and
//! `lints` (what is odd about the policy of a whole app: confidence, code, message, help).

/// Makes the tables of one area a macro, which appends them to the tables of the areas before it
/// and passes all of them on to the next one. `$` comes in as an argument, since a macro cannot
/// write it into a macro that it defines.
macro_rules! area {
    ($d:tt $area:ident
        $(rules { $($rules:tt)* })?
        $(refusals { $($refusals:tt)* })?
        $(events { $($events:tt)* })?
        $(lints { $($lints:tt)* })?
    ) => {
        macro_rules! $area {
            (rules $d next:ident $d($d rest:ident)*; $d($d before:tt)*) => {
                $d next! { rules $d($d rest)*; $d($d before)* $($($rules)*)? }
            };
            (refusals $d next:ident $d($d rest:ident)*; $d($d before:tt)*) => {
                $d next! { refusals $d($d rest)*; $d($d before)* $($($refusals)*)? }
            };
            (events $d next:ident $d($d rest:ident)*; $d($d before:tt)*) => {
                $d next! { events $d($d rest)*; $d($d before)* $($($events)*)? }
            };
            (lints $d next:ident $d($d rest:ident)*; $d($d before:tt)*) => {
                $d next! { lints $d($d rest)*; $d($d before)* $($($lints)*)? }
            };
        }
        pub(super) use $area;
    };
}

mod app;
mod auth;
mod cache;
mod cors;
mod csrf;
mod entry;
mod handler;
mod headers;
mod jsonp;
mod limit;
mod lint;
mod page;
mod proxy;
mod request;
mod route;
mod session;
mod syntax;
mod tls;
mod token;
mod tunnel;
mod wire;

use self::{
    app::app, auth::auth, cache::cache, cors::cors, csrf::csrf, handler::handler, headers::headers,
    jsonp::jsonp, limit::limit, lint::lint, proxy::proxy, request::request, route::route,
    session::session, syntax::syntax, tls::tls, token::token, tunnel::tunnel, wire::wire,
};
pub use self::{entry::Entry, page::CodePage};

/// The effect of a violated rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// The policy is refused: a compile error, or the start stops.
    Error,
    /// The policy is legal but odd: a compiler warning, or a notice at start.
    Warning,
}

/// How much an [`Event`] matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventLevel {
    /// Somebody has to act.
    Error,
    /// Somebody should look at it.
    Warn,
    /// Information for operators.
    Info,
}

/// Whether a [`Lint`] may be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Confidence {
    /// What it says is so.
    Sure,
    /// It may be meant, or be no harm, for a reason that no policy states.
    Heuristic,
}

/// The last in the row of areas: makes the enums of all entries.
macro_rules! all {
    (rules; $($(#[doc = $doc:literal])* $name:ident $severity:ident $code:literal, $message:literal, $help:literal $(, builder $builder:literal)?;)*) => {
        /// A rule about a policy or a setting, checked at compile time, at start, and when data is
        /// replaced.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $($(#[doc = $doc])*
            #[doc = ""]
            #[doc = concat!("`", $code, "`: ", $message, ".")]
            #[doc = ""]
            #[doc = concat!("Fix: ", $help, ".")]
            #[doc(alias = $code)]
            $name,)*
        }

        impl Rule {
            /// Every rule there is.
            pub const ALL: &[Rule] = &[$(Rule::$name,)*];

            /// What it is for, as its documentation says it.
            pub const fn about(self) -> &'static str {
                match self { $(Rule::$name => concat!($($doc),*).trim_ascii(),)* }
            }

            /// The stable code, for programs and for searching the documentation.
            pub const fn code(self) -> &'static str {
                match self { $(Rule::$name => $code,)* }
            }

            /// The violation: lower case, no full stop, continues after the value that it is about.
            pub const fn message(self) -> &'static str {
                match self { $(Rule::$name => $message,)* }
            }

            /// The fix.
            pub const fn help(self) -> &'static str {
                match self { $(Rule::$name => $help,)* }
            }

            /// The fix in a builder, whose words are not always those of an attribute.
            pub const fn help_in_builder(self) -> &'static str {
                match self {
                    $($(Rule::$name => $builder,)?)*
                    _ => self.help(),
                }
            }

            /// Whether the rule refuses or only remarks.
            pub const fn severity(self) -> Severity {
                match self { $(Rule::$name => Severity::$severity,)* }
            }
        }
    };
    (refusals; $($(#[doc = $doc:literal])* $name:ident $status:literal $code:literal, $title:literal;)*) => {
        /// A reason to refuse one request, with the status and the words of the response.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Refusal {
            $($(#[doc = $doc])*
            #[doc = ""]
            #[doc = concat!("`", $code, "`, status ", $status, ": ", $title, ".")]
            #[doc(alias = $code)]
            $name,)*
        }

        impl Refusal {
            /// Every refusal there is.
            pub const ALL: &[Refusal] = &[$(Refusal::$name,)*];

            /// What it is for, as its documentation says it.
            pub const fn about(self) -> &'static str {
                match self { $(Refusal::$name => concat!($($doc),*).trim_ascii(),)* }
            }

            /// The stable code, for clients and logs.
            pub const fn code(self) -> &'static str {
                match self { $(Refusal::$name => $code,)* }
            }

            /// The title of the problem+json response (RFC 9457 3.1.3).
            pub const fn title(self) -> &'static str {
                match self { $(Refusal::$name => $title,)* }
            }

            /// The status code of the response.
            pub const fn status(self) -> u16 {
                match self { $(Refusal::$name => $status,)* }
            }
        }
    };
    (events; $($(#[doc = $doc:literal])* $name:ident $level:ident $code:literal, $message:literal;)*) => {
        /// Something that a server logs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Event {
            $($(#[doc = $doc])*
            #[doc = ""]
            #[doc = concat!("`", $code, "`: ", $message, ".")]
            #[doc(alias = $code)]
            $name,)*
        }

        impl Event {
            /// Every event there is.
            pub const ALL: &[Event] = &[$(Event::$name,)*];

            /// What it is for, as its documentation says it.
            pub const fn about(self) -> &'static str {
                match self { $(Event::$name => concat!($($doc),*).trim_ascii(),)* }
            }

            /// The stable code, for alerts.
            pub const fn code(self) -> &'static str {
                match self { $(Event::$name => $code,)* }
            }

            /// The event.
            pub const fn message(self) -> &'static str {
                match self { $(Event::$name => $message,)* }
            }

            /// How much it matters.
            pub const fn level(self) -> EventLevel {
                match self { $(Event::$name => EventLevel::$level,)* }
            }
        }
    };
    (lints; $($(#[doc = $doc:literal])* $name:ident $confidence:ident $code:literal, $message:literal, $help:literal;)*) => {
        /// Something odd about the policy of a whole app, which is legal.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Lint {
            $($(#[doc = $doc])*
            #[doc = ""]
            #[doc = concat!("`", $code, "`: ", $message, ".")]
            #[doc = ""]
            #[doc = concat!("Fix: ", $help, ".")]
            #[doc(alias = $code)]
            $name,)*
        }

        impl Lint {
            /// Every lint there is.
            pub const ALL: &[Lint] = &[$(Lint::$name,)*];

            /// What it is for, as its documentation says it.
            pub const fn about(self) -> &'static str {
                match self { $(Lint::$name => concat!($($doc),*).trim_ascii(),)* }
            }

            /// The stable code, for suppressions.
            pub const fn code(self) -> &'static str {
                match self { $(Lint::$name => $code,)* }
            }

            /// The finding: lower case, no full stop.
            pub const fn message(self) -> &'static str {
                match self { $(Lint::$name => $message,)* }
            }

            /// The fix.
            pub const fn help(self) -> &'static str {
                match self { $(Lint::$name => $help,)* }
            }

            /// Whether it may be wrong.
            pub const fn confidence(self) -> Confidence {
                match self { $(Lint::$name => Confidence::$confidence,)* }
            }
        }
    };
}

/// Goes through the areas, once for each kind of table.
macro_rules! each_kind {
    ($($kind:ident)*) => {
        $(cors! {
            $kind auth csrf cache headers limit jsonp syntax route handler session token tls proxy
            tunnel wire request app lint all;
        })*
    };
}

each_kind! { rules refusals events lints }

impl Lint {
    /// Whether it is about a line that suppresses findings, and not about the policy. Such a finding
    /// cannot be suppressed.
    pub const fn is_about_suppressions(self) -> bool {
        matches!(
            self,
            Self::SuppressionExpired
                | Self::SuppressionEndsSoon
                | Self::SuppressionUnused
                | Self::SuppressionUnsigned
        )
    }
}

impl Refusal {
    /// Whether no cache may keep the response: a refusal of one client at one time must not be
    /// served to others (RFC 6585 4, for example).
    pub const fn is_uncacheable(self) -> bool {
        matches!(self.status(), 401 | 403 | 429 | 503)
    }

    /// After how many seconds a client may try again, if that can help.
    pub const fn retry_after(self) -> Option<u32> {
        match self {
            Self::ConcurrencyExceeded
            | Self::CredentialsUnchecked
            | Self::SessionBusy
            | Self::SessionStore
            | Self::TokenStoreUnavailable => Some(1),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
