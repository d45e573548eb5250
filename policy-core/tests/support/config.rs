//! Policies in the format of the product.

use policy_core::cors::CorsConfig;

use crate::exchange::Policy;

impl Policy {
    pub fn config(&self) -> CorsConfig {
        CorsConfig {
            origins: self.origins.clone(),
            methods: self.methods.clone(),
            headers: self.headers.clone(),
            expose: self.expose.clone(),
            credentials: self.credentials,
            max_age: self.max_age,
            dangerous_insecure_origins: self.allow_insecure,
            dangerous_public_suffix: self.allow_public_suffix,
        }
    }
}

impl From<CorsConfig> for Policy {
    fn from(config: CorsConfig) -> Self {
        Self {
            origins: config.origins,
            credentials: config.credentials,
            methods: config.methods,
            headers: config.headers,
            expose: config.expose,
            max_age: config.max_age,
            allow_insecure: config.dangerous_insecure_origins,
            allow_public_suffix: config.dangerous_public_suffix,
        }
    }
}
