//! The store of an app's sessions.

use std::{path::PathBuf, sync::Arc};

use policy_core::Rule;

#[cfg(feature = "embedded")]
use crate::base::secret_file;
#[cfg(feature = "embedded")]
use crate::store::EmbeddedStore;
#[cfg(feature = "postgres")]
use crate::store::PostgresStore;
#[cfg(feature = "redis")]
use crate::store::RedisStore;
use crate::{
    base::error::StartProblem,
    store::{LimitStore, MemoryStore, SessionStore, TokenStore, ValueStore},
};

/// A store for sessions, tokens and named values.
pub(super) trait FullStore: SessionStore + TokenStore + ValueStore {}

impl<S: SessionStore + TokenStore + ValueStore> FullStore for S {}

/// A store that instances can share, which holds limits too.
pub(super) trait SharedStore: FullStore + LimitStore {}

impl<S: FullStore + LimitStore> SharedStore for S {}

/// The store of sessions.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// A store of this crate. It holds tokens as well.
    #[cfg_attr(
        not(any(feature = "postgres", feature = "redis")),
        expect(dead_code, reason = "no store is shared")
    )]
    Full(Arc<dyn SharedStore>),
    /// The memory of this process.
    Memory(Arc<dyn SharedStore>),
    /// The same without limits, in a file with secrets.
    #[cfg_attr(not(feature = "embedded"), expect(dead_code, reason = "no store has a file"))]
    File(Arc<dyn FullStore>, PathBuf),
    Own(Arc<dyn SessionStore>),
    /// The setting names no store.
    Nowhere {
        call: &'static str,
        rule: Rule,
        value: String,
    },
}

impl Place {
    #[cfg(any(feature = "postgres", feature = "redis"))]
    pub(super) fn full(store: impl SharedStore) -> Self {
        Self::Full(Arc::new(store))
    }

    pub(super) fn memory() -> Self {
        Self::Memory(Arc::new(MemoryStore::new()))
    }

    /// Whether the sessions belong to this process alone.
    pub(super) fn is_of_one_process(&self) -> bool {
        matches!(self, Self::Memory(_) | Self::File(..))
    }

    #[cfg(feature = "embedded")]
    pub(super) fn embedded(store: EmbeddedStore) -> Self {
        let path = store.path().to_owned();
        Self::File(Arc::new(store), path)
    }

    /// The store that a URL names. An error repeats only the scheme, since the rest may contain a
    /// password.
    pub(super) fn from_url(url: &str, call: &'static str) -> Self {
        let nowhere = |rule, value: &str| Self::Nowhere { call, rule, value: value.to_owned() };
        let (scheme, rest) = url.split_once(':').unwrap_or(("", ""));
        match scheme {
            "memory" if rest.is_empty() => Self::memory(),
            #[cfg(feature = "embedded")]
            "redb" if !rest.is_empty() => Self::embedded(EmbeddedStore::new(rest)),
            #[cfg(not(feature = "embedded"))]
            "redb" => nowhere(Rule::SessionFeature, "embedded"),
            #[cfg(feature = "postgres")]
            "postgres" | "postgresql" => Self::full(PostgresStore::new(url)),
            #[cfg(not(feature = "postgres"))]
            "postgres" | "postgresql" => nowhere(Rule::SessionFeature, "postgres"),
            #[cfg(feature = "redis")]
            "redis" | "rediss" | "redis+sentinel" | "rediss+sentinel" => {
                Self::full(RedisStore::new(url))
            }
            #[cfg(not(feature = "redis"))]
            "redis" | "rediss" | "redis+sentinel" | "rediss+sentinel" => {
                nowhere(Rule::SessionFeature, "redis")
            }
            "" => nowhere(Rule::SessionStoreUrl, "no scheme"),
            scheme => nowhere(Rule::SessionStoreUrl, scheme),
        }
    }

    /// The store whose URL is the value of an environment variable.
    pub(super) fn from_env(name: &str) -> Self {
        const CALL: &str = "Sessions::from_env";
        match std::env::var(name) {
            Ok(url) => Self::from_url(&url, CALL),
            Err(_not_set) => {
                Self::Nowhere { call: CALL, rule: Rule::VariableUnset, value: name.to_owned() }
            }
        }
    }

    pub(super) fn sessions(&self) -> Result<Arc<dyn SessionStore>, StartProblem> {
        match self {
            Self::Full(store) | Self::Memory(store) => Ok(Arc::clone(store) as _),
            Self::File(store, _) => Ok(Arc::clone(store) as _),
            Self::Own(store) => Ok(Arc::clone(store)),
            Self::Nowhere { call, rule, value } => {
                Err(StartProblem::new(*rule, *call, value.clone()))
            }
        }
    }

    /// The same store for tokens, if it supports them.
    pub(super) fn tokens(&self) -> Option<Arc<dyn TokenStore>> {
        match self {
            Self::Full(store) | Self::Memory(store) => Some(Arc::clone(store) as _),
            Self::File(store, _) => Some(Arc::clone(store) as _),
            Self::Own(_) | Self::Nowhere { .. } => None,
        }
    }

    /// The same store for limits, if instances share it.
    pub(super) fn limits(&self) -> Option<Arc<dyn LimitStore>> {
        match self {
            Self::Full(store) | Self::Memory(store) => Some(Arc::clone(store) as _),
            Self::File(..) | Self::Own(_) | Self::Nowhere { .. } => None,
        }
    }

    /// The same store for named values, if it supports them.
    pub(super) fn values(&self) -> Option<Arc<dyn ValueStore>> {
        match self {
            Self::Full(store) | Self::Memory(store) => Some(Arc::clone(store) as _),
            Self::File(store, _) => Some(Arc::clone(store) as _),
            Self::Own(_) | Self::Nowhere { .. } => None,
        }
    }

    /// Notices about the file of the store, once it is open.
    pub(super) fn notices(&self) -> Vec<StartProblem> {
        match self {
            #[cfg(feature = "embedded")]
            Self::File(_, path) => {
                let of_file =
                    |rule| StartProblem::new(rule, "App::sessions", path.display().to_string());
                secret_file::broken_rule(path).map(of_file).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }
}
