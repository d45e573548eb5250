//! The laws: properties of an app for every page, every caller, and every behaviour of its
//! handlers.

mod caching;
mod callers;
mod cookies;
mod isolation;
mod manifest;
mod origins;
mod preflights;
mod reading;
mod recipients;
mod requests;
pub(super) mod responses;
mod writing;

use policy_manifest::Csrf;

use super::{
    declared::{Declaration, Declared},
    exchange::Exchange,
    explorer::PathExplorer,
    tally::Tallies,
};

/// A property of an app.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    RequestIntegrity,
    OwnResponse,
    ReadSoundness,
    ReadCompleteness,
    ErrorsReadable,
    PreflightGate,
    PreflightPurity,
    OriginEcho,
    NoAmbientWrite,
    VarySoundness,
    AuthBeforeHandler,
    UniformRefusal,
    Cookies,
    Isolation,
    ResponseIntegrity,
    ManifestFidelity,
}

impl Law {
    /// Every law. A fault that breaks one of the first often breaks later ones, too.
    pub const ALL: [Self; 16] = [
        Self::RequestIntegrity,
        Self::OwnResponse,
        Self::ReadSoundness,
        Self::ReadCompleteness,
        Self::ErrorsReadable,
        Self::PreflightGate,
        Self::PreflightPurity,
        Self::OriginEcho,
        Self::NoAmbientWrite,
        Self::VarySoundness,
        Self::AuthBeforeHandler,
        Self::UniformRefusal,
        Self::Cookies,
        Self::Isolation,
        Self::ResponseIntegrity,
        Self::ManifestFidelity,
    ];

    /// The laws of which a violation may be the cause of others, with the names of their tests.
    pub(super) const CAUSES: [(Self, &'static str); 2] = [
        (Self::RequestIntegrity, "requests_reach_the_gates_as_they_were_sent"),
        (Self::OwnResponse, "responses_reach_only_their_caller"),
    ];

    /// The law in words.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::RequestIntegrity => "the gates see each request as it was sent",
            Self::OwnResponse => "a response that was made for one caller reaches no other",
            Self::ReadSoundness => "a page reads only what the policy grants it",
            Self::ReadCompleteness => "a page reads what the policy grants it",
            Self::ErrorsReadable => "a page reads the errors of routes that the policy grants it",
            Self::PreflightGate => {
                "a request that needs a preflight is not sent until it is granted"
            }
            Self::PreflightPurity => {
                "the response to a preflight depends only on its origin and method, and nothing else runs"
            }
            Self::OriginEcho => {
                "no response names an origin that is not granted, or all origins with credentials"
            }
            Self::NoAmbientWrite => {
                "no page changes anything with credentials that browsers send automatically, \
                 unless the policy trusts it"
            }
            Self::VarySoundness => {
                "a cache reuses a response only for requests that would get an equal one"
            }
            Self::AuthBeforeHandler => "a handler runs only for callers that `#[auth]` admits",
            Self::UniformRefusal => {
                "refusals of missing, wrong and expired credentials differ only in their code"
            }
            Self::Cookies => "the session cookie is set only by the app, as it declares it",
            Self::ResponseIntegrity => {
                "what the policy writes into a response leaves the layers as it was written"
            }
            Self::Isolation => "pages that isolation keeps out load nothing",
            Self::ManifestFidelity => "the app decides about each request as its manifest says",
        }
    }

    /// How to fix a violation.
    pub(super) const fn help(self) -> &'static str {
        match self {
            Self::RequestIntegrity => {
                "let layers add to a request and read it; for another path use \
                 `Group`, `Mount::strip_prefix` or a proxy, for credentials of your own a `Scheme`"
            }
            Self::OwnResponse => {
                "keep what a layer stores or shares apart by the caller, or leave out responses \
                 whose `Cache-Control` has `private` or `no-store` and requests with a credential; \
                 a cache belongs around what is the same for everybody"
            }
            Self::ReadSoundness | Self::OriginEcho => {
                "let nothing but the policy write `Access-Control-*`: name the origin in \
                 `#[cors(origins = [..])]`, or remove what writes it"
            }
            Self::ReadCompleteness | Self::ErrorsReadable => {
                "let the request reach the app: a response that a layer creates itself carries no \
                 policy"
            }
            Self::PreflightGate | Self::PreflightPurity => {
                "leave OPTIONS to the app: state methods and headers in `#[cors]`"
            }
            Self::NoAmbientWrite => {
                "let `Origin`, `Sec-Fetch-Site` and `x-csrf-token` reach the app as the browser sent \
                 them"
            }
            Self::VarySoundness => {
                "keep the `Vary` and `Cache-Control` that the app writes, and only add to them"
            }
            Self::AuthBeforeHandler => "state who may call in `#[auth]`, and nowhere else",
            Self::UniformRefusal => "leave refusals as the app writes them",
            Self::Cookies => "log in by `Sessions::login`, and leave `Set-Cookie` as it is",
            Self::ResponseIntegrity => {
                "state it in the attribute, such as `#[headers]`, `#[cache]` or `#[cors]`, and let no \
                 layer write or remove it"
            }
            Self::Isolation => {
                "let `Sec-Fetch-Site` and `Origin` reach the app, and no layer respond in its place"
            }
            Self::ManifestFidelity => {
                "please report this: the app and its manifest should never differ"
            }
        }
    }

    /// Why the law does not apply to an app, if so.
    pub(super) fn silence(self, declared: &Declared) -> Option<&'static str> {
        let any = |of: fn(&Declaration) -> bool| declared.routes.iter().any(of);
        let (applies, otherwise) = match self {
            Self::RequestIntegrity | Self::ResponseIntegrity => {
                (declared.has_layers, "no layer is around the app")
            }
            Self::OwnResponse => (any(recipients::is_personal), "no response is for one caller"),
            Self::Isolation => (any(isolation::keeps_out), "no route keeps pages out"),
            Self::ReadSoundness | Self::ManifestFidelity => (true, ""),
            Self::ReadCompleteness | Self::ErrorsReadable | Self::PreflightPurity => (
                declared.routes.iter().any(|route| route.sharing.is_some()),
                "no route is shared with another origin",
            ),
            Self::PreflightGate | Self::OriginEcho | Self::VarySoundness => {
                (!declared.routes.is_empty(), "there is no route")
            }
            Self::NoAmbientWrite => (
                any(|route| {
                    let is_exempt = matches!(route.csrf(), Csrf::Exempt(_));
                    route.is_ambient() && !route.is_safe() && !is_exempt
                }),
                "no route changes anything with a credential that browsers send automatically",
            ),
            Self::AuthBeforeHandler => {
                (any(|route| route.requirement().is_some()), "every route is public")
            }
            Self::UniformRefusal => (
                any(|route| route.requirement().is_some_and(|requirement| !requirement.optional)),
                "no route refuses anybody",
            ),
            Self::Cookies => {
                (any(Declaration::takes_session), "no handler takes the session in its own hands")
            }
        };
        (!applies).then_some(otherwise)
    }
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

/// Judges an exchange by one law.
type Judge = fn(&Exchange<'_>) -> Verdict;

/// Puts every law about exchanges to the test.
pub(super) fn judge(exchange: &Exchange<'_>, tallies: &mut Tallies) {
    let laws: [(Law, Judge); 13] = [
        (Law::RequestIntegrity, requests::of_exchange),
        (Law::OwnResponse, recipients::of_exchange),
        (Law::ReadSoundness, reading::sound),
        (Law::ReadCompleteness, reading::complete),
        (Law::ErrorsReadable, reading::errors),
        (Law::PreflightGate, preflights::gate),
        (Law::OriginEcho, origins::of_exchange),
        (Law::NoAmbientWrite, writing::no_ambient),
        (Law::AuthBeforeHandler, callers::before_handler),
        (Law::Cookies, cookies::of_exchange),
        (Law::ResponseIntegrity, responses::of_exchange),
        (Law::Isolation, isolation::of_exchange),
        (Law::ManifestFidelity, manifest::of_exchange),
    ];
    for (law, judge) in laws {
        tallies.exchange(law, exchange, judge(exchange));
    }
}

/// Checks every law about the responses of one path.
pub(super) fn judge_path(explorer: &mut PathExplorer<'_, '_>, tallies: &mut Tallies) {
    // First, while all caches are empty.
    recipients::of_callers(explorer, tallies);
    requests::baited(explorer, tallies);
    requests::forwarded(explorer, tallies);
    responses::made(explorer, tallies);
    preflights::pure(explorer, tallies);
    manifest::of_preflights(explorer, tallies);
    origins::odd(explorer, tallies);
    caching::vary(explorer, tallies);
    callers::uniform(explorer, tallies);
    cookies::of_logins(explorer, tallies);
}
