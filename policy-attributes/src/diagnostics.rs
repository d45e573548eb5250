//! The errors and warnings of a macro, each on its own tokens.

use std::fmt::Display;

use policy_core::{Rule, Severity};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Attribute, Error, spanned::Spanned};

use crate::nearest;

/// Collects all errors, so that a user sees every mistake at once.
#[derive(Default)]
pub(crate) struct Diagnostics {
    errors: Vec<(Rule, Error)>,
    warnings: Vec<Warning>,
}

/// A rule that only warns.
struct Warning {
    rule: Rule,
    text: String,
    span: Span,
}

impl Diagnostics {
    /// A violation of the attribute grammar, or of the consistency of attribute and function, with
    /// a fix that is more specific than the catalogue's.
    pub(crate) fn error(
        &mut self,
        at: impl ToTokens,
        rule: Rule,
        value: impl Display,
        help: impl Display,
    ) {
        self.errors.push((rule, Error::new_spanned(at, text(rule, value, help))));
    }

    /// A word that an attribute does not accept; `possible` lists the accepted ones.
    pub(crate) fn unknown(
        &mut self,
        at: impl ToTokens,
        rule: Rule,
        word: impl Display,
        possible: &str,
    ) {
        let word = word.to_string();
        let help = nearest::help(&word, possible);
        self.error(at, rule, word, help);
    }

    /// As [`error`](Self::error), if there are no tokens to underline.
    pub(crate) fn error_at(
        &mut self,
        at: Span,
        rule: Rule,
        value: impl Display,
        help: impl Display,
    ) {
        self.errors.push((rule, Error::new(at, text(rule, value, help))));
    }

    /// The same with the fix of the catalogue.
    pub(crate) fn rule_at(&mut self, at: Span, rule: Rule, value: impl Display) {
        self.error_at(at, rule, value, rule.help());
    }

    /// A syntax error of `syn`, optionally with a help text.
    pub(crate) fn syntax(&mut self, error: Error) {
        let (message, code) = (Rule::Malformed.message(), Rule::Malformed.code());
        self.errors.extend(error.into_iter().map(|error| {
            let found = error.to_string();
            let (found, help) = match found.split_once("\nhelp: ") {
                Some((found, help)) => (found, help),
                None => (&*found, Rule::Malformed.help()),
            };
            let page = Rule::Malformed.page();
            let text = format!("{message}: {found} ({code})\nhelp: {help}\nsee: {page}");
            (Rule::Malformed, Error::new(error.span(), text))
        }));
    }

    /// A violated rule with the texts of the catalogue; its severity decides between error and
    /// warning.
    pub(crate) fn rule(&mut self, at: impl ToTokens, rule: Rule, value: &str) {
        let text = text(rule, value, rule.help());
        match rule.severity() {
            Severity::Error => self.errors.push((rule, Error::new_spanned(at, text))),
            Severity::Warning => {
                let span = at.to_token_stream().span();
                self.warnings.push(Warning { rule, text, span });
            }
        }
    }

    /// A violated rule with a second fix that only the caller knows.
    pub(crate) fn rule_with_help(
        &mut self,
        at: impl ToTokens,
        rule: Rule,
        value: &str,
        help: &str,
    ) {
        let help = format!("{}\nhelp: {help}", rule.help());
        self.errors.push((rule, Error::new_spanned(at, text(rule, value, help))));
    }

    pub(crate) fn error_count(&self) -> usize {
        self.errors.len()
    }

    /// The errors as items.
    pub(crate) fn errors(&self) -> TokenStream {
        self.errors.iter().map(|(_, error)| error.to_compile_error()).collect()
    }

    /// The rule, the text and the span of each error and warning.
    #[cfg(feature = "manifest")]
    pub(crate) fn into_findings(self) -> impl Iterator<Item = (Rule, String, Span)> {
        let errors =
            self.errors.into_iter().map(|(rule, error)| (rule, error.to_string(), error.span()));
        let warnings =
            self.warnings.into_iter().map(|Warning { rule, text, span }| (rule, text, span));
        errors.chain(warnings)
    }

    /// The warnings as items, below the conditions and `allow`s of the function they are about.
    ///
    /// Macros on stable Rust cannot emit warnings. The use of a deprecated constant can: the
    /// compiler shows its note at the span of the use, and `#[allow(deprecated)]` on the handler
    /// silences it.
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

fn text(rule: Rule, value: impl Display, help: impl Display) -> String {
    // A quote needs no escape between backticks.
    let value = value.to_string().escape_debug().to_string().replace("\\'", "'");
    let value = if value.is_empty() { value } else { format!("`{value}`: ") };
    format!("{value}{} ({})\nhelp: {help}\nsee: {}", rule.message(), rule.code(), rule.page())
}
