//! The service without sockets, and pages that call it.

use policy_server::{
    http::Method,
    testing::{Fetched, TestClient, TestPage, TestRequest},
};
use policy_tests::folder::Folder;
use serde_json::{Value, json};

/// The origin of the page.
pub(crate) const PAGE: &str = "http://localhost:8081";

pub(crate) const PASSWORD: &str = "correct horse";

pub(crate) struct Site {
    pub(crate) client: TestClient,
    _folder: Folder,
}

impl Site {
    /// With SQLite, which forgets everything.
    pub(crate) async fn in_memory() -> Self {
        Self::at("sqlite::memory:").await
    }

    pub(crate) async fn at(database: &str) -> Self {
        let folder = Folder::new().expect("a folder");
        let app = tasks::app(database, folder.path()).await.expect("an app");
        Self { client: app.origins("apps", [PAGE]).test(), _folder: folder }
    }

    /// The page in a browser that nobody has used.
    pub(crate) fn page(&self) -> TestPage {
        self.client.another_browser().page(PAGE)
    }

    /// Somebody who signed up, with a team of their own.
    pub(crate) async fn lead(&self, login: &str) -> TestPage {
        let page = self.page();
        let signed_up = sign_up(&page, login, json!({ "team": format!("team of {login}") })).await;
        assert_eq!(signed_up.status(), 201, "{}", signed_up.text());
        page
    }

    /// Somebody whom this lead invited.
    pub(crate) async fn member(&self, lead: &TestPage, login: &str) -> TestPage {
        let page = self.page();
        let code = invitation(lead, "member").await;
        let signed_up = sign_up(&page, login, json!({ "invitation": code })).await;
        assert_eq!(signed_up.status(), 201, "{}", signed_up.text());
        page
    }
}

/// A session of somebody, for requests that are sent slowly or not to their end.
pub(crate) struct Session {
    cookie: String,
    csrf: String,
}

impl Session {
    pub(crate) async fn begin(site: &Site, login: &str) -> Self {
        let credentials = json!({ "login": login, "password": PASSWORD });
        let begun = site.client.post("/login").origin(PAGE).json(&credentials).send().await;
        assert_eq!(begun.status(), 200, "{}", begun.text());
        let cookies = begun.header_all("set-cookie").into_iter();
        let pairs: Vec<&str> = cookies.filter_map(|cookie| cookie.split(';').next()).collect();
        let cookie = pairs.join("; ");
        let csrf = site.client.get("/csrf").origin(PAGE).header("cookie", &cookie).send().await;
        let csrf = csrf.json::<Value>()["token"].as_str().expect("a token").to_owned();
        Self { cookie, csrf }
    }

    pub(crate) fn request(&self, site: &Site, method: Method, to: &str) -> TestRequest {
        let request = site.client.request(method, to).origin(PAGE).header("cookie", &self.cookie);
        request.header("x-csrf-token", &self.csrf)
    }
}

/// The code of a new invitation.
pub(crate) async fn invitation(lead: &TestPage, role: &str) -> String {
    let response = lead.post("/invitations").json(&json!({ "role": role })).send().await;
    assert_eq!(response.status(), 201, "{}", response.text());
    response.json::<Value>()["code"].as_str().expect("a code").to_owned()
}

pub(crate) async fn sign_up(page: &TestPage, login: &str, place: Value) -> Fetched {
    let mut body = json!({ "login": login, "password": PASSWORD, "name": login.to_uppercase() });
    body.as_object_mut().expect("an object").extend(place.as_object().expect("one").clone());
    page.post("/signup").json(&body).send().await
}

/// Adds a task, and returns it.
pub(crate) async fn add(page: &TestPage, title: &str) -> Value {
    let added = page.post("/tasks").json(&json!({ "title": title })).send().await;
    assert_eq!(added.status(), 201, "{}", added.text());
    added.json()
}

/// The path of a task or a member.
pub(crate) fn path(of: &str, value: &Value) -> String {
    format!("/{of}/{}", value["id"].as_str().expect("an id"))
}

/// Status and code of a refusal.
pub(crate) fn refusal(response: &Fetched) -> (u16, String) {
    let problem: Value = response.json();
    (response.status().as_u16(), problem["code"].as_str().unwrap_or_default().to_owned())
}

/// The result of `refusal` for this status and code.
pub(crate) fn with(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}
