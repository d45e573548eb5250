//! actix-web with the crates that one would use for the same work: actix-cors, jsonwebtoken, and
//! actix-session, which ships no store in memory.
//!
//! `actix-peer PORT [--threads N] [--http2]`: one runtime for each thread; HTTP/2 with prior knowledge
//! needs a listener that looks for it.

use std::{
    collections::HashMap,
    future::{Ready, ready},
    io,
    time::Duration,
};

use actix_cors::Cors;
use actix_session::{
    Session, SessionMiddleware,
    storage::{LoadError, SaveError, SessionKey, SessionStore, UpdateError, generate_session_key},
};
use actix_web::{
    App, Error, FromRequest, HttpRequest, HttpResponse, HttpServer,
    cookie::{Key, time},
    dev::Payload,
    error::{ErrorInternalServerError, ErrorUnauthorized, ErrorUnprocessableEntity},
    http::{
        Method,
        header::{AUTHORIZATION, HeaderValue},
    },
    rt::System,
    web,
};
use contract::{Arguments, Login, ORDER, Order, Store};

fn main() -> io::Result<()> {
    let arguments = Arguments::parse()?;
    let store = Memory(Store::default());
    for user in 0..contract::SESSIONS {
        let state = State::from([("user".to_owned(), user.to_string())]);
        store.0.save(generate_session_key().as_ref(), state);
    }
    let (key, listener) = (Key::generate(), arguments.listen()?);
    System::new().block_on(async move {
        let server = HttpServer::new(move || {
            App::new().configure(|config| routes(config, &store, &key)).configure(hundred_routes)
        });
        let server = server.workers(arguments.threads()).keep_alive(Duration::from_secs(75));
        let server = if arguments.has("--http2") {
            server.listen_auto_h2c(listener)?
        } else {
            server.listen(listener)?
        };
        server.run().await
    })
}

fn routes(config: &mut web::ServiceConfig, store: &Memory, key: &Key) {
    let sessions = || {
        SessionMiddleware::builder(store.clone(), key.clone())
            .cookie_name(contract::COOKIE.to_owned())
            .cookie_secure(false)
            .build()
    };
    let shared_session = web::resource("/session").wrap(sessions()).wrap(cors());
    config
        .route("/plain", web::get().to(plain))
        .route("/order", web::get().to(order))
        .route("/order", web::post().to(total))
        .service(web::resource("/cors").wrap(cors()).route(web::get().to(plain)))
        .service(web::resource("/login").wrap(sessions()).route(web::post().to(login)))
        .service(shared_session.route(web::get().to(session)))
        .service(web::resource("/token").wrap(cors()).route(web::get().to(token)));
}

fn hundred_routes(config: &mut web::ServiceConfig) {
    let routes = contract::routes(|name| format!("{{{name}}}"));
    for path in routes.without {
        config.route(&path, web::get().to(async || ""));
    }
    for path in routes.with_one {
        config.route(&path, web::get().to(async |id: web::Path<String>| id.into_inner()));
    }
    for path in routes.with_two {
        config.route(&path, web::get().to(two_parameters));
    }
}

fn cors() -> Cors {
    let cors = Cors::default()
        .supports_credentials()
        .allowed_methods([Method::GET, Method::PUT])
        .allowed_headers(contract::ALLOWED_HEADERS)
        .expose_headers([contract::EXPOSED_HEADER])
        .max_age(usize::try_from(contract::MAX_AGE).ok());
    contract::ORIGINS.iter().fold(cors, |cors, origin| cors.allowed_origin(origin))
}

async fn plain() -> &'static str {
    contract::HELLO
}

async fn order() -> web::Json<&'static Order> {
    web::Json(&ORDER)
}

async fn total(order: web::Json<Order>) -> Result<String, Error> {
    order.total().ok_or_else(|| ErrorUnprocessableEntity(""))
}

async fn two_parameters(path: web::Path<(String, String)>) -> String {
    let (id, item) = path.into_inner();
    format!("{id}:{item}")
}

async fn login(session: Session, login: web::Query<Login>) -> Result<HttpResponse, Error> {
    session.insert("user", login.user).map_err(ErrorInternalServerError)?;
    Ok(HttpResponse::NoContent().finish())
}

async fn session(session: Session) -> Result<String, Error> {
    let user = session.get::<u64>("user").map_err(ErrorInternalServerError)?;
    user.map(|user| user.to_string()).ok_or_else(|| ErrorUnauthorized(""))
}

async fn token(Subject(subject): Subject) -> String {
    subject
}

struct Subject(String);

impl FromRequest for Subject {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _payload: &mut Payload) -> Self::Future {
        let credentials = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
        ready(bearer::subject(credentials).map(Self).ok_or_else(|| ErrorUnauthorized("")))
    }
}

type State = HashMap<String, String>;

#[derive(Clone)]
struct Memory(Store<State>);

impl SessionStore for Memory {
    async fn load(&self, key: &SessionKey) -> Result<Option<State>, LoadError> {
        Ok(self.0.load(key.as_ref()))
    }

    async fn save(&self, state: State, _ttl: &time::Duration) -> Result<SessionKey, SaveError> {
        let key = generate_session_key();
        self.0.save(key.as_ref(), state);
        Ok(key)
    }

    async fn update(
        &self,
        key: SessionKey,
        state: State,
        _ttl: &time::Duration,
    ) -> Result<SessionKey, UpdateError> {
        self.0.save(key.as_ref(), state);
        Ok(key)
    }

    async fn update_ttl(&self, _key: &SessionKey, _ttl: &time::Duration) -> anyhow::Result<()> {
        Ok(())
    }

    async fn delete(&self, key: &SessionKey) -> anyhow::Result<()> {
        self.0.remove(key.as_ref());
        Ok(())
    }
}
