//! The names of the attributes.

use policy_core::method::EVERY;
use proc_macro2::TokenStream;
use syn::{Path, ext::IdentExt};

/// The list of all attributes: those of routes, and those of policies in the order in which they
/// are read and checked.
#[doc(hidden)]
#[macro_export]
macro_rules! all_attributes {
    ($callback:ident) => {
        $callback! {
            routes: {
                get Get,
                post Post,
                put Put,
                patch Patch,
                delete Delete,
                query Query,
                head Head,
                options Options,
                any Any,
                route Route,
            }
            policies: {
                cors Cors,
                auth Auth,
                csrf Csrf,
                cache Cache,
                jsonp Jsonp,
                object Object,
                limit Limit,
                headers Headers,
                isolation Isolation,
                layer Layer,
            }
        }
    };
}

macro_rules! define {
    (
        routes: { $($route_name:ident $Route:ident,)* }
        policies: { $($name:ident $Policy:ident,)* }
    ) => {
        /// An attribute of Policy.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "each has the name of its attribute")]
        pub enum Directive {
            $($Route,)*
            $($Policy,)*
        }

        impl Directive {
            const ALL: &[Self] = &[$(Self::$Route,)* $(Self::$Policy,)*];

            /// Its name, as it is written.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Route => stringify!($route_name),)*
                    $(Self::$Policy => stringify!($name),)*
                }
            }

            pub(crate) const fn is_route(self) -> bool {
                matches!(self, $(Self::$Route)|*)
            }
        }
    };
}

all_attributes!(define);

impl Directive {
    /// The methods of a route attribute; `route` names its own.
    pub(crate) fn methods(self) -> Option<Vec<String>> {
        match self {
            Self::Route => None,
            Self::Any => Some(EVERY.iter().map(|method| (*method).to_owned()).collect()),
            one => one.is_route().then(|| vec![one.name().to_ascii_uppercase()]),
        }
    }

    /// Recognises an attribute by the last word of its path.
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        let last = path.segments.last()?.ident.unraw().to_string();
        Self::ALL.iter().copied().find(|directive| last == directive.name())
    }
}

/// One attribute: its kind, its span and its arguments.
pub(crate) struct ParsedAttribute {
    pub(crate) directive: Directive,
    /// The tokens to underline when the attribute as a whole is wrong.
    pub(crate) tokens: TokenStream,
    pub(crate) args: TokenStream,
}
