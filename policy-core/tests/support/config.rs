//! Policies in the format of the product.

use policy_core::cors::CorsConfig;

use crate::exchange::Policy;

impl Policy {
    pub fn config(&self) -> CorsConfig {
        let mut config = CorsConfig::new(self.origins.clone());
        config.methods.clone_from(&self.methods);
        config.headers.clone_from(&self.headers);
        config.expose.clone_from(&self.expose);
        config.credentials = self.credentials;
        config.max_age = self.max_age;
        config.dangerous_insecure_origins = self.allow_insecure;
        config.dangerous_public_suffix = self.allow_public_suffix;
        config
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
