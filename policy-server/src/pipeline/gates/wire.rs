//! Gate 1: requests that parsers could read differently, and invalid request targets.

use std::ops::ControlFlow;

use super::Gate;
use crate::pipeline::request_head::RequestHead;

pub(crate) fn check(request: &RequestHead<'_>) -> Gate<()> {
    let head = request.head;
    let checked = head.well_formed().and_then(|()| match request.tunnel() {
        // The target of CONNECT is the host to connect to, not a resource of this server.
        Some(_) => head.authority().map(drop),
        None => head.target().and(request.path.map(drop)),
    });
    match checked {
        Ok(()) => ControlFlow::Continue(()),
        Err(refusal) => ControlFlow::Break(request.reject_malformed(refusal)),
    }
}
