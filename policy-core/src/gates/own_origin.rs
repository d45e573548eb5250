//! Gate 2: the host that a request names, and the scheme that a proxy reports.

use super::{End, EndOf, Gate, GatedApp, GatedRoute, RequestView};

#[inline(always)]
pub(super) fn check<'a, A: GatedApp<'a>>(
    app: &A,
    request: &RequestView<'a>,
) -> Result<(), EndOf<'a, A>> {
    let head = request.head;
    let named = match head.is_tunnel() && app.tunnel().is_some() {
        true => Ok(()),
        false => app.admit_host(head),
    };
    match named.and_then(|()| app.admit_client()) {
        Err(refusal) if !(head.admits_probe(refusal) && is_probe(app, request)) => {
            Err(End::malformed(Gate::OwnOrigin, refusal))
        }
        _ => Ok(()),
    }
}

fn is_probe<'a, A: GatedApp<'a>>(app: &A, request: &RequestView<'a>) -> bool {
    let head = request.head;
    let route = || {
        let (path, _) = app.router()?.find(head.path)?;
        app.route(path.served(head.method)?.route)
    };
    route().is_some_and(|route| route.is_probe())
}
