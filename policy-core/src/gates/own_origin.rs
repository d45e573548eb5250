//! Gate 2: the host that a request names, and the scheme that a proxy reports.

use std::ops::ControlFlow;

use super::{EndOf, Gate, GatedApp, GatedRoute, RequestEnd, RequestView, tunnel};

#[inline(always)]
pub(super) fn check<'a, A: GatedApp<'a>>(
    app: &A,
    request: &RequestView<'a>,
) -> ControlFlow<EndOf<'a, A>> {
    let head = request.head;
    let named = match tunnel(app, head).is_some() {
        true => Ok(()),
        false => app.admit_host(head),
    };
    match named.and_then(|()| app.admit_client()) {
        Err(refusal) if !(head.admits_probe(refusal) && is_probe(app, request)) => {
            ControlFlow::Break(RequestEnd::malformed(Gate::OwnOrigin, refusal))
        }
        _ => ControlFlow::Continue(()),
    }
}

fn is_probe<'a, A: GatedApp<'a>>(app: &A, request: &RequestView<'a>) -> bool {
    let head = request.head;
    let route = || {
        let (path, _) = app.router()?.find(head.path)?;
        app.route(path.route_for(head.method)?.route)
    };
    route().is_some_and(|route| route.is_probe())
}
