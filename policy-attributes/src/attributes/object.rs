//! `#[object]`: `none = "why"`, `recheck = "10s"`.

use std::time::Duration;

use policy_core::{
    Rule,
    object::{check_reason, recheck_of},
};
use quote::quote;
use syn::{Expr, Ident, LitStr};

use super::{Attribute, context::Context};
use crate::{
    diagnostics::Diagnostics,
    directive::ParsedAttribute,
    emit::{Expansion, duration, some},
    parse::{Inline, PolicyArgs, read_string, set},
};

/// The arguments of `#[object]`.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) none: Option<LitStr>,
    recheck: Option<LitStr>,
}

impl Inline for Args {
    const FLAGS: &'static [&'static str] = &[];
    const PARTS: &'static [&'static str] = &["none", "recheck"];
    const POSSIBLE: &'static str = "write `none = \"..\"`, with the reason for which path parameters, or ids in a body or a query, need no object, or `recheck = \"10s\"`, \
         the time between two checks of an open stream";
    const NEEDS_ARGUMENTS: bool = true;
    const HAS_NONE: bool = false;

    fn set(&mut self, part: &Ident, value: Expr, diagnostics: &mut Diagnostics) -> bool {
        let name = part.to_string();
        let text = read_string(&value, &name, &Self::example(&name), diagnostics);
        set(if name == "none" { &mut self.none } else { &mut self.recheck }, text)
    }

    fn example(part: &str) -> String {
        match part {
            "none" => "write the reason, such as `none = \"every member may read every board\"`",
            _ => "write a time, such as `recheck = \"10s\"`",
        }
        .to_owned()
    }

    fn is_shared(_: &Expr) -> bool {
        false
    }
}

impl Attribute for Args {
    fn read(parsed: ParsedAttribute, diagnostics: &mut Diagnostics) -> Option<Self> {
        match PolicyArgs::read_policy(parsed, Self::default(), diagnostics)? {
            PolicyArgs::Inline(args) => Some(args),
            PolicyArgs::Shared(_) | PolicyArgs::None => None,
        }
    }

    fn check(&self, context: &Context<'_>, diagnostics: &mut Diagnostics) {
        if let Some(reason) = &self.none {
            let takes_names = context.plain.is_some() || context.takes_fields;
            if let Err(rule) = check_reason(&reason.value()) {
                diagnostics.rule(reason, rule, "");
            } else if !(takes_names && context.may_know_caller()) {
                diagnostics.rule(reason, Rule::ObjectReasonUnused, "");
            }
        }
        if let Some(recheck) = &self.recheck {
            if let Err(rule) = recheck_of(&recheck.value()) {
                diagnostics.rule(recheck, rule, &recheck.value());
            } else if !context.takes_objects {
                diagnostics.rule(recheck, Rule::ObjectRecheckUnused, "");
            }
        }
    }

    fn emit(&self, _: &Context<'_>, expansion: &mut Expansion) {
        let object = quote!(__policy::policy_core::object);
        let none = self.none.as_ref().map(|reason| quote!(.exempt(#reason)));
        let recheck = self.interval().map(duration).map(|interval| quote!(.recheck(#interval)));
        expansion.state("object", &some(&quote!(#object::ObjectPolicy::NONE #none #recheck)));
    }

    #[cfg(feature = "manifest")]
    fn declare(&self, to: &mut super::Declaration<'_>) -> super::DeclareResult {
        let none = self.none.as_ref().map(LitStr::value);
        to.route.object = Some(policy_manifest::RouteObjects::from_attribute(
            none,
            self.interval().unwrap_or(policy_core::object::ObjectPolicy::INTERVAL),
        ));
        Ok(())
    }
}

impl Args {
    fn interval(&self) -> Option<Duration> {
        recheck_of(&self.recheck.as_ref()?.value()).ok()
    }
}
