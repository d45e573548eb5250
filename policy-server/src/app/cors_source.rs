//! The source of a CORS policy: a constant or a configuration file.

use policy_core::cors::{Cors, CorsConfig, CorsPolicy, OriginLists, PolicyErrors};

/// A CORS policy for a target without attributes: a constant or a configuration.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CorsSource {
    /// A constant, which the compiler has checked.
    Policy(CorsPolicy),
    /// A configuration, which is checked at start.
    Config(CorsConfig),
}

impl CorsSource {
    pub(crate) fn compile(
        &self,
        location: &str,
        lists: &OriginLists,
    ) -> Result<Cors, PolicyErrors> {
        match self {
            Self::Policy(policy) => Cors::new(location, policy, lists),
            Self::Config(config) => Cors::from_config(location, config),
        }
    }
}

impl From<CorsPolicy> for CorsSource {
    fn from(policy: CorsPolicy) -> Self {
        Self::Policy(policy)
    }
}

impl From<CorsConfig> for CorsSource {
    fn from(config: CorsConfig) -> Self {
        Self::Config(config)
    }
}
