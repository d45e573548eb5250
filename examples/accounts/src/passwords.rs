//! Passwords, hashed by argon2. It takes time and memory on purpose, so it runs on blocking
//! threads, and at most once per core at a time.

use std::{error::Error, io, sync::Arc, thread};

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHasher, PasswordVerifier},
};
use policy_server::Problem;
use tokio::{sync::Semaphore, task::spawn_blocking};

/// Hashes and verifies passwords.
#[derive(Clone)]
pub(crate) struct Passwords {
    argon2: Argon2<'static>,
    /// Verified for unknown users, so that the response takes equally long.
    nobody: Arc<str>,
    permits: Arc<Semaphore>,
}

impl Passwords {
    pub(crate) fn new() -> io::Result<Self> {
        // OWASP, Password Storage: argon2id, 19 MiB, 2 passes, 1 lane.
        let params = Params::new(19_456, 2, 1, None).map_err(io::Error::other)?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let nobody = argon2.hash_password(b"nobody").map_err(io::Error::other)?;
        let cores = thread::available_parallelism()?.get();
        Ok(Self {
            argon2,
            nobody: nobody.to_string().into(),
            permits: Arc::new(Semaphore::new(cores)),
        })
    }

    /// Runs a job on a blocking thread once a permit is free.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Self) -> Result<T, Box<dyn Error + Send + Sync>> + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(Problem::internal)?;
        let passwords = self.clone();
        let done = spawn_blocking(move || {
            // The job continues if its request is dropped, so it owns the permit.
            let _permit = permit;
            job(&passwords)
        });
        done.await.map_err(Problem::internal)?.map_err(Problem::internal)
    }

    pub(crate) fn hash(&self, password: &str) -> Result<String, argon2::password_hash::Error> {
        Ok(self.argon2.hash_password(password.as_bytes())?.to_string())
    }

    /// Whether the password matches `hash`, which is `None` for an unknown user.
    pub(crate) fn verify(&self, password: &str, hash: Option<&str>) -> bool {
        let known = hash.is_some();
        let hash = hash.unwrap_or(&self.nobody);
        self.argon2.verify_password(password.as_bytes(), hash).is_ok() && known
    }
}
