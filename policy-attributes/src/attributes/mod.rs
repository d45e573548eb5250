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
pub(crate) mod object;
pub(crate) mod route;

use self::context::Context;
use crate::{
    collect::CollectedAttributes,
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
            pub(crate) fn read(collected: &mut CollectedAttributes, diagnostics: &mut Diagnostics) -> Self {
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

            /// States the policies in a route of a manifest. Returns the values that are no literals.
            #[cfg(feature = "manifest")]
            pub(crate) fn declare(
                &self,
                context: &Context<'_>,
                route: &mut policy_manifest::ManifestRoute,
                manifest: &mut policy_manifest::Manifest,
            ) -> Vec<proc_macro2::TokenStream> {
                let (mut to, mut unseen) = (Declaration { context, route, manifest }, Vec::new());
                $(
                    let stated = self.$name.as_ref().map(|args| args.declare(&mut to));
                    unseen.extend(stated.and_then(Result::err));
                )*
                unseen
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

/// Where a policy attribute is stated.
#[cfg(feature = "manifest")]
pub(crate) struct Declaration<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) route: &'a mut policy_manifest::ManifestRoute,
    pub(crate) manifest: &'a mut policy_manifest::Manifest,
}

/// Fails with the tokens of a value that is no literal.
#[cfg(feature = "manifest")]
pub(crate) type DeclareResult = Result<(), proc_macro2::TokenStream>;

/// The arguments of a policy attribute.
pub(crate) trait Attribute: Sized {
    /// Parses the arguments; `None` after an error that leaves nothing to check.
    fn read(parsed: ParsedAttribute, diagnostics: &mut Diagnostics) -> Option<Self>;

    /// Has policy-core check the visible values, if there are rules for them.
    fn check(&self, _: &Context<'_>, _: &mut Diagnostics) {}

    /// States the policy, whose visible values break no rule.
    fn emit(&self, context: &Context<'_>, expansion: &mut Expansion);

    /// States the policy in a route of a manifest.
    #[cfg(feature = "manifest")]
    fn declare(&self, to: &mut Declaration<'_>) -> DeclareResult;
}
