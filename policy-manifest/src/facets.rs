//! The facets of a route as owned data.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use policy_core::{cache::Audience, limits::RateKey};

use crate::algebra::OriginRegion;

pub(super) fn is_false(value: &bool) -> bool {
    !value
}

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The callers that a route accepts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// Anybody, without credentials.
    Public,
    /// Callers with one of these credentials.
    Required(Requirement),
}

/// The credentials that a route takes, and the rights that they must have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Requirement {
    /// The cookie of a session.
    #[serde(skip_serializing_if = "is_false")]
    pub session: bool,
    /// A bearer token.
    #[serde(skip_serializing_if = "is_false")]
    pub token: bool,
    /// A ticket in the query.
    #[serde(skip_serializing_if = "is_false")]
    pub ticket: bool,
    /// A scheme of the app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Scheme>,
    /// Whether a caller without credentials is admitted as anonymous.
    #[serde(skip_serializing_if = "is_false")]
    pub optional: bool,
    /// The issuers whose tokens are taken; if it is empty, the app itself, or its only issuer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issuers: Vec<String>,
    /// Scopes, all of which are needed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Roles, one of which is needed; if it is empty, none is needed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// The longest time in seconds since the user last authenticated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fresh: Option<u32>,
}

impl fmt::Display for Auth {
    /// As the attribute writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requirement = match self {
            Self::Public => return f.write_str("public"),
            Self::Required(requirement) => requirement,
        };
        let words = [
            ("session", requirement.session),
            ("token", requirement.token),
            ("ticket", requirement.ticket),
        ];
        let words: Vec<_> = words.into_iter().filter_map(|(word, is)| is.then_some(word)).collect();
        f.write_str(&words.join(" | "))?;
        if let Some(scheme) = &requirement.scheme {
            write!(f, "scheme = {}", scheme.name)?;
        }
        if requirement.optional {
            f.write_str(", optional")?;
        }
        for (word, list) in [
            ("issuers", &requirement.issuers),
            ("scopes", &requirement.scopes),
            ("roles", &requirement.roles),
        ] {
            if !list.is_empty() {
                write!(f, ", {word} = {list:?}")?;
            }
        }
        match requirement.fresh {
            Some(seconds) => write!(f, ", fresh = \"{seconds}s\""),
            None => Ok(()),
        }
    }
}

impl Requirement {
    /// Whether browsers send one of the credentials automatically.
    pub fn is_ambient(&self) -> bool {
        self.session || self.scheme.as_ref().is_some_and(|scheme| scheme.ambient)
    }
}

/// A scheme of the app.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scheme {
    /// Its name.
    pub name: String,
    /// Whether browsers send its credential automatically.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ambient: bool,
}

/// The CSRF protection of requests with an ambient credential.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Csrf {
    /// Its origin is one of ours, and it carries the session's token.
    #[default]
    Token,
    /// Its origin is one of ours; or its headers do not state one, and it carries the token.
    OriginElseToken,
    /// Its origin is one of ours.
    Origin,
    /// No check, for this reason.
    Exempt(String),
}

/// Which pages of other origins may read responses.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Cors {
    /// The origins.
    pub origins: Origins,
    /// Whether requests may include cookies.
    #[serde(default, skip_serializing_if = "is_false")]
    pub credentials: bool,
    /// The methods that a preflight allows, if they are not those that are served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub methods: Option<Vec<String>>,
    /// Request headers beyond the derived ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    /// Response headers that a page may read beyond the safelisted ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expose: Vec<String>,
    /// Seconds for which a browser may keep a preflight response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age: Option<i64>,
    /// The risks that it states.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dangers: Dangers,
}

/// The origins of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Origins {
    /// These origins and patterns; `*` is every origin.
    Listed(Vec<String>),
    /// A list that is given at run time.
    AtRunTime(OriginList),
}

/// A list of origins that is given at run time.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OriginList {
    /// Its name.
    pub list: String,
    /// The patterns that bound the list; without them it may name any origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Vec<String>>,
    /// The path parameter that selects one of several lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The risks that a CORS policy states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Dangers {
    /// Credentials for origins that are not `https`.
    #[serde(skip_serializing_if = "is_false")]
    pub insecure_origins: bool,
    /// Credentials for every name below a public suffix.
    #[serde(skip_serializing_if = "is_false")]
    pub public_suffix: bool,
}

/// Which caches may keep responses: the directives of `Cache-Control`, times in seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cache {
    /// `no-store`
    #[serde(skip_serializing_if = "is_false")]
    pub no_store: bool,
    /// `no-cache`
    #[serde(skip_serializing_if = "is_false")]
    pub no_cache: bool,
    /// `private` or `public`
    #[serde(skip_serializing_if = "is_default")]
    pub audience: Audience,
    /// `max-age`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age: Option<i64>,
    /// `s-maxage`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s_maxage: Option<i64>,
    /// `stale-while-revalidate`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_while_revalidate: Option<i64>,
    /// `stale-if-error`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_if_error: Option<i64>,
    /// `must-revalidate`
    #[serde(skip_serializing_if = "is_false")]
    pub must_revalidate: bool,
    /// `immutable`
    #[serde(skip_serializing_if = "is_false")]
    pub immutable: bool,
    /// The request headers that responses depend on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub vary: Vec<String>,
}

/// Responses that are scripts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Jsonp {
    /// The parameter of the query that names the function.
    pub callback: String,
    /// Whether the name may have dots.
    #[serde(default, skip_serializing_if = "is_false")]
    pub dotted: bool,
}

/// The limits on sizes, times, rates and concurrency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// The maximum size of a body in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<u64>,
    /// The maximum time until a response is ready, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// How often a client may call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The maximum number of concurrent requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// The maximum size in bytes of a message that a client sends over a WebSocket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<u64>,
    /// How long a client of a WebSocket may be silent, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silence_ms: Option<u64>,
    /// The maximum number of open WebSockets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sockets: Option<u32>,
    /// The maximum number of open WebSockets per caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sockets_per_caller: Option<u32>,
}

/// At most `count` requests of one client within any `per_ms` milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// The maximum number of requests in one period.
    pub count: u32,
    /// The period in milliseconds.
    pub per_ms: u64,
    /// The property by which clients are distinguished.
    #[serde(default, skip_serializing_if = "is_default")]
    pub by: RateKey,
}

/// The security headers of responses: lower-case names and values. A nonce in a
/// `content-security-policy` is written as `'nonce'`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Headers {
    /// On every response.
    pub every: BTreeMap<String, String>,
    /// On pages only.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pages: BTreeMap<String, String>,
}

impl Headers {
    /// The prefix of its digest by which routes refer to it.
    pub(super) fn name(&self) -> String {
        let mut text = String::new();
        for (set, fields) in [("every", &self.every), ("pages", &self.pages)] {
            fields.iter().for_each(|(name, value)| text += &format!("{set} {name}: {value}\n"));
        }
        super::digest_of(&text).chars().take(12).collect()
    }
}

impl Cors {
    /// The patterns that the policy states: its origins, or the bound of a list.
    pub(super) fn patterns(&self) -> &[String] {
        match &self.origins {
            Origins::Listed(patterns) => patterns,
            Origins::AtRunTime(list) => list.within.as_deref().unwrap_or_default(),
        }
    }

    /// The origins that it grants, or may grant at run time.
    ///
    /// ```
    /// use policy_manifest::{Cors, Dangers, Origins};
    ///
    /// let cors = Cors {
    ///     origins: Origins::Listed(vec!["https://*.shop.example".to_owned()]),
    ///     credentials: false,
    ///     methods: None,
    ///     headers: Vec::new(),
    ///     expose: Vec::new(),
    ///     max_age: None,
    ///     dangers: Dangers::default(),
    /// };
    /// assert!(cors.region().contains(b"https://app.shop.example"));
    /// ```
    pub fn region(&self) -> OriginRegion {
        let every = || "*".parse().unwrap_or_default();
        let patterns = match &self.origins {
            Origins::Listed(patterns) => patterns,
            Origins::AtRunTime(list) => match &list.within {
                Some(within) => within,
                None => return every(),
            },
        };
        patterns.iter().filter_map(|pattern| pattern.parse::<OriginRegion>().ok()).collect()
    }
}

impl Cache {
    /// The value of `Cache-Control`, followed by the fields of `vary`.
    pub fn control(&self) -> String {
        let mut words = Vec::new();
        let flags = [
            ("no-store", self.no_store),
            ("no-cache", self.no_cache),
            ("private", self.audience == Audience::Private),
            ("public", self.audience == Audience::Public),
            ("must-revalidate", self.must_revalidate),
            ("immutable", self.immutable),
        ];
        words.extend(flags.iter().filter(|(_, is)| *is).map(|(word, _)| (*word).to_owned()));
        let times = [
            ("max-age", self.max_age),
            ("s-maxage", self.s_maxage),
            ("stale-while-revalidate", self.stale_while_revalidate),
            ("stale-if-error", self.stale_if_error),
        ];
        words.extend(times.iter().filter_map(|(word, time)| Some(format!("{word}={}", (*time)?))));
        let mut text = words.join(", ");
        if !self.vary.is_empty() {
            text += &format!("; vary {}", self.vary.join(" "));
        }
        text
    }
}
