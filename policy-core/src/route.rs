//! The policy of one route: its facets, and how levels compose.

pub use crate::facet::{Authentication, Facet, Level, RouteFacts, nearest};
#[cfg(feature = "engine")]
pub use crate::facet::{FacetPolicy, FromSpec};

use crate::{
    auth::AuthPolicy,
    catalogue::Rule,
    cors::{CorsExtension, CorsSpec},
    csrf::CsrfPolicy,
    grammar::is_token,
    limits::Limits,
};
#[cfg(feature = "engine")]
use crate::{cors::CorsPolicy, validator::Violation};

/// The maximum number of parameters of a path. The macros refuse a handler with more, and the
/// server has room for as many.
pub const MAX_PARAMETERS: usize = 8;

/// The maximum number of arguments of a handler besides its path parameters.
pub const MAX_EXTRACTORS: usize = 12;

/// The list of facets except CORS, auth and limits, which are composed in different ways.
///
/// `levels`: the spec of an attribute, the validated policy of an app, a group or a route, and the
/// compiled form; then the method by which a level states that there is none. `route`: what only a
/// route can state.
///
/// `facets!([macro] arguments)` calls a macro with the arguments and the list.
#[doc(hidden)]
#[macro_export]
macro_rules! facets {
    ([$($define:tt)*] $($arguments:tt)*) => {
        $($define)*! {
            $($arguments)*
            levels {
                /// Which caches may keep responses, and for how long. `no_store` is inherited by
                /// every route, any other default only by public responses: routes that take
                /// credentials or a session, and methods other than GET and HEAD, do not inherit it.
                cache: $crate::cache::CacheSpec<'static> => $crate::cache::CachePolicy => $crate::cache::Caching,
                /// Leaves caching to the handlers, whatever the outer level states.
                no_cache;
                /// The security headers, instead of those of `HeadersPolicy::DEFAULT`.
                headers: $crate::headers::HeadersSpec<'static> => $crate::headers::HeadersPolicy => $crate::headers::SecurityHeaders,
                /// Adds no security headers, whatever the outer level states.
                no_headers;
                /// The pages that may load the responses (W3C Fetch Metadata).
                isolation: $crate::isolation::Isolation => $crate::isolation::Isolation => $crate::isolation::Isolation,
                /// Lets every page load the responses, whatever the outer level states.
                no_isolation;
            }
            route {
                /// Responds with a script if the query names a function to call.
                jsonp: $crate::jsonp::JsonpSpec<'static> => $crate::jsonp::JsonpPolicy => $crate::jsonp::JsonpPolicy,
                /// Why path parameters are taken without an object, and how often objects of streams are checked.
                object: $crate::object::ObjectPolicy => $crate::object::ObjectPolicy => $crate::object::ObjectPolicy,
            }
        }
    };
}

macro_rules! define_policies {
    (
        levels { $(
            $(#[$doc:meta])* $name:ident: $Spec:ty => $Policy:ty => $Compiled:ty,
            $(#[$none_doc:meta])* $none:ident;
        )* }
        route { $($(#[$own_doc:meta])* $own:ident: $OwnSpec:ty => $OwnPolicy:ty => $OwnCompiled:ty,)* }
    ) => {
        /// The specs from the attributes of a handler, as constant data. The macros have validated
        /// them; [`level`](Self::level) validates them again and turns them into policies.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct RoutePolicy {
            /// Which other origins may read responses.
            pub cors: Facet<CorsSpec<'static>>,
            /// Header names that the route adds to the CORS policy of an outer level.
            pub cors_extension: CorsExtension<'static>,
            /// Which callers are admitted.
            pub auth: AuthPolicy,
            /// The CSRF protection; `None` where the outer level decides.
            pub csrf: Option<CsrfPolicy>,
            /// How large, how long, how often, and how many at once.
            pub limits: Limits,
            $($(#[$doc])* pub $name: Facet<$Spec>,)*
            $($(#[$own_doc])* pub $own: Option<$OwnSpec>,)*
        }

        impl RoutePolicy {
            /// A public route without further policies.
            pub const PUBLIC: Self = Self {
                cors: Facet::Inherit,
                cors_extension: CorsExtension::NONE,
                auth: AuthPolicy::Public,
                csrf: None,
                limits: Limits::NONE,
                $($name: Facet::Inherit,)*
                $($own: None,)*
            };

            /// The policies that other levels can state, too, and the first violation of each
            /// policy that breaks a rule. Such a policy is left out.
            #[cfg(feature = "engine")]
            pub fn level(
                &self,
            ) -> (LevelPolicy<CorsPolicy>, Vec<Violation<'static, &'static str>>) {
                let mut violations = Vec::new();
                let cors_extension = self.cors_extension.spec().first_error();
                violations.extend(cors_extension.map(Violation::into_named));
                let level = LevelPolicy {
                    cors: validate(self.cors, &mut violations),
                    limits: self.limits,
                    $($name: validate(self.$name, &mut violations),)*
                };
                (level, violations)
            }
        }

        /// The policies that one level (route, group, mount or app) states, with CORS policies as
        /// `C`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct LevelPolicy<C> {
            /// Which other origins may read responses.
            pub cors: Facet<C>,
            /// Limits of size, time, rate and concurrency; each one is inherited separately.
            pub limits: Limits,
            $($(#[$doc])* pub $name: Facet<$Policy>,)*
        }

        /// The compiled policies of a route, as the gates ask for them.
        #[cfg(feature = "engine")]
        #[derive(Clone, Copy, Debug, Default)]
        pub struct CompiledFacets<'a> {
            $($(#[$doc])* pub $name: Option<&'a $Compiled>,)*
            $($(#[$own_doc])* pub $own: Option<&'a $OwnCompiled>,)*
        }

        impl<C> LevelPolicy<C> {
            /// Converts the CORS policy.
            pub fn map_cors<D>(
                self,
                map: impl FnOnce(Facet<C>) -> Facet<D>,
            ) -> LevelPolicy<D> {
                LevelPolicy { cors: map(self.cors), limits: self.limits, $($name: self.$name,)* }
            }
        }

        impl<C> Default for LevelPolicy<C> {
            fn default() -> Self {
                Self { cors: Facet::Inherit, limits: Limits::NONE, $($name: Facet::Inherit,)* }
            }
        }
    };
}

facets!([define_policies]);

/// Validates what a facet states. A policy that breaks a rule is left out and its violation added.
#[cfg(feature = "engine")]
fn validate<P: FromSpec>(
    facet: Facet<P::Spec>,
    violations: &mut Vec<Violation<'static, &'static str>>,
) -> Facet<P> {
    let checked = facet.map(P::from_spec);
    match checked {
        Facet::Inherit => Facet::Inherit,
        Facet::None => Facet::None,
        Facet::Set(Ok(policy)) => Facet::Set(policy),
        Facet::Set(Err(violation)) => {
            violations.push(violation);
            Facet::None
        }
    }
}

/// Validates the method of a route: a token, and neither CONNECT, which asks for a tunnel, nor
/// TRACE, which asks for an echo (RFC 9110 9.3.6 and 9.3.8): handlers serve neither.
///
/// # Errors
///
/// [`Rule::RouteMethod`].
///
/// ```
/// use policy_core::{Rule, route::check_method};
///
/// assert_eq!(check_method("PURGE"), Ok(()));
/// assert_eq!(check_method("TRACE"), Err(Rule::RouteMethod));
/// assert_eq!(check_method("NOT A METHOD"), Err(Rule::RouteMethod));
/// ```
pub fn check_method(method: &str) -> Result<(), Rule> {
    let is_served = is_token(method.as_bytes()) && !matches!(method, "CONNECT" | "TRACE");
    if is_served { Ok(()) } else { Err(Rule::RouteMethod) }
}
