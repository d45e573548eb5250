//! Many requests on one connection, over HTTP/1.1 and over HTTP/2. A connection remembers its last
//! credential: what ends a credential also ends it there.

use policy_server::tokens::TokenKeys;
use policy_tests::{
    handlers::revoke,
    http::{Connection, Running, request},
    http2,
};

use super::*;

#[get("/who")]
#[auth(session | token)]
async fn who(me: Principal) -> String {
    me.subject().to_owned()
}

#[post("/issue/{user}")]
#[auth(public)]
async fn issue(user: String, tokens: Tokens) -> Result<String, Problem> {
    Ok(tokens.issue(&Identity::new(user))?.access_token)
}

#[post("/enter/{user}")]
#[auth(public)]
async fn enter(user: String, sessions: Sessions) -> Result<(), Problem> {
    Ok(sessions.login(user.as_str()).await?)
}

#[post("/leave")]
#[auth(session)]
#[csrf(origin)]
async fn leave(session: Session) {
    session.logout();
}

struct Server {
    running: Running,
    keys: TokenKeys,
    clock: Clock,
}

impl Server {
    async fn start() -> Self {
        let keys = TokenKeys::new([("a", secret(1)), ("b", secret(2))]).unwrap();
        let clock = Clock::at(START);
        let app = App::new(())
            .clock(clock.clone())
            .sessions(Sessions::memory())
            .tokens(Tokens::signed_with(keys.clone()))
            .routes(routes![who, issue, revoke, enter, leave]);
        Self { running: Running::start(app).await, keys, clock }
    }

    /// Sends a POST on its own connection. Returns its body and the cookie that it sets.
    async fn post(&self, path: &str, credential: &str) -> (String, String) {
        let host = format!("localhost:{}", self.running.address.port());
        let origin = format!("origin: http://{host}");
        let text = request(&format!("POST {path}"), &[&origin, credential, "content-length: 0"]);
        let response = self.running.response(text.replacen("localhost", &host, 1)).await;
        assert_eq!(response.status, 200, "{path}: {response:?}");
        let cookie = response.header("set-cookie").unwrap_or_default();
        let cookie = format!("cookie: {}", cookie.split(';').next().unwrap_or_default());
        (response.text().to_owned(), cookie)
    }

    async fn token(&self, user: &str) -> String {
        format!("authorization: Bearer {}", self.post(&format!("/issue/{user}"), "x: y").await.0)
    }
}

enum Kept {
    Http1(Connection),
    Http2(http2::Client),
}

impl Kept {
    /// A connection of each version.
    async fn both(server: &Running) -> [Self; 2] {
        let (client, _ended) = http2::connect(server).await;
        [Self::Http1(server.connect().await), Self::Http2(client)]
    }

    /// The user of a credential, or the code of the refusal.
    async fn ask(&mut self, credential: &str) -> String {
        let response = match self {
            Self::Http1(connection) => {
                connection.send(request("GET /who", &[credential])).await;
                connection.response().await
            }
            Self::Http2(client) => {
                let field = credential.split_once(": ").unwrap();
                http2::send(client, http2::request("GET", "http://localhost/who", &[field]), "")
                    .await
            }
        };
        if response.status == 200 { response.text().to_owned() } else { response.problem().1 }
    }
}

#[tokio::test]
async fn tokens_of_one_connection_end_as_on_any_other() {
    for version in 0..2 {
        let server = Server::start().await;
        let (ada, bob) = (server.token("ada").await, server.token("bob").await);
        let connection = &mut Kept::both(&server.running).await[version];
        for (credential, user) in [(&ada, "ada"), (&ada, "ada"), (&bob, "bob"), (&ada, "ada")] {
            assert_eq!(connection.ask(credential).await, user);
        }
        server.post("/revoke", &ada).await;
        for _ in 0..2 {
            assert_eq!(connection.ask(&ada).await, "auth.token-invalid");
            assert_eq!(connection.ask(&bob).await, "bob");
        }
        // Retires the key that signed both.
        assert!(server.keys.retire("a").unwrap());
        assert_eq!(connection.ask(&bob).await, "auth.token-invalid");
        let eve = server.token("eve").await;
        assert_eq!(connection.ask(&eve).await, "eve");
        // Five minutes, and 30 seconds of leeway.
        server.clock.advance(Duration::from_secs(329));
        assert_eq!(connection.ask(&eve).await, "eve");
        server.clock.advance(Duration::from_secs(1));
        assert_eq!(connection.ask(&eve).await, "auth.token-expired");
    }
}

#[tokio::test]
async fn a_token_with_one_other_byte_is_refused_after_the_true_one() {
    let server = Server::start().await;
    let token = server.token("ada").await;
    for mut connection in Kept::both(&server.running).await {
        let begins = "authorization: Bearer ".len();
        for place in (begins..token.len()).step_by(7).chain([token.len() - 2]) {
            assert_eq!(connection.ask(&token).await, "ada");
            let mut forged = token.clone();
            let other = if &token[place..=place] == "A" { "B" } else { "A" };
            forged.replace_range(place..=place, other);
            assert_eq!(connection.ask(&forged).await, "auth.token-invalid", "byte {place}");
        }
    }
}

#[tokio::test]
async fn a_session_that_ended_elsewhere_has_ended_on_every_connection() {
    for version in 0..2 {
        let server = Server::start().await;
        let [ada, bob] =
            [server.post("/enter/ada", "x: y").await, server.post("/enter/bob", "x: y").await];
        let (ada, bob) = (ada.1, bob.1);
        let connection = &mut Kept::both(&server.running).await[version];
        for (credential, user) in [(&ada, "ada"), (&ada, "ada"), (&bob, "bob"), (&ada, "ada")] {
            assert_eq!(connection.ask(credential).await, user);
        }
        server.post("/leave", &ada).await;
        for _ in 0..2 {
            assert_eq!(connection.ask(&ada).await, "auth.credentials-missing");
        }
        assert_eq!(connection.ask(&bob).await, "bob");
    }
}
