//! Which policy decided about a request, for the messages of failed tests.

use std::sync::{Arc, OnceLock};

use http::{Method, Request, header::ACCESS_CONTROL_REQUEST_METHOD};
use policy_core::head::{Head, OwnOrigin};

use super::normal_form::normalize;
use crate::{
    handler::Description,
    pipeline::compiled_app::{CompiledApp, CompiledRoute},
};

/// Travels with a request through layers and routers to the app, which records in it what decided.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouteTrace(Arc<OnceLock<RouteFinding>>);

impl RouteTrace {
    pub(crate) fn put_into<B>(&self, mut request: Request<B>) -> Request<B> {
        request.extensions_mut().insert(self.clone());
        request
    }

    /// The finding of the app, if the request reached one.
    pub(crate) fn finding(&self) -> Option<RouteFinding> {
        self.0.get().cloned()
    }

    /// Fills in the trace that the request carries, if any.
    pub(crate) fn fill<B>(app: &CompiledApp, mut request: Request<B>) -> Request<B> {
        if let Some(Self(response)) = request.extensions().get().cloned() {
            // Gate 1 refuses a path that has no normal form.
            let _ = normalize(&mut request);
            // A nested app sees the same trace; the outer app has filled it in already.
            let _ = response.set(RouteFinding::find(app, &request));
        }
        request
    }
}

/// What decides about a request: its route, or the route that a preflight names.
#[derive(Clone, Debug)]
pub(crate) struct RouteFinding {
    /// The target and its sharing, or why there is none.
    words: String,
    /// `None` where the target is no handler.
    handler: Option<Description>,
}

impl RouteFinding {
    fn find<B>(app: &CompiledApp, request: &Request<B>) -> Self {
        let head = Head::read(request);
        let preflight = request.headers().get(ACCESS_CONTROL_REQUEST_METHOD);
        let method = preflight.and_then(|method| Method::from_bytes(method.as_bytes()).ok());
        let method = method.filter(|_| head.is_preflight());
        let method = method.as_ref().unwrap_or(head.method);
        let words = if app.own_origin.admit(&head).is_err() {
            format!("the app does not serve this host: {}", hosts(&app.own_origin))
        } else if let Some((path, _)) = app.router.find(head.path) {
            if let Some(route) = path.route_for(method).and_then(|served| app.route(served.route)) {
                let words = about(method, route);
                return Self { words, handler: route.description().copied() };
            }
            let served: Vec<_> =
                path.methods().iter().map(|served| served.method.as_str()).collect();
            format!("the app has no {method} {}, but {}", head.path, served.join(", "))
        } else {
            format!("the app has no route for {}", head.path)
        };
        Self { words, handler: None }
    }

    /// The whole text, with the source line of the first of these attributes that the handler has.
    /// Without one, the decision comes from its group, from the app or from a default.
    pub(crate) fn words(&self, attributes: &[&str]) -> String {
        let Self { words, handler } = self;
        let place = handler.as_ref().and_then(|handler| {
            let of =
                |attribute: &&str| handler.attributes.iter().find(|(name, _)| name == attribute);
            let (name, line) = attributes.iter().find_map(of)?;
            Some(format!("\n  #[{name}] is declared at {}:{line}", handler.file))
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
