//! Many requests on one connection, which remembers the credential of the last one: what ends a
//! credential ends it there, too.

use policy_server::tokens::TokenKeys;
use policy_tests::http::{Connection, Running, request};

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

#[post("/revoke")]
#[auth(token)]
async fn revoke(tokens: Tokens) -> Result<(), Problem> {
    tokens.revoke().await.map(drop)
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

/// The user of a credential, or the code of its refusal.
async fn ask(connection: &mut Connection, credential: &str) -> String {
    connection.send(request("GET /who", &[credential])).await;
    let response = connection.response().await;
    if response.status == 200 { response.text().to_owned() } else { response.problem().1 }
}

#[tokio::test]
async fn tokens_of_one_connection_end_as_on_any_other() {
    let server = Server::start().await;
    let (ada, bob) = (server.token("ada").await, server.token("bob").await);
    let mut connection = server.running.connect().await;
    for (credential, user) in [(&ada, "ada"), (&ada, "ada"), (&bob, "bob"), (&ada, "ada")] {
        assert_eq!(ask(&mut connection, credential).await, user);
    }
    server.post("/revoke", &ada).await;
    for _ in 0..2 {
        assert_eq!(ask(&mut connection, &ada).await, "auth.token-invalid");
        assert_eq!(ask(&mut connection, &bob).await, "bob");
    }
    // The key that signed both.
    assert!(server.keys.retire("a").unwrap());
    assert_eq!(ask(&mut connection, &bob).await, "auth.token-invalid");
    let eve = server.token("eve").await;
    assert_eq!(ask(&mut connection, &eve).await, "eve");
    // Five minutes, and 30 seconds by which clocks may differ.
    server.clock.advance(Duration::from_secs(329));
    assert_eq!(ask(&mut connection, &eve).await, "eve");
    server.clock.advance(Duration::from_secs(1));
    assert_eq!(ask(&mut connection, &eve).await, "auth.token-expired");
}

#[tokio::test]
async fn a_token_with_one_other_byte_is_refused_after_the_true_one() {
    let server = Server::start().await;
    let token = server.token("ada").await;
    let mut connection = server.running.connect().await;
    let begins = "authorization: Bearer ".len();
    for place in (begins..token.len()).step_by(7).chain([token.len() - 2]) {
        assert_eq!(ask(&mut connection, &token).await, "ada");
        let mut forged = token.clone();
        let other = if &token[place..=place] == "A" { "B" } else { "A" };
        forged.replace_range(place..=place, other);
        assert_eq!(ask(&mut connection, &forged).await, "auth.token-invalid", "byte {place}");
    }
}

#[tokio::test]
async fn a_session_that_ended_elsewhere_has_ended_on_every_connection() {
    let server = Server::start().await;
    let [ada, bob] =
        [server.post("/enter/ada", "x: y").await, server.post("/enter/bob", "x: y").await];
    let (ada, bob) = (ada.1, bob.1);
    let mut connection = server.running.connect().await;
    for (credential, user) in [(&ada, "ada"), (&ada, "ada"), (&bob, "bob"), (&ada, "ada")] {
        assert_eq!(ask(&mut connection, credential).await, user);
    }
    server.post("/leave", &ada).await;
    for _ in 0..2 {
        assert_eq!(ask(&mut connection, &ada).await, "auth.credentials-missing");
    }
    assert_eq!(ask(&mut connection, &bob).await, "bob");
}
