//! A file that cannot grow, as on a full disk: what is refused is not done, what ends stays ended,
//! and the store recovers automatically.

use std::{env, fs, path::Path, time::Instant};

use tokio::time::{Duration, sleep};

use super::{
    connection::{Connection, RawResponse},
    server::{FILE, serve},
};
use crate::crash::process::{ServerProcess, again, role};

/// How long the store may take to notice that there is room.
const PATIENCE: Duration = Duration::from_secs(60);

/// The first page, which is written in place.
const NO_ROOM: u64 = 4096;

#[test]
fn a_full_disk_undoes_no_logout_and_heals() {
    if role().is_some() {
        return serve();
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("full-disk");
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(format!("{}.redb", std::process::id()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(filled(&file));
    fs::remove_file(&file).expect("a file");
}

/// A client, who keeps one connection.
struct User(Connection);

impl User {
    /// Repeats what is refused in the moments in which the store opens its file again.
    async fn ask(&mut self, what: &str, field: &str) -> RawResponse {
        let begun = Instant::now();
        loop {
            let response = self.0.ask(what, field).await.expect("a server");
            if !response.body.contains("auth.credentials-unchecked") {
                return response;
            }
            assert!(begun.elapsed() < PATIENCE, "{what}: nothing can be read");
            sleep(Duration::from_millis(5)).await;
        }
    }

    async fn status(&mut self, what: &str, field: &str) -> u16 {
        self.ask(what, field).await.status
    }

    /// The Cookie field of a new session.
    async fn login(&mut self, user: &str) -> String {
        let response = self.ask(&format!("POST /login/{user}"), "").await;
        format!("cookie: {}\r\n", response.cookie.expect("a session"))
    }

    async fn token(&mut self, cookie: &str) -> String {
        let response = self.ask("POST /token", cookie).await;
        format!("authorization: Bearer {}\r\n", response.body)
    }
}

async fn filled(file: &Path) {
    let _machine = crate::alone().await;
    let mut command = again("crash::full_disk::a_full_disk_undoes_no_logout_and_heals", "serve");
    command.env(FILE, file);
    let server = ServerProcess::start(&mut command);
    let mut user = User(Connection::open(server.address).await.expect("a server"));
    let (phone, laptop, tablet) =
        (user.login("ada").await, user.login("ada").await, user.login("ada").await);
    let bob = user.login("bob").await;
    let (lost, kept) = (user.token(&bob).await, user.token(&bob).await);
    assert_eq!(user.status("GET /readyz", "").await, 200);

    server.limit_files(Some(NO_ROOM));
    let eve = user.ask("POST /login/eve", "").await;
    assert_eq!((eve.status, eve.cookie), (503, None), "{}", eve.body);
    let ready = user.ask("GET /readyz", "").await;
    assert_eq!(ready.status, 503);
    assert!(ready.body.contains("session.store-unavailable"), "{}", ready.body);
    assert_eq!(user.status("GET /healthz", "").await, 200, "a restart would not help");

    // Refused, and yet it holds.
    assert_eq!(user.status("POST /logout", &phone).await, 503);
    assert_eq!(user.status("POST /revoke/others", &laptop).await, 503);
    assert_eq!(user.status("POST /token/revoke", &lost).await, 503);
    assert_eq!(user.status("POST /write/7", &bob).await, 503);
    let ended = [("GET /read", &phone), ("GET /read", &tablet), ("GET /token/use", &lost)];
    let good = [("GET /read", &laptop), ("GET /read", &bob), ("GET /token/use", &kept)];
    // Longer than a few attempts to write.
    for _ in 0..3 {
        for (what, field) in ended {
            assert_eq!(user.status(what, field).await, 401, "{what} {field}");
        }
        for (what, field) in good {
            assert_eq!(user.status(what, field).await, 200, "{what} {field}");
        }
        assert_eq!(user.status("GET /readyz", "").await, 503);
        sleep(Duration::from_millis(300)).await;
    }

    server.limit_files(None);
    let begun = Instant::now();
    while user.status("GET /readyz", "").await != 200 {
        assert!(begun.elapsed() < PATIENCE, "the store does not heal");
        sleep(Duration::from_millis(20)).await;
    }
    let eve = user.login("eve").await;
    assert_eq!(user.status("POST /write/7", &bob).await, 200);

    // SIGKILL: what was written is there, and nothing else.
    server.signal("KILL");
    let (_, log) = server.wait_for_exit();
    let (broken, healed) =
        (log.find("session.store-not-written"), log.find("session.store-written"));
    assert!(broken.is_some() && broken < healed, "one outage is told, and its end: {log}");
    let server = ServerProcess::start(&mut command);
    let mut user = User(Connection::open(server.address).await.expect("a server"));
    for (what, field) in ended {
        assert_eq!(user.status(what, field).await, 401, "{what} {field}");
    }
    for (what, field) in good.into_iter().chain([("GET /read", &eve)]) {
        assert_eq!(user.status(what, field).await, 200, "{what} {field}");
    }
    assert_eq!(user.ask("GET /read", &bob).await.body, "bob 7");
}
