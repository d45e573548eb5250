//! Each route, called over sockets by each kind of caller, against what `policy.lock` says of it. A
//! few lines here read the expected result from the file, without code of the framework.

use std::{collections::BTreeMap, time::Duration};

use policy_server::Clock;
use policy_tests::http::RawResponse;
use serde_json::{Value, json};

use crate::{
    live::{Live, Visitor},
    site::{PAGE, PASSWORD},
};

const LOCK: &str = include_str!("../../policy.lock");

/// A caller, as rules see it. All objects are those of one team.
struct Caller {
    visitor: Visitor,
    is_logged_in: bool,
    is_of_team: bool,
    is_lead: bool,
}

impl Caller {
    fn holds(&self, rule: &Value) -> bool {
        let rule = rule.as_str().expect("a rule");
        let atom = |atom: &str| match atom {
            "same(team)" => self.is_of_team,
            "role(\"lead\")" => self.is_lead,
            _ => unreachable!("`{atom}` is no statement that this test knows"),
        };
        rule.split(" | ").any(|all| all.split(" & ").all(atom))
    }

    /// The status of the refusal that the file says, if it says one.
    fn refusal(&self, lock: &Value, route: &Value) -> Option<u16> {
        let auth = &route["auth"];
        if auth == "public" {
            return None;
        }
        let roles = auth["required"]["roles"].as_array();
        if !self.is_logged_in {
            return Some(401);
        }
        if roles.is_some_and(|roles| !self.is_lead || roles != &["lead"]) {
            return Some(403);
        }
        uses(route).filter(|it| it["key"] != "list").find_map(|it| {
            let rule = |action: &str| {
                &lock["objects"][format!("{}.{action}", it["object"].as_str().expect("a type"))]
            };
            let action = it["action"].as_str().expect("an action");
            match (self.holds(rule("view")), self.holds(rule(action))) {
                (false, _) => Some(404),
                (true, false) => Some(403),
                (true, true) => None,
            }
        })
    }
}

fn uses(route: &Value) -> impl Iterator<Item = &Value> {
    route["object"]["uses"].as_array().into_iter().flatten()
}

/// A service whose time the test sets, and the lead of the team that has the objects.
struct World {
    live: Live,
    lead: Visitor,
    count: usize,
}

impl World {
    async fn by_lead(&self, what: &str, body: Value) -> Value {
        let response = self.lead.send(&self.live, what, &body).await;
        assert!(response.status < 300, "{what}: {response:?}");
        response.json()
    }

    /// A name that none has.
    fn name(&mut self) -> String {
        self.count += 1;
        format!("x{}", self.count)
    }

    /// A new object of the team: its id.
    async fn object(&mut self, kind: &str) -> String {
        let name = self.name();
        let object = match kind {
            "Task" => self.by_lead("POST /tasks", json!({ "title": name })).await,
            "Attachment" => {
                let task = self.by_lead("POST /tasks", json!({ "title": name })).await;
                let task = task["id"].as_str().expect("an id");
                let upload = format!("POST /tasks/{task}/attachments?name={name}");
                self.by_lead(&upload, json!("content")).await
            }
            "Person" => {
                let person = self.lead.invites(&self.live, &name).await;
                person.send(&self.live, "GET /me", &Value::Null).await.json()
            }
            "Machine" => {
                self.machine(&name).await;
                let machines = self.by_lead("GET /machines", Value::Null).await;
                let all = machines.as_array().expect("machines");
                all.iter().find(|it| it["name"] == name).expect("the machine").clone()
            }
            _ => unreachable!("`{kind}` is no object that this test knows"),
        };
        object["id"].as_str().expect("an id").to_owned()
    }

    /// The tokens of a new machine.
    async fn machine(&self, name: &str) -> Value {
        let body = json!({ "name": name, "scopes": ["tasks:read"] });
        self.by_lead("POST /machines", body).await
    }

    /// A body that the handler takes.
    async fn body(&mut self, route: &str) -> Value {
        let name = self.name();
        match route {
            "POST /signup" => json!({ "login": name, "password": PASSWORD, "team": name }),
            "POST /login" => json!({ "login": "lead", "password": PASSWORD }),
            "POST /tasks" | "PUT /tasks/{id}" => json!({ "title": name }),
            "POST /tasks/{id}/attachments" => json!("content"),
            "POST /invitations" | "PUT /members/{id}/role" => json!({ "role": "member" }),
            "POST /machines" => json!({ "name": name, "scopes": ["tasks:read"] }),
            "POST /machines/token" => {
                json!({ "refresh_token": self.machine(&name).await["refresh_token"] })
            }
            _ => Value::Null,
        }
    }

    /// Sends a request to a route; of a stream, the head of the response is enough.
    async fn call(&mut self, caller: &Caller, route: &str, id: &str) -> RawResponse {
        let body = match self.body(route).await {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let query = if route.ends_with("/attachments") { "?name=x" } else { "" };
        let head = caller.visitor.head(&format!("{}{query}", route.replace("{id}", id)), PAGE);
        let fields = match route {
            "GET /presence" => {
                "upgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-version: 13\r\n\
                 sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            }
            change if change.starts_with("PUT") || change.starts_with("DELETE") => {
                "if-match: *\r\n"
            }
            _ => "",
        };
        let length = body.len();
        let fields = format!("{fields}content-type: application/json\r\ncontent-length: {length}");
        let mut connection = self.live.server.connect().await;
        connection.send(format!("{head}{fields}\r\n\r\n{body}")).await;
        match route {
            "GET /events" | "GET /presence" => connection.head().await,
            _ => connection.response().await,
        }
    }
}

/// A team, and its callers: the lead last, who may delete what others only ask for.
async fn world(database: &str) -> (World, Vec<Caller>) {
    let clock = Clock::at(1_800_000_000);
    let live = Live::at(database, clock.clone()).await;
    let lead = Visitor::signed_up(&live, "lead", json!({ "team": "a team" })).await;
    let expired = lead.invites(&live, "expired").await;
    // Longer than a session lasts.
    clock.advance(Duration::from_secs(2 * 60 * 60));
    let login = json!({ "login": "lead", "password": PASSWORD });
    let lead = || Visitor::begin_session(&live, "POST /login", &login);
    let (of_objects, lead) = (lead().await, lead().await);
    let member = lead.invites(&live, "member").await;
    let stranger = Visitor::signed_up(&live, "stranger", json!({ "team": "others" })).await;
    let beside = stranger.invites(&live, "beside").await;
    let caller = |visitor, is_logged_in, is_of_team, is_lead| Caller {
        visitor,
        is_logged_in,
        is_of_team,
        is_lead,
    };
    let callers = vec![
        caller(Visitor::default(), false, false, false),
        caller(expired, false, true, false),
        caller(beside, true, false, false),
        caller(stranger, true, false, true),
        caller(member, true, true, false),
        caller(lead, true, true, true),
    ];
    (World { live, lead: of_objects, count: 0 }, callers)
}

async fn every_caller_gets_what_the_lock_file_says(database: &str) {
    let lock: Value = serde_json::from_str(LOCK).expect("JSON");
    let (mut world, callers) = world(database).await;
    let mut statuses = BTreeMap::<u16, usize>::new();
    let routes = lock["routes"].as_array().expect("routes").iter();
    let mut routes: Vec<_> = routes
        .filter(|route| route["kind"].is_null())
        .flat_map(|route| {
            let methods = route["methods"].as_array().expect("methods").iter();
            methods.map(move |method| {
                let (method, path) = (method.as_str().expect("one"), route["path"].as_str());
                (format!("{method} {}", path.expect("a path")), route)
            })
        })
        .collect();
    // The last ones end the sessions, or begin others in their place.
    let last = ["POST /logout", "POST /login", "POST /signup"];
    routes.sort_by_key(|(name, _)| last.iter().position(|it| it == name));
    for (name, route) in &routes {
        let kind = uses(route).next().and_then(|it| it["object"].as_str());
        let id = match kind {
            Some(kind) => world.object(kind).await,
            None => String::new(),
        };
        for (number, caller) in callers.iter().enumerate() {
            let response = world.call(caller, name, &id).await;
            let expected = caller.refusal(&lock, route);
            let got = expected.map_or(response.status < 300 || response.status == 101, |status| {
                status == response.status
            });
            assert!(got, "{name} by caller {number}: {expected:?}, {response:?}");
            *statuses.entry(response.status).or_default() += 1;
            if expected == Some(404) {
                // As if there were none.
                let none = world.call(caller, name, "none").await;
                assert_eq!((none.problem(), none.body), (response.problem(), response.body));
            } else if expected.is_none() && name.starts_with("GET") {
                for it in uses(route).filter(|it| it["key"] == "list") {
                    let rule = &lock["objects"]
                        [format!("{}.view", it["object"].as_str().expect("a type"))];
                    let is_listed = String::from_utf8_lossy(&response.body).contains(&id);
                    assert_eq!(is_listed, caller.holds(rule), "{name} by caller {number}");
                }
            }
        }
    }
    assert_eq!(statuses.values().sum::<usize>(), routes.len() * callers.len());
    for (status, least) in [(401, 30), (403, 8), (404, 16), (200, 15), (204, 6)] {
        assert!(statuses.get(&status) >= Some(&least), "{statuses:?}");
    }
}

#[tokio::test]
async fn every_caller_gets_of_each_route_what_the_lock_file_says() {
    every_caller_gets_what_the_lock_file_says("sqlite::memory:").await;
}

#[tokio::test]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn every_caller_gets_it_with_postgresql() {
    every_caller_gets_what_the_lock_file_says(&crate::database().await).await;
}
