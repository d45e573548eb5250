//! The policy of one path.

use serde::{Deserialize, Serialize};

// The types of all facets, among others.
use super::shared_sets::{Resolve as _, SetReference, Sets};
use super::*;
use crate::ReadError;

/// The kind of target that serves a route.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RouteKind {
    /// A handler.
    #[default]
    Handler,
    /// A mounted service, which serves the prefix and every path below it.
    Mount,
    /// An upstream server, which serves the prefix and every path below it.
    Proxy,
    /// A health probe, which is exempt from the policies of the app.
    Probe,
    /// The tunnels that CONNECT opens. The path is empty.
    Tunnel,
    /// The target that serves paths without a route. The path is `*`.
    Fallback,
    /// The response to paths without a route, 404. The path is `*`.
    NotFound,
}

impl RouteKind {
    /// Whether a service behind the gates responds, which is no handler of the app: it may know cookies
    /// and headers of its own.
    ///
    /// ```
    /// use policy_manifest::RouteKind;
    ///
    /// assert!(RouteKind::Mount.is_service());
    /// assert!(!RouteKind::Handler.is_service());
    /// ```
    pub const fn is_service(self) -> bool {
        matches!(self, Self::Mount | Self::Proxy | Self::Fallback)
    }

    /// Whether gates read a cookie or HTTP authentication that the app does not know: it closes
    /// WebSockets that a page opens by a grant without credentials.
    pub(crate) const fn reads_ambient_credentials(self) -> bool {
        !matches!(self, Self::Handler | Self::Tunnel)
    }
}

/// The type of the text of a field.
macro_rules! text_of {
    ($Type:ty) => {
        $Type
    };
    ($Type:ty, $Text:ty) => {
        $Text
    };
}

macro_rules! define_route {
    (
        $($(#[$own_doc:meta])* $own:ident: $Own:ty),*;
        $(#[$auth_doc:meta])* $auth:ident: $Auth:ty => $AuthFacet:path,
        $($(#[$doc:meta])* $field:ident: $Type:ty $(as $Text:ty)? $(=> $FacetEntry:path)?,)*
    ) => {
        /// The effective policy of a path, for those of its methods that have the same one.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        #[non_exhaustive]
        pub struct ManifestRoute {
            /// The template of the path with its prefix; for a mount or a proxy, the prefix.
            pub path: String,
            /// Its methods. HEAD is served as GET is and not listed, unless it has its own policy.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            pub methods: Vec<String>,
            /// The target that serves it.
            #[serde(skip_serializing_if = "is_default")]
            pub kind: RouteKind,
            $(
                $(#[$own_doc])*
                #[serde(skip_serializing_if = "is_default")]
                pub $own: $Own,
            )*
            $(#[$auth_doc])*
            pub $auth: $Auth,
            $(
                $(#[$doc])*
                #[serde(skip_serializing_if = "is_default")]
                pub $field: $Type,
            )*
        }

        /// A route in the text of a manifest.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct WrittenRoute {
            path: String,
            #[serde(default)]
            methods: Vec<String>,
            #[serde(default)]
            kind: RouteKind,
            $(
                #[serde(default)]
                $own: $Own,
            )*
            $auth: $Auth,
            $(
                #[serde(default)]
                $field: text_of!($Type $(, $Text)?),
            )*
        }

        impl WrittenRoute {
            pub(crate) fn path(&self) -> &str {
                &self.path
            }

            pub(crate) fn methods(&self) -> &[String] {
                &self.methods
            }

            /// The number of objects that it checks.
            pub(crate) fn objects(&self) -> usize {
                self.object.as_ref().map_or(0, |objects| objects.uses.len())
            }

            /// The name of its CORS policy, if it has one that other routes share.
            pub(crate) fn cors_set(&self) -> Option<&str> {
                match &self.cors {
                    SetReference::Name(name) => Some(name),
                    SetReference::Absent | SetReference::Set(_) => None,
                }
            }

            /// The route, with the sets that it names.
            pub(crate) fn resolve(self, sets: &Sets) -> Result<ManifestRoute, ReadError> {
                Ok(ManifestRoute {
                    $($field: self.$field.resolve(sets, &self.path)?,)*
                    path: self.path,
                    methods: self.methods,
                    kind: self.kind,
                    $($own: self.$own,)*
                    $auth: self.$auth,
                })
            }
        }

        impl ManifestRoute {
            /// A route without policies except its callers.
            pub fn new<T: Into<String>>(
                kind: RouteKind,
                path: impl Into<String>,
                methods: impl IntoIterator<Item = T>,
                auth: Auth,
            ) -> Self {
                Self {
                    path: path.into(),
                    methods: methods.into_iter().map(Into::into).collect(),
                    kind,
                    $($own: <$Own>::default(),)*
                    auth,
                    $($field: <$Type>::default(),)*
                }
            }

            /// Calls a function with the name and the JSON text of each field, except for those that
            /// have their default value.
            pub(crate) fn for_each_field(&self, mut call: impl FnMut(&'static str, String)) {
                call("path", json(&self.path));
                for_stated("methods", &self.methods, &mut call);
                for_stated("kind", &self.kind, &mut call);
                $(for_stated(stringify!($own), &self.$own, &mut call);)*
                call(stringify!($auth), json(&self.$auth));
                $(for_stated(stringify!($field), &self.$field, &mut call);)*
            }
        }
    };
}

facets!(define_route);

fn for_stated<T: Serialize + Default + PartialEq>(
    name: &'static str,
    value: &T,
    call: &mut impl FnMut(&'static str, String),
) {
    if !is_default(value) {
        call(name, json(value));
    }
}

/// The JSON text of a value on one line.
pub(crate) fn json(value: &impl Serialize) -> String {
    // INVARIANT: every map in a manifest has text as keys, and every type serializes.
    serde_json::to_string(value).unwrap_or_default()
}

impl ManifestRoute {
    /// A handler without policies except its callers.
    pub fn handler<T: Into<String>>(
        path: impl Into<String>,
        methods: impl IntoIterator<Item = T>,
        auth: Auth,
    ) -> Self {
        Self::new(RouteKind::Handler, path, methods, auth)
    }

    /// Whether it serves this method; a route that serves GET also serves HEAD.
    pub fn serves(&self, method: &str) -> bool {
        let lists = |name: &str| self.methods.iter().any(|listed| listed == name);
        lists(method) || (method == "HEAD" && lists("GET"))
    }

    /// The template of the paths that it serves: for a service, those below its prefix.
    pub(crate) fn template(&self) -> String {
        let rest = if self.takes_slashes { "{*path:slashes}" } else { "{*path}" };
        match self.kind {
            RouteKind::Mount | RouteKind::Proxy => format!("{}/{rest}", self.path),
            _ => self.path.clone(),
        }
    }

    /// The templates of all paths that it serves: a service also serves its prefix, with a slash and
    /// without. None for a route without paths or for all other paths.
    pub(crate) fn templates(&self) -> Vec<String> {
        let prefix = &self.path;
        match self.kind {
            RouteKind::Mount | RouteKind::Proxy => {
                vec![prefix.clone(), format!("{prefix}/"), self.template()]
            }
            RouteKind::Tunnel | RouteKind::Fallback | RouteKind::NotFound => Vec::new(),
            RouteKind::Handler | RouteKind::Probe => vec![prefix.clone()],
        }
    }

    /// Whether it takes a credential that browsers send automatically.
    pub fn is_ambient(&self) -> bool {
        self.takes_session || self.auth.requirement().is_some_and(RouteRequirement::is_ambient)
    }
}
