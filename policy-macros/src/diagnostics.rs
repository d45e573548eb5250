//! What a macro reports: every error and every warning, each on its own tokens.

use std::fmt::Display;

use policy_core::{Rule, Severity};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Attribute, Error, spanned::Spanned};

/// Collects what is wrong, so that nobody has to fix one mistake to see the next.
#[derive(Default)]
pub(crate) struct Diagnostics {
    errors: Vec<Error>,
    warnings: Vec<Warning>,
}

/// A rule that only warns.
struct Warning {
    rule: Rule,
    text: String,
    span: Span,
}

impl Diagnostics {
    /// A mistake in the grammar of an attribute, or in how attribute and function fit.
    pub(crate) fn error(&mut self, at: impl ToTokens, message: impl Display, help: impl Display) {
        self.errors.push(Error::new_spanned(at, format!("{message}\nhelp: {help}")));
    }

    /// The same, where there are no tokens to underline.
    pub(crate) fn error_at(&mut self, at: Span, message: impl Display, help: impl Display) {
        self.errors.push(Error::new(at, format!("{message}\nhelp: {help}")));
    }

    /// What `syn` could not read.
    pub(crate) fn syntax(&mut self, error: Error) {
        self.errors.push(error);
    }

    /// A broken rule, in the words of the catalogue; its severity decides what becomes of it.
    pub(crate) fn rule(&mut self, at: impl ToTokens, rule: Rule, value: &str) {
        let text = rule_text(rule, value);
        match rule.severity() {
            Severity::Error => self.errors.push(Error::new_spanned(at, text)),
            Severity::Warning => {
                let span = at.to_token_stream().span();
                self.warnings.push(Warning { rule, text, span });
            }
        }
    }

    /// A broken rule with a second fix that only the caller knows.
    pub(crate) fn rule_with_help(
        &mut self,
        at: impl ToTokens,
        rule: Rule,
        value: &str,
        help: &str,
    ) {
        self.errors
            .push(Error::new_spanned(at, format!("{}\nhelp: {help}", rule_text(rule, value))));
    }

    pub(crate) fn error_count(&self) -> usize {
        self.errors.len()
    }

    /// The errors as items.
    pub(crate) fn errors(&self) -> TokenStream {
        self.errors.iter().map(Error::to_compile_error).collect()
    }

    /// The warnings as items, below the conditions and `allow`s of the function they are about.
    ///
    /// Macros on stable Rust cannot warn. A use of a deprecated constant can: the compiler
    /// shows its note under the tokens that the use is spanned at, and `#[allow(deprecated)]`
    /// on the handler silences it.
    pub(crate) fn warnings(&self, attributes: &[&Attribute]) -> TokenStream {
        self.warnings
            .iter()
            .map(|Warning { rule, text, span }| {
                let name = rule.code().replace(['.', '-'], "_");
                let (name, used) = (Ident::new(&name, Span::call_site()), Ident::new(&name, *span));
                quote! {
                    #(#attributes)*
                    const _: () = {
                        #[deprecated(note = #text)]
                        const #name: () = ();
                        #used
                    };
                }
            })
            .collect()
    }
}

fn rule_text(rule: Rule, value: &str) -> String {
    // Between backticks a quote is itself.
    let value = value.escape_debug().to_string().replace("\\'", "'");
    let value = if value.is_empty() { value } else { format!("`{value}`: ") };
    format!("{value}{} ({})\nhelp: {}", rule.message(), rule.code(), rule.help())
}
