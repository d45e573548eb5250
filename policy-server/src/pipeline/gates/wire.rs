//! Gate 1: what parsers could read differently, and targets that are none.

use std::ops::ControlFlow;

use super::Gate;
use crate::pipeline::request_head::RequestHead;

pub(crate) fn check(request: &RequestHead<'_>) -> Gate<()> {
    let head = request.head;
    let checked = head.well_formed().and_then(|()| match request.tunnel() {
        // A CONNECT names the host that it leads to.
        Some(_) => head.authority().map(drop),
        None => head.target(),
    });
    match checked {
        Ok(()) => ControlFlow::Continue(()),
        Err(refusal) => ControlFlow::Break(request.reject_malformed(refusal)),
    }
}
