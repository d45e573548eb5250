//! A response that leaves the app, until its client has it.

use std::{sync::Arc, task::Context};

use axum_core::{body::Body, response::Response};
use http::header::SERVER;

use super::{
    activity::{Activity, OpenRequest, UnreadResponse},
    unsent::CountedBody,
};
use crate::{
    auth::end_with_service,
    base::body::{BodyObserver, ObservedBody, PolledFrame},
    pipeline::compiled_app::CompiledApp,
};

/// The response as every HTTP version sends it. What the client has not read is counted.
pub(super) fn finish_response(
    app: &CompiledApp,
    activity: &Arc<Activity>,
    response: Response,
) -> http::Response<OutgoingBody> {
    let mut response = end_with_service(&app.auth.revocation_bus, response);
    if let Some(server) = &app.settings.server_header {
        response.headers_mut().entry(SERVER).or_insert_with(|| server.clone());
    }
    response.map(|body: Body| {
        let waits = WaitsFor::Client(activity.begin_response());
        ObservedBody::new(activity.unsent().watch(body), waits)
    })
}

/// The body of a response, with the side that it waits for.
pub(super) type OutgoingBody = ObservedBody<CountedBody, WaitsFor>;

/// Which side has to act next. Before the first poll it is the client: its sender polls at once if
/// there is room.
#[derive(Debug)]
pub(super) enum WaitsFor {
    Source(OpenRequest),
    Client(UnreadResponse),
}

impl BodyObserver<CountedBody> for WaitsFor {
    fn after(
        &mut self,
        polled: &mut PolledFrame<CountedBody>,
        _body: &CountedBody,
        _context: &mut Context<'_>,
    ) {
        match self {
            Self::Source(open) if polled.is_ready() => *self = Self::Client(open.begin_response()),
            Self::Client(unread) if polled.is_pending() => {
                *self = Self::Source(unread.reopen_request());
            }
            Self::Source(_) | Self::Client(_) => (),
        }
    }
}
