//! Gate 1: requests that parsers could read differently, and invalid request targets.

use super::{End, EndOf, Gate, GatedApp, RequestView};

#[inline(always)]
pub(super) fn check<'a, A: GatedApp<'a>>(
    app: &A,
    request: &RequestView<'a>,
) -> Result<(), EndOf<'a, A>> {
    let head = request.head;
    let checked =
        head.well_formed().and_then(|()| match head.is_tunnel() && app.tunnel().is_some() {
            // The target of CONNECT is the host to connect to, not a resource of this server.
            true => head.authority().map(drop),
            false => head.target().and(request.path.map(drop)),
        });
    checked.map_err(|refusal| End::malformed(Gate::Wire, refusal))
}
