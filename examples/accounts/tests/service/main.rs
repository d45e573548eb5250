//! The accounts example over real sockets, as its page and a program use it.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "what a test cannot do without fails it"
)]

mod browser;
mod guessing;
mod openapi;

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    process::Command,
    time::{Duration, Instant},
};

use policy_tests::{
    example::Example,
    folder::Folder,
    http::{Connection, RawResponse},
};
use serde_json::{Value, json};

const PASSWORD: &str = "correct horse";

/// A browser with the shop's page open: it keeps the cookies and sends the CSRF token.
struct Visitor {
    /// One of 127.0.0.0/8, all of which belongs to this machine.
    address: IpAddr,
    port: u16,
    origin: String,
    /// Of the session.
    cookie: Option<String>,
    /// Of the device.
    device: Option<String>,
    csrf: Option<String>,
}

impl Visitor {
    fn new(accounts: &Example) -> Self {
        let port = accounts.address("service").port();
        let address = Ipv4Addr::LOCALHOST.into();
        let origin = accounts.printed("page").to_owned();
        Self { address, port, origin, cookie: None, device: None, csrf: None }
    }

    /// A visitor whose requests come from `127.0.net.host`.
    fn from(accounts: &Example, net: u8, host: u8) -> Self {
        Self { address: [127, 0, net, host].into(), ..Self::new(accounts) }
    }

    /// A new user, logged in.
    async fn signed_up(accounts: &Example, name: &str) -> Self {
        let mut visitor = Self::new(accounts);
        assert_eq!(visitor.enter("/signup", name, PASSWORD).await.status, 201);
        visitor
    }

    /// The same user on another device.
    async fn logged_in(accounts: &Example, name: &str) -> Self {
        let mut visitor = Self::new(accounts);
        assert_eq!(visitor.enter("/login", name, PASSWORD).await.status, 200);
        visitor
    }

    async fn enter(&mut self, path: &str, name: &str, password: &str) -> RawResponse {
        self.post(path, &json!({ "name": name, "password": password })).await
    }

    /// Fetches a new CSRF token, as the page does after a login.
    async fn renew_csrf(&mut self) {
        let response = self.get("/csrf").await.json();
        self.csrf = response["token"].as_str().map(str::to_owned);
    }

    async fn get(&mut self, path: &str) -> RawResponse {
        self.send("GET", path, &[], &Value::Null).await
    }

    async fn post(&mut self, path: &str, body: &Value) -> RawResponse {
        self.send("POST", path, &[], body).await
    }

    /// A call of the page by a bearer token, without the cookie.
    async fn by_token(&self, token: &str) -> RawResponse {
        let origin = self.origin.clone();
        let mut stranger = Self { cookie: None, device: None, csrf: None, origin, ..*self };
        let field = format!("authorization: Bearer {token}");
        stranger.send("GET", "/profile", &[&field], &Value::Null).await
    }

    async fn send(
        &mut self,
        method: &str,
        path: &str,
        fields: &[&str],
        body: &Value,
    ) -> RawResponse {
        let mut connection = self.begin(method, path, fields, body).await;
        let response = connection.response().await;
        // The page of another origin can read every response, including errors.
        assert_eq!(response.header("access-control-allow-origin"), Some(&*self.origin));
        for (_, cookie) in response.headers.iter().filter(|(name, _)| name == "set-cookie") {
            let (cookie, attributes) = cookie.split_once(';').expect("attributes");
            let kept = (!attributes.contains("Max-Age=0")).then(|| cookie.to_owned());
            let is_of_device = cookie.starts_with("device=");
            *(if is_of_device { &mut self.device } else { &mut self.cookie }) = kept;
        }
        response
    }

    async fn begin(&self, method: &str, path: &str, fields: &[&str], body: &Value) -> Connection {
        let mut connection = self.connect().await;
        connection.send(self.request(method, path, fields, body)).await;
        connection
    }

    async fn connect(&self) -> Connection {
        let service = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        Connection::open_from(self.address, service).await
    }

    fn request(&self, method: &str, path: &str, fields: &[&str], body: &Value) -> String {
        let Self { port, origin, .. } = self;
        let mut text = format!("{method} {path} HTTP/1.1\r\nhost: localhost:{port}\r\n");
        text += &format!("origin: {origin}\r\nsec-fetch-site: same-site\r\n");
        for field in fields {
            text += &format!("{field}\r\n");
        }
        let cookies: Vec<&str> =
            [&self.cookie, &self.device].into_iter().flatten().map(|it| &**it).collect();
        if !cookies.is_empty() {
            text += &format!("cookie: {}\r\n", cookies.join("; "));
        }
        if let (Some(csrf), true) = (&self.csrf, method != "GET") {
            text += &format!("x-csrf-token: {csrf}\r\n");
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        if !body.is_empty() {
            let length = body.len();
            text += &format!("content-type: application/json\r\ncontent-length: {length}\r\n");
        }
        format!("{text}\r\n{body}")
    }

    async fn tokens(&mut self, name: &str) -> (String, String) {
        let response = self.enter("/token", name, PASSWORD).await;
        assert_eq!(response.status, 200);
        pair(&response)
    }

    async fn refresh(&mut self, token: &str) -> RawResponse {
        self.post("/token/refresh", &json!({ "refresh_token": token })).await
    }
}

/// The access token and the refresh token of a response.
fn pair(response: &RawResponse) -> (String, String) {
    let tokens = response.json();
    let text = |name: &str| tokens[name].as_str().expect("a token").to_owned();
    (text("access_token"), text("refresh_token"))
}

/// The command that starts the example on free ports.
fn command(folder: &Folder) -> Command {
    let mut command = Example::command(env!("CARGO_BIN_EXE_accounts"));
    command.env("POLICY_ACCOUNTS_PORTS", "0,0,0").env("POLICY_ACCOUNTS_FOLDER", folder.path());
    command
}

/// A service, its page, and the page of another site.
fn start_in(folder: &Folder) -> io::Result<Example> {
    Example::start(&mut command(folder), &["service", "page", "other"])
}

fn start() -> (Folder, Example) {
    let folder = Folder::new().expect("a folder");
    let accounts = start_in(&folder).expect("an example that starts");
    (folder, accounts)
}

#[tokio::test]
async fn a_user_signs_up_logs_out_and_logs_in_again_under_another_id() {
    let (_folder, accounts) = start();
    let mut ada = Visitor::signed_up(&accounts, "ada").await;
    let first = ada.cookie.clone();
    assert_eq!(ada.get("/profile").await.json(), json!({ "name": "ada", "by": "session" }));
    ada.renew_csrf().await;
    assert_eq!(ada.post("/logout", &Value::Null).await.status, 204);
    assert_eq!(ada.cookie, None, "the cookie is removed");
    assert_eq!(ada.get("/profile").await.problem().1, "auth.credentials-missing");
    ada.csrf = None;
    // The previous cookie is invalid, in case someone kept it.
    ada.cookie.clone_from(&first);
    assert_eq!(ada.get("/profile").await.status, 401);
    assert_eq!(ada.enter("/login", "ada", PASSWORD).await.status, 200);
    assert_ne!(ada.cookie, first);
    assert_eq!(ada.get("/profile").await.status, 200);
}

#[tokio::test]
async fn a_name_is_taken_once_and_bad_names_and_passwords_are_refused() {
    let (_folder, accounts) = start();
    Visitor::signed_up(&accounts, "ada").await;
    let mut other = Visitor::new(&accounts);
    for (name, password, code) in [
        ("ada", "another horse", "accounts.name-taken"),
        ("Ada", PASSWORD, "accounts.name"),
        ("", PASSWORD, "accounts.name"),
        ("bob", "short", "accounts.password"),
    ] {
        assert_eq!(other.enter("/signup", name, password).await.problem().1, code);
        assert_eq!(other.cookie, None, "a refusal lets nobody in");
    }
    assert_eq!(other.enter("/login", "ada", PASSWORD).await.status, 200, "the first one holds");
}

#[tokio::test]
async fn wrong_passwords_and_unknown_users_get_the_same_response_as_fast() {
    let (_folder, accounts) = start();
    Visitor::signed_up(&accounts, "ada").await;
    let mut stranger = Visitor::new(&accounts);
    let mut took = [Duration::ZERO; 2];
    for _ in 0..10 {
        let mut responses = Vec::new();
        for (name, took) in ["ada", "nobody"].into_iter().zip(&mut took) {
            let begun = Instant::now();
            let response = stranger.enter("/login", name, "a wrong one").await;
            *took += begun.elapsed();
            assert_eq!(response.problem(), (403, "accounts.wrong".to_owned()));
            assert_eq!(stranger.cookie, None);
            // How many attempts are left differs, since all are counted.
            let lines = response.lines().into_iter().filter(|line| !line.starts_with("ratelimit:"));
            responses.push((lines.collect::<Vec<_>>(), response.body));
        }
        assert_eq!(responses[0], responses[1]);
    }
    // Without hashing for unknown users, their responses would take a twentieth of the time.
    let [wrong, unknown] = took;
    assert!(unknown * 4 > wrong, "{unknown:?} for nobody, {wrong:?} for a wrong password");
}

#[tokio::test]
async fn a_change_by_the_session_needs_its_token_and_a_page_that_is_granted() {
    let (_folder, accounts) = start();
    let mut ada = Visitor::signed_up(&accounts, "ada").await;
    let password = json!({ "password": "battery staple" });
    for path in ["/logout", "/logout/everywhere", "/password", "/confirm"] {
        let response = ada.post(path, &password).await;
        assert_eq!(response.problem(), (403, "csrf.token".to_owned()), "{path}");
    }
    ada.renew_csrf().await;
    for origin in ["https://evil.example", "http://localhost:1", "null"] {
        let page = Visitor {
            origin: origin.to_owned(),
            cookie: ada.cookie.clone(),
            csrf: ada.csrf.clone(),
            ..Visitor::new(&accounts)
        };
        for path in ["/logout", "/password", "/login", "/signup"] {
            let response = page.begin("POST", path, &[], &password).await.response().await;
            assert_eq!(response.problem(), (403, "csrf.origin".to_owned()), "{origin} {path}");
            assert_eq!(response.header("access-control-allow-origin"), None);
        }
    }
    assert_eq!(ada.get("/profile").await.status, 200, "nothing of it happened");
}

#[tokio::test]
async fn sessions_are_listed_and_one_of_them_is_ended() {
    let (_folder, accounts) = start();
    let mut ada = Visitor::signed_up(&accounts, "ada").await;
    ada.renew_csrf().await;
    let mut bob = Visitor::signed_up(&accounts, "bob").await;
    bob.renew_csrf().await;
    let mut phone = Visitor::new(&accounts);
    let credentials = json!({ "name": "ada", "password": PASSWORD });
    phone.send("POST", "/login", &["user-agent: phone"], &credentials).await;
    let list = ada.get("/sessions").await.json();
    let list = list.as_array().expect("a list");
    let named = |name: &str| {
        let mut named = list.iter().filter(|session| session["device"] == name);
        named.next().expect("a session").clone()
    };
    assert_eq!(list.len(), 2, "none of bob's: {list:?}");
    assert_eq!(named("unknown")["is_this"], true);
    assert_eq!(named("phone")["is_this"], false);
    let path = format!("/sessions/{}", named("phone")["handle"].as_str().expect("a handle"));
    let end = async |who: &mut Visitor| who.send("DELETE", &path, &[], &Value::Null).await.status;
    assert_eq!(end(&mut bob).await, 404, "nobody ends the session of somebody else");
    assert_eq!(phone.get("/profile").await.status, 200);
    assert_eq!(end(&mut ada).await, 204);
    assert_eq!(phone.get("/profile").await.status, 401);
    assert_eq!(end(&mut ada).await, 404, "it ended already");
    let none = ada.send("DELETE", "/sessions/none", &[], &Value::Null).await;
    assert_eq!(none.status, 400, "no handle at all");
    assert_eq!(ada.get("/profile").await.status, 200);
}

#[tokio::test]
async fn a_logout_everywhere_ends_every_session_and_every_token() {
    let (_folder, accounts) = start();
    let mut ada = Visitor::signed_up(&accounts, "ada").await;
    ada.renew_csrf().await;
    let mut phone = Visitor::logged_in(&accounts, "ada").await;
    let (access, refresh) = Visitor::new(&accounts).tokens("ada").await;
    assert_eq!(phone.by_token(&access).await.status, 200);
    assert_eq!(ada.post("/logout/everywhere", &Value::Null).await.status, 204);
    assert_eq!(ada.cookie, None);
    assert_eq!(phone.get("/profile").await.status, 401);
    assert_eq!(phone.by_token(&access).await.problem().1, "auth.token-invalid");
    assert_eq!(Visitor::new(&accounts).refresh(&refresh).await.status, 401);
}

#[tokio::test]
async fn a_new_password_ends_all_but_the_session_that_set_it() {
    let (_folder, accounts) = start();
    let mut ada = Visitor::signed_up(&accounts, "ada").await;
    ada.renew_csrf().await;
    let mut thief = Visitor::logged_in(&accounts, "ada").await;
    let (access, refresh) = Visitor::new(&accounts).tokens("ada").await;
    let before = ada.cookie.clone();
    let change = |current: &str| json!({ "current": current, "password": "battery staple" });
    let refused = ada.post("/password", &change("not the password")).await;
    assert_eq!(refused.problem(), (403, "accounts.wrong".to_owned()));
    assert_eq!(thief.get("/profile").await.status, 200, "nothing has changed");
    let response = ada.post("/password", &change(PASSWORD)).await;
    assert_eq!(response.status, 204);
    assert_ne!(ada.cookie, before, "the session has a new id");
    assert_eq!(ada.get("/profile").await.status, 200);
    assert_eq!(thief.get("/profile").await.status, 401);
    assert_eq!(thief.by_token(&access).await.status, 401);
    let mut stranger = Visitor::new(&accounts);
    assert_eq!(stranger.refresh(&refresh).await.status, 401);
    assert_eq!(stranger.enter("/login", "ada", PASSWORD).await.status, 403);
    assert_eq!(stranger.enter("/login", "ada", "battery staple").await.status, 200);
}

/// A person who knows the old password logs in again and again while it is changed.
#[tokio::test]
async fn no_login_with_the_old_password_survives_its_change() {
    const ROUNDS: usize = 5;
    let (_folder, accounts) = start();
    for round in 0..ROUNDS {
        let name = format!("victim{round}");
        let mut victim = Visitor::signed_up(&accounts, &name).await;
        victim.renew_csrf().await;
        let attack = |path: &'static str| {
            let (mut attacker, name) = (Visitor::new(&accounts), name.clone());
            tokio::spawn(async move {
                let response = attacker.enter(path, &name, PASSWORD).await;
                (attacker, response)
            })
        };
        // The change is hashed between them, since passwords wait for a core.
        let mut attacks: Vec<_> = ["/login", "/token", "/login", "/token"].map(attack).into();
        let change = tokio::spawn(async move {
            let change = json!({ "current": PASSWORD, "password": "another horse" });
            (victim.post("/password", &change).await, victim)
        });
        attacks.extend(["/login", "/token", "/login", "/token"].map(attack));
        let mut granted = Vec::new();
        for running in attacks {
            let (attacker, response) = running.await.expect("a response");
            match response.status {
                200 => granted.push((attacker, response)),
                status => assert!(matches!(status, 403 | 409), "{status}"),
            }
        }
        let (response, mut victim) = change.await.expect("a response");
        assert_eq!(response.status, 204);
        assert_eq!(victim.get("/profile").await.status, 200, "the victim stays logged in");
        for (mut attacker, response) in granted {
            if attacker.cookie.is_some() {
                assert_eq!(attacker.get("/profile").await.status, 401, "{round}");
            } else {
                let (access, refresh) = pair(&response);
                assert_eq!(attacker.by_token(&access).await.status, 401, "{round}");
                assert_eq!(attacker.refresh(&refresh).await.status, 401, "{round}");
            }
        }
        for path in ["/login", "/token"] {
            let late = Visitor::new(&accounts).enter(path, &name, PASSWORD).await;
            assert_eq!(late.status, 403, "{path} after the change");
        }
    }
}

/// The one who knows the old password, too, has a session, and replaces it at the same time.
#[tokio::test]
async fn one_of_two_who_replace_a_password_at_once_does_and_the_other_is_out() {
    let (_folder, accounts) = start();
    for round in 0..3 {
        let name = format!("victim{round}");
        let mut one = Visitor::signed_up(&accounts, &name).await;
        let mut other = Visitor::logged_in(&accounts, &name).await;
        one.renew_csrf().await;
        other.renew_csrf().await;
        let new = |password: &str| json!({ "current": PASSWORD, "password": password });
        let (of_one, of_other) = (new("the horse of one"), new("the horse of the other"));
        let (by_one, by_other) =
            tokio::join!(one.post("/password", &of_one), other.post("/password", &of_other));
        let (mut winner, mut loser, password) = match (by_one.status, by_other.status) {
            (204, 401 | 403 | 409) => (one, other, &of_one["password"]),
            (401 | 403 | 409, 204) => (other, one, &of_other["password"]),
            both => unreachable!("one of both replaces it: {both:?}"),
        };
        assert_eq!(winner.get("/profile").await.status, 200);
        assert_eq!(loser.get("/profile").await.status, 401);
        let password = password.as_str().expect("a password");
        let login = Visitor::new(&accounts).enter("/login", &name, password).await;
        assert_eq!(login.status, 200, "only the one who was told so has replaced it");
    }
}

#[tokio::test]
async fn a_password_given_once_more_changes_the_id_and_nothing_else() {
    let (_folder, accounts) = start();
    let mut ada = Visitor::signed_up(&accounts, "ada").await;
    ada.renew_csrf().await;
    let before = ada.cookie.clone();
    assert_eq!(ada.post("/confirm", &json!({ "password": "a wrong one" })).await.status, 403);
    assert_eq!(ada.cookie, before);
    assert_eq!(ada.post("/confirm", &json!({ "password": PASSWORD })).await.status, 204);
    assert_ne!(ada.cookie, before);
    assert_eq!(ada.get("/sessions").await.json().as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_refresh_token_that_is_used_again_at_once_yields_the_valid_one() {
    let (_folder, accounts) = start();
    let mut program = Visitor::signed_up(&accounts, "ada").await;
    program.cookie = None;
    let (_, first) = program.tokens("ada").await;
    let (_, second) = pair(&program.refresh(&first).await);
    let (access, third) = pair(&program.refresh(&second).await);
    assert_eq!(program.by_token(&access).await.json(), json!({ "name": "ada", "by": "token" }));
    // A slower tab. After the grace period this would count as a stolen copy and end the login.
    assert_eq!(pair(&program.refresh(&first).await).1, third);
    assert_eq!(program.refresh(&third).await.status, 200);
}

#[tokio::test]
async fn a_copied_token_works_until_it_is_revoked() {
    let (_folder, accounts) = start();
    let mut program = Visitor::signed_up(&accounts, "ada").await;
    program.cookie = None;
    let (copy, refresh) = program.tokens("ada").await;
    let (other, _) = program.tokens("ada").await;
    assert_eq!(program.by_token(&copy).await.status, 200, "dropping a token tells nobody");
    let logout = json!({ "refresh_token": refresh });
    assert_eq!(program.post("/token/logout", &logout).await.status, 204);
    assert_eq!(program.by_token(&copy).await.status, 401);
    assert_eq!(program.refresh(&refresh).await.status, 401);
    assert_eq!(program.by_token(&other).await.status, 200, "another login goes on");
}

#[tokio::test]
async fn news_arrive_and_end_with_the_session() {
    let (_folder, accounts) = start();
    let mut ada = Visitor::signed_up(&accounts, "ada").await;
    ada.renew_csrf().await;
    let mut phone = Visitor::logged_in(&accounts, "ada").await;
    let mut news = phone.begin("GET", "/news", &[], &Value::Null).await;
    let head = news.head().await;
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    Visitor::new(&accounts).tokens("ada").await;
    let event = news.chunk().await.expect("an event");
    let event = String::from_utf8(event).expect("a text");
    let mut event: Value = event.strip_prefix("data: ").expect("data").parse().expect("JSON");
    assert!(event["at"].take().is_u64());
    let what = "Tokens were given out";
    let expected = json!({ "at": null, "what": what, "device": "unknown", "address": "127.0.0.1" });
    assert_eq!(event, expected);
    assert_eq!(phone.get("/profile").await.status, 200);
    ada.post("/logout/everywhere", &Value::Null).await;
    let last = news.chunk().await.expect("a last event");
    assert_eq!(last, b"event: end\ndata: {\"code\":\"auth.credential-ended\"}\n\n");
    assert_eq!(news.chunk().await, None);
}

/// Also if the intruder logged out again, or got tokens only, before the user came.
#[tokio::test]
async fn a_returning_user_sees_what_an_intruder_did() {
    let (_folder, accounts) = start();
    let mut ada = Visitor::signed_up(&accounts, "ada").await;
    ada.renew_csrf().await;
    assert_eq!(ada.post("/logout", &Value::Null).await.status, 204);
    (ada.cookie, ada.csrf) = (None, None);
    let credentials = json!({ "name": "ada", "password": PASSWORD });
    let mut thief = Visitor::from(&accounts, 0, 2);
    thief.send("POST", "/login", &["user-agent: thief"], &credentials).await;
    thief.send("POST", "/token", &["user-agent: curl"], &credentials).await;
    assert_eq!(ada.enter("/login", "ada", PASSWORD).await.status, 200);

    let events = ada.get("/events").await.json();
    let events: Vec<_> = events.as_array().expect("a list").iter().collect();
    let of = |event: &Value, member: &str| event[member].as_str().expect("a text").to_owned();
    let texts = events.iter().map(|it| ["what", "device", "address"].map(|member| of(it, member)));
    assert_eq!(
        texts.collect::<Vec<_>>(),
        [
            ["A login", "unknown", "127.0.0.1"],
            ["Tokens were given out", "curl", "127.0.0.2"],
            ["A login on a new device", "thief", "127.0.0.2"],
            ["The account was created", "unknown", "127.0.0.1"],
        ]
    );
    assert!(events.is_sorted_by_key(|event| std::cmp::Reverse(event["at"].as_u64())));
    let sessions = ada.get("/sessions").await.json();
    let new: Vec<_> = sessions.as_array().expect("a list").iter().collect();
    let new: Vec<_> = new.into_iter().filter(|session| session["is_new"] == true).collect();
    assert_eq!(new.len(), 1, "{sessions}");
    assert_eq!((&new[0]["device"], &new[0]["address"]), (&json!("thief"), &json!("127.0.0.2")));
    // Only to its user.
    let mut bob = Visitor::signed_up(&accounts, "bob").await;
    let events = bob.get("/events").await.json();
    assert_eq!(events.as_array().map(Vec::len), Some(1), "{events}");
}

#[tokio::test]
async fn the_newest_fifty_events_are_kept() {
    let (_folder, accounts) = start();
    let mut ada = Visitor::signed_up(&accounts, "ada").await;
    for host in 2..8 {
        // Ten for each device.
        let mut other = Visitor::from(&accounts, 0, host);
        for _ in 0..10 {
            assert_eq!(other.enter("/login", "ada", PASSWORD).await.status, 200);
            other.cookie = None;
        }
    }
    let events = ada.get("/events").await.json();
    let events = events.as_array().expect("a list");
    assert_eq!(events.len(), 50);
    assert_eq!(
        (&events[0]["address"], &events[49]["address"]),
        (&json!("127.0.0.7"), &json!("127.0.0.3"))
    );
}

#[tokio::test]
async fn sessions_tokens_and_users_outlive_a_restart() {
    let (folder, accounts) = start();
    let mut ada = Visitor::signed_up(&accounts, "ada").await;
    ada.renew_csrf().await;
    let mut phone = Visitor::logged_in(&accounts, "ada").await;
    phone.renew_csrf().await;
    let (access, refresh) = Visitor::new(&accounts).tokens("ada").await;
    assert_eq!(phone.post("/logout", &Value::Null).await.status, 204);
    accounts.stop().expect("an orderly end");
    let accounts = start_in(&folder).expect("an example that starts again");
    let now = Visitor::new(&accounts);
    (ada.port, ada.origin) = (now.port, now.origin);
    assert_eq!(ada.get("/profile").await.status, 200);
    assert_eq!(ada.by_token(&access).await.status, 200);
    assert_eq!(Visitor::new(&accounts).refresh(&refresh).await.status, 200);
    // The previous CSRF token still works, and only the current session is listed.
    assert_eq!(ada.get("/sessions").await.json().as_array().map(Vec::len), Some(1));
    assert_eq!(ada.post("/logout", &Value::Null).await.status, 204);
}

#[tokio::test]
async fn a_second_process_on_the_same_folder_reports_the_conflict() {
    let (folder, accounts) = start();
    let second = command(&folder).output().expect("a process");
    assert_eq!(second.status.code(), Some(1));
    let words = String::from_utf8(second.stderr).expect("a text");
    let file = folder.path().join("users.redb");
    let expected = format!("another process has `{}` open: one process at a time", file.display());
    assert!(words.contains(&expected), "{words}");
    Visitor::signed_up(&accounts, "ada").await;
}

#[tokio::test]
async fn the_page_allows_itself_no_script_but_its_own() {
    let (_folder, accounts) = start();
    let mut page = Visitor::new(&accounts);
    page.port = accounts.address("page").port();
    let response = page.begin("GET", "/", &[], &Value::Null).await.response().await;
    let csp = response.header("content-security-policy").expect("a policy");
    let service = accounts.printed("service");
    assert!(csp.starts_with("default-src 'none'; script-src 'self';"), "{csp}");
    assert!(csp.contains(&format!("connect-src {service};")) && !csp.contains("unsafe"), "{csp}");
    assert!(response.text().contains(&format!("content=\"{service}\"")));
}
