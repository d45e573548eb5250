//! poem with what it ships for the same work, CORS and sessions, and jsonwebtoken. Its own store in
//! memory cannot be shared by two routes.
//!
//! `poem-peer PORT [--threads N]`, on one work-stealing runtime. Clients that begin with HTTP/2 get
//! it.

use std::{collections::BTreeMap, error::Error, time::Duration};

use contract::{Arguments, Login, ORDER, Order, Store};
use poem::{
    Endpoint, EndpointExt, FromRequest, Request, RequestBody, Result, Route, Server, get, handler,
    http::{HeaderValue, Method, StatusCode, header::AUTHORIZATION},
    listener::TcpAcceptor,
    middleware::Cors,
    post,
    session::{CookieConfig, ServerSession, Session, SessionStorage},
    web::{Json, Path, Query},
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse()?;
    let store = Memory(Store::default());
    for user in 0..contract::SESSIONS {
        let state = State::from([("user".to_owned(), user.into())]);
        store.0.save(&format!("{user:043}"), state);
    }
    arguments.runtime()?.block_on(async {
        let acceptor = TcpAcceptor::from_std(arguments.listen()?)?;
        // On a worker's own thread.
        tokio::spawn(Server::new_with_acceptor(acceptor).run(app(&store))).await??;
        Ok(())
    })
}

fn app(store: &Memory) -> impl Endpoint + 'static {
    let cookie = || CookieConfig::new().name(contract::COOKIE).secure(false);
    let sessions = || ServerSession::new(cookie(), store.clone());
    let mut app = Route::new()
        .at("/plain", get(plain))
        .at("/order", get(an_order).post(total))
        .at("/cors", get(plain).with(cors()))
        .at("/login", post(login).with(sessions()))
        .at("/session", get(me).with(sessions()).with(cors()))
        .at("/token", get(token).with(cors()));
    let routes = contract::routes(|name| format!(":{name}"));
    for path in routes.without {
        app = app.at(path, get(no_parameter));
    }
    for path in routes.with_one {
        app = app.at(path, get(one_parameter));
    }
    for path in routes.with_two {
        app = app.at(path, get(two_parameters));
    }
    app
}

fn cors() -> Cors {
    Cors::new()
        .allow_origins(contract::ORIGINS)
        .allow_credentials(true)
        .allow_methods([Method::GET, Method::PUT])
        .allow_headers(contract::ALLOWED_HEADERS)
        .expose_header(contract::EXPOSED_HEADER)
        .max_age(i32::try_from(contract::MAX_AGE).unwrap_or_default())
}

#[handler]
async fn plain() -> &'static str {
    contract::HELLO
}

#[handler]
async fn an_order() -> Json<&'static Order> {
    Json(&ORDER)
}

#[handler]
async fn total(Json(order): Json<Order>) -> Result<String> {
    Ok(order.total().ok_or(StatusCode::UNPROCESSABLE_ENTITY)?)
}

#[handler]
async fn no_parameter() -> &'static str {
    ""
}

#[handler]
async fn one_parameter(Path(id): Path<String>) -> String {
    id
}

#[handler]
async fn two_parameters(Path((id, item)): Path<(String, String)>) -> String {
    format!("{id}:{item}")
}

#[handler]
async fn login(session: &Session, Query(login): Query<Login>) -> StatusCode {
    session.set("user", login.user);
    StatusCode::NO_CONTENT
}

#[handler]
async fn me(session: &Session) -> Result<String> {
    let user = session.get::<u64>("user");
    Ok(user.ok_or(StatusCode::UNAUTHORIZED)?.to_string())
}

#[handler]
async fn token(Subject(subject): Subject) -> String {
    subject
}

struct Subject(String);

impl<'a> FromRequest<'a> for Subject {
    async fn from_request(request: &'a Request, _body: &mut RequestBody) -> Result<Self> {
        let credentials = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
        Ok(Self(bearer::subject(credentials).ok_or(StatusCode::UNAUTHORIZED)?))
    }
}

type State = BTreeMap<String, serde_json::Value>;

#[derive(Clone)]
struct Memory(Store<State>);

impl SessionStorage for Memory {
    async fn load_session<'a>(&'a self, id: &'a str) -> Result<Option<State>> {
        Ok(self.0.load(id))
    }

    async fn update_session<'a>(
        &'a self,
        id: &'a str,
        state: &'a State,
        _expires: Option<Duration>,
    ) -> Result<()> {
        self.0.save(id, state.clone());
        Ok(())
    }

    async fn remove_session<'a>(&'a self, id: &'a str) -> Result<()> {
        self.0.remove(id);
        Ok(())
    }
}
