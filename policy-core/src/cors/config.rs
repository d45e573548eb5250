//! Policies from configuration files.

use super::spec::{CorsSpec, Origins};

/// The owned form of a CORS policy, to be read from a file; unknown keys are refused.
///
/// [`Cors::from_config`](super::Cors::from_config) compiles it, with the same rules as for
/// attributes.
///
/// ```
/// use policy_core::cors::{Cors, CorsConfig};
///
/// let mut config = CorsConfig::new(["https://app.example"]);
/// config.credentials = true;
/// assert!(Cors::from_config("partners", &config).is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
#[non_exhaustive]
pub struct CorsConfig {
    /// Which origins may read responses: origins, patterns, or `*` alone.
    pub origins: Vec<String>,
    /// Methods that a preflight allows; absent for those that the router serves.
    pub methods: Option<Vec<String>>,
    /// Request headers that a preflight allows.
    pub headers: Vec<String>,
    /// Response headers that a page may read.
    pub expose: Vec<String>,
    /// Whether requests may include cookies.
    pub credentials: bool,
    /// Seconds for which a browser may cache a preflight response.
    pub max_age: Option<i64>,
    /// See [`CorsSpec::dangerous_insecure_origins`].
    pub dangerous_insecure_origins: bool,
    /// See [`CorsSpec::dangerous_public_suffix`].
    pub dangerous_public_suffix: bool,
}

impl CorsConfig {
    /// A policy that lets these origins read responses, and states nothing else.
    pub fn new(origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { origins: origins.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Hands the spec to `use_spec`, borrowed from this configuration.
    pub fn with_spec<T>(&self, use_spec: impl FnOnce(&CorsSpec<'_>) -> T) -> T {
        let origins = texts(&self.origins);
        let methods = self.methods.as_deref().map(texts);
        let headers = texts(&self.headers);
        let expose = texts(&self.expose);
        use_spec(&CorsSpec {
            origins: Origins::Listed(&origins),
            credentials: self.credentials,
            methods: methods.as_deref(),
            headers: &headers,
            expose: &expose,
            max_age: self.max_age,
            dangerous_insecure_origins: self.dangerous_insecure_origins,
            dangerous_public_suffix: self.dangerous_public_suffix,
            dangerous_configured_bound: false,
        })
    }
}

fn texts(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}
