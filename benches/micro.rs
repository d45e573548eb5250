//! Single decisions, counted by callgrind: `micro list`, `micro count CASE N`. Their processor time
//! after an equal number to warm up, which depends on memory access if a case uses much memory:
//! `micro time CASE N`. The time to start an app: `micro start ROUTES`.
//!
//! A case named `X.base` does what the cases `X.*` do besides the decision; the report subtracts
//! it. `benches/run micro` runs all of them.

mod apps;
mod on_processor;

use std::{
    collections::BTreeMap,
    hint::black_box,
    net::Ipv4Addr,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use http::{
    HeaderMap, HeaderValue, Method, Request, Response, Uri,
    header::{
        ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, CONTENT_TYPE, HOST, ORIGIN,
    },
};
use policy_core::{
    cors::{Cors, CorsConfig, OriginLists, Preflight},
    head::{Head, Single},
    limits::{Rate, RateCapacity, RateTable},
    origin::OriginSet,
    secret::SecretKey,
    time::Timestamp,
    token::{
        Key, KeyRing, NewClaims, Profile, RevocationSet, RingKey, TokenCutOff, TokenNames, Verifier,
    },
};
use policy_server::{AppService, AuthError, Body, Scheme, SchemeRequest, prelude::*};
use tower::Service;

use apps::APPS;
use on_processor::on_processor;

type Operation = Box<dyn FnMut()>;

fn request(is_preflight: bool) -> Request<()> {
    let mut request = Request::new(());
    *request.uri_mut() = Uri::from_static("/cors");
    let mut headers = HeaderMap::with_capacity(8);
    headers.insert(HOST, HeaderValue::from_static("127.0.0.1"));
    headers.insert(ORIGIN, HeaderValue::from_static("https://app.example.com"));
    if is_preflight {
        *request.method_mut() = Method::OPTIONS;
        headers.insert(ACCESS_CONTROL_REQUEST_METHOD, HeaderValue::from_static("PUT"));
        let names = HeaderValue::from_static("content-type,x-request-id");
        headers.insert(ACCESS_CONTROL_REQUEST_HEADERS, names);
    }
    *request.headers_mut() = headers;
    request
}

/// A response with capacity for the headers of a policy, as in a framework.
fn response() -> Response<()> {
    let mut headers = HeaderMap::with_capacity(8);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    let mut response = Response::new(());
    *response.headers_mut() = headers;
    response
}

fn cors() -> Result<Cors, String> {
    Cors::new("bench", &APPS, &OriginLists::new()).map_err(|errors| errors.to_string())
}

fn actual(cors: &Cors) {
    let request = black_box(request(false));
    let grant = cors.decide_origin(Single::read(request.headers(), &ORIGIN));
    let mut response = response();
    drop(request);
    cors.apply(grant, response.headers_mut());
    drop(black_box(response));
}

fn preflight(cors: &Cors, preflight: &Preflight) {
    let request = black_box(request(true));
    let headers = request.headers();
    let origin = Single::read(headers, &ORIGIN);
    let method = Single::read(headers, &ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = Response::new(());
    if let Ok((status, headers)) = preflight.answer(cors, origin, method) {
        *response.status_mut() = status;
        *response.headers_mut() = headers;
    }
    drop(black_box(response));
}

/// A set of this many origins, with this before each name, and one that the origin in the middle
/// means.
fn run_time(count: usize, before: &str) -> Result<Operation, String> {
    let origins: Vec<_> =
        (0..count).map(|n| format!("https://{before}a{n:06}.partner.example")).collect();
    let set =
        OriginSet::new(origins.iter().map(String::as_str)).map_err(policy_core::Rule::message)?;
    let origin = origins.get(count / 2).map(|origin| origin.replace('*', "x")).unwrap_or_default();
    Ok(Box::new(move || {
        black_box(set.matches(black_box(origin.as_bytes())));
    }))
}

#[get("/items")]
#[cors(APPS)]
#[auth(public)]
async fn fixed() {}

#[get("/items/{id}")]
#[put("/items/{id}")]
#[cors(APPS)]
#[auth(public)]
async fn one(id: u64) -> String {
    id.to_string()
}

#[get("/items/{id}/parts/{part}")]
#[put("/items/{id}/parts/{part}")]
#[cors(APPS)]
#[auth(public)]
async fn two(id: u64, part: String) -> String {
    format!("{id}:{part}")
}

/// An app with this many routes: five below each prefix.
fn app(routes: usize) -> Result<AppService, String> {
    let groups = (0..routes / 5).map(|n| format!("/s{n}"));
    let app = groups.fold(App::new(()), |app, prefix| {
        app.group(prefix, Group::new().routes(routes![fixed, one, two]))
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(app.open()).map_err(|error| error.to_string())
}

/// A whole request through the gates, without a socket.
fn ask(service: &mut AppService, path: &'static str) {
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = Uri::from_static(path);
    request.headers_mut().insert(HOST, HeaderValue::from_static("127.0.0.1"));
    let answer = pin!(service.call(black_box(request)));
    if let Poll::Ready(response) = answer.poll(&mut Context::from_waker(Waker::noop())) {
        drop(black_box(response));
    }
}

fn route(routes: usize) -> Result<Operation, String> {
    let mut service = app(routes)?;
    Ok(Box::new(move || ask(&mut service, "/s13/items/42/parts/1001")))
}

struct Keys;

impl Scheme for Keys {
    const AMBIENT: bool = false;

    async fn authenticate(
        &self,
        request: &mut SchemeRequest<'_>,
    ) -> Result<Option<Identity>, AuthError> {
        let key = request.headers().get(HOST);
        Ok(key.map(|_| Identity::new("user-1").tenant("acme").roles(["lead"])))
    }
}

#[derive(Clone, Object)]
#[rule(View = owner | same(tenant) & role("lead"))]
struct Order {
    #[object(key)]
    id: u64,
    #[object(owner)]
    customer: String,
    #[object(tenant)]
    company: String,
}

#[derive(Clone)]
struct Orders(Arc<BTreeMap<u64, Order>>);

impl Load for Order {
    type Source = Orders;

    async fn load(id: &u64, _: &(), orders: &Orders) -> Result<Option<Self>, Problem> {
        Ok(orders.0.get(id).cloned())
    }
}

#[get("/orders/{id}")]
#[auth(scheme = Keys)]
async fn order(order: Allowed<Order>) -> String {
    order.id.to_string()
}

#[get("/by-hand/{id}")]
#[auth(scheme = Keys)]
#[object(none = "the handler asks by itself")]
async fn order_by_hand(
    id: u64,
    me: Principal,
    State(orders): State<Orders>,
) -> Result<String, Problem> {
    let order = Order::load(&id, &(), &orders).await?.ok_or_else(Problem::not_found)?;
    let is_owner = order.customer == me.subject();
    let is_lead = me.tenant() == Some(&*order.company) && me.has_role("lead");
    if !is_owner && !is_lead {
        return Err(Problem::not_found());
    }
    Ok(order.id.to_string())
}

/// A request about an object, whose tenant is that of the caller.
fn object(path: &'static str) -> Result<Operation, String> {
    let stored = |id| Order { id, customer: "user-2".to_owned(), company: "acme".to_owned() };
    let orders = Orders(Arc::new((0..100).map(|id| (id, stored(id))).collect()));
    let app = App::new(orders).scheme(Keys).routes(routes![order, order_by_hand]);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let mut service = runtime.block_on(app.open()).map_err(|error| error.to_string())?;
    Ok(Box::new(move || ask(&mut service, path)))
}

/// A token of this many bytes, verified with all rules. Most of the count is SHA-256, per block of
/// 64 bytes.
fn token(len: usize, issuer: &str, id: &str, scope: Option<&str>) -> Result<Operation, String> {
    let now = Timestamp::from_seconds(1_800_000_000);
    let key =
        Key::hs256("k1", &SecretKey::from_bytes([7; 32])).map_err(|error| error.to_string())?;
    let keys = KeyRing::new(vec![RingKey::new(key)]).map_err(|error| error.to_string())?;
    let mut claims = NewClaims::new(issuer, "api", "user-1", id, now);
    claims.scope = scope;
    let token = keys.sign(&claims, now).map_err(|error| error.to_string())?;
    if token.len() != len {
        return Err(format!("the token has {} bytes", token.len()));
    }
    let profile = Profile::new(issuer, "api").map_err(policy_core::Rule::message)?;
    let verifier = Verifier::new(profile);
    Ok(Box::new(move || {
        let token = verifier.verify(&keys, black_box(token.as_bytes()), now);
        black_box(token.map_or(0, |token| token.claims().subject().len()));
    }))
}

/// A lookup of a token that is not revoked, among this many revocations, of which every tenth is of
/// a user; without a set, only the names of the token.
fn revocations(count: Option<u64>) -> Operation {
    let now = Timestamp::from_seconds(1_800_000_000);
    let mut set = RevocationSet::new(Duration::from_secs(3600), Duration::MAX);
    set.caught_up(Duration::ZERO);
    for number in 0..count.unwrap_or_default() {
        let id = random_id(number);
        let id = str::from_utf8(&id).unwrap_or_default();
        if number % 10 == 0 {
            set.revoke_user(id, TokenCutOff { before: now.seconds() + 1, number });
        } else {
            set.revoke_token(id, now.after(Duration::from_secs(number % 3600)));
        }
    }
    let mut counter = u64::MAX / 2;
    Box::new(move || {
        counter += 3;
        let [id, session, user] = [0, 1, 2].map(|number| black_box(random_id(counter + number)));
        let names = TokenNames {
            id: str::from_utf8(&id).unwrap_or_default(),
            session: str::from_utf8(&session).ok(),
            user: str::from_utf8(&user).unwrap_or_default(),
            cut_offs: Some(0),
        };
        if count.is_some() {
            black_box(set.status(now, Duration::ZERO, || names));
        }
        black_box(names);
    })
}

/// The text of 16 bytes that look random.
fn random_id(number: u64) -> [u8; 22] {
    let mut bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    [0; 22].map(|_: u8| {
        bits = (bits ^ (bits >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        b'A' + (bits >> 60) as u8
    })
}

/// One decision, among this many clients; without a table, only the address.
fn rate_limit(count: Option<u32>, clients: u32) -> Operation {
    let rate = Rate::per_minute(count.unwrap_or(1));
    let table = count.map(|_| RateTable::new(rate, RateCapacity::DEFAULT, [1, 2]));
    let mut requests = 0;
    Box::new(move || {
        requests += 1;
        let address = black_box(Some(Ipv4Addr::from_bits(requests % clients).into()));
        let now = black_box(Duration::from_millis(u64::from(requests) * 10));
        if let Some(table) = &table {
            let _ = black_box(table.take_address(address, now));
        }
    })
}

type Prepare = fn() -> Result<Operation, String>;

const CASES: [(&str, Prepare); 27] = [
    ("cors actual.base", || {
        Ok(Box::new(|| {
            drop(black_box(request(false)));
            drop(black_box(response()));
        }))
    }),
    ("cors actual.policy", || {
        let cors = cors()?;
        Ok(Box::new(move || actual(&cors)))
    }),
    ("cors preflight.base", || Ok(Box::new(|| drop(black_box(request(true)))))),
    ("cors preflight.policy", || {
        let cors = cors()?;
        let answer = cors.preflight(&[], &[]);
        Ok(Box::new(move || preflight(&cors, &answer)))
    }),
    ("head.base", || Ok(Box::new(|| drop(black_box(request(false)))))),
    ("head.read and admit", || {
        Ok(Box::new(|| {
            let request = black_box(request(false));
            let head = Head::read(&request);
            let own = policy_core::head::OwnOrigin::Development;
            let admitted = head.well_formed().and_then(|()| head.target());
            let _ = black_box(admitted.and_then(|()| own.admit(&head)));
        }))
    }),
    ("rate limit.base", || Ok(rate_limit(None, 100))),
    ("rate limit.granted", || Ok(rate_limit(Some(1_000), 100))),
    ("rate limit.newcomer", || Ok(rate_limit(Some(1_000), u32::MAX))),
    ("rate limit.refused", || Ok(rate_limit(Some(1), 100))),
    ("rate limit of 1000000.base", || Ok(rate_limit(None, 1_000_000))),
    ("rate limit of 1000000.granted", || Ok(rate_limit(Some(1_000), 1_000_000))),
    ("rate limit of 1000000.newcomer", || Ok(rate_limit(Some(1_000), u32::MAX))),
    ("revocations.base", || Ok(revocations(None))),
    ("revocations.no among 10", || Ok(revocations(Some(10)))),
    ("revocations.no among 1000000", || Ok(revocations(Some(1_000_000)))),
    ("origins of 10.exact", || run_time(10, "")),
    ("origins of 100000.exact", || run_time(100_000, "")),
    ("origins of 10.wildcard", || run_time(10, "*.")),
    ("origins of 100000.wildcard", || run_time(100_000, "*.")),
    ("config.compile", || {
        let config = CorsConfig::new(["https://a.test"]);
        Ok(Box::new(move || {
            let _ = black_box(Cors::from_config("bench", &config));
        }))
    }),
    ("hs256.275 bytes, 5 blocks", || {
        token(275, "https://auth.example", "AAAAAAAAAA", Some("read write"))
    }),
    ("hs256.210 bytes, 4 blocks", || token(210, "i", "a", None)),
    ("request among routes.100", || route(100)),
    ("request among routes.10000", || route(10_000)),
    ("object.by hand", || object("/by-hand/42")),
    ("object.as an argument", || object("/orders/42")),
];

fn case(name: &str) -> Result<Operation, String> {
    match CASES.iter().find(|(known, _)| *known == name) {
        Some((_, prepare)) => prepare(),
        None => Err(format!("no case `{name}`; `micro list` names them")),
    }
}

#[expect(clippy::print_stdout, reason = "names and times are the output")]
fn main() -> Result<(), String> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["list"] => println!("{}", CASES.map(|(name, _)| name).join("\n")),
        ["count", name, times] => {
            let mut operation = case(name)?;
            let times: u64 = times.parse().map_err(|_not_a_number| "N is a number".to_owned())?;
            (0..times).for_each(|_| operation());
        }
        ["time", name, times] => {
            let mut operation = case(name)?;
            let times: u32 = times.parse().map_err(|_not_a_number| "N is a number".to_owned())?;
            (0..times).for_each(|_| operation());
            let on_processor = || on_processor().map_err(|error| error.to_string());
            let begin = on_processor()?;
            (0..times).for_each(|_| operation());
            let time = on_processor()? - begin;
            println!("{:.1} ns", time.as_secs_f64() * 1e9 / f64::from(times));
        }
        ["start", routes] => {
            let routes = routes.parse().map_err(|_not_a_number| "ROUTES is a number".to_owned())?;
            let begin = Instant::now();
            drop(black_box(app(routes)?));
            println!("{:.1} ms", begin.elapsed().as_secs_f64() * 1000.0);
        }
        _ => return Err("usage: micro list | count CASE N | time CASE N | start ROUTES".to_owned()),
    }
    Ok(())
}
