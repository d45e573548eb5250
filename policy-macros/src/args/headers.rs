//! `csp = "..", frame = none, ..`, a shared policy, or `none`.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Expr, ExprPath, Ident, LitStr, Result, Token, ext::IdentExt, parse::ParseStream};

use super::{
    List, add_flag, cors::number_of, is_constant, peek_assignment, peeled, read_entries,
    refuse_company, repeated, set, string_of, word_of,
};
use crate::{collect::Taken, diag::Findings};

/// What `#[headers]` says.
pub(crate) enum HeadersArgs {
    /// A policy of this route alone.
    Written(Box<Written>),
    /// The value of a constant.
    Shared(ExprPath),
    /// No fields, whatever the outer levels say.
    Nothing,
}

/// A policy, part by part.
pub(crate) struct Written {
    /// The tokens to underline when the attribute as a whole is wrong.
    pub(crate) place: TokenStream,
    /// The parts that are one text, by their names.
    pub(crate) texts: Vec<(String, LitStr)>,
    pub(crate) frame: Option<FrameArg>,
    pub(crate) permissions: Option<List>,
    pub(crate) hsts: Option<Expr>,
    pub(crate) flags: Vec<Ident>,
}

/// Who may show a page in a frame.
pub(crate) enum FrameArg {
    /// `none`, `same_origin` or `any`
    Word(Ident),
    Listed(List),
}

const FLAGS: [&str; 3] = ["include_subdomains", "preload", "every_answer"];
const TEXTS: [&str; 5] = ["csp", "referrer", "coop", "coep", "corp"];

const POSSIBLE: &str = "possible are `csp`, `frame`, `referrer`, `permissions`, `coop`, `coep`, \
     `corp`, `hsts`, `include_subdomains`, `preload` and `every_answer`; or the name of a \
     `HeadersPolicy`, or `none`";

impl HeadersArgs {
    /// Reads the arguments; `None` after an error that leaves no policy.
    pub(crate) fn read(taken: Taken, findings: &mut Findings) -> Option<Self> {
        let Taken { place, args, .. } = taken;
        let mut written = Written::new(place.clone());
        // Whole policies, each with the tokens that name it.
        let mut wholes = Vec::new();
        let mut count = 0;
        let errors_before = findings.error_count();
        read_entries(args, findings, |input, findings| {
            count += 1;
            if peek_assignment(input) {
                return written.read_part(input, findings);
            }
            let entry: Expr = input.parse()?;
            let tokens = entry.to_token_stream();
            match (word_of(&entry), peeled(&entry)) {
                (Some(word), _) if word == "none" => wholes.push((tokens, Self::Nothing)),
                (Some(word), _) if !is_constant(word) => written.read_flag(word, findings),
                (_, Expr::Path(path)) => wholes.push((tokens, Self::Shared(path.clone()))),
                _ => findings.error(entry, "this is no part of a policy", POSSIBLE),
            }
            Ok(())
        });
        if count == 0 {
            findings.error(&place, "`#[headers]` does not say anything", POSSIBLE);
        }
        if wholes.is_empty() {
            let is_read = findings.error_count() == errors_before;
            return is_read.then(|| Self::Written(Box::new(written)));
        }
        if count > 1 {
            refuse_company(wholes.iter().map(|(place, _)| place), findings);
            return None;
        }
        wholes.pop().map(|(_, whole)| whole)
    }
}

impl Written {
    fn new(place: TokenStream) -> Self {
        Self {
            place,
            texts: Vec::new(),
            frame: None,
            permissions: None,
            hsts: None,
            flags: Vec::new(),
        }
    }

    pub(crate) fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|word| word == flag)
    }

    pub(crate) fn text(&self, part: &str) -> Option<&LitStr> {
        self.texts.iter().find(|(name, _)| name == part).map(|(_, text)| text)
    }

    fn read_flag(&mut self, word: &Ident, findings: &mut Findings) {
        let name = word.to_string();
        if FLAGS.contains(&name.as_str()) {
            add_flag(&mut self.flags, word.clone(), false, findings);
        } else if is_part(&name) {
            findings.error(word, format_args!("`{name}` needs a value"), example(&name));
        } else {
            findings.error(word, format_args!("unknown word `{name}`"), POSSIBLE);
        }
    }

    fn read_part(&mut self, input: ParseStream<'_>, findings: &mut Findings) -> Result<()> {
        let key = input.call(Ident::parse_any)?;
        input.parse::<Token![=]>()?;
        let name = key.to_string();
        if input.is_empty() || input.peek(Token![,]) {
            findings.error(&key, format_args!("`{name}` needs a value"), example(&name));
            return Ok(());
        }
        let value: Expr = input.parse()?;
        if FLAGS.contains(&name.as_str()) {
            let help = format_args!("write `{name}` alone, or leave it out");
            findings.error(&key, format_args!("`{name}` has no value"), help);
            return Ok(());
        }
        if !is_part(&name) {
            findings.error(&key, format_args!("unknown argument `{name}`"), POSSIBLE);
            return Ok(());
        }
        let is_first = match name.as_str() {
            "frame" => set(&mut self.frame, read_frame(value, findings)),
            "permissions" => set(&mut self.permissions, read_list(value, &name, findings)),
            "hsts" => set(&mut self.hsts, read_seconds(value, findings)),
            _ => {
                let is_first = self.text(&name).is_none();
                match string_of(&value) {
                    Some(text) => self.texts.push((name, text.clone())),
                    None => {
                        let message = format_args!("`{name}` is a string literal");
                        findings.error(value, message, example(&name));
                    }
                }
                is_first
            }
        };
        if !is_first {
            repeated(&key, findings);
        }
        Ok(())
    }
}

fn is_part(name: &str) -> bool {
    TEXTS.contains(&name) || matches!(name, "frame" | "permissions" | "hsts")
}

fn example(part: &str) -> String {
    match part {
        "csp" => "write `csp = \"default-src 'self'; script-src 'self' 'nonce'\"`".to_owned(),
        "frame" => "write `none`, `same_origin`, `any`, or a list such as \
                    `frame = [\"https://app.example.com\"]`"
            .to_owned(),
        "permissions" => "write a list, such as `permissions = [\"camera=()\"]`".to_owned(),
        "hsts" => "write seconds, such as `hsts = 31536000`".to_owned(),
        "referrer" => "write `referrer = \"no-referrer\"`".to_owned(),
        "coep" => "write `coep = \"require-corp\"`".to_owned(),
        part => format!("write `{part} = \"same-origin\"`"),
    }
}

fn read_frame(value: Expr, findings: &mut Findings) -> Option<FrameArg> {
    match word_of(&value) {
        Some(word) if ["none", "same_origin", "any"].iter().any(|known| word == known) => {
            Some(FrameArg::Word(word.clone()))
        }
        Some(word) => {
            findings.error(word, format_args!("unknown word `{word}`"), example("frame"));
            None
        }
        None => read_list(value, "frame", findings).map(FrameArg::Listed),
    }
}

fn read_list(value: Expr, part: &str, findings: &mut Findings) -> Option<List> {
    List::read_literals(value, part, &example(part), findings)
}

fn read_seconds(value: Expr, findings: &mut Findings) -> Option<Expr> {
    if number_of(&value).is_none() {
        findings.error(value, "`hsts` is a number of seconds", example("hsts"));
        return None;
    }
    Some(value)
}
