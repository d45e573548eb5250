//! The policies that an app, a group or a mount sets for its routes.

use std::panic::Location;

use policy_core::{
    limits::Limits,
    route::{Facet, LevelPolicy},
};

use crate::app::cors_source::CorsSource;

/// The policies of one level: an app, a group, a mount, a proxy, a fallback or a
/// [`PolicyLayer`](crate::PolicyLayer). The level takes them by its method `policies`.
///
/// A facet that is not stated is inherited from the outer level; a stated facet replaces the outer
/// one completely, except that each of the [`limits`](Self::limits) is inherited separately.
///
/// ```
/// use policy_server::prelude::*;
///
/// const SHOP: CorsPolicy = CorsPolicy::origins(&["https://shop.example"]).build();
///
/// #[get("/orders")]
/// #[auth(public)]
/// async fn orders() {}
///
/// // Several levels can share them.
/// let partners = Policies::new().cors(SHOP).headers(HeadersPolicy::API);
/// let app = App::new(())
///     .group("/v1", Group::new().policies(partners.clone()).routes(routes![orders]))
///     .group("/v2", Group::new().policies(partners.no_cors()).routes(routes![orders]));
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = app.test();
/// let shared = client.get("/v1/orders").origin("https://shop.example").send().await;
/// assert_eq!(shared.header("access-control-allow-origin"), Some("https://shop.example"));
/// let own = client.get("/v2/orders").origin("https://shop.example").send().await;
/// assert_eq!(own.header("access-control-allow-origin"), None);
/// # });
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "they hold for the level that takes them"]
pub struct Policies {
    pub(crate) level: LevelPolicy<CorsSource>,
    /// The stated facets, and the callers, by name.
    written: Vec<(&'static str, &'static Location<'static>)>,
}

impl From<LevelPolicy<CorsSource>> for Policies {
    fn from(level: LevelPolicy<CorsSource>) -> Self {
        Self { level, written: Vec::new() }
    }
}

impl Policies {
    /// Policies that state nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The CORS policy.
    #[track_caller]
    pub fn cors(mut self, policy: impl Into<CorsSource>) -> Self {
        self.stating("cors").cors = Facet::Set(policy.into());
        self
    }

    /// Shares the responses with no other origin, whatever the outer level allows.
    #[track_caller]
    pub fn no_cors(mut self) -> Self {
        self.stating("cors").cors = Facet::None;
        self
    }

    /// The limits. Each one that is not stated here is inherited from the outer level. If an app
    /// states none, a body has at most 2 MiB, so that many concurrent readers fit into memory, and
    /// a response must be ready within 30 seconds.
    #[track_caller]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.stating("limits").limits = limits;
        self
    }

    /// The policies, to change one facet, which the caller's caller states.
    #[track_caller]
    fn stating(&mut self, facet: &'static str) -> &mut LevelPolicy<CorsSource> {
        self.note(facet);
        &mut self.level
    }

    /// Notes that the caller's caller states a facet.
    #[track_caller]
    pub(crate) fn note(&mut self, facet: &'static str) {
        self.note_at(facet, Location::caller());
    }

    fn note_at(&mut self, facet: &'static str, location: &'static Location<'static>) {
        self.written.retain(|(noted, _)| *noted != facet);
        self.written.push((facet, location));
    }

    /// The source location of a facet.
    #[cfg(feature = "manifest")]
    pub(crate) fn location(&self, facet: &str) -> Option<&'static Location<'static>> {
        let (_, location) = self.written.iter().find(|(noted, _)| *noted == facet)?;
        Some(location)
    }
}

/// The methods for the facets in policy-core's list, and the replacement of all that are stated.
macro_rules! facet_methods {
    (
        levels { $(
            $(#[$doc:meta])* $name:ident: $Spec:ty => $Policy:ty => $Compiled:ty,
            $(#[$none_doc:meta])* $none:ident;
        )* }
        route { $($_route:tt)* }
    ) => {
        impl Policies {
            $(
                $(#[$doc])*
                #[track_caller]
                pub fn $name(mut self, policy: $Policy) -> Self {
                    self.stating(stringify!($name)).$name = Facet::Set(policy);
                    self
                }

                $(#[$none_doc])*
                #[track_caller]
                pub fn $none(mut self) -> Self {
                    self.stating(stringify!($name)).$name = Facet::None;
                    self
                }
            )*

            /// Replaces the facets that the later policies state.
            pub(crate) fn replace(&mut self, later: Self) {
                for (facet, location) in later.written {
                    match facet {
                        "cors" => self.level.cors = later.level.cors.clone(),
                        "limits" => self.level.limits = later.level.limits,
                        $(stringify!($name) => self.level.$name = later.level.$name,)*
                        _ => (),
                    }
                    self.note_at(facet, location);
                }
            }
        }
    };
}

policy_core::facets!([facet_methods]);
