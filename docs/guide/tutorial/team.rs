//! The tasks of a team whose members log in.

use std::sync::{Arc, Mutex, PoisonError};

use policy_server::{
    OpenApiSettings,
    prelude::*,
    response::{Created, NoContent, TaggedJson},
    session::{self, SessionSettings},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// ANCHOR: task
#[derive(Clone, Deserialize, JsonSchema, Object, Serialize)]
#[rule(View = authenticated)]
#[rule(Edit = owner | role("lead"))]
struct Task {
    #[object(key)]
    #[serde(skip)]
    number: usize,
    title: String,
    #[serde(default)]
    done: bool,
    #[object(owner)]
    #[serde(default)]
    by: String,
}

impl Load for Task {
    type Source = Tasks;

    async fn load(number: &usize, _: &(), tasks: &Tasks) -> Result<Option<Self>, Problem> {
        Ok(tasks.change(|tasks| tasks.get(*number).cloned()))
    }
}
// ANCHOR_END: task

impl Validate for Task {
    fn validate(&self) -> Result<(), Invalid> {
        let length = self.title.trim().len();
        Invalid::new().check((1..=200).contains(&length), "/title", "has 1 to 200 letters").result()
    }
}

/// The tasks of the team, in memory. The number of a task is its place in the list.
#[derive(Clone, Default)]
struct Tasks(Arc<Mutex<Vec<Task>>>);

impl Tasks {
    fn change<T>(&self, change: impl FnOnce(&mut Vec<Task>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

// ANCHOR: page
/// The page that may use the API with the cookie of its user, in production and in development.
const PAGES: CorsPolicy =
    CorsPolicy::origins(&["https://tasks.example", "http://localhost:3000"]).credentials().build();
// ANCHOR_END: page

// ANCHOR: login
#[derive(Deserialize, JsonSchema)]
struct Login {
    name: String,
    password: String,
}

/// Stands for your table of users, and for argon2.
fn verify(login: &Login) -> Option<Identity> {
    match (login.name.as_str(), login.password.as_str()) {
        ("ada", "lovelace") => Some(Identity::new("ada").roles(["lead"])),
        ("grace", "hopper") => Some(Identity::new("grace")),
        _ => None,
    }
}

#[derive(Debug, Problems)]
enum LoginError {
    #[problem(403, code = "login.wrong", title = "The name or the password is wrong")]
    Wrong,
    #[problem(transparent, from)]
    Credential(CredentialError),
}

#[post("/login")]
#[limit(rate = "10/min")]
#[auth(public)]
async fn login(sessions: Sessions, Json(login): Json<Login>) -> Result<NoContent, LoginError> {
    sessions.login(verify(&login).ok_or(LoginError::Wrong)?).await?;
    Ok(NoContent)
}

#[post("/logout")]
#[auth(session)]
async fn logout(session: Session) -> NoContent {
    session.logout();
    NoContent
}
// ANCHOR_END: login

// ANCHOR: handlers
#[get("/tasks")]
#[auth(session)]
async fn list(State(tasks): State<Tasks>) -> TaggedJson<Vec<Task>> {
    Json(tasks.change(|tasks| tasks.clone())).etag()
}

#[post("/tasks")]
#[limit(body = "4 KiB", rate = "60/min per principal")]
#[auth(session)]
async fn add(
    me: Principal,
    State(tasks): State<Tasks>,
    Valid(Json(task)): Valid<Json<Task>>,
) -> Created<Json<Task>> {
    tasks.change(|tasks| {
        let task = Task { number: tasks.len(), by: me.subject().to_owned(), ..task };
        tasks.push(task.clone());
        Created::here(Json(task))
    })
}

#[put("/tasks/{number}/done")]
#[auth(session)]
async fn finish(task: Allowed<Task, Edit>, State(tasks): State<Tasks>) -> NoContent {
    tasks.change(|tasks| {
        if let Some(task) = tasks.get_mut(task.number) {
            task.done = true;
        }
    });
    NoContent
}

/// For leads only, and only soon after a login.
#[delete("/tasks")]
#[auth(session, roles = ["lead"], fresh = "15m")]
async fn clear(State(tasks): State<Tasks>) -> NoContent {
    tasks.change(Vec::clear);
    NoContent
}
// ANCHOR_END: handlers

// ANCHOR: app
/// The app, for `main` and for tests.
fn app(sessions: SessionSettings) -> App<Tasks> {
    App::new(Tasks::default())
        .policies(Policies::new().cors(PAGES).headers(HeadersPolicy::API))
        .sessions(sessions.idle(hours(1)))
        .openapi_settings(OpenApiSettings::new("Team tasks", "1.0.0"))
        .routes(routes![session::csrf, login, logout, list, add, finish, clear])
        .health("/healthz")
        .readiness("/readyz")
}
// ANCHOR_END: app

// ANCHOR: main
#[tokio::main]
async fn main() -> Result<(), Report> {
    tracing_subscriber::fmt::init();
    let setting = |name| std::env::var(name).ok();
    let store = setting("SESSION_STORE").unwrap_or("redb:sessions.redb".to_owned());
    let mut app = app(Sessions::from_url(store));
    if let Some(origin) = setting("PUBLIC_ORIGIN") {
        app = app.public_origin(origin);
    }
    if let Some(networks) = setting("TRUSTED_PROXIES") {
        app = app.behind(policy_server::TrustedProxies::new(networks.split(',')).x_forwarded());
    }
    app.serve(setting("LISTEN").unwrap_or("127.0.0.1:8080".to_owned())).await?;
    Ok(())
}
// ANCHOR_END: main

// ANCHOR: laws
#[cfg(test)]
policy_server::policy_tests!(app(Sessions::memory()));
// ANCHOR_END: laws

// ANCHOR: tests
#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use policy_server::testing::{Browser, Fetch, Include, Network};

    use super::*;

    const API: &str = "https://api.tasks.example";

    fn network() -> Network {
        Network::new().host(API, app(Sessions::memory()).public_origin(API).into_service())
    }

    fn login(name: &str, password: &str) -> Fetch {
        let login = BTreeMap::from([("name", name), ("password", password)]);
        Fetch::post("https://api.tasks.example/login").credentials(Include).json(&login)
    }

    #[tokio::test]
    async fn grace_adds_a_task_from_the_page_and_only_leads_clear_the_list() {
        let (net, browser) = (network(), Browser::chromium());
        let page = browser.open("https://tasks.example");
        assert_eq!(page.fetch(&net, login("grace", "hopper")).await.status(), 204);

        let csrf = Fetch::get("https://api.tasks.example/csrf").credentials(Include);
        let csrf = page.fetch(&net, csrf).await.json::<BTreeMap<String, String>>();
        let with_token =
            |fetch: Fetch| fetch.credentials(Include).header("x-csrf-token", &csrf["token"]);

        let task = BTreeMap::from([("title", "write a compiler")]);
        let add = with_token(Fetch::post("https://api.tasks.example/tasks")).json(&task);
        assert_eq!(page.fetch(&net, add).await.status(), 201);
        let clear = with_token(Fetch::delete("https://api.tasks.example/tasks"));
        assert_eq!(page.fetch(&net, clear).await.status(), 403, "grace is no lead");
    }

    #[tokio::test]
    async fn a_page_of_strangers_sees_nothing_although_grace_is_logged_in() {
        let (net, browser) = (network(), Browser::chromium());
        browser.open("https://tasks.example").fetch(&net, login("grace", "hopper")).await;
        let list = Fetch::get("https://api.tasks.example/tasks").credentials(Include);
        assert!(browser.open("https://evil.example").fetch(&net, list).await.is_blocked());
    }
}
// ANCHOR_END: tests

/// What the chapters say of this program.
#[cfg(test)]
mod chapters {
    use std::path::Path;

    use policy_tests::{http::Running, openapi};

    use super::*;

    #[test]
    fn the_document_says_all_of_every_route() {
        app(Sessions::memory()).openapi().and_then(policy_server::OpenApi::complete).unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs openapi-typescript and tsc: `cargo xtask test` runs it"]
    async fn the_client_knows_the_codes_and_adds_a_task() {
        let service = Running::start(app(Sessions::memory())).await;
        let client = include_str!("client.ts");
        let client = client.replace("127.0.0.1:8080", &service.address.to_string());
        let checked = "\nif (login.error?.code === \"login.wrong\")";
        assert!(client.contains(checked));
        let mistake = checked.replace("wrong", "worng");
        let mistake =
            format!("\n// @ts-expect-error: it has no such code.{mistake} throw 0;{checked}");
        let client = client.replace(checked, &mistake);
        let document = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json"));
        let run = move || openapi::client(document, &client, &[]);
        tokio::task::spawn_blocking(run).await.unwrap();
    }

    #[tokio::test]
    async fn a_program_logs_in_as_the_chapter_says() {
        let client = app(Sessions::memory()).test();
        assert_eq!(client.get("/tasks").send().await.status(), 401);
        let grace = br#"{"name": "grace", "password": "hopper"}"#.as_slice();
        let login = client.post("/login").header("content-type", "application/json").body(grace);
        let login = login.origin("http://localhost").send().await;
        assert_eq!(login.status(), 204);
        let cookie = login.header("set-cookie").and_then(|set| set.split(';').next()).unwrap();

        assert_eq!(client.get("/tasks").header("cookie", cookie).send().await.status(), 200);
        let csrf = client.get("/csrf").header("cookie", cookie).send().await.text();
        let token = csrf.split('"').nth(3).unwrap();
        let task = br#"{"title": "write a compiler"}"#.as_slice();
        let add = client.post("/tasks").header("content-type", "application/json").body(task);
        let add = add.origin("http://localhost").header("cookie", cookie);
        assert_eq!(add.header("x-csrf-token", token).send().await.status(), 201);
        for (number, status) in [(0, 204), (1, 404)] {
            let finish = client.put(&format!("/tasks/{number}/done")).origin("http://localhost");
            let finish = finish.header("cookie", cookie).header("x-csrf-token", token);
            assert_eq!(finish.send().await.status(), status);
        }
        let clear = client.delete("/tasks").origin("http://localhost").header("cookie", cookie);
        assert_eq!(clear.header("x-csrf-token", token).send().await.status(), 403);
    }
}
