//! Passwords, hashed by argon2. It takes time and memory on purpose, so it runs on blocking threads,
//! at most once per core at a time, and only as many wait as are hashed in half a second.

use std::{error::Error, io, sync::Arc, thread};

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHasher, PasswordVerifier},
};
use policy_server::{Problem, Refusal};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
};

/// How many passwords each queue has places for, per core, those in work included. One takes a core
/// of 2025 about 25 ms, so the last of the two queues is done in half a second.
const PLACES: usize = 8;

/// Hashes and verifies passwords.
#[derive(Clone)]
pub struct Passwords {
    argon2: Argon2<'static>,
    /// Verified for unknown users, so that the response takes equally long.
    nobody: Arc<str>,
    cores: Arc<Semaphore>,
    familiar: Arc<Semaphore>,
    strangers: Arc<Semaphore>,
}

/// Where a password waits for a core. A flood of strangers fills their queue, and not that of those
/// who are known.
#[derive(Clone, Copy, Debug)]
pub enum Queue {
    /// Of sessions, and of devices on which the user has logged in before.
    Familiar,
    /// Of everybody else.
    Strangers,
}

/// A place in a queue.
pub struct Place(OwnedSemaphorePermit);

impl Passwords {
    /// Hashes at most one password per core at a time.
    ///
    /// # Errors
    ///
    /// The system does not say how many cores it has.
    pub fn new() -> io::Result<Self> {
        // OWASP, Password Storage: argon2id, 19 MiB, 2 passes, 1 lane.
        let params = Params::new(19_456, 2, 1, None).map_err(io::Error::other)?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let nobody = argon2.hash_password(b"nobody").map_err(io::Error::other)?;
        let cores = thread::available_parallelism()?.get();
        let permits = |number: usize| Arc::new(Semaphore::new(number));
        Ok(Self {
            argon2,
            nobody: nobody.to_string().into(),
            cores: permits(cores),
            familiar: permits(cores * PLACES),
            strangers: permits(cores * PLACES),
        })
    }

    /// A place in this queue. Ask once the request is there as a whole, so that nobody keeps a place
    /// by sending slowly.
    ///
    /// # Errors
    ///
    /// 503 with `Retry-After`, at once: the queue is full.
    pub fn place(&self, queue: Queue) -> Result<Place, Problem> {
        let places = match queue {
            Queue::Familiar => &self.familiar,
            Queue::Strangers => &self.strangers,
        };
        let place = Arc::clone(places).try_acquire_owned();
        let full = |_| Problem::from(Refusal::ConcurrencyExceeded).detail("try again in a second");
        place.map(Place).map_err(full)
    }

    /// Runs a job on a blocking thread once a core is free.
    ///
    /// # Errors
    ///
    /// 500: the job failed.
    pub async fn run<T: Send + 'static>(
        &self,
        Place(place): Place,
        job: impl FnOnce(&Self) -> Result<T, Box<dyn Error + Send + Sync>> + Send + 'static,
    ) -> Result<T, Problem> {
        let core = Arc::clone(&self.cores).acquire_owned().await.map_err(Problem::internal)?;
        let passwords = self.clone();
        let done = spawn_blocking(move || {
            // The job continues if its request is dropped, so it owns them.
            let _permits = (core, place);
            job(&passwords)
        });
        done.await.map_err(Problem::internal)?.map_err(Problem::internal)
    }

    /// The hash of a password, with its parameters and salt.
    ///
    /// # Errors
    ///
    /// The system has no random numbers.
    pub fn hash(&self, password: &str) -> Result<String, argon2::password_hash::Error> {
        Ok(self.argon2.hash_password(password.as_bytes())?.to_string())
    }

    /// Whether the password matches `hash`, which is `None` for an unknown user.
    pub fn verify(&self, password: &str, hash: Option<&str>) -> bool {
        let known = hash.is_some();
        let hash = hash.unwrap_or(&self.nobody);
        self.argon2.verify_password(password.as_bytes(), hash).is_ok() && known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a flood does, without a hash.
    fn filled(passwords: &Passwords, queue: Queue) -> Vec<Place> {
        std::iter::from_fn(|| passwords.place(queue).ok()).take(10_000).collect()
    }

    #[tokio::test]
    async fn a_full_queue_refuses_at_once_and_leaves_the_other_one_alone() {
        let passwords = Passwords::new().expect("argon2");
        let cores = thread::available_parallelism().expect("cores").get();
        let mut flood = filled(&passwords, Queue::Strangers);
        assert_eq!(flood.len(), 8 * cores);
        let refused = passwords.place(Queue::Strangers).map(drop).expect_err("a full queue");
        assert_eq!(refused.status(), 503);
        let response = axum_core::response::IntoResponse::into_response(refused);
        assert_eq!(response.headers()["retry-after"], "1");
        // A known user is served meanwhile.
        let known = passwords.place(Queue::Familiar).expect("a place");
        assert!(passwords.run(known, |_| Ok(())).await.is_ok());
        // A place is free again when its password is hashed, and when its client leaves.
        for done in [true, false] {
            let place = flood.pop().expect("a place");
            let hashed = passwords.run(place, |_| Ok(()));
            if done {
                assert!(hashed.await.is_ok());
            } else {
                drop(hashed);
            }
            flood.push(passwords.place(Queue::Strangers).expect("a free place"));
            assert!(passwords.place(Queue::Strangers).is_err());
        }
    }
}
