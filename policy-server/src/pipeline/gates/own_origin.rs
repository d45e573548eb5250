//! Gate 2: the host that a request names, and the scheme that a proxy reports.

use std::ops::ControlFlow;

use policy_core::Refusal;

use super::Gate;
use crate::pipeline::request_head::RequestHead;

pub(crate) fn check(request: &RequestHead<'_>) -> Gate<()> {
    let RequestHead { app, client, .. } = *request;
    let named = match request.tunnel() {
        Some(_) => Ok(()),
        None => host(request),
    };
    match named.and_then(|()| client.admit(&app.own_origin)) {
        Ok(()) => ControlFlow::Continue(()),
        Err(refusal) => ControlFlow::Break(request.reject_malformed(refusal)),
    }
}

/// Health probes skip the check: orchestrators address the process by IP.
fn host(request: &RequestHead<'_>) -> Result<(), Refusal> {
    let RequestHead { app, head, .. } = *request;
    app.own_origin.admit(head).or_else(|refusal| {
        let is_probe = || {
            let route = app.router.find(head.path)?.0.served(head.method)?.route;
            Some(app.route(route)?.is_probe)
        };
        if refusal.status() == 421 && is_probe() == Some(true) { Ok(()) } else { Err(refusal) }
    })
}
