//! `public`, and the words that are known and not there yet.

use policy_core::auth::AuthPolicy;
use syn::{Expr, Ident, Token, ext::IdentExt};

use super::read_entries;
use crate::{collect::Taken, diag::Findings};

/// Words of the attribute that this version cannot enforce, so it refuses them.
const NOT_YET: [&str; 7] = ["session", "token", "scheme", "optional", "scopes", "roles", "fresh"];

/// Reads who may call; `None` after an error.
pub(crate) fn read(taken: Taken, findings: &mut Findings) -> Option<AuthPolicy> {
    let Taken { place, args, .. } = taken;
    if args.is_empty() {
        findings.error(place, "`#[auth]` does not say who may call", "write `#[auth(public)]`");
        return None;
    }
    let mut policy = None;
    read_entries(args, findings, |input, findings| {
        loop {
            if !input.peek(Ident::peek_any) {
                return Err(input.error("expected a word\nhelp: write `#[auth(public)]`"));
            }
            let word = input.call(Ident::parse_any)?;
            read_word(&word, &mut policy, findings);
            if input.parse::<Option<Token![=]>>()?.is_some() {
                input.parse::<Expr>()?;
            }
            if input.parse::<Option<Token![|]>>()?.is_none() {
                return Ok(());
            }
        }
    });
    policy
}

fn read_word(word: &Ident, policy: &mut Option<AuthPolicy>, findings: &mut Findings) {
    let name = word.to_string();
    if name == "public" {
        if policy.replace(AuthPolicy::Public).is_some() {
            findings.error(word, format_args!("`{name}` stands here twice"), "remove one of them");
        }
    } else if NOT_YET.contains(&name.as_str()) {
        findings.error(
            word,
            format_args!("`{name}` is not available in this version"),
            "`#[auth(public)]` is all there is: anybody may call, and nobody is asked who they are",
        );
    } else {
        findings.error(word, format_args!("unknown word `{name}`"), "possible is `public`");
    }
}
