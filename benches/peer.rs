//! The server that is compared with other frameworks: the responses, the policy and the hundred
//! routes of every peer, with all limits on.
//!
//! `peer PORT [--threads N] [--per-core]`: one work-stealing runtime with N threads, or one runtime
//! for each core that the process may use. Clients that begin with HTTP/2 get HTTP/2.

mod apps;
mod logins;

use std::sync::LazyLock;

use policy_core::{
    headers::HeadersPolicy,
    session::{Handle, Record, SessionKey},
};
#[cfg(feature = "traces")]
use policy_server::traces::{TraceContext, Tracing};
use policy_server::{
    ServerSettings, Timestamp,
    prelude::*,
    store::{CreateSession, MemoryStore, SessionStore},
    tokens::SecretKey,
};

#[cfg(feature = "traces")]
use tracing_subscriber::util::SubscriberInitExt as _;

use apps::APPS;
use logins::login;

/// The key with which every peer verifies tokens.
const SECRET: [u8; 32] = *b"an-hs256-secret-of-exactly-32-by";

/// The number of sessions besides the one that is measured.
const SESSIONS: u32 = 10_000;

#[get("/plain")]
#[auth(public)]
async fn plain() -> &'static str {
    "Hello, World!"
}

#[get("/cors")]
#[cors(APPS)]
#[auth(public)]
async fn cors_route() -> &'static str {
    "Hello, World!"
}

#[derive(serde::Deserialize, serde::Serialize)]
struct Order {
    id: u64,
    customer: Customer,
    lines: Vec<Line>,
}

#[derive(serde::Deserialize, serde::Serialize)]
struct Customer {
    name: String,
    email: String,
    city: String,
}

#[derive(serde::Deserialize, serde::Serialize)]
struct Line {
    sku: String,
    name: String,
    quantity: u64,
    price: u64,
}

static ORDER: LazyLock<Order> = LazyLock::new(|| {
    let customer = Customer {
        name: "Ada Lovelace".to_owned(),
        email: "ada@example.com".to_owned(),
        city: "London".to_owned(),
    };
    let line = |number| Line {
        sku: format!("SKU-{number:05}"),
        name: format!("A useful thing, model {number:02}"),
        quantity: number,
        price: 1999,
    };
    Order { id: 1001, customer, lines: (1..12).map(line).collect() }
});

impl Validate for Order {
    fn validate(&self) -> Result<(), Invalid> {
        let mut errors = Invalid::new()
            .check(!self.customer.name.is_empty(), "/customer/name", "must not be empty")
            .check(self.customer.email.contains('@'), "/customer/email", "must contain an @")
            .check((1..=100).contains(&self.lines.len()), "/lines", "must be 1 to 100");
        for line in &self.lines {
            errors = errors.check(!line.sku.is_empty(), "/lines/sku", "must not be empty").check(
                (1..=1000).contains(&line.quantity),
                "/lines/quantity",
                "must be 1 to 1000",
            );
        }
        errors.result()
    }
}

#[get("/order")]
#[auth(public)]
async fn order() -> Json<&'static Order> {
    Json(&ORDER)
}

#[post("/order")]
#[auth(public)]
async fn total(Valid(Json(order)): Valid<Json<Order>>) -> String {
    let total: u64 = order.lines.iter().map(|line| line.quantity * line.price).sum();
    total.to_string()
}

/// Every policy on: the hand-written server sends the same headers.
#[get("/policies")]
#[cors(APPS)]
#[cache(public, max_age = 60)]
#[headers(HeadersPolicy::API)]
#[limit(body = "1 MiB", timeout = "5s", rate = "4000000000/s per address", concurrency = 64)]
#[auth(public)]
async fn policies() -> &'static str {
    "Hello, World!"
}

#[get("/session")]
#[cors(APPS)]
#[auth(session)]
async fn session(me: Principal) -> String {
    me.subject().to_owned()
}

#[get("/token")]
#[cors(APPS)]
#[auth(token)]
async fn token(me: Principal) -> String {
    me.subject().to_owned()
}

#[get("/health")]
#[get("/users")]
#[get("/accounts")]
#[get("/addresses")]
#[get("/articles")]
#[get("/assets")]
#[get("/baskets")]
#[get("/books")]
#[get("/branches")]
#[get("/campaigns")]
#[get("/carts")]
#[get("/categories")]
#[get("/channels")]
#[get("/courses")]
#[get("/customers")]
#[get("/devices")]
#[get("/documents")]
#[get("/events")]
#[get("/groups")]
#[get("/invoices")]
#[get("/issues")]
#[get("/jobs")]
#[get("/kits")]
#[get("/leads")]
#[get("/machines")]
#[get("/networks")]
#[get("/orders")]
#[get("/plans")]
#[get("/projects")]
#[get("/queues")]
#[get("/reports")]
#[get("/sites")]
#[get("/teams")]
#[get("/uploads")]
#[auth(public)]
async fn no_parameter() -> &'static str {
    ""
}

#[get("/users/{id}")]
#[get("/accounts/{id}")]
#[get("/addresses/{id}")]
#[get("/articles/{id}")]
#[get("/assets/{id}")]
#[get("/baskets/{id}")]
#[get("/books/{id}")]
#[get("/branches/{id}")]
#[get("/campaigns/{id}")]
#[get("/carts/{id}")]
#[get("/categories/{id}")]
#[get("/channels/{id}")]
#[get("/courses/{id}")]
#[get("/customers/{id}")]
#[get("/devices/{id}")]
#[get("/documents/{id}")]
#[get("/events/{id}")]
#[get("/groups/{id}")]
#[get("/invoices/{id}")]
#[get("/issues/{id}")]
#[get("/jobs/{id}")]
#[get("/kits/{id}")]
#[get("/leads/{id}")]
#[get("/machines/{id}")]
#[get("/networks/{id}")]
#[get("/orders/{id}")]
#[get("/plans/{id}")]
#[get("/projects/{id}")]
#[get("/queues/{id}")]
#[get("/reports/{id}")]
#[get("/sites/{id}")]
#[get("/teams/{id}")]
#[get("/uploads/{id}")]
#[auth(public)]
async fn one_parameter(id: String) -> String {
    id
}

#[get("/users/{id}/posts/{item}")]
#[get("/accounts/{id}/entries/{item}")]
#[get("/addresses/{id}/changes/{item}")]
#[get("/articles/{id}/comments/{item}")]
#[get("/assets/{id}/versions/{item}")]
#[get("/baskets/{id}/items/{item}")]
#[get("/books/{id}/chapters/{item}")]
#[get("/branches/{id}/commits/{item}")]
#[get("/campaigns/{id}/mails/{item}")]
#[get("/carts/{id}/lines/{item}")]
#[get("/categories/{id}/products/{item}")]
#[get("/channels/{id}/messages/{item}")]
#[get("/courses/{id}/lessons/{item}")]
#[get("/customers/{id}/notes/{item}")]
#[get("/devices/{id}/readings/{item}")]
#[get("/documents/{id}/pages/{item}")]
#[get("/events/{id}/guests/{item}")]
#[get("/groups/{id}/members/{item}")]
#[get("/invoices/{id}/payments/{item}")]
#[get("/issues/{id}/labels/{item}")]
#[get("/jobs/{id}/runs/{item}")]
#[get("/kits/{id}/parts/{item}")]
#[get("/leads/{id}/calls/{item}")]
#[get("/machines/{id}/logs/{item}")]
#[get("/networks/{id}/hosts/{item}")]
#[get("/orders/{id}/refunds/{item}")]
#[get("/plans/{id}/prices/{item}")]
#[get("/projects/{id}/tasks/{item}")]
#[get("/queues/{id}/tickets/{item}")]
#[get("/reports/{id}/charts/{item}")]
#[get("/sites/{id}/visits/{item}")]
#[get("/teams/{id}/roles/{item}")]
#[get("/uploads/{id}/chunks/{item}")]
#[auth(public)]
async fn two_parameters(id: String, item: String) -> String {
    [&id, ":", &item].concat()
}

/// A store that already contains sessions.
async fn filled() -> Result<MemoryStore, std::io::Error> {
    let (store, now) = (MemoryStore::new(), Timestamp::from_seconds(1_800_000_000));
    for number in 0..SESSIONS {
        let mut key = [0; 32];
        key[..4].copy_from_slice(&number.wrapping_mul(0x9E37_79B9).to_le_bytes());
        let record = Record {
            handle: Handle([0; 16]),
            identity: Some(Identity::new(number)),
            epoch: 0,
            version: 0,
            created: now,
            authenticated: Some(now),
            rotated: now,
            last_seen: now,
            idle_deadline: Timestamp::MAX,
            absolute_deadline: Timestamp::MAX,
            idle: hours(1),
            is_remembered: false,
            binding: [0; 32],
            data: Box::default(),
        };
        let created = store.create(CreateSession::new(SessionKey(key), record, now)).await;
        created.map_err(std::io::Error::other)?;
    }
    Ok(store)
}

fn main() -> Result<(), Error> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let port = arguments.first().map_or("8080", String::as_str);
    let threads = arguments.iter().skip_while(|argument| *argument != "--threads").nth(1);
    let threads = threads.and_then(|threads| threads.parse().ok()).unwrap_or(1);
    let is_per_core = arguments.iter().any(|argument| argument == "--per-core");
    let (mut runtime, settings) = if is_per_core {
        (tokio::runtime::Builder::new_current_thread(), ServerSettings::default().per_core())
    } else {
        (tokio::runtime::Builder::new_multi_thread(), ServerSettings::default())
    };
    runtime.worker_threads(threads).enable_all().build()?.block_on(async {
        let secret = SecretKey::from_bytes(SECRET);
        let tokens = Tokens::hs256([("k", secret)]).map_err(std::io::Error::other)?;
        let app = App::new(())
            .settings(settings)
            // The peers send none.
            .policies(Policies::new().no_headers())
            .sessions(Sessions::store(filled().await?).cookie_name("sid"))
            .tokens(tokens.issuer("i").audience("a"))
            .routes(routes![plain, cors_route, order, total, policies, login, session, token])
            .routes(routes![no_parameter, one_parameter, two_parameters]);
        #[cfg(feature = "report_only")]
        let app = if arguments.iter().any(|argument| argument == "--report-only") {
            let candidate = app.manifest();
            app.report_only(candidate)
        } else {
            app
        };
        #[cfg(feature = "metrics")]
        let app = if arguments.iter().any(|argument| argument == "--metrics") {
            app.metrics(policy_server::Metrics::new())
        } else {
            app
        };
        #[cfg(feature = "traces")]
        let app = if arguments.iter().any(|argument| argument == "--spans") {
            tracing_subscriber::registry().init();
            let own = TraceContext::new([1; 16], [2; 8], TraceContext::SAMPLED);
            app.tracing(Tracing::new().tracer(move |_, _| own.clone()))
        } else {
            app
        };
        let server = app.bind(format!("127.0.0.1:{port}")).await?;
        // On a worker's own thread, like the peers.
        tokio::spawn(server.run()).await.map_err(std::io::Error::other)?
    })
}
