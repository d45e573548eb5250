//! A stream of a route with objects ends when its caller loses the right to one.

use super::*;

/// The result of loading the room.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum RoomState {
    #[default]
    Open,
    ReadOnly,
    Closed,
    Gone,
    Failing,
    Panicking,
    Hanging,
}

#[derive(Object)]
#[rule(View = !is_closed)]
#[rule(Edit = !is_read_only)]
struct Room {
    #[object(key)]
    id: u64,
    #[object(flag)]
    is_closed: bool,
    #[object(flag)]
    is_read_only: bool,
}

impl Load for Room {
    type Source = All;

    async fn load(id: &u64, _: &(), shared: &All) -> Result<Option<Self>, Problem> {
        shared.count_call();
        let state = *shared.room.lock().unwrap();
        match state {
            RoomState::Gone => return Ok(None),
            RoomState::Failing => return Err(Problem::internal("no store")),
            RoomState::Panicking => panic!("on purpose"),
            RoomState::Hanging => std::future::pending().await,
            RoomState::Open | RoomState::ReadOnly | RoomState::Closed => (),
        }
        let is_closed = matches!(state, RoomState::Closed);
        Ok(Some(Self { id: *id, is_closed, is_read_only: matches!(state, RoomState::ReadOnly) }))
    }
}

#[get("/rooms/{room}/events")]
#[auth(session)]
async fn events(room: Allowed<Room, Edit>, State(shared): State<All>) -> Events {
    assert_eq!(room.id, 7);
    ticks(&shared)
}

#[get("/rooms/{room}/socket")]
#[auth(session)]
async fn socket(_room: Allowed<Room, Edit>, upgrade: WebSocketUpgrade) -> Response {
    echo(upgrade)
}

#[get("/open/{room}/events")]
#[auth(public)]
async fn open_events(_room: Allowed<Room>, State(shared): State<All>) -> Events {
    ticks(&shared)
}

#[get("/open/{room}/socket")]
#[auth(public)]
async fn open_socket(_room: Allowed<Room>, upgrade: WebSocketUpgrade) -> Response {
    echo(upgrade)
}

#[get("/often/{room}/events")]
#[auth(session)]
#[object(recheck = "5s")]
async fn often_events(_room: Allowed<Room>, State(shared): State<All>) -> Events {
    ticks(&shared)
}

#[get("/often/{room}/socket")]
#[auth(session)]
#[object(recheck = "5s")]
async fn often_socket(_room: Allowed<Room>, upgrade: WebSocketUpgrade) -> Response {
    echo(upgrade)
}

#[get("/seldom/{room}/events")]
#[auth(session)]
#[object(recheck = "3m")]
async fn seldom_events(_room: Allowed<Room>, State(shared): State<All>) -> Events {
    ticks(&shared)
}

#[get("/seldom/{room}/socket")]
#[auth(session)]
#[object(recheck = "3m")]
async fn seldom_socket(_room: Allowed<Room>, upgrade: WebSocketUpgrade) -> Response {
    echo(upgrade)
}

pub(super) fn routes() -> Vec<Route<All>> {
    routes![
        events,
        socket,
        open_events,
        open_socket,
        often_events,
        often_socket,
        seldom_events,
        seldom_socket,
    ]
}

const PATHS: [&str; 4] = ["/rooms/7/events", "/rooms/7/socket", "/open/7/events", "/open/7/socket"];

const MINUTE: Duration = Duration::from_secs(60);

/// A stream that has begun on a new server, with a session.
struct Opened {
    site: Site,
    path: &'static str,
    session: [String; 2],
    connection: Connection,
}

impl Opened {
    async fn new(path: &'static str) -> Self {
        let site = Site::new().await;
        let session = site.login("ada").await;
        let connection = match is_socket(path) {
            true => site.socket(path, &session[0]).await,
            false => site.events(path, &session[0]).await,
        };
        assert_eq!(site.shared.calls(), 1, "{path}");
        Self { site, path, session, connection }
    }

    /// A minute later, the room is loaded again.
    async fn reload(&self, state: RoomState) {
        self.reload_after(MINUTE, state).await;
    }

    async fn reload_after(&self, interval: Duration, state: RoomState) {
        *self.site.shared.room.lock().unwrap() = state;
        let before = self.site.shared.calls();
        self.site.clock.advance(interval);
        until(async || self.site.shared.calls() != before).await;
    }

    async fn assert_goes_on(&mut self) {
        match is_socket(self.path) {
            true => assert_echo(&mut self.connection).await,
            false => self.site.assert_ticks(&mut self.connection).await,
        }
    }

    async fn assert_denied(self) {
        assert_ended(self.path, self.connection, 1008, "object.denied").await;
    }
}

async fn assert_ended(path: &str, mut connection: Connection, code: u16, reason: &str) {
    if is_socket(path) {
        return websocket::assert_closed(&mut connection, code, reason).await;
    }
    let last = connection.last_chunk().await;
    let end = format!("event: end\ndata: {{\"code\":\"{reason}\"}}\n\n");
    assert_eq!(String::from_utf8_lossy(&last), end, "{path}");
}

fn is_socket(path: &str) -> bool {
    path.ends_with("socket")
}

#[tokio::test]
async fn a_stream_goes_on_while_its_caller_has_the_right() {
    for path in PATHS {
        let mut opened = Opened::new(path).await;
        for _ in 0..3 {
            opened.reload(RoomState::Open).await;
            opened.assert_goes_on().await;
        }
    }
}

#[tokio::test]
async fn a_stream_ends_when_its_caller_loses_the_right() {
    for path in PATHS {
        for state in [RoomState::Closed, RoomState::Gone] {
            let mut opened = Opened::new(path).await;
            opened.reload(RoomState::Open).await;
            opened.assert_goes_on().await;
            opened.reload(state).await;
            opened.assert_denied().await;
        }
    }
}

/// The caller keeps the right to see the room, and loses the right that the route requires.
#[tokio::test]
async fn a_stream_ends_with_the_right_to_its_action() {
    for path in PATHS {
        let mut opened = Opened::new(path).await;
        opened.reload(RoomState::ReadOnly).await;
        match path.starts_with("/open") {
            true => opened.assert_goes_on().await,
            false => opened.assert_denied().await,
        }
    }
}

#[tokio::test]
async fn a_stream_ends_when_its_object_cannot_be_loaded() {
    for path in PATHS {
        for state in [RoomState::Failing, RoomState::Panicking] {
            let opened = Opened::new(path).await;
            opened.reload(state).await;
            opened.assert_denied().await;
        }
    }
}

#[tokio::test]
async fn a_stream_ends_when_its_object_is_not_loaded_in_time() {
    for path in PATHS {
        let mut opened = Opened::new(path).await;
        opened.reload(RoomState::Hanging).await;
        opened.assert_goes_on().await;
        opened.site.clock.advance(Duration::from_secs(30));
        opened.assert_denied().await;
    }
}

#[tokio::test]
async fn a_stated_interval_replaces_the_minute() {
    for path in ["/often/7/events", "/often/7/socket"] {
        let mut opened = Opened::new(path).await;
        for _ in 0..2 {
            opened.reload_after(Duration::from_secs(5), RoomState::Open).await;
            opened.assert_goes_on().await;
        }
        opened.reload_after(Duration::from_secs(5), RoomState::Closed).await;
        opened.assert_denied().await;
    }
    for path in ["/seldom/7/events", "/seldom/7/socket"] {
        let mut opened = Opened::new(path).await;
        for _ in 0..2 {
            opened.site.clock.advance(MINUTE);
            opened.assert_goes_on().await;
        }
        opened.reload(RoomState::Closed).await;
        let shared = Arc::clone(&opened.site.shared);
        opened.assert_denied().await;
        assert_eq!(shared.calls(), 2, "{path}");
    }
}

#[tokio::test]
async fn a_stream_with_an_object_ends_for_every_other_reason_too() {
    for path in PATHS {
        let Opened { site, connection, .. } = Opened::new(path).await;
        let stopped = site.server.stop();
        assert_ended(path, connection, 1001, "server.stopping").await;
        soon(stopped).await.unwrap();
    }
    for path in PATHS.into_iter().filter(|path| path.starts_with("/rooms")) {
        let opened = Opened::new(path).await;
        opened.site.post("/logout", &opened.session, "").await;
        assert_ended(path, opened.connection, 1008, "auth.credential-ended").await;
    }
}
