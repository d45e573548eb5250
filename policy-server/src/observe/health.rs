//! Health probes: whether the process lives, and whether it accepts requests.

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use axum_core::response::IntoResponse;
use policy_core::Refusal;

use crate::{
    auth::AuthService, base::problem::Problem, handler::service::SharedService,
    store::stored_origins::StoredOrigins,
};

/// The kind of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    Health,
    Readiness,
}

impl Probe {
    pub(crate) fn service(self, readiness: &Readiness) -> SharedService {
        let readiness = readiness.clone();
        SharedService::from_fn(move |_request| {
            let refusal = readiness.refusal().filter(|_| self == Self::Readiness);
            std::future::ready(match refusal {
                None => "ok\n".into_response(),
                Some(refusal) => Problem::from(refusal).into_response(),
            })
        })
    }
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Health => "App::health",
            Self::Readiness => "App::readiness",
        })
    }
}

/// Whether the server accepts new requests, and can serve them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readiness(Arc<State>);

#[derive(Debug, Default)]
struct State {
    is_ending: AtomicBool,
    /// Set once the stores are open.
    auth: OnceLock<Arc<AuthService>>,
    origins: OnceLock<Vec<StoredOrigins>>,
}

impl Readiness {
    /// Reports from now on that the server accepts no new requests.
    pub(crate) fn end(&self) {
        self.0.is_ending.store(true, Relaxed);
    }

    /// From now on, also reports that the server is not ready while a store cannot write, since no
    /// user could log in or out, or while a stored list of origins cannot be used.
    pub(crate) fn watch(&self, auth: Arc<AuthService>, origins: Vec<StoredOrigins>) {
        let _ = self.0.auth.set(auth);
        let _ = self.0.origins.set(origins);
    }

    fn refusal(&self) -> Option<Refusal> {
        if self.0.is_ending.load(Relaxed) {
            return Some(Refusal::ServerStopping);
        }
        let of_list = self.0.origins.get()?.iter().find_map(StoredOrigins::refusal);
        of_list.or_else(|| self.0.auth.get()?.unwritable())
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use crate::{Rate, prelude::*};

    #[get("/healthz")]
    #[auth(public)]
    async fn taken() {}

    #[get("/other")]
    #[auth(public)]
    async fn other() {}

    const EVERYBODY: CorsPolicy = CorsPolicy::origins(&["*"]).build();

    /// An app with strict policies for everything but probes.
    fn app() -> App<()> {
        App::new(())
            .public_origin("https://api.shop.example")
            .policies(
                Policies::new()
                    .cors(EVERYBODY)
                    .cache(CachePolicy::public().max_age(60).build())
                    .isolation(Isolation::SameOrigin)
                    .limits(Limits::NONE.rate(Rate::per_second(1)).concurrency(1)),
            )
            .health("/healthz")
            .readiness("/readyz")
    }

    #[tokio::test]
    async fn probes_are_outside_of_every_policy() {
        let client = app().test();
        for path in ["/healthz", "/readyz"] {
            for _ in 0..3 {
                let response = client
                    .get(path)
                    .header("host", "10.0.0.7:8080")
                    .header("sec-fetch-site", "cross-site")
                    .origin("https://evil.example")
                    .send()
                    .await;
                assert_eq!((response.status().as_u16(), response.text()), (200, "ok\n".to_owned()));
                assert_eq!(response.header("cache-control"), Some("no-store"));
                assert_eq!(response.header("access-control-allow-origin"), None);
                assert_eq!(response.header("ratelimit"), None);
            }
            let head = client.head(path).send().await;
            assert_eq!((head.status().as_u16(), head.text()), (200, String::new()));
            assert_eq!(client.post(path).send().await.status(), 405);
            let preflight = client
                .request(Method::OPTIONS, path)
                .origin("https://evil.example")
                .header("access-control-request-method", "GET");
            assert_eq!(preflight.send().await.status(), 403);
        }
    }

    /// The host check is skipped for probes only.
    #[tokio::test]
    async fn no_other_path_is_served_to_a_foreign_host() {
        let client = app().routes(routes![other]).test();
        for path in ["/healthz/", "/other", "/nowhere"] {
            let response = client.get(path).header("host", "10.0.0.7:8080").send().await;
            assert_eq!(response.status(), 421, "{path}");
        }
        let response = client.post("/healthz").header("host", "10.0.0.7:8080").send().await;
        assert_eq!(response.status(), 421);
    }

    #[test]
    fn a_path_that_is_taken_is_a_problem_of_the_start() {
        let error = app().routes(routes![taken]).check().unwrap_err().to_string();
        assert!(error.contains("route.conflict") && error.contains("App::health"), "{error}");
        let twice = app().readiness("/healthz").check().unwrap_err().to_string();
        assert!(twice.contains("route.conflict") && twice.contains("App::readiness"), "{twice}");
        let malformed = app().health("live").check().unwrap_err().to_string();
        assert!(malformed.contains("App::health"), "{malformed}");
    }
}
