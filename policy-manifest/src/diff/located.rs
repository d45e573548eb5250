//! The place of a request: its path and method, and the routes of the two apps that serve it.

use http::{HeaderMap, Method, Request, header};

use super::{places, side::Side};
use crate::{RouteKind, changes::USUAL};

/// Before and after.
pub(super) type Indices = (Option<usize>, Option<usize>);

/// The method that a preflight asks for, if the request is a preflight; an empty one if it is
/// malformed.
pub(super) fn preflight_method(request: &Request<()>) -> Option<&str> {
    let headers: &HeaderMap = request.headers();
    let is_preflight = *request.method() == Method::OPTIONS && headers.contains_key(header::ORIGIN);
    let method = headers.get(header::ACCESS_CONTROL_REQUEST_METHOD).filter(|_| is_preflight)?;
    let is_one = |name: header::HeaderName| headers.get_all(name).iter().count() == 1;
    let is_valid = is_one(header::ORIGIN) && is_one(header::ACCESS_CONTROL_REQUEST_METHOD);
    Some(method.to_str().ok().filter(|_| is_valid).unwrap_or_default())
}

/// Whether a preflight states the own origin of an app, whose pages send no preflights.
pub(super) fn is_of_own_page(side: &Side, request: &Request<()>) -> bool {
    let field = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let origin = field(header::ORIGIN);
    match &side.manifest.app.public_origin {
        Some(own) => origin == Some(own),
        None => {
            let host = origin.and_then(|origin| origin.strip_prefix("http://"));
            host.is_some() && host == field(header::HOST)
        }
    }
}

pub(super) fn requested_method(method: &str, found: Indices, (old, new): (&Side, &Side)) -> String {
    let routes = routes((old, new), found, method);
    match routes {
        (None, None) => places::OTHER.to_owned(),
        _ => method.to_owned(),
    }
}

/// The name of a method in a place: its own name, or the placeholder if neither app names it.
pub(super) fn method_name(method: &str, found: Indices, (old, new): (&Side, &Side)) -> String {
    let names = |side: &Side, path: Option<usize>| {
        let methods = path.map(|path| side.engine.methods_of(path)).unwrap_or_default();
        methods.iter().any(|served| served.method == method)
    };
    let is_named = method == "CONNECT"
        || USUAL.contains(&method)
        || names(old, found.0)
        || names(new, found.1);
    if is_named { method } else { places::OTHER }.to_owned()
}

/// The routes for a method of some paths.
pub(super) fn routes((old, new): (&Side, &Side), found: Indices, method: &str) -> Indices {
    (route_of(old, found.0, method), route_of(new, found.1, method))
}

pub(super) fn route_of(side: &Side, path: Option<usize>, method: &str) -> Option<usize> {
    match path {
        None if method == "CONNECT" => side.engine.tunnel(),
        None => {
            side.engine.elsewhere().filter(|_| side.elsewhere_kind() == Some(RouteKind::Fallback))
        }
        Some(path) => side.engine.index_by_number(method, path),
    }
}
