//! Limits at work: how often, and how many at once.

use std::{
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum_core::{BoxError, body::Body, response::Response};
use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body as HttpBody, Frame, SizeHint};
use policy_core::limits::{Granted, Rate, RateFields, RateKey, RateTable, Refused, address_key};

use crate::{clock::Clock, principal::Principal};

/// What holds where nobody says anything.
pub(crate) const BODY: u64 = 2 * 1024 * 1024;
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// How often somebody may ask, counted where it was stated: a limit of the app counts what is
/// asked of all routes that take it over.
#[derive(Debug)]
pub(crate) struct RateLimit {
    rate: Rate,
    fields: RateFields,
    /// Tells this limit from the others of the app.
    place: u32,
    table: Arc<RateTable>,
    clock: Clock,
}

impl RateLimit {
    pub(crate) fn new(rate: Rate, place: u32, table: &Arc<RateTable>, clock: &Clock) -> Self {
        let (table, clock) = (Arc::clone(table), clock.clone());
        Self { rate, fields: RateFields::new(&rate), place, table, clock }
    }

    pub(crate) fn is_by_address(&self) -> bool {
        self.rate.by == RateKey::Address
    }

    /// Counts a request of this client. All clients without an address are one.
    pub(crate) fn take_address(&self, peer: Option<SocketAddr>) -> Result<Granted, Refused> {
        let mut key = [0; 13];
        let (place, address) = key.split_at_mut(4);
        place.copy_from_slice(&self.place.to_le_bytes());
        if let Some(peer) = peer {
            address.copy_from_slice(&address_key(peer.ip()));
        }
        self.table.take(&self.rate, &key, self.clock.monotonic())
    }

    /// Counts a request of this principal; of its client where there is none.
    pub(crate) fn take_principal(
        &self,
        principal: Option<&Principal>,
        peer: Option<SocketAddr>,
    ) -> Result<Granted, Refused> {
        let Some(principal) = principal else { return self.take_address(peer) };
        let mut key = self.place.to_le_bytes().to_vec();
        // No address begins so.
        key.push(u8::MAX);
        principal.write_key(&mut key);
        self.table.take(&self.rate, &key, self.clock.monotonic())
    }

    /// Says how much is left.
    pub(crate) fn write(&self, taken: &Result<Granted, Refused>, headers: &mut HeaderMap) {
        match taken {
            Ok(granted) => self.fields.granted(*granted, headers),
            Err(refused) => self.fields.refused(*refused, headers),
        }
    }
}

/// How many requests may be at work at once, counted where it was stated.
#[derive(Debug)]
pub(crate) struct Concurrency {
    most: u32,
    at_work: AtomicU32,
}

impl Concurrency {
    pub(crate) fn new(most: u32) -> Self {
        Self { most, at_work: AtomicU32::new(0) }
    }

    /// Lets one more in, if there is room.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Permit> {
        let more = |at_work| (at_work < self.most).then_some(at_work + 1);
        let entered = self.at_work.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        entered.is_ok().then(|| Permit(Arc::clone(self)))
    }
}

/// The place of one request at work.
#[derive(Debug)]
pub(crate) struct Permit(Arc<Concurrency>);

impl Permit {
    /// Keeps the place until the answer is sent, where it is not ready as a whole.
    pub(crate) fn keep(self, response: Response) -> Response {
        if response.body().size_hint().exact().is_some() {
            return response;
        }
        response.map(|body| Body::new(Held { body, _permit: self }))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.at_work.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Held {
    body: Body,
    _permit: Permit,
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Pin::new(&mut self.body).poll_frame(context).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
