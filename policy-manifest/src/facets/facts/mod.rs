//! The facts about an app as a whole and about the targets of its routes: a type for each, and an order
//! for each of its fields.

mod handler;
pub(crate) mod order;
mod server;
mod sessions;
mod target;
mod tokens;

use std::collections::BTreeMap;

use policy_core::path::TrailingSlash;
use serde_json::Value;

pub use handler::{HandlerFacts, OwnProblem};
pub use server::{ServerFacts, TlsFacts};
pub use sessions::SessionFacts;
pub use target::TargetFacts;
pub use tokens::{IssuerFacts, TokenFacts};

use crate::{
    algebra::OriginRegion,
    facets::{Direction, millis_in_words, seconds_in_words},
};

/// What a change of a fact does to access, and the change in words; `None` if it has not changed.
pub(crate) type FactChange = Option<(Direction, String)>;

/// A type of facts, whose fields have orders.
pub(crate) trait Facts: Default + PartialEq {
    /// The changed fields.
    fn changes(&self, new: &Self) -> Vec<(&'static str, Direction, String)>;

    /// The name and the JSON text of each field without its default value.
    fn fields(&self) -> Vec<(&'static str, String)>;

    /// All changes as one.
    fn change(&self, new: &Self) -> FactChange {
        let changes = self.changes(new).into_iter();
        let named = changes
            .map(|(name, direction, words)| (direction, format!("{} {words}", in_words(name))));
        order::join(named)
    }
}

/// The name of a field in words: its unit is in the words of its value.
fn in_words(field: &str) -> String {
    let name = field.strip_suffix("_ms").or_else(|| field.strip_suffix("_s")).unwrap_or(field);
    name.replace('_', " ")
}

/// Defines a type of facts. Each field has its order: a function that compares an old and a new value.
/// A field with its default value is left out of the text.
macro_rules! facts {
    (
        $(#[$struct_doc:meta])*
        $Name:ident {
            $($(#[$doc:meta])* $field:ident: $Type:ty => $order:expr,)*
        }
    ) => {
        $(#[$struct_doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
        #[serde(deny_unknown_fields, default)]
        #[non_exhaustive]
        pub struct $Name {
            $(
                $(#[$doc])*
                #[serde(skip_serializing_if = "crate::facets::is_default")]
                pub $field: $Type,
            )*
        }

        impl crate::facets::facts::Facts for $Name {
            fn changes(
                &self,
                new: &Self,
            ) -> Vec<(&'static str, crate::facets::Direction, String)> {
                let mut found = Vec::new();
                $(
                    let change: crate::facets::facts::FactChange = $order(&self.$field, &new.$field);
                    if let Some((direction, words)) = change {
                        found.push((stringify!($field), direction, words));
                    }
                )*
                found
            }

            fn fields(&self) -> Vec<(&'static str, String)> {
                let mut found = Vec::new();
                $(
                    if !crate::facets::is_default(&self.$field) {
                        found.push((stringify!($field), crate::facets::json(&self.$field)));
                    }
                )*
                found
            }
        }

        impl $Name {
            /// The facts in words, such as `idle 15m`; those with their default value are left out.
            pub fn words(&self) -> Vec<String> {
                crate::facets::facts::words_of(self)
            }
        }
    };
}

pub(crate) use facts;

/// The fields of facts in words.
fn words_of(facts: &impl serde::Serialize) -> Vec<String> {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(facts) else { return Vec::new() };
    // Another crate may have serde_json keep the order in which they are written.
    fields.sort_keys();
    fields.iter().map(|(field, value)| field_in_words(field, value)).collect()
}

fn field_in_words(field: &str, value: &Value) -> String {
    let name = in_words(field);
    let value = match value {
        Value::Bool(_) => return name,
        Value::String(text) => text.clone(),
        Value::Number(number) if field.ends_with("_ms") => {
            millis_in_words(number.as_u64().unwrap_or(u64::MAX))
        }
        Value::Number(number) if field.ends_with("_s") => {
            seconds_in_words(number.as_i64().unwrap_or(i64::MAX))
        }
        Value::Array(items) => {
            let items = items.iter().map(|item| match item {
                Value::String(text) => text.clone(),
                other => words_of(other).join(", "),
            });
            items.collect::<Vec<_>>().join(" ")
        }
        Value::Number(number) => number.to_string(),
        other => words_of(other).join(", "),
    };
    format!("{name} {value}")
}

facts! {
    /// The facts about an app as a whole.
    AppFacts {
        /// The origin under which browsers reach it; none in the development profile.
        public_origin: Option<String> => order::unordered,
        /// Its sessions, if it has any.
        sessions: Option<SessionFacts> => |old: &_, new: &_| {
            order::optional(old, new, Direction::Shifts, Direction::Narrows)
        },
        /// Its tokens, if it accepts any.
        tokens: Option<TokenFacts> => |old: &_, new: &_| {
            order::optional(old, new, Direction::Opens, Direction::Narrows)
        },
        /// The networks of the proxies that it trusts, each after the format in which they report
        /// clients.
        proxies: Vec<String> => order::networks,
        /// How a path is treated that differs from its route in the trailing slash.
        trailing_slash: TrailingSlash => trailing_slashes,
        /// Whether TRACE is served.
        trace: bool => order::opening,
        /// The types of the layers around the whole app, the innermost first. They see requests before
        /// the gates.
        layers: Vec<String> => order::unordered_list,
        /// The run-time lists of origins, by name.
        lists: BTreeMap<String, OriginListFacts> => order::by_name,
        /// The engine that decides where rules of objects ask it, if there is one.
        engine: Option<EngineFacts> => engines,
        /// Whether instances share their rates.
        shared_limits: bool => order::protecting,
        /// How many clients a rate distinguishes.
        rate_clients: Option<u64> => order::shifting,
        /// How many clients of one IPv6 network of 48 bits a rate serves.
        rate_clients_per_network: Option<u64> => order::more,
        /// Its TLS; none if a proxy in front of it has it.
        tls: Option<TlsFacts> => |old: &_, new: &_| {
            // Without it, what the proxy or a client sends is in clear text.
            order::optional(old, new, Direction::Shifts, Direction::Opens)
        },
        /// The settings of its connections.
        server: ServerFacts => Facts::change,
    }
}

facts! {
    /// A run-time list of origins.
    OriginListFacts {
        /// Where its entries come from, such as `env PARTNERS` or `shared`; none if the code lists
        /// them.
        source: Option<String> => order::unordered,
        /// The entries that the code lists.
        origins: Vec<String> => regions,
        /// The bound that is stated at run time, where the code lists it.
        within: Option<Vec<String>> => |old: &Option<Vec<String>>, new: &Option<Vec<String>>| {
            bounds(old.as_deref(), new.as_deref())
        },
        /// The variable that has the bound.
        within_env: Option<String> => order::unordered,
    }
}

facts! {
    /// The engine that decides where rules of objects ask it.
    EngineFacts {
        /// Its name.
        name: String => order::unordered,
        /// The digest of its policies.
        digest: String => order::unordered,
    }
}

/// What an engine decides is not known, so another one may admit others, and may refuse others.
fn engines(old: &Option<EngineFacts>, new: &Option<EngineFacts>) -> FactChange {
    let words = |engine: &Option<EngineFacts>| {
        let words = engine.as_ref().map(|engine| format!("`{} {}`", engine.name, engine.digest));
        words.unwrap_or_else(|| "none".to_owned())
    };
    (old != new).then(|| {
        let change = format!("was {}, is {}", words(old), words(new));
        (Direction::OpensAndNarrows, change + ": it cannot be shown to decide as before")
    })
}

/// The origins of patterns.
pub(crate) fn region(patterns: &[String]) -> OriginRegion {
    patterns.iter().filter_map(|pattern| pattern.parse::<OriginRegion>().ok()).collect()
}

/// More origins open.
pub(crate) fn regions(old: &[String], new: &[String]) -> FactChange {
    let [before, after] = [region(old), region(new)];
    let (gained, lost) = (after.difference(&before), before.difference(&after));
    let direction = Direction::from_effects(!gained.is_empty(), !lost.is_empty())?;
    let gain = (!gained.is_empty()).then(|| format!("gain `{gained}`"));
    let lose = (!lost.is_empty()).then(|| format!("lose `{lost}`"));
    Some((direction, gain.into_iter().chain(lose).collect::<Vec<_>>().join(", ")))
}

/// Without a bound, a list may name every origin.
fn bounds(old: Option<&[String]>, new: Option<&[String]>) -> FactChange {
    match (old, new) {
        (None, None) => None,
        (Some(_), None) => Some((Direction::Opens, "is not stated any more".to_owned())),
        (None, Some(new)) => Some((Direction::Narrows, format!("is {}", new.join(" ")))),
        (Some(old), Some(new)) => regions(old, new),
    }
}

fn trailing_slashes(old: &TrailingSlash, new: &TrailingSlash) -> FactChange {
    let words = |of| match of {
        TrailingSlash::Strict => "another path",
        TrailingSlash::Redirect => "redirected",
        TrailingSlash::Same => "the same resource",
    };
    let direction = match (old, new) {
        (old, new) if old == new => return None,
        // A path without its own route may have matched a prefix.
        (TrailingSlash::Strict, TrailingSlash::Same)
        | (TrailingSlash::Same, TrailingSlash::Strict) => Direction::OpensAndNarrows,
        (old, new) if old < new && *old != TrailingSlash::Strict => Direction::Opens,
        (_, TrailingSlash::Strict) => Direction::Opens,
        _ => Direction::Narrows,
    };
    let (old, new) = (words(*old), words(*new));
    Some((direction, format!("a path with another trailing slash was {old}, is {new}")))
}
