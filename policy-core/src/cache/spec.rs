//! What a caching policy says, before anybody checked it.

use crate::{catalogue::Rule, const_text::ConstText};

/// Who may keep an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Audience {
    /// Nothing is said.
    #[default]
    Unstated,
    /// `private`: the cache of one user.
    Private,
    /// `public`: caches that serve many users, too.
    Public,
}

/// The directives of a caching policy (RFC 9111 5.2.2, RFC 5861, RFC 8246), unchecked, and what it
/// has to agree with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSpec<'a> {
    /// `no_store`
    pub no_store: bool,
    /// `no_cache`: ask before each use.
    pub no_cache: bool,
    /// `private` or `public`
    pub audience: Audience,
    /// `private` and `public` both
    pub is_twofold: bool,
    /// Seconds.
    pub max_age: Option<i64>,
    /// Seconds, for caches that serve many users.
    pub s_maxage: Option<i64>,
    /// Seconds.
    pub stale_while_revalidate: Option<i64>,
    /// Seconds.
    pub stale_if_error: Option<i64>,
    /// `must_revalidate`
    pub must_revalidate: bool,
    /// `immutable`
    pub immutable: bool,
    /// The request fields that the answer depends on.
    pub vary: &'a [&'a str],
    /// The methods of the route; empty where they are not known.
    pub methods: &'a [&'a str],
    /// Whether the answer may depend on who asks: the route asks for credentials, or its handler
    /// takes a session.
    pub is_personal: bool,
}

impl CacheSpec<'static> {
    /// A spec that says nothing.
    pub const NOTHING: Self = Self {
        no_store: false,
        no_cache: false,
        audience: Audience::Unstated,
        is_twofold: false,
        max_age: None,
        s_maxage: None,
        stale_while_revalidate: None,
        stale_if_error: None,
        must_revalidate: false,
        immutable: false,
        vary: &[],
        methods: &[],
        is_personal: false,
    };
}

/// The longest age in seconds, which every cache understands (RFC 9111 1.2.2).
pub(super) const LONGEST_AGE: u32 = 0x7FFF_FFFF;

/// A part of a caching policy, or what it has to agree with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The policy as a whole
    Whole,
    /// `no_store`
    NoStore,
    /// `no_cache`
    NoCache,
    /// `private`
    Private,
    /// `public`
    Public,
    /// `max_age`
    MaxAge,
    /// `s_maxage`
    SMaxage,
    /// `stale_while_revalidate`
    StaleWhileRevalidate,
    /// `stale_if_error`
    StaleIfError,
    /// `must_revalidate`
    MustRevalidate,
    /// `immutable`
    Immutable,
    /// `vary`
    Vary,
    /// The methods of the route
    Methods,
}

impl Part {
    /// Every part, in the order in which violations are reported.
    pub const ALL: [Self; 13] = [
        Self::Whole,
        Self::NoStore,
        Self::NoCache,
        Self::Private,
        Self::Public,
        Self::MaxAge,
        Self::SMaxage,
        Self::StaleWhileRevalidate,
        Self::StaleIfError,
        Self::MustRevalidate,
        Self::Immutable,
        Self::Vary,
        Self::Methods,
    ];

    /// The name as it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Whole => "cache",
            Self::NoStore => "no_store",
            Self::NoCache => "no_cache",
            Self::Private => "private",
            Self::Public => "public",
            Self::MaxAge => "max_age",
            Self::SMaxage => "s_maxage",
            Self::StaleWhileRevalidate => "stale_while_revalidate",
            Self::StaleIfError => "stale_if_error",
            Self::MustRevalidate => "must_revalidate",
            Self::Immutable => "immutable",
            Self::Vary => "vary",
            Self::Methods => "method",
        }
    }
}

/// A part of a caching policy that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation<'a> {
    /// The rule.
    pub rule: Rule,
    /// The part.
    pub part: Part,
    /// Which entry of that part, from 0.
    pub index: usize,
    /// The entry itself; empty where the part is no list.
    pub value: &'a str,
}

impl Violation<'_> {
    /// The violation in words, for a const panic.
    pub const fn text(&self) -> ConstText {
        let mut text = ConstText::new("caching policy: ").text(self.part.name());
        if !self.value.is_empty() {
            text = text.text(" #").number(self.index + 1).text(" `").text(self.value).text("`");
        }
        text.rule(self.rule)
    }
}
