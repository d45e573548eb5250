//! `#[object]`: `none = "why"`.

use policy_core::{Rule, object::check_reason};
use quote::quote;
use syn::{Expr, Ident, LitStr};

use super::{Attribute, context::Context};
use crate::{
    diagnostics::Diagnostics,
    directive::ParsedAttribute,
    emit::{Expansion, some},
    parse::{Inline, PolicyArgs, read_string, set},
};

/// The arguments of `#[object]`.
pub(crate) struct Args {
    reason: Option<LitStr>,
}

#[derive(Default)]
struct InlineObject {
    none: Option<LitStr>,
}

impl Inline for InlineObject {
    const FLAGS: &'static [&'static str] = &[];
    const PARTS: &'static [&'static str] = &["none"];
    const POSSIBLE: &'static str =
        "write `none = \"..\"`, with the reason for which path parameters need no object";
    const NEEDS_ARGUMENTS: bool = true;
    const HAS_NONE: bool = false;

    fn set(&mut self, part: &Ident, value: Expr, diagnostics: &mut Diagnostics) -> bool {
        let name = part.to_string();
        let text = read_string(&value, &name, &Self::example(&name), diagnostics);
        set(&mut self.none, text)
    }

    fn example(_part: &str) -> String {
        "write the reason, such as `none = \"every member may read every board\"`".to_owned()
    }

    fn is_shared(_: &Expr) -> bool {
        false
    }
}

impl Attribute for Args {
    fn read(parsed: ParsedAttribute, diagnostics: &mut Diagnostics) -> Option<Self> {
        let policy = PolicyArgs::read_policy(parsed, InlineObject::default(), diagnostics)?;
        Some(Self { reason: policy.inline()?.none.clone() })
    }

    fn check(&self, context: &Context<'_>, diagnostics: &mut Diagnostics) {
        let Some(reason) = &self.reason else { return };
        if let Err(rule) = check_reason(&reason.value()) {
            diagnostics.rule(reason, rule, "");
        } else if !context.is_unchecked() {
            diagnostics.rule(reason, Rule::ObjectReasonUnused, "");
        }
    }

    fn emit(&self, _: &Context<'_>, expansion: &mut Expansion) {
        let Some(reason) = &self.reason else { return };
        let exemption = quote!(__policy::policy_core::object::ObjectExemption::new(#reason));
        expansion.state("object", &some(&exemption));
    }
}

#[cfg(feature = "manifest")]
impl super::Declare for Args {
    fn declare(
        &self,
        _: &Context<'_>,
        route: &mut policy_manifest::ManifestRoute,
        _: &mut policy_manifest::Manifest,
    ) -> super::Declared {
        let none = self.reason.as_ref().map(LitStr::value);
        route.object = none.map(policy_manifest::RouteObjects::exempt);
        Ok(())
    }
}
