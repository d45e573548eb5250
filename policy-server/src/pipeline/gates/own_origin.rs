//! Gate 2: the host that a request names, and the scheme that a proxy reports.

use std::ops::ControlFlow;

use policy_core::Refusal;

use super::Gate;
use crate::pipeline::request_head::RequestHead;

pub(crate) fn check(request: &RequestHead<'_>) -> Gate<()> {
    let RequestHead { app, client, .. } = *request;
    let named = match request.tunnel() {
        Some(_) => Ok(()),
        None => app.own_origin.admit(request.head),
    };
    match named.and_then(|()| client.admit(&app.own_origin)) {
        Err(refusal) if !is_admitted_probe(request, refusal) => {
            ControlFlow::Break(request.reject_malformed(refusal))
        }
        _ => ControlFlow::Continue(()),
    }
}

fn is_admitted_probe(request: &RequestHead<'_>, refusal: Refusal) -> bool {
    let RequestHead { app, head, .. } = *request;
    let is_probe = || {
        let route = app.router.find(head.path)?.0.served(head.method)?.route;
        Some(app.route(route)?.is_probe)
    };
    head.admits_probe(refusal) && is_probe() == Some(true)
}
