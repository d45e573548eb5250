//! The events that pages receive at once, over sockets.

use policy_server::{App, Clock};
use policy_tests::{
    folder::Folder,
    http::{Connection, RawResponse, Running},
};
use serde_json::{Value, json};

use crate::site::{PAGE, PASSWORD};

/// A service on a socket.
pub(crate) struct Live {
    pub(crate) server: Running,
    _folder: Folder,
}

impl Live {
    pub(crate) async fn at(database: &str, clock: Clock) -> Self {
        let folder = Folder::new().expect("a folder");
        let app: App<_> = tasks::app(database, folder.path()).await.expect("an app");
        let server = Running::start(app.origins("apps", [PAGE]).clock(clock)).await;
        Self { server, _folder: folder }
    }

    async fn in_memory() -> Self {
        Self::at("sqlite::memory:", Clock::system()).await
    }
}

/// A browser with the page open.
#[derive(Default)]
pub(crate) struct Visitor {
    cookie: String,
    csrf: String,
}

impl Visitor {
    pub(crate) async fn signed_up(live: &Live, login: &str, place: Value) -> Self {
        let mut body = json!({ "login": login, "password": PASSWORD });
        body.as_object_mut().expect("an object").extend(place.as_object().expect("one").clone());
        Self::begin_session(live, "POST /signup", &body).await
    }

    /// A visitor whose session begins with this request.
    pub(crate) async fn begin_session(live: &Live, what: &str, body: &Value) -> Self {
        let mut visitor = Self::default();
        let response = visitor.send(live, what, body).await;
        assert!([200, 201].contains(&response.status), "{response:?}");
        let cookies = response.headers.iter().filter(|(name, _)| name == "set-cookie");
        let mut pairs = cookies.filter_map(|(_, value)| value.split(';').next());
        visitor.cookie = pairs.find(|pair| pair.starts_with("tasks=")).expect("a session").into();
        let csrf = visitor.send(live, "GET /csrf", &Value::Null).await;
        visitor.csrf = csrf.json()["token"].as_str().expect("a token").to_owned();
        visitor
    }

    /// A lead, and somebody whom they invited.
    async fn two(live: &Live, lead: &str, member: &str) -> (Self, Self) {
        let lead = Self::signed_up(live, lead, json!({ "team": "a team" })).await;
        let member = lead.invites(live, member).await;
        (lead, member)
    }

    pub(crate) async fn invites(&self, live: &Live, login: &str) -> Self {
        let invited = self.send(live, "POST /invitations", &json!({ "role": "member" })).await;
        Self::signed_up(live, login, json!({ "invitation": invited.json()["code"] })).await
    }

    pub(crate) fn head(&self, what: &str, origin: &str) -> String {
        let Self { cookie, csrf } = self;
        format!(
            "{what} HTTP/1.1\r\nhost: localhost\r\norigin: {origin}\r\ncookie: {cookie}\r\n\
             x-csrf-token: {csrf}\r\n"
        )
    }

    pub(crate) async fn send(&self, live: &Live, what: &str, body: &Value) -> RawResponse {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = self.head(what, PAGE);
        let length = body.len();
        let fields = format!("content-type: application/json\r\ncontent-length: {length}\r\n");
        live.server.response(format!("{head}{fields}\r\n{body}")).await
    }

    async fn add(&self, live: &Live, title: &str) -> String {
        let added = self.send(live, "POST /tasks", &json!({ "title": title })).await;
        added.json()["id"].as_str().expect("an id").to_owned()
    }

    async fn listens(&self, live: &Live) -> Connection {
        let mut connection = live.server.connect().await;
        connection.send(self.head("GET /events", PAGE) + "\r\n").await;
        let head = connection.head().await;
        assert_eq!(head.header("content-type"), Some("text/event-stream"));
        connection
    }

    fn handshake(&self, origin: &str) -> String {
        self.head("GET /presence", origin)
            + "upgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-version: 13\r\n\
               sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    }

    async fn attends(&self, live: &Live) -> Connection {
        let mut connection = live.server.connect().await;
        connection.send(self.handshake(PAGE)).await;
        assert_eq!(connection.head().await.status, 101);
        connection
    }
}

/// The next event of a stream.
async fn event(connection: &mut Connection) -> Value {
    loop {
        let chunk = connection.chunk().await.expect("a stream that goes on");
        let text = String::from_utf8(chunk).expect("a text");
        // The others are there to keep the connection open.
        if let Some(data) = text.trim().strip_prefix("data: ") {
            return serde_json::from_str(data).expect("JSON");
        }
    }
}

/// The people who are here, by name, with the task that each looks at: the next list that has this
/// many.
async fn here(connection: &mut Connection, count: usize) -> Vec<(String, String)> {
    loop {
        let head = connection.exactly(2).await;
        assert_eq!(head[0], 0x81, "a text");
        let length = match head[1] {
            126 => connection
                .exactly(2)
                .await
                .iter()
                .fold(0, |sum, byte| sum * 256 + usize::from(*byte)),
            length => length.into(),
        };
        let list: Value = serde_json::from_slice(&connection.exactly(length).await).expect("JSON");
        let list = list.as_array().expect("a list").iter().map(|page| {
            let text = |name: &str| page[name].as_str().expect("a text").to_owned();
            (text("name"), text("task"))
        });
        let list: Vec<_> = list.collect();
        if list.len() == count {
            return list;
        }
    }
}

#[tokio::test]
async fn a_change_reaches_the_pages_of_its_team_alone() {
    let live = Live::in_memory().await;
    let (lead, member) = Visitor::two(&live, "olga", "otto").await;
    let stranger = Visitor::signed_up(&live, "oscar", json!({ "team": "others" })).await;
    let (mut events, mut other) = (member.listens(&live).await, stranger.listens(&live).await);
    let task = lead.add(&live, "one").await;
    assert_eq!(event(&mut events).await, json!({ "task": task }));
    let theirs = stranger.add(&live, "two").await;
    assert_eq!(event(&mut other).await, json!({ "task": theirs }), "the first that they hear");
    // A logout ends the stream.
    assert_eq!(member.send(&live, "POST /logout", &Value::Null).await.status, 204);
    let last = loop {
        let chunk = events.chunk().await.expect("a last event");
        if chunk.starts_with(b"event") {
            break chunk;
        }
    };
    assert_eq!(last, b"event: end\ndata: {\"code\":\"auth.credential-ended\"}\n\n");
    assert_eq!(events.chunk().await, None);
}

#[tokio::test]
async fn presence_is_sent_until_the_session_ends() {
    let live = Live::in_memory().await;
    let (lead, member) = Visitor::two(&live, "paula", "paul").await;
    let mut sees = lead.attends(&live).await;
    assert_eq!(here(&mut sees, 1).await, [("paula".to_owned(), String::new())]);
    let mut comes = member.attends(&live).await;
    here(&mut sees, 2).await;
    // Masked with zeros.
    comes.send(b"\x81\x83\0\0\0\0abc").await;
    loop {
        if here(&mut sees, 2).await.contains(&("paul".to_owned(), "abc".to_owned())) {
            break;
        }
    }
    assert_eq!(member.send(&live, "POST /logout", &Value::Null).await.status, 204);
    comes.rest().await;
    assert_eq!(here(&mut sees, 1).await, [("paula".to_owned(), String::new())]);
    // More than a message may have.
    sees.send([b"\x81\xfe\x04\0\0\0\0\0".as_slice(), &[b'x'; 1024]].concat()).await;
    sees.rest().await;
}

#[tokio::test]
async fn a_page_of_a_foreign_origin_hears_nothing() {
    let live = Live::in_memory().await;
    let user = Visitor::signed_up(&live, "quentin", json!({ "team": "a team" })).await;
    for origin in ["http://localhost:8082", "https://evil.example"] {
        let refused = live.server.response(user.handshake(origin)).await;
        assert_eq!(refused.problem(), (403, "cors.websocket-origin-not-granted".to_owned()));
        let head = user.head("GET /events", origin);
        let refused =
            live.server.response(format!("{head}sec-fetch-site: same-site\r\n\r\n")).await;
        assert_eq!(refused.status, 403, "{refused:?}");
        assert_eq!(refused.header("access-control-allow-origin"), None);
    }
}

#[tokio::test]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn a_change_at_one_instance_reaches_the_pages_of_another() {
    let database = crate::database().await;
    let at = || Live::at(&database, Clock::system());
    let (one, other) = (at().await, at().await);
    let (lead, member) = Visitor::two(&one, "rosa", "rudi").await;
    // The session counts at both.
    let mut events = member.listens(&other).await;
    // The other instance may begin to listen to the database only now, and then says so.
    'told: loop {
        let task = json!({ "task": lead.add(&one, "one").await });
        loop {
            match event(&mut events).await {
                heard if heard == task => break 'told,
                heard if heard == "missed" => break,
                _ => (),
            }
        }
    }
}
