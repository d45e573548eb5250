//! `public, max_age = 60, ..`, a shared policy, or `none`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Expr, Ident, Result, Token, ext::IdentExt, parse::ParseStream};

use super::{
    List, add_flag, cors::number_of, is_constant, peek_word, peeled, read_entries, read_value,
    refuse_company, repeated, set,
};
use crate::{collect::Taken, diag::Findings};

/// What `#[cache]` says.
pub(crate) enum CacheArgs {
    /// A policy of this route alone.
    Written(Written),
    /// The value of a path.
    Shared(Expr),
    /// None, whatever the outer levels say.
    Nothing,
}

/// A policy, part by part.
pub(crate) struct Written {
    /// The tokens to underline when the attribute as a whole is wrong.
    pub(crate) place: TokenStream,
    pub(crate) words: Vec<Ident>,
    pub(crate) ages: Vec<Age>,
    pub(crate) vary: Option<List>,
}

/// `key = seconds`
pub(crate) struct Age {
    pub(crate) key: Ident,
    pub(crate) seconds: i64,
    /// The tokens of both.
    pub(crate) place: TokenStream,
}

const WORDS: [&str; 6] =
    ["no_store", "no_cache", "private", "public", "must_revalidate", "immutable"];
const AGES: [&str; 4] = ["max_age", "s_maxage", "stale_while_revalidate", "stale_if_error"];

const POSSIBLE: &str = "possible are `no_store`, `private`, `public`, `no_cache`, `max_age`, \
     `s_maxage`, `stale_while_revalidate`, `stale_if_error`, `must_revalidate`, `immutable` and \
     `vary`; or the name of a `CachePolicy`, or `none`";

impl CacheArgs {
    /// Reads the arguments; `None` after an error: what seems to be missing, or to contradict
    /// itself, may be what could not be read.
    pub(crate) fn read(taken: Taken, findings: &mut Findings) -> Option<Self> {
        let Taken { place, args, .. } = taken;
        let mut written = Written { place, words: Vec::new(), ages: Vec::new(), vary: None };
        // Whole policies, each with the tokens that name it.
        let mut wholes = Vec::new();
        let mut count = 0;
        let errors_before = findings.error_count();
        read_entries(args, findings, |input, findings| {
            count += 1;
            if !peek_word(input) {
                let shared: Expr = input.parse()?;
                if !matches!(peeled(&shared), Expr::Path(_)) {
                    findings.error(&shared, "this is not the name of a policy", POSSIBLE);
                    return Ok(());
                }
                wholes.push((shared.to_token_stream(), Self::Shared(shared)));
                return Ok(());
            }
            let word = input.call(Ident::parse_any)?;
            if input.peek(Token![=]) || is_part(&word) {
                return written.read_part(word, input, findings);
            }
            if word == "none" {
                wholes.push((word.to_token_stream(), Self::Nothing));
            } else if is_constant(&word) {
                let shared = syn::parse_quote!(#word);
                wholes.push((word.to_token_stream(), Self::Shared(shared)));
            } else {
                findings.error(&word, format_args!("unknown word `{word}`"), POSSIBLE);
            }
            Ok(())
        });
        if count > 1 {
            refuse_company(wholes.iter().map(|(place, _)| place), findings);
        }
        let is_read = findings.error_count() == errors_before;
        let whole = wholes.pop().map_or(Self::Written(written), |(_, whole)| whole);
        is_read.then_some(whole)
    }
}

fn is_part(word: &Ident) -> bool {
    WORDS.iter().chain(&AGES).any(|part| word == part) || word == "vary"
}

impl Written {
    pub(crate) fn has(&self, word: &str) -> bool {
        self.words.iter().any(|found| found == word)
    }

    pub(crate) fn age(&self, key: &str) -> Option<&Age> {
        self.ages.iter().find(|age| age.key == key)
    }

    fn read_part(
        &mut self,
        key: Ident,
        input: ParseStream<'_>,
        findings: &mut Findings,
    ) -> Result<()> {
        let (assigned, value) = read_value(input)?;
        let name = key.to_string();
        if WORDS.contains(&name.as_str()) {
            add_flag(&mut self.words, key, assigned, findings);
            return Ok(());
        }
        if !is_part(&key) {
            findings.error(&key, format_args!("unknown argument `{key}`"), POSSIBLE);
            return Ok(());
        }
        let Some(value) = value else {
            findings.error(&key, format_args!("`{key}` needs a value"), example(&name));
            return Ok(());
        };
        if name == "vary" {
            let names = List::read_literals(value, &name, &example(&name), findings);
            if !set(&mut self.vary, names) {
                repeated(&key, findings);
            }
        } else if self.age(&name).is_some() {
            repeated(&key, findings);
        } else if let Some(seconds) = number_of(&value) {
            let place = quote!(#key = #value);
            self.ages.push(Age { key, seconds, place });
        } else {
            findings.error(
                &value,
                format_args!("`{name}` is a literal number of seconds"),
                example(&name),
            );
        }
        Ok(())
    }
}

fn example(part: &str) -> String {
    if part == "vary" {
        "write a list, such as `vary = [\"accept\"]`".to_owned()
    } else {
        format!("write seconds, such as `{part} = 60`")
    }
}
