//! The attributes. Each file parses one of them, has policy-core check it, and emits it as constant
//! data. Literals are checked while the macro runs; named constants are checked by the same rules
//! when the compiler evaluates them.

pub(crate) mod auth;
pub(crate) mod cache;
pub(crate) mod cors;
pub(crate) mod csrf;
pub(crate) mod headers;
pub(crate) mod isolation;
pub(crate) mod jsonp;
pub(crate) mod layer;
pub(crate) mod limit;
pub(crate) mod route;

use policy_core::method::EVERY;
use syn::{Path, ext::IdentExt};

use crate::{
    collect::{Collected, ParsedAttribute},
    context::Context,
    diagnostics::Diagnostics,
    emit::Expansion,
};

/// The list of all attributes: those of routes, and those of policies in the order in which they
/// are read and checked.
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
                limit Limit,
                headers Headers,
                isolation Isolation,
                layer Layer,
            }
        }
    };
}

pub(crate) use all_attributes;

macro_rules! define {
    (
        routes: { $($route_name:ident $Route:ident,)* }
        policies: { $($name:ident $Policy:ident,)* }
    ) => {
        /// An attribute of Policy.
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Directive {
            $($Route,)*
            $($Policy,)*
        }

        impl Directive {
            const ALL: &[Self] = &[$(Self::$Route,)* $(Self::$Policy,)*];

            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$Route => stringify!($route_name),)*
                    $(Self::$Policy => stringify!($name),)*
                }
            }

            pub(crate) const fn is_route(self) -> bool {
                matches!(self, $(Self::$Route)|*)
            }
        }

        /// The parsed policy attributes of one handler; `None` if one is missing, or could not be
        /// read.
        pub(crate) struct Attributes {
            $(pub(crate) $name: Option<$name::Args>,)*
        }

        impl Attributes {
            pub(crate) fn read(collected: &mut Collected, diagnostics: &mut Diagnostics) -> Self {
                $(
                    let $name = collected.policy(Directive::$Policy);
                    let $name = $name.and_then(|parsed| $name::Args::read(parsed, diagnostics));
                )*
                Self { $($name,)* }
            }

            /// Reports every visible violation, each on its own token.
            pub(crate) fn check(&self, context: &Context<'_>, diagnostics: &mut Diagnostics) {
                $(
                    if let Some(args) = &self.$name {
                        args.check(context, diagnostics);
                    }
                )*
            }

            pub(crate) fn emit(&self, context: &Context<'_>) -> Expansion {
                let mut expansion = Expansion::default();
                $(
                    if let Some(args) = &self.$name {
                        args.emit(context, &mut expansion);
                    }
                )*
                expansion
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
        let last = path.segments.last()?.ident.unraw();
        Self::ALL.iter().copied().find(|directive| last == directive.name())
    }
}

/// The arguments of a policy attribute.
pub(crate) trait Attribute: Sized {
    /// Parses the arguments; `None` after an error that leaves nothing to check.
    fn read(parsed: ParsedAttribute, diagnostics: &mut Diagnostics) -> Option<Self>;

    /// Has policy-core check the visible values.
    fn check(&self, context: &Context<'_>, diagnostics: &mut Diagnostics);

    /// States the policy, whose visible values break no rule.
    fn emit(&self, context: &Context<'_>, expansion: &mut Expansion);
}
