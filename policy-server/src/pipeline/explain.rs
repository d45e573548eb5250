//! What in an app decided about a request, for the person who reads a failed test.

use std::sync::{Arc, OnceLock};

use http::{Method, Request, header::ACCESS_CONTROL_REQUEST_METHOD};
use policy_core::gate::{Head, OwnOrigin};

use crate::{
    handler::Description,
    pipeline::compiled_app::{CompiledApp, CompiledRoute},
};

/// Travels with a request to the app that gets it, through layers and routers around it, and
/// comes back with what decides there.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouteTrace(Arc<OnceLock<RouteFinding>>);

impl RouteTrace {
    pub(crate) fn put_into<B>(&self, mut request: Request<B>) -> Request<B> {
        request.extensions_mut().insert(self.clone());
        request
    }

    /// What the app said, if the request came to one.
    pub(crate) fn answer(&self) -> Option<RouteFinding> {
        self.0.get().cloned()
    }

    /// Answers the trace that a request brings with it, if it brings one.
    pub(crate) fn resolve<B>(app: &CompiledApp, request: &Request<B>) {
        if let Some(Self(answer)) = request.extensions().get() {
            // An app inside of another one is asked too: the outer one has answered.
            let _ = answer.set(RouteFinding::of(app, request));
        }
    }
}

/// What decides about a request: the route that it is for, or that a preflight asks for.
#[derive(Clone, Debug)]
pub(crate) struct RouteFinding {
    /// It and whom it is shared with, or why there is none, in words.
    words: String,
    /// Nothing where it is no handler.
    handler: Option<Description>,
}

impl RouteFinding {
    fn of<B>(app: &CompiledApp, request: &Request<B>) -> Self {
        let head = Head::read(request);
        let preflight = request.headers().get(ACCESS_CONTROL_REQUEST_METHOD);
        let asked = preflight.and_then(|method| Method::from_bytes(method.as_bytes()).ok());
        let method = asked.filter(|_| head.is_preflight());
        let method = method.as_ref().unwrap_or(head.method);
        let words = if app.own_origin.admit(&head).is_err() {
            format!("the app does not answer for this host: {}", hosts(&app.own_origin))
        } else if let Some((path, _)) = app.router.find(head.path) {
            if let Some(route) = path.served(method).and_then(|served| app.route(served.route)) {
                let words = about(method, route);
                return Self { words, handler: route.description().copied() };
            }
            let served: Vec<_> = path.methods.iter().map(|served| served.method.as_str()).collect();
            format!("the app has no {method} {}, but {}", head.path, served.join(", "))
        } else {
            format!("the app has no route for {}", head.path)
        };
        Self { words, handler: None }
    }

    /// All of it, with the place of the first of these attributes that the handler has: where it
    /// has none, its scope or the app says it, or nobody does.
    pub(crate) fn words(&self, attributes: &[&str]) -> String {
        let Self { words, handler } = self;
        let place = handler.as_ref().and_then(|handler| {
            let of = |asked: &&str| handler.attributes.iter().find(|(name, _)| name == asked);
            let (name, line) = attributes.iter().find_map(of)?;
            Some(format!("\n  #[{name}] stands at {}:{line}", handler.file))
        });
        format!("{words}{}", place.unwrap_or_default())
    }
}

fn hosts(own: &OwnOrigin) -> String {
    match own {
        OwnOrigin::Development => {
            "it has no `App::public_origin`, so it is on `localhost` alone".to_owned()
        }
        OwnOrigin::Public(origin) => format!("its `App::public_origin` is {}", origin.as_str()),
    }
}

fn about(method: &Method, route: &CompiledRoute) -> String {
    let path = route.path();
    let name = match route.description() {
        None => "a mounted service".to_owned(),
        Some(Description { handler, file, line, .. }) => format!("`{handler}` ({file}:{line})"),
    };
    let shared = match (&route.rules.cors, route.level) {
        (Some(cors), Some(level)) => {
            format!("by the `cors` of the {} with {}", level.name(), cors.audience())
        }
        _ => "with nobody".to_owned(),
    };
    format!("{method} {path} is {name}, shared {shared}")
}
