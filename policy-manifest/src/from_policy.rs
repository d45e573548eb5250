//! Facets as data, from the policies of the engine.

use policy_core::{
    auth::{self, AuthPolicy},
    cache::CachePolicy,
    cors::{self, CorsSpec},
    csrf::CsrfPolicy,
    headers::SecurityHeaders,
    jsonp::{Grammar, JsonpPolicy},
    limits,
};

use crate::facets::{
    Auth, Cache, Cors, Csrf, Dangers, Headers, Jsonp, Limits, OriginList, Origins, Rate,
    Requirement, Scheme,
};

impl From<&AuthPolicy> for Auth {
    fn from(policy: &AuthPolicy) -> Self {
        match policy {
            AuthPolicy::Public => Self::Public,
            AuthPolicy::Required(requirement) => Self::Required(requirement.into()),
        }
    }
}

impl From<&auth::Requirement> for Requirement {
    fn from(requirement: &auth::Requirement) -> Self {
        let scheme = requirement
            .scheme
            .map(|scheme| Scheme { name: scheme.name.to_owned(), ambient: scheme.ambient });
        Self {
            session: requirement.session,
            token: requirement.token,
            ticket: requirement.ticket,
            scheme,
            optional: requirement.optional,
            issuers: texts(requirement.issuers),
            scopes: texts(requirement.scopes),
            roles: texts(requirement.roles),
            fresh: requirement.fresh,
        }
    }
}

impl From<&CsrfPolicy> for Csrf {
    fn from(policy: &CsrfPolicy) -> Self {
        match policy {
            CsrfPolicy::Token => Self::Token,
            CsrfPolicy::OriginElseToken => Self::OriginElseToken,
            CsrfPolicy::Origin => Self::Origin,
            CsrfPolicy::Exempt(reason) => Self::Exempt((*reason).to_owned()),
        }
    }
}

impl From<&CorsSpec<'_>> for Cors {
    fn from(spec: &CorsSpec<'_>) -> Self {
        let origins = match spec.origins {
            cors::Origins::Listed(origins) => Origins::Listed(texts(origins)),
            cors::Origins::AtRunTime { name, within, by } => {
                let (list, by) = (name.to_owned(), by.map(str::to_owned));
                Origins::AtRunTime(OriginList { list, within: within.map(texts), by })
            }
        };
        Self {
            origins,
            credentials: spec.credentials,
            methods: spec.methods.map(texts),
            headers: texts(spec.headers),
            expose: texts(spec.expose),
            max_age: spec.max_age,
            dangers: Dangers {
                insecure_origins: spec.dangerous_insecure_origins,
                public_suffix: spec.dangerous_public_suffix,
            },
        }
    }
}

impl From<&CachePolicy> for Cache {
    fn from(policy: &CachePolicy) -> Self {
        let spec = policy.spec();
        Self {
            no_store: spec.no_store,
            no_cache: spec.no_cache,
            audience: spec.audience,
            max_age: spec.max_age,
            s_maxage: spec.s_maxage,
            stale_while_revalidate: spec.stale_while_revalidate,
            stale_if_error: spec.stale_if_error,
            must_revalidate: spec.must_revalidate,
            immutable: spec.immutable,
            vary: texts(spec.vary),
        }
    }
}

impl From<&JsonpPolicy> for Jsonp {
    fn from(policy: &JsonpPolicy) -> Self {
        let spec = policy.spec();
        Self { callback: spec.callback.to_owned(), dotted: spec.grammar == Grammar::Dotted }
    }
}

impl From<&limits::Limits> for Limits {
    fn from(limits: &limits::Limits) -> Self {
        let millis =
            |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let rate = limits.rate.map(|rate| Rate {
            count: rate.count,
            per_ms: millis(rate.per),
            by: rate.by,
        });
        Self {
            body: limits.body,
            timeout_ms: limits.timeout.map(millis),
            rate,
            concurrency: limits.concurrency,
            message: limits.message,
            silence_ms: limits.silence.map(millis),
            sockets: limits.sockets,
            sockets_per_caller: limits.sockets_per_caller,
        }
    }
}

impl From<&SecurityHeaders> for Headers {
    fn from(headers: &SecurityHeaders) -> Self {
        let [every, pages] = headers.texts();
        Self { every, pages }
    }
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}
