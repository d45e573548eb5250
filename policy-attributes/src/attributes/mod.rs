//! The attributes. Each file parses one of them, has policy-core check it, and emits it as constant
//! data. Literals are checked while the macro runs; named constants are checked by the same rules
//! when the compiler evaluates them.

pub(crate) mod auth;
pub(crate) mod cache;
pub(crate) mod context;
pub(crate) mod cors;
pub(crate) mod csrf;
pub(crate) mod headers;
pub(crate) mod isolation;
pub(crate) mod jsonp;
pub(crate) mod layer;
pub(crate) mod limit;
pub(crate) mod route;

use self::context::Context;
use crate::{
    collect::Collected,
    diagnostics::Diagnostics,
    directive::{Directive, ParsedAttribute},
    emit::Expansion,
};

macro_rules! define {
    (
        routes: { $($_routes:tt)* }
        policies: { $($name:ident $Policy:ident,)* }
    ) => {
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

crate::all_attributes!(define);

/// The arguments of a policy attribute.
pub(crate) trait Attribute: Sized {
    /// Parses the arguments; `None` after an error that leaves nothing to check.
    fn read(parsed: ParsedAttribute, diagnostics: &mut Diagnostics) -> Option<Self>;

    /// Has policy-core check the visible values.
    fn check(&self, context: &Context<'_>, diagnostics: &mut Diagnostics);

    /// States the policy, whose visible values break no rule.
    fn emit(&self, context: &Context<'_>, expansion: &mut Expansion);
}
