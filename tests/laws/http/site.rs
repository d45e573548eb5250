//! Apps with policies on every level, and requests to them.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderMap, Method};
use http_body::Body as _;
use http_body_util::BodyExt;
use policy_server::{AppService, Body, Clock, CsrfPolicy, Random, prelude::*};
use tokio::runtime::{Builder, Runtime};
use tower::{ServiceExt, service_fn};

use super::{
    generate::TRUSTED,
    handlers::{self, Plan},
};
use crate::{
    auth::test_server::{OWN, START, issue, login, token_settings},
    exchange::Request,
    local::build_request,
};

/// The policies of an app: its own, and those of its groups and its mount.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scenario {
    pub(crate) app: Level,
    pub(crate) group: Level,
    pub(crate) mount: Level,
}

/// The declarations of one level.
#[derive(Clone, Debug, Default)]
pub(crate) struct Level {
    pub(crate) cors: Said<CorsPolicy>,
    pub(crate) cache: Said<CachePolicy>,
    pub(crate) headers: Said<HeadersPolicy>,
    pub(crate) isolation: Said<Isolation>,
    pub(crate) limits: Option<Limits>,
}

/// What a level declares about one subject.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Said<T> {
    #[default]
    Nothing,
    /// That there is none, whatever the outer level declares.
    Not,
    This(T),
}

impl<T> Said<T> {
    fn is_stated(&self) -> bool {
        matches!(self, Self::This(_))
    }
}

macro_rules! stated {
    ($builder:expr, $level:expr, $(($facet:ident, $not:ident)),*) => {{
        let mut policies = Policies::new();
        $(policies = match $level.$facet {
            Said::Nothing => policies,
            Said::Not => policies.$not(),
            Said::This(policy) => policies.$facet(policy),
        };)*
        $builder.policies(match $level.limits {
            None => policies,
            Some(limits) => policies.limits(limits),
        })
    }};
    ($builder:expr, $level:expr) => {
        stated!(
            $builder,
            $level,
            (cors, no_cors),
            (cache, no_cache),
            (headers, no_headers),
            (isolation, no_isolation)
        )
    };
}

/// Random bytes that are all different, except for nonces, so that two responses can be compared.
fn distinct_bytes() -> impl FnMut(&mut [u8]) + Send {
    let mut drawn = 0_u64;
    move |bytes| {
        bytes.fill(7);
        if bytes.len() != 16 {
            drawn += 1;
            bytes[..8].copy_from_slice(&drawn.to_le_bytes());
        }
    }
}

/// A running app and its clock.
pub(crate) struct Site {
    service: AppService,
    /// A runtime of its own: dropping it ends all tasks of the app.
    runtime: Runtime,
    pub(crate) clock: Clock,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The length that is known before the body is read.
    pub(crate) length: Option<u64>,
}

impl Site {
    /// The app of this scenario, reduced to what concerns requests for a path: checking the rest
    /// would take time.
    pub(crate) fn new(scenario: &Scenario, path: &str) -> Self {
        let clock = Clock::at(START);
        let app = App::new(())
            .public_origin(OWN)
            .clock(clock.clone())
            .random(Random::from_fn(distinct_bytes()))
            .sessions(Sessions::memory())
            .tokens(token_settings())
            .routes(routes![login, issue]);
        let app = match path.split('/').nth(1) {
            Some("in") => {
                let group = Group::new().routes(handlers::scoped());
                app.group("/in", stated!(group, scenario.group))
            }
            Some("my") => {
                // Routes with sessions are shared only with named, trusted pages.
                let cors = match scenario.group.cors {
                    Said::This(_) => Said::This(TRUSTED),
                    Said::Nothing | Said::Not => Said::Not,
                };
                let level = Level { cors, ..scenario.group.clone() };
                let group = Group::new().routes(handlers::session_routes());
                app.group("/my", stated!(group, level))
            }
            Some("files") => {
                let files = service_fn(async |request: http::Request<Body>| {
                    Ok::<_, Infallible>(handlers::file(request).await)
                });
                let methods = [Method::GET, Method::HEAD];
                let methods = if scenario.mount.cache.is_stated() {
                    methods.to_vec()
                } else {
                    [methods.as_slice(), &[Method::POST]].concat()
                };
                app.mount(
                    "/files",
                    stated!(
                        Mount::new(files)
                            .public()
                            .csrf(CsrfPolicy::Exempt("this law is about something else"))
                            .methods(methods),
                        scenario.mount
                    ),
                )
            }
            _ => app.routes(handlers::routes()),
        };
        let app = stated!(app, scenario.app);
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let service = {
            let _entered = runtime.enter();
            app.into_service()
        };
        Self { service, runtime, clock }
    }

    /// Sends a request whose handler responds as planned.
    pub(crate) fn send(&self, request: &Request, plan: &Plan, body: impl Into<Body>) -> Reply {
        let mut sent = build_request(&request.method, &request.path, &request.headers, body);
        sent.extensions_mut().insert(plan.clone());
        let answered = self.service.clone().oneshot(sent);
        self.runtime.block_on(async {
            let response = answered.await.unwrap_or_else(|never| match never {});
            let (head, body) = response.into_parts();
            let length = body.size_hint().exact();
            let body = body.collect().await.expect("a body").to_bytes();
            Reply { status: head.status.as_u16(), headers: head.headers, body, length }
        })
    }

    pub(crate) fn ask(&self, request: &Request, plan: &Plan) -> Reply {
        self.send(request, plan, Body::empty())
    }

    /// The cookie of a new login.
    pub(crate) fn cookie(&self, subject: &'static str) -> String {
        let request = Request::new(Method::POST, "/login").with("origin", OWN);
        let reply = self.send(&request, &Plan::default(), subject);
        let cookie = reply.headers.get("set-cookie").expect("a cookie");
        let cookie = cookie.to_str().expect("text").split(';').next();
        cookie.expect("a cookie").to_owned()
    }

    /// The `Authorization` of a new token.
    pub(crate) fn bearer(&self, subject: &'static str) -> String {
        let request = Request::new(Method::POST, "/tokens/issue");
        let reply = self.send(&request, &Plan::default(), subject);
        let issued: serde_json::Value = serde_json::from_slice(&reply.body).expect("JSON");
        format!("Bearer {}", issued["access_token"].as_str().expect("a token"))
    }

    /// The request with a session cookie where it says `SESSION`.
    pub(crate) fn with_cookie(&self, mut request: Request) -> Request {
        if request.headers.get("cookie").is_some_and(|cookie| cookie == "SESSION") {
            let cookie = self.cookie("ada").try_into().expect("a value");
            request.headers.insert("cookie", cookie);
        }
        request
    }
}
