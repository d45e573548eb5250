//! `public`, or `session | token, optional, scopes = [..], ..`, or `scheme = ApiKeys, ..`.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Expr, Ident, LitStr, Result, Token, Type, ext::IdentExt, parse::ParseStream};

use super::{List, read_entries, repeated, set, string_of};
use crate::{collect::Taken, diag::Findings};

/// What `#[auth]` says.
pub(crate) struct AuthArgs {
    /// The tokens to underline when the attribute as a whole is wrong.
    pub(crate) place: TokenStream,
    /// `public`, `session`, `token` and `ticket`.
    pub(crate) callers: Vec<Ident>,
    pub(crate) scheme: Option<OwnType>,
    pub(crate) optional: bool,
    pub(crate) scopes: Option<List>,
    pub(crate) roles: Option<List>,
    pub(crate) fresh: Option<LitStr>,
    /// An error about the attribute has been found already, so what is not there need not be
    /// missing.
    pub(crate) is_broken: bool,
}

/// The type of an own scheme, and the word in front of it.
pub(crate) struct OwnType {
    pub(crate) key: Ident,
    pub(crate) ty: Type,
}

const CALLERS: [&str; 4] = ["public", "session", "token", "ticket"];

const POSSIBLE: &str = "possible are `public`, or `session`, `token` and `ticket` with `|` \
     between, or `scheme = ApiKeys`; then `optional`, `scopes`, `roles` and `fresh`";

impl AuthArgs {
    pub(crate) fn read(taken: Taken, findings: &mut Findings) -> Self {
        let Taken { place, args, .. } = taken;
        let mut read = Self {
            place,
            callers: Vec::new(),
            scheme: None,
            optional: false,
            scopes: None,
            roles: None,
            fresh: None,
            is_broken: false,
        };
        let errors_before = findings.error_count();
        read_entries(args, findings, |input, findings| read.read_entry(input, findings));
        read.is_broken = findings.error_count() > errors_before;
        read
    }

    pub(crate) fn takes(&self, caller: &str) -> bool {
        self.callers.iter().any(|word| word == caller)
    }

    /// One entry, which is several words where `|` joins them.
    fn read_entry(&mut self, input: ParseStream<'_>, findings: &mut Findings) -> Result<()> {
        let mut is_joined = false;
        loop {
            if !input.peek(Ident::peek_any) {
                return Err(input.error(format_args!("expected a word\nhelp: {POSSIBLE}")));
            }
            let word = input.call(Ident::parse_any)?;
            if CALLERS.iter().any(|caller| word == caller) && !input.peek(Token![=]) {
                self.add_caller(word, is_joined, findings);
            } else {
                self.read_part(&word, input, findings)?;
            }
            if input.parse::<Option<Token![|]>>()?.is_none() {
                return Ok(());
            }
            is_joined = true;
        }
    }

    fn add_caller(&mut self, word: Ident, is_joined: bool, findings: &mut Findings) {
        if self.takes(&word.to_string()) {
            repeated(&word, findings);
            return;
        }
        let is_public = word == "public" || self.takes("public");
        match self.callers.last() {
            Some(other) if !is_joined && !is_public => findings.error(
                &word,
                "credentials that a caller chooses from are joined by `|`",
                format_args!("write `{other} | {word}`"),
            ),
            _ => (),
        }
        self.callers.push(word);
    }

    fn read_part(
        &mut self,
        key: &Ident,
        input: ParseStream<'_>,
        findings: &mut Findings,
    ) -> Result<()> {
        let name = key.to_string();
        let assigned = input.parse::<Option<Token![=]>>()?.is_some();
        if *key == "optional" || CALLERS.contains(&name.as_str()) {
            if assigned {
                input.parse::<Expr>()?;
                let help = format_args!("write `{name}` alone, or leave it out");
                findings.error(key, format_args!("`{name}` has no value"), help);
            } else if std::mem::replace(&mut self.optional, true) {
                repeated(key, findings);
            }
            return Ok(());
        }
        if !matches!(name.as_str(), "scheme" | "scopes" | "roles" | "fresh") {
            if assigned {
                input.parse::<Expr>()?;
            }
            let kind = if assigned { "argument" } else { "word" };
            findings.error(key, format_args!("unknown {kind} `{key}`"), POSSIBLE);
            return Ok(());
        }
        if !assigned || input.is_empty() || input.peek(Token![,]) {
            findings.error(key, format_args!("`{key}` needs a value"), example(&name));
            return Ok(());
        }
        let is_first = if *key == "scheme" {
            let ty = input.parse()?;
            set(&mut self.scheme, Some(OwnType { key: key.clone(), ty }))
        } else {
            let value = input.parse()?;
            match name.as_str() {
                "scopes" => set(&mut self.scopes, read_list(value, &name, findings)),
                "roles" => set(&mut self.roles, read_list(value, &name, findings)),
                _ => set(&mut self.fresh, read_time(&value, findings)),
            }
        };
        if !is_first {
            repeated(key, findings);
        }
        Ok(())
    }
}

fn example(part: &str) -> &'static str {
    match part {
        "scheme" => "write the type, such as `scheme = ApiKeys`",
        "scopes" => "write a list, such as `scopes = [\"orders:read\"]`",
        "roles" => "write a list, such as `roles = [\"admin\"]`",
        _ => "write a time, such as `fresh = \"10m\"`",
    }
}

fn read_list(value: Expr, part: &str, findings: &mut Findings) -> Option<List> {
    List::read(value, part, example(part), findings)
}

fn read_time(value: &Expr, findings: &mut Findings) -> Option<LitStr> {
    let text = string_of(value).cloned();
    if text.is_none() {
        findings.error(value, "`fresh` is a string literal", example("fresh"));
    }
    text
}

impl OwnType {
    /// The type as it is written, without blanks.
    pub(crate) fn name(&self) -> String {
        let text = self.ty.to_token_stream().to_string();
        text.split_whitespace().collect()
    }
}
