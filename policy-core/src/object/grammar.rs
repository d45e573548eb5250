//! The grammar of conditions, for the tokens of an attribute and for the text in a manifest.
//!
//! ```text
//! any  = all *( "|" all )
//! all  = unit *( "&" unit )
//! unit = "!" unit | "(" any ")" | atom
//! atom = "anyone" | "authenticated" | "engine" | field
//!      | ("owner" | "same" | "member") "(" field ")"
//!      | ("role" | "scope") "(" text ")" | "with" "(" path ")"
//! ```

use std::str::FromStr;

use super::{Atom, Condition, Field, FieldKind, MAX_CONDITION};
use crate::catalogue::Rule;

/// The deepest nesting of a condition. It bounds the stack, since manifests come from others.
const MAX_DEPTH: usize = 16;

/// The maximum number of statements.
const MAX_ATOMS: usize = 24;

/// A token of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionToken {
    /// A name.
    Word(String),
    /// A text in quotes, without them.
    Text(String),
    /// Any other character.
    Sign(char),
}

/// Why tokens are not a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConditionError {
    /// The index of the token; the number of tokens, if one is missing at the end.
    pub at: usize,
    /// The rule.
    pub rule: Rule,
    /// The value that breaks it.
    pub value: String,
    /// What to write.
    pub help: String,
}

impl Condition {
    /// Reads tokens. With `fields`, each name must be a field of the right kind, and `owner` and
    /// `same(tenant)` stand for the only field of theirs.
    ///
    /// # Errors
    ///
    /// The first token that is wrong.
    pub fn parse(
        tokens: &[ConditionToken],
        fields: Option<&[(String, FieldKind)]>,
    ) -> Result<Self, ConditionError> {
        let mut parser = Parser { tokens, at: 0, fields, atoms: 0 };
        let condition = parser.any(0)?;
        if parser.tokens.get(parser.at).is_some() {
            return Err(parser.unexpected("write `&` or `|` between two conditions"));
        }
        let condition = condition.normal();
        // Its text is read again when it is needed.
        match condition.to_string().len() > MAX_CONDITION {
            true => Err(parser.too_large(0)),
            false => Ok(condition),
        }
    }
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        Self::parse(&tokens(text)?, None)
    }
}

/// The tokens of a text.
fn tokens(text: &str) -> Result<Vec<ConditionToken>, ConditionError> {
    let broken = |at, help: &str| ConditionError {
        at,
        rule: Rule::ConditionMalformed,
        value: String::new(),
        help: help.to_owned(),
    };
    if text.len() > MAX_CONDITION {
        return Err(ConditionError {
            rule: Rule::ConditionTooLarge,
            ..broken(0, Rule::ConditionTooLarge.help())
        });
    }
    let mut tokens = Vec::new();
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        if sign.is_ascii_whitespace() {
            continue;
        }
        if sign == '"' {
            let mut value = String::new();
            loop {
                match signs.next() {
                    Some('"') => break,
                    Some('\\') => value.extend(signs.next()),
                    Some(sign) => value.push(sign),
                    None => return Err(broken(tokens.len(), "close the quotes")),
                }
            }
            tokens.push(ConditionToken::Text(value));
        } else if is_of_word(sign) {
            let mut word = String::from(sign);
            while let Some(next) = signs.next_if(|sign| is_of_word(*sign)) {
                word.push(next);
            }
            tokens.push(ConditionToken::Word(word));
        } else {
            tokens.push(ConditionToken::Sign(sign));
        }
    }
    Ok(tokens)
}

fn is_of_word(sign: char) -> bool {
    // In Rust, characters outside of ASCII occur only in names.
    sign.is_ascii_alphanumeric() || sign == '_' || !sign.is_ascii()
}

struct Parser<'a> {
    tokens: &'a [ConditionToken],
    at: usize,
    fields: Option<&'a [(String, FieldKind)]>,
    atoms: usize,
}

impl Parser<'_> {
    fn any(&mut self, depth: usize) -> Result<Condition, ConditionError> {
        let mut parts = vec![self.all(depth)?];
        while self.take('|') {
            parts.push(self.all(depth)?);
        }
        Ok(Condition::Any(parts))
    }

    fn all(&mut self, depth: usize) -> Result<Condition, ConditionError> {
        let mut parts = vec![self.unit(depth)?];
        while self.take('&') {
            parts.push(self.unit(depth)?);
        }
        Ok(Condition::All(parts))
    }

    fn unit(&mut self, depth: usize) -> Result<Condition, ConditionError> {
        if depth == MAX_DEPTH {
            return Err(self.too_large(self.at));
        }
        if self.take('!') {
            return Ok(Condition::Not(Box::new(self.unit(depth + 1)?)));
        }
        if self.take('(') {
            let inner = self.any(depth + 1)?;
            self.close()?;
            return Ok(inner);
        }
        self.atoms += 1;
        if self.atoms > MAX_ATOMS {
            return Err(self.too_large(self.at));
        }
        self.atom().map(Condition::Atom)
    }

    fn atom(&mut self) -> Result<Atom, ConditionError> {
        let start = self.at;
        let Some(ConditionToken::Word(word)) = self.tokens.get(start) else {
            return Err(self.unexpected("write a condition, such as `owner` or `role(\"lead\")`"));
        };
        self.at += 1;
        let opens = self.take('(');
        let atom = match (word.as_str(), opens) {
            ("anyone", false) => return Ok(Atom::Anyone),
            ("authenticated", false) => return Ok(Atom::Authenticated),
            ("engine", false) => return Ok(Atom::Engine),
            ("owner", false) => return self.only(start, FieldKind::Owner).map(Atom::Owner),
            ("owner", true) => Atom::Owner(self.field(FieldKind::Owner)?),
            ("same", true) => Atom::SameTenant(self.tenant()?),
            ("member", true) => Atom::Member(self.field(FieldKind::Members)?),
            ("role", true) => Atom::Role(self.text()?),
            ("scope", true) => Atom::Scope(self.text()?),
            ("with", true) => Atom::With(self.path()?),
            (name, false) => {
                return self.expect_field(start, name, FieldKind::Flag).map(Atom::Flag);
            }
            (name, true) => {
                let help = "possible are `anyone`, `authenticated`, `owner`, `same(tenant)`, `member(..)`, \
                            `role(\"..\")`, `scope(\"..\")`, `with(..)`, `engine` and the name of a flag";
                return Err(self.error(start, Rule::ConditionUnknown, name.to_owned(), help));
            }
        };
        self.close()?;
        Ok(atom)
    }

    /// The tenant field: `tenant` stands for the only one, unless a field has this name.
    fn tenant(&mut self) -> Result<String, ConditionError> {
        let names =
            |name: &str| self.fields.is_none_or(|fields| fields.iter().any(|(it, _)| it == name));
        match self.tokens.get(self.at) {
            Some(ConditionToken::Word(word)) if word == "tenant" && !names("tenant") => {
                self.at += 1;
                self.only(self.at - 1, FieldKind::Tenant)
            }
            _ => self.field(FieldKind::Tenant),
        }
    }

    fn field(&mut self, kind: FieldKind) -> Result<String, ConditionError> {
        let start = self.at;
        match self.tokens.get(start) {
            Some(ConditionToken::Word(word)) => {
                self.at += 1;
                self.expect_field(start, word, kind)
            }
            _ => Err(self.unexpected("write the name of a field")),
        }
    }

    /// Returns the name of a field of this kind. It is an error if no such field has the name.
    fn expect_field(
        &self,
        at: usize,
        name: &str,
        kind: FieldKind,
    ) -> Result<String, ConditionError> {
        let Some(fields) = self.fields else { return Ok(name.to_owned()) };
        match fields.iter().any(|field| *field == (name.to_owned(), kind)) {
            true => Ok(name.to_owned()),
            false => {
                let mark = mark(kind);
                let help = format!(
                    "write `#[object({mark})]` at the field `{name}`, or the name of a field that has it"
                );
                Err(self.error(at, Rule::ConditionField, name.to_owned(), &help))
            }
        }
    }

    /// The only field of a kind.
    fn only(&self, at: usize, kind: FieldKind) -> Result<String, ConditionError> {
        let word = mark(kind);
        let Some(fields) = self.fields else {
            let help = "in a manifest, a condition names its field, as in `owner(user)`";
            return Err(self.error(at, Rule::ConditionField, word.to_owned(), help));
        };
        let mut names = fields.iter().filter(|field| field.1 == kind).map(|field| &field.0);
        match (names.next(), names.next()) {
            (Some(name), None) => Ok(name.clone()),
            (None, _) => {
                let help = format!("write `#[object({word})]` at the field");
                Err(self.error(at, Rule::ConditionField, word.to_owned(), &help))
            }
            (Some(one), Some(other)) => {
                let atom = if kind == FieldKind::Owner { "owner" } else { "same" };
                let help = format!("write `{atom}({one})` or `{atom}({other})`");
                Err(self.error(at, Rule::ConditionField, word.to_owned(), &help))
            }
        }
    }

    fn text(&mut self) -> Result<String, ConditionError> {
        match self.tokens.get(self.at) {
            Some(ConditionToken::Text(text)) if !text.is_empty() => {
                self.at += 1;
                Ok(text.clone())
            }
            _ => Err(self.unexpected("write a name in quotes, such as `role(\"lead\")`")),
        }
    }

    fn path(&mut self) -> Result<String, ConditionError> {
        let help = "write the name of a function `fn(&Self, &Principal) -> bool`";
        let mut path = String::new();
        loop {
            if self.take(':') {
                if !self.take(':') {
                    return Err(self.unexpected(help));
                }
                path += "::";
            } else if !path.is_empty() {
                return Ok(path);
            }
            let Some(ConditionToken::Word(word)) = self.tokens.get(self.at) else {
                return Err(self.unexpected(help));
            };
            path += word;
            self.at += 1;
        }
    }

    fn take(&mut self, sign: char) -> bool {
        let is_next = self.tokens.get(self.at) == Some(&ConditionToken::Sign(sign));
        self.at += usize::from(is_next);
        is_next
    }

    fn close(&mut self) -> Result<(), ConditionError> {
        if self.take(')') { Ok(()) } else { Err(self.unexpected("write `)`")) }
    }

    fn unexpected(&self, help: &str) -> ConditionError {
        let value = match self.tokens.get(self.at) {
            None => String::new(),
            Some(ConditionToken::Word(text) | ConditionToken::Text(text)) => text.clone(),
            Some(ConditionToken::Sign(sign)) => sign.to_string(),
        };
        self.error(self.at, Rule::ConditionMalformed, value, help)
    }

    fn too_large(&self, at: usize) -> ConditionError {
        let rule = Rule::ConditionTooLarge;
        self.error(at, rule, String::new(), rule.help())
    }

    fn error(&self, at: usize, rule: Rule, value: String, help: &str) -> ConditionError {
        ConditionError { at, rule, value, help: help.to_owned() }
    }
}

/// The word of an attribute that marks a field of a kind.
fn mark(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Owner => "owner",
        FieldKind::Tenant => "tenant",
        FieldKind::Members => "members",
        FieldKind::Flag => "flag",
    }
}

impl Field {
    /// The names and kinds of fields, for [`Condition::parse`].
    pub fn kinds(fields: &[Self]) -> Vec<(String, FieldKind)> {
        fields.iter().map(|field| (field.name.to_owned(), field.kind)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> Vec<(String, FieldKind)> {
        [
            ("author", FieldKind::Owner),
            ("team", FieldKind::Tenant),
            ("watchers", FieldKind::Members),
            ("draft", FieldKind::Flag),
        ]
        .map(|(name, kind)| (name.to_owned(), kind))
        .to_vec()
    }

    fn read(text: &str) -> Result<String, (Rule, usize)> {
        let read = Condition::parse(&tokens(text).unwrap(), Some(&fields()));
        read.map(|it| it.to_string()).map_err(|error| (error.rule, error.at))
    }

    #[test]
    fn fields_have_kinds() {
        assert_eq!(read("owner | same(tenant)").unwrap(), "owner(author) | same(team)");
        assert_eq!(
            read("owner(author) & member(watchers)").unwrap(),
            "member(watchers) & owner(author)"
        );
        assert_eq!(read("!draft").unwrap(), "!draft");
        for (text, at) in [
            ("owner(team)", 2),
            ("same(author)", 2),
            ("member(draft)", 2),
            ("watchers", 0),
            ("x", 0),
        ] {
            assert_eq!(read(text), Err((Rule::ConditionField, at)), "{text}");
        }
        let two = [("a".to_owned(), FieldKind::Owner), ("b".to_owned(), FieldKind::Owner)];
        let error = Condition::parse(&tokens("owner").unwrap(), Some(&two)).unwrap_err();
        assert_eq!(
            (error.rule, &*error.help),
            (Rule::ConditionField, "write `owner(a)` or `owner(b)`")
        );
    }

    #[test]
    fn the_wrong_token_is_named() {
        for (text, at) in [
            ("", 0),
            ("draft draft", 1),
            ("draft |", 2),
            ("| draft", 0),
            ("(draft", 2),
            ("draft)", 1),
            ("role(lead)", 2),
            ("role(\"\")", 2),
            ("with()", 2),
            ("with(a:b)", 4),
            ("with(a::)", 5),
            ("with(a b)", 3),
            ("with(::)", 4),
            ("draft && draft", 2),
        ] {
            assert_eq!(read(text), Err((Rule::ConditionMalformed, at)), "{text}");
        }
        assert_eq!(read("admin(\"x\")"), Err((Rule::ConditionUnknown, 0)));
        assert!(tokens("role(\"x").is_err());
    }

    #[test]
    fn a_condition_of_others_is_bounded() {
        for text in [
            "(".repeat(100_000),
            "!".repeat(1_000),
            format!("{}draft{}", "(".repeat(16), ")".repeat(16)),
            vec!["draft"; 25].join(" | "),
            // Its canonical text has more spaces.
            format!("draft|role(\"{}\")", "x".repeat(MAX_CONDITION - 15)),
        ] {
            let error = text.parse::<Condition>().unwrap_err();
            assert_eq!(error.rule, Rule::ConditionTooLarge, "{}", text.len());
        }
        let long = format!("draft | role(\"{}\")", "x".repeat(MAX_CONDITION - 16));
        assert_eq!(long.parse::<Condition>().map(|it| it.to_string()), Ok(long));
        assert!(vec!["draft"; 24].join(" | ").parse::<Condition>().is_ok());
        assert!(format!("{}draft{}", "(".repeat(15), ")".repeat(15)).parse::<Condition>().is_ok());
    }
}
