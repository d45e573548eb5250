//! The policy of a route: a file for each of its facets, and their list.
//!
//! A file has everything about its facet: how a manifest states it, how it is read from a policy of
//! policy-core, its normal form, what a change of it does to access, its column in
//! `cargo policy show`, and the reason for its rules.

mod auth;
mod cache;
mod column;
mod comparison;
mod cors;
mod csrf;
pub(crate) mod facts;
mod headers;
mod isolation;
mod jsonp;
mod limits;
mod object;
pub(crate) mod shared_sets;
mod words;

pub(crate) use words::millis;
use words::{millis_in_words, seconds_in_words};

use http::Request;
use policy_core::{Refusal, gates::Gate, isolation::Isolation, route::CompiledFacets};

pub use auth::{AppScheme, Auth, CALLERS, RouteRequirement};
pub use cache::Cache;
pub(crate) use cache::storers;
pub use column::{Cell, CellOf, Column, ShownRoute, Tone};
use comparison::Effects;
pub use comparison::{Direction, Side};
pub(crate) use comparison::{set, sets};
pub(crate) use cors::reduce;
pub use cors::{CREDENTIALS, Dangers, ORIGINS, RouteCors, RouteOrigins, RuntimeOrigins};
pub use csrf::Csrf;
pub(crate) use csrf::opens_socket;
pub use facts::{
    AppFacts, EngineFacts, HandlerFacts, IssuerFacts, OriginListFacts, OwnProblem, ServerFacts,
    SessionFacts, TargetFacts, TlsFacts, TokenFacts,
};
pub use headers::Headers;
pub(crate) use headers::is_as_strict;
pub use jsonp::Jsonp;
pub use limits::{RouteLimits, RouteRate};
pub(crate) use limits::{exceeds, shown_rate};
pub(crate) use object::rule_change;
pub use object::{ObjectKey, ObjectUse, RouteObjects};
pub use route::{ManifestRoute, RouteKind};
pub(crate) use route::{WrittenRoute, json};

use crate::{Manifest, credentials::RequestCredentials};

/// The list of facets: the fields of a route in the order of the canonical form, first those that are no
/// policy, then each with its facet, and with the type of its text, where routes share a set. `facets!(macro)`
/// calls a macro with the list.
macro_rules! facets {
    ($callback:ident) => {
        $callback! {
            /// Whether a mount or a proxy takes encoded slashes in the paths below it.
            takes_slashes: bool,
            /// Where the tunnels of CONNECT may lead.
            targets: Vec<String>,
            /// What serves it, and what is passed on.
            target: TargetFacts,
            /// What its handler takes from requests, and the problems with which it responds.
            handler: HandlerFacts,
            /// The layers around what serves it, the outermost first, each after its level. They run
            /// behind the gates.
            layers: Vec<String>;
            /// The callers that it accepts.
            auth: Auth => auth::FACET,
            /// The CSRF protection of requests with an ambient credential.
            csrf: Csrf => csrf::FACET,
            /// Whether the handler takes the session of its caller itself, independent of `auth`.
            takes_session: bool,
            /// Which pages of other origins may read responses; none by default.
            cors: Option<RouteCors> as SetReference<RouteCors> => cors::FACET,
            /// The isolation of responses from pages, by Fetch Metadata.
            isolation: Option<Isolation> => isolation::FACET,
            /// Which caches may keep responses; `None` leaves it to the handler.
            cache: Option<Cache> => cache::FACET,
            /// Whether responses are scripts for pages of any origin.
            jsonp: Option<Jsonp> => jsonp::FACET,
            /// The objects that it checks, or why it checks none.
            object: Option<RouteObjects> => object::FACET,
            /// The limits on sizes, times, rates and concurrency.
            limits: RouteLimits as SetReference<RouteLimits> => limits::FACET,
            /// The security headers of responses, by their name in
            /// [`Manifest::headers`](crate::Manifest); `None` adds none.
            headers: Option<String> as SetReference<Headers> => headers::FACET,
        }
    };
}

mod route;

/// One aspect of the policy of a route: what its file says of it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FacetEntry {
    /// Its name, as [`Sources`](crate::Sources) and changes have it.
    pub name: &'static str,
    /// The name of its attribute, which is the area of its codes.
    pub attribute: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// The gates that refuse requests for it. A gate enforces one facet.
    pub gates: &'static [Gate],
    /// The reason for its rules.
    pub why: &'static str,
    /// Titles and addresses of pages to read more.
    pub links: &'static [(&'static str, &'static str)],
    /// Its columns in the table of `cargo policy show`.
    pub columns: &'static [(Column, CellOf)],
    /// Whether it decides who gets access to what, so that a change of it can be the cause of another
    /// decision about a request.
    pub(crate) decides_access: bool,
    /// Brings a route into its normal form.
    pub(crate) normalize: fn(&mut ManifestRoute),
    /// Tells the gates the policy of a route.
    enforce: for<'a> fn(&'a ManifestRoute, &mut CompiledFacets<'a>),
    /// Adds the refusals of requests of a method to a route.
    pub(crate) refusals: fn(MethodRequests<'_>, &mut Vec<Refusal>),
    /// Edits a route so that it lets a refused request through, and says how; `None` if it cannot.
    pub(crate) relax: fn(&mut ManifestRoute, RefusedRequest<'_>) -> Option<String>,
    /// Whether a new route opens access by it.
    pub(crate) is_open: fn(&ManifestRoute) -> bool,
    /// What a change does to access, and the change in words; `None` if nothing changes.
    pub(crate) change: fn(Side<'_>, Side<'_>) -> Option<(Direction, String)>,
}

impl FacetEntry {
    /// A facet without effects.
    const NONE: Self = Self {
        name: "",
        attribute: "",
        about: "",
        gates: &[],
        why: "",
        links: &[],
        columns: &[],
        decides_access: true,
        normalize: |_| (),
        enforce: |_, _| (),
        refusals: |_, _| (),
        relax: |_, _| None,
        is_open: |_| false,
        change: |_, _| None,
    };
}

/// Requests of one method to a route.
#[derive(Clone, Copy)]
pub(crate) struct MethodRequests<'a> {
    pub(crate) manifest: &'a Manifest,
    pub(crate) route: &'a ManifestRoute,
    pub(crate) method: &'a str,
}

/// A refused request, and its reason.
#[derive(Clone, Copy)]
pub(crate) struct RefusedRequest<'a> {
    pub(crate) refusal: Refusal,
    pub(crate) request: &'a Request<()>,
    pub(crate) caller: &'a RequestCredentials,
}

/// The name of the facet that a gate enforces.
///
/// ```
/// use policy_core::gates::Gate;
/// use policy_manifest::facet::enforced_by;
///
/// assert_eq!(enforced_by(Gate::FetchMetadata), Some("isolation"));
/// assert_eq!(enforced_by(Gate::Wire), None);
/// ```
pub fn enforced_by(gate: Gate) -> Option<&'static str> {
    ALL.iter().find(|facet| facet.gates.contains(&gate)).map(|facet| facet.name)
}

macro_rules! list_facets {
    (
        $($(#[$own_doc:meta])* $own:ident: $Own:ty),*;
        $($(#[$doc:meta])* $field:ident: $Type:ty $(as $Text:ty)? $(=> $FacetEntry:path)?,)*
    ) => {
        /// All facets, in the order of their lines.
        pub const ALL: &[FacetEntry] = &[$($($FacetEntry,)?)*];

        /// The policies of a route that gates enforce.
        #[inline]
        pub(crate) fn enforced(route: &ManifestRoute) -> CompiledFacets<'_> {
            let mut policies = CompiledFacets::default();
            $($(($FacetEntry.enforce)(route, &mut policies);)?)*
            policies
        }
    };
}

facets!(list_facets);

/// A value of a route that is read from a policy of policy-core.
pub trait FromPolicy<P>: Sized {
    /// Reads it. What several routes share is added to the manifest.
    fn from_policy(policy: &P, manifest: &mut Manifest) -> Self;
}

pub(crate) fn is_false(value: &bool) -> bool {
    !value
}

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

pub(crate) fn sort(list: &mut Vec<String>) {
    list.sort_unstable();
    list.dedup();
}

fn lower(list: &mut Vec<String>) {
    list.iter_mut().for_each(|text| text.make_ascii_lowercase());
    sort(list);
}

pub(crate) fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_gate_enforces_two_facets() {
        let gates: Vec<_> = ALL.iter().flat_map(|facet| facet.gates).collect();
        for gate in &gates {
            assert_eq!(gates.iter().filter(|other| other == &gate).count(), 1, "{gate:?}");
        }
        assert!(gates.len() > 5, "{gates:?}");
    }
}
