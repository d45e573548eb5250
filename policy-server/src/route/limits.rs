//! Rate and concurrency limits.

use std::{
    net::IpAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use axum_core::{body::Body, response::Response};
use http::HeaderMap;
use http_body::Body as HttpBody;
use policy_core::limits::{
    Rate, RateCapacity, RateFields, RateGrant, RateKey, RateRefusal, RateTable, address_key,
};

use super::shared_limits::{SharedPermits, SharedRate};
use crate::{
    auth::principal::Principal,
    base::{
        body::{BodyObserver, ObservedBody, PolledBody},
        clock::Clock,
        locks::lock,
    },
    handler::object::MissRate,
};

/// The limit of bodies where no level sets one.
pub(crate) const BODY: u64 = 2 * 1024 * 1024;
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// A rate limit, counted at the level that set it: a limit of the app counts the requests to all
/// routes that inherit it.
#[derive(Debug)]
pub(crate) struct RateLimit {
    rate: Rate,
    fields: RateFields,
    table: RateTable,
    clock: Clock,
    /// The accounts that all instances share, if they count together.
    shared: Option<SharedRate>,
}

impl RateLimit {
    pub(crate) fn new(rate: Rate, capacity: RateCapacity, seed: [u64; 2], clock: &Clock) -> Self {
        let table = RateTable::new(rate, capacity, seed);
        Self { rate, fields: RateFields::new(&rate), table, clock: clock.clone(), shared: None }
    }

    /// The same limit, counted with the other instances.
    pub(crate) fn shared(self, shared: SharedRate) -> Self {
        Self { shared: Some(shared), ..self }
    }

    /// How full its table is, from 0 to 1.
    #[cfg(feature = "metrics")]
    pub(crate) fn utilization(&self) -> f64 {
        self.table.utilization(self.clock.monotonic())
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    pub(crate) fn is_by_address(&self) -> bool {
        self.rate.by == RateKey::Address
    }

    /// Counts a request of this client. All clients without an address count as one.
    pub(crate) fn take_address(&self, client: Option<IpAddr>) -> Result<RateGrant, RateRefusal> {
        self.table.take_address(client, self.clock.monotonic())
    }

    /// Counts a request of this principal, or of its client if there is none.
    pub(crate) fn take_principal(
        &self,
        principal: Option<&Principal>,
        client: Option<IpAddr>,
    ) -> Result<RateGrant, RateRefusal> {
        let Some(principal) = principal else { return self.take_address(client) };
        self.table.take(&key_of(principal), self.clock.monotonic())
    }

    /// Counts a request of this principal, or else of its client, with the other instances.
    pub(crate) async fn take_shared(
        &self,
        principal: Option<&Principal>,
        client: Option<IpAddr>,
    ) -> Result<RateGrant, RateRefusal> {
        let alone = || self.take_principal(principal, client);
        let Some(shared) = &self.shared else { return alone() };
        let now = self.clock.monotonic();
        let key = match principal {
            Some(principal) => key_of(principal),
            None => client.map_or([0; 9], address_key).into(),
        };
        let network = client.filter(|_| principal.is_none());
        let admit = || network.map_or(Ok(()), |of| self.table.admit_of_network(of, now));
        // Counts locally as well, so that little changes for clients when the store becomes
        // unavailable.
        let count = || {
            let _ = self.table.take(&key, now);
        };
        shared.take(&key, admit, count, alone).await
    }

    /// Writes the remaining quota.
    pub(crate) fn write(&self, taken: &Result<RateGrant, RateRefusal>, headers: &mut HeaderMap) {
        match taken {
            Ok(granted) => self.fields.write_granted(*granted, headers),
            Err(refused) => self.fields.write_refused(*refused, headers),
        }
    }
}

impl MissRate for RateLimit {
    fn peek(&self, caller: Option<&Principal>, client: Option<IpAddr>) -> Result<(), RateRefusal> {
        let now = self.clock.monotonic();
        match caller {
            Some(caller) => self.table.peek(&key_of(caller), now),
            None => self.table.peek_address(client, now),
        }
    }

    fn take(&self, caller: Option<&Principal>, client: Option<IpAddr>) -> Result<(), RateRefusal> {
        self.take_principal(caller, client).map(drop)
    }
}

/// The key of a principal. No key of an address begins with its first byte.
pub(super) fn key_of(principal: &Principal) -> Vec<u8> {
    let mut key = vec![u8::MAX];
    principal.write_key(&mut key);
    key
}

/// The seed of a table, from random bytes.
pub(crate) fn words(seed: [u8; 16]) -> [u64; 2] {
    let seed = u128::from_le_bytes(seed);
    [seed as u64, (seed >> 64) as u64]
}

/// The limit of requests in flight, counted at the level that set it.
#[derive(Debug)]
pub(crate) enum Concurrency {
    /// Counted by this instance alone.
    Own { most: u32, in_flight: AtomicU32 },
    /// Counted together with the other instances.
    Shared(Arc<SharedPermits>),
}

impl Concurrency {
    pub(crate) fn new(most: u32) -> Arc<Self> {
        Arc::new(Self::Own { most, in_flight: AtomicU32::new(0) })
    }

    pub(crate) fn shared(permits: Arc<SharedPermits>) -> Arc<Self> {
        Arc::new(Self::Shared(permits))
    }

    /// Takes a permit, if one is free.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Permit> {
        let has_entered = match &**self {
            Self::Own { most, in_flight } => {
                let more = |in_flight| (in_flight < *most).then_some(in_flight + 1);
                in_flight.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
            }
            Self::Shared(permits) => permits.enter(),
        };
        has_entered.then(|| Permit(Arc::clone(self)))
    }

    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }

    /// Takes a permit. This may call the shared store.
    pub(crate) async fn wait(self: &Arc<Self>) -> Option<Permit> {
        match &**self {
            Self::Own { .. } => self.enter(),
            Self::Shared(permits) => permits.wait().await.then(|| Permit(Arc::clone(self))),
        }
    }
}

/// A permit for one request in flight; dropping it releases it.
#[derive(Debug)]
pub(crate) struct Permit(Arc<Concurrency>);

impl Permit {
    /// Hands the permit to the tunnel that the response opens, which holds it until it ends.
    pub(crate) fn keep_upgraded(self, response: Response) -> Response {
        if let Some(held) = response.extensions().get::<UpgradePermits>() {
            lock(&held.0).push(self);
        }
        response
    }

    /// Holds the permit until the response is sent, unless the whole response is in memory already.
    pub(crate) fn keep(self, response: Response) -> Response {
        response.map(|mut body| {
            if body.size_hint().exact().is_some() {
                match PolledBody::into_whole(body) {
                    Ok(whole) => return whole,
                    Err(polled) => body = Body::new(polled),
                }
            }
            Body::new(ObservedBody::new(body, self))
        })
    }
}

/// The permits of a request whose response opens a tunnel, once the response is there: those of its
/// route and of layers around it. They are released with the last clone: the task of the tunnel has
/// one, whatever the version of HTTP, and the response has another one in its extensions.
#[derive(Clone, Debug, Default)]
pub(crate) struct UpgradePermits(Arc<Mutex<Vec<Permit>>>);

impl Drop for Permit {
    fn drop(&mut self) {
        match &*self.0 {
            Concurrency::Own { in_flight, .. } => {
                in_flight.fetch_sub(1, Ordering::Relaxed);
            }
            Concurrency::Shared(permits) => permits.leave(),
        }
    }
}

/// The permit is released when the body is dropped.
impl BodyObserver<Body> for Permit {}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use bytes::Bytes;
    use futures_util::{FutureExt, stream};
    use http::{
        HeaderValue, Method,
        header::{ACCEPT_RANGES, CONTENT_LENGTH, RANGE},
    };
    use policy_core::conditional::Conditions;

    use super::*;
    use crate::{AuthError, Scheme, SchemeRequest, prelude::*, route::conditional};

    struct Anybody;

    impl Scheme for Anybody {
        const AMBIENT: bool = false;

        async fn authenticate(
            &self,
            _: &mut SchemeRequest<'_>,
        ) -> Result<Option<Identity>, AuthError> {
            Ok(Some(Identity::new("ada")))
        }
    }

    #[get("/alone/{how}")]
    #[limit(concurrency = 1)]
    #[auth(public)]
    async fn alone(how: String) -> &'static str {
        match &*how {
            "waits" => std::future::pending().await,
            "panics" => panic!("on purpose"),
            _ => "done",
        }
    }

    #[get("/alone-and-known/{how}")]
    #[limit(concurrency = 1)]
    #[auth(scheme = Anybody)]
    #[object(none = "a test of something else")]
    async fn alone_and_known(how: String) -> &'static str {
        alone(how).await
    }

    #[tokio::test]
    async fn a_place_is_given_back_however_a_request_ends() {
        let client = App::new(()).scheme(Anybody).routes(routes![alone, alone_and_known]).test();
        for path in ["/alone", "/alone-and-known"] {
            let ask = |how: &str| client.get(&format!("{path}/{how}")).send();
            let mut waiting = Box::pin(ask("waits"));
            assert!(waiting.as_mut().now_or_never().is_none());
            assert_eq!(ask("done").await.status(), 503, "{path}");
            // The client disconnects.
            drop(waiting);
            assert_eq!(ask("done").await.status(), 200, "{path}");
            assert_eq!(ask("panics").await.status(), 500);
            assert_eq!(ask("done").await.status(), 200, "{path}");
        }
    }

    #[test]
    fn a_place_is_kept_until_a_stream_ends() {
        let places = Concurrency::new(1);
        let stream = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
        let response = places.enter().unwrap().keep(Response::new(stream));
        assert!(places.enter().is_none());
        drop(response);
        // A response that is complete in memory needs no permit while it is sent.
        let _whole = places.enter().unwrap().keep(Response::new(Body::from("done")));
        assert!(places.enter().is_some());
    }

    #[test]
    fn a_place_is_kept_for_a_stream_whose_length_is_known() {
        let field = (RANGE, HeaderValue::from_static("bytes=-1"));
        let conditions = Conditions::read(&Method::GET, &HeaderMap::from_iter([field])).unwrap();
        let stream = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
        let mut file = Response::new(stream);
        file.headers_mut().insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        file.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("9000"));
        let part = conditional::answer(&conditions, file);
        assert_eq!(part.body().size_hint().exact(), Some(1));
        let places = Concurrency::new(1);
        let response = places.enter().unwrap().keep(part);
        assert_eq!(response.body().size_hint().exact(), Some(1));
        assert!(places.enter().is_none());
        drop(response);
        assert!(places.enter().is_some());
    }

    #[test]
    fn places_of_an_app_and_of_a_layer_around_it_are_kept_until_a_tunnel_ends() {
        let places = [Concurrency::new(1), Concurrency::new(1)];
        let of_tunnel = UpgradePermits::default();
        let mut response = Response::new(Body::empty());
        response.extensions_mut().insert(of_tunnel.clone());
        for places in &places {
            response = places.enter().unwrap().keep_upgraded(response);
        }
        drop(response);
        assert!(places.iter().all(|places| places.enter().is_none()));
        drop(of_tunnel);
        assert!(places.iter().all(|places| places.enter().is_some()));
    }

    #[test]
    fn networks_principals_and_limits_are_counted_apart() {
        let limit = || {
            let capacity = RateCapacity::DEFAULT.clients(100).clients_per_network(2);
            RateLimit::new(Rate::per_day(1), capacity, [1, 2], &Clock::at(7))
        };
        let (one, other) = (limit(), limit());
        let peer = |text: &str| Some(text.parse().unwrap());
        let ada = Principal::from_scheme("keys", Identity::new("ada"));
        let eve = Principal::from_scheme("keys", Identity::new("eve"));
        assert!(one.take_address(peer("2001:db8::1")).is_ok());
        assert!(one.take_address(peer("2001:db8::2")).is_err());
        assert!(one.take_address(peer("2001:db8:0:1::1")).is_ok());
        assert!(one.take_address(peer("2001:db8:0:2::1")).is_err(), "the third of a network");
        assert!(one.take_address(None).is_ok());
        assert!(other.take_address(peer("2001:db8::1")).is_ok());
        assert!(one.take_principal(Some(&ada), peer("2001:db8::1")).is_ok());
        assert!(one.take_principal(Some(&ada), peer("192.0.2.1")).is_err());
        assert!(one.take_principal(Some(&eve), peer("192.0.2.1")).is_ok());
        assert!(one.take_principal(None, peer("192.0.2.1")).is_ok());
        assert!(one.take_principal(None, peer("192.0.2.1")).is_err());
    }
}
