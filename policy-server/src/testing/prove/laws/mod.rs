//! The laws: properties of an app for every page, every caller, and every behaviour of its
//! handlers.

mod caching;
mod callers;
mod cookies;
mod isolation;
mod lists;
mod manifest;
mod objects;
mod origins;
pub(super) mod outcomes;
mod predicate;
mod preflights;
mod reading;
mod recipients;
mod requests;
pub(super) mod responses;
mod writing;

use super::{
    declared::{Declaration, DeclaredApp, Routes},
    exchange::Exchange,
    explorer::PathExplorer,
    tally::Tallies,
};

/// The list of laws: the name of each, its file, and its test. A fault that breaks one of the first
/// often breaks later ones, too.
///
/// `__laws!([macro])` calls a macro with the list.
#[doc(hidden)]
#[macro_export]
macro_rules! __laws {
    ([$($callback:tt)*]) => {
        $($callback)*! {
            RequestIntegrity requests::INTEGRITY requests_reach_the_gates_as_they_were_sent,
            OwnResponse recipients::LAW responses_reach_only_their_caller,
            ReadSoundness reading::SOUNDNESS pages_read_only_what_is_granted,
            ReadCompleteness reading::COMPLETENESS pages_read_what_is_granted,
            ErrorsReadable reading::ERRORS pages_read_the_errors_of_what_is_granted,
            PreflightGate preflights::GATE requests_that_need_a_preflight_wait_for_its_grant,
            PreflightPurity preflights::PURITY preflights_depend_only_on_origin_and_method,
            OriginEcho origins::LAW responses_name_only_granted_origins,
            NoAmbientWrite writing::LAW untrusted_pages_change_nothing_with_ambient_credentials,
            VarySoundness caching::LAW caches_serve_nobody_the_response_of_another,
            AuthBeforeHandler callers::BEFORE_HANDLER handlers_run_only_for_admitted_callers,
            UniformRefusal callers::UNIFORM_REFUSAL refusals_differ_only_in_their_code,
            ObjectRights objects::LAW objects_are_only_for_whom_their_rules_say,
            ListRights lists::LAW lists_have_exactly_what_their_rules_admit,
            Cookies cookies::LAW session_cookies_are_as_declared,
            Isolation isolation::LAW isolated_routes_keep_pages_out,
            ResponseIntegrity responses::INTEGRITY responses_leave_as_the_policy_wrote_them,
            ManifestFidelity manifest::LAW the_app_decides_as_its_manifest_says,
            DocumentedOutcomes outcomes::LAW routes_refuse_as_they_are_documented,
        }
    };
}

macro_rules! define_laws {
    ($($Law:ident $file:ident::$SPEC:ident $test:ident,)*) => {
        /// A property of an app.
        #[doc(hidden)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Law {
            $($Law,)*
        }

        impl Law {
            /// Every law.
            pub const ALL: [Self; [$(Self::$Law),*].len()] = [$(Self::$Law),*];

            /// The specification in the file of the law.
            pub(super) const fn spec(self) -> &'static LawSpec {
                match self {
                    $(Self::$Law => &$file::$SPEC,)*
                }
            }

            /// The name of its test.
            pub(super) const fn test(self) -> &'static str {
                match self {
                    $(Self::$Law => stringify!($test),)*
                }
            }
        }
    };
}

__laws!([define_laws]);

/// A law, in the file of its name.
pub(super) struct LawSpec {
    /// The law in words.
    pub(super) text: &'static str,
    /// How to fix a violation.
    pub(super) help: &'static str,
    /// Whether a violation may be the cause of those of later laws.
    pub(super) is_cause: bool,
    /// Why the law applies to none of some routes, if so.
    pub(super) silence: fn(&Routes<'_>) -> Option<&'static str>,
    /// Judges an exchange.
    judge_exchange: fn(&Exchange<'_>) -> Verdict,
    /// Judges the responses of one path.
    judge_path: fn(&mut PathExplorer<'_, '_>, &mut Tallies),
    /// Whether the responses of a path are judged while all caches are empty.
    needs_empty_caches: bool,
    /// What a route states at its own risk, one per line: cases that the law leaves out, or checks only
    /// in part.
    pub(super) caveats: fn(&DeclaredApp, &Declaration) -> Vec<String>,
}

impl LawSpec {
    /// A law that applies to every app, and judges nothing.
    const NONE: Self = Self {
        text: "",
        help: "",
        is_cause: false,
        silence: |_| None,
        judge_exchange: |_| Verdict::Silent,
        judge_path: |_, _| (),
        needs_empty_caches: false,
        caveats: |_, _| Vec::new(),
    };
}

fn no_sharing(app: &Routes<'_>) -> Option<&'static str> {
    app.without(|route| route.sharing.is_some(), "no route is shared with another origin")
}

/// The verdict of a law on one case.
#[derive(Debug)]
pub(super) enum Verdict {
    /// The law does not apply.
    Silent,
    Holds,
    Broken(Fault),
}

/// How a law is broken.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) expected: String,
    pub(super) seen: String,
    /// The attribute that should have prevented it.
    pub(super) attribute: &'static str,
}

impl Verdict {
    fn unless(is_broken: bool, fault: impl FnOnce() -> Fault) -> Self {
        if is_broken { Self::Broken(fault()) } else { Self::Holds }
    }
}

/// Checks every law about exchanges.
pub(super) fn judge(exchange: &Exchange<'_>, tallies: &mut Tallies) {
    for law in Law::ALL {
        tallies.exchange(law, exchange, (law.spec().judge_exchange)(exchange));
    }
}

/// Checks every law about the responses of one path.
pub(super) fn judge_path(explorer: &mut PathExplorer<'_, '_>, tallies: &mut Tallies) {
    for is_first in [true, false] {
        let specs = Law::ALL.into_iter().map(Law::spec);
        specs
            .filter(|spec| spec.needs_empty_caches == is_first)
            .for_each(|spec| (spec.judge_path)(explorer, tallies));
    }
}
