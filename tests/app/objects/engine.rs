//! Rules that ask an engine: when it is asked, what it is told, and how callers are answered.

use std::sync::Mutex;

use policy_server::object::{
    EngineDecision, FieldValue, LoadLocked, Locked, ObjectEngine, ObjectSchema, Question,
};
use policy_tests::log::Log;

use super::*;

/// An engine that trusts the role `trusted`, cannot decide about the role `failing`, and remembers what it
/// was asked.
#[derive(Clone, Default)]
pub(crate) struct Desk(Arc<Mutex<Vec<String>>>);

impl Desk {
    fn take_questions(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl ObjectEngine for Desk {
    fn name(&self) -> &'static str {
        "desk"
    }

    fn digest(&self) -> String {
        "1".to_owned()
    }

    fn validate(&self, objects: &[ObjectSchema]) -> Vec<String> {
        let describe = |object: &ObjectSchema| {
            let fields: Vec<_> = object.fields.iter().map(|field| field.name).collect();
            format!("{} {:?} {fields:?}", object.name, object.actions)
        };
        self.0.lock().unwrap().extend(objects.iter().map(describe));
        let unknown = objects.iter().filter(|object| object.name == "Unknown");
        unknown.flat_map(|_| ["line 3: no such type".to_owned(), "line 9".to_owned()]).collect()
    }

    fn decide<'a>(&'a self, question: Question<'a>) -> EngineDecision<'a> {
        let Question { caller, action, object, facts, .. } = question;
        let key = &facts.key;
        self.0.lock().unwrap().push(format!("{} {action} {object} {key}", caller.subject()));
        Box::pin(async move {
            // It is asked over the network.
            tokio::task::yield_now().await;
            let roles = caller.roles();
            match roles.iter().map(|role| &**role).collect::<Vec<_>>()[..] {
                ["failing"] => Err("the desk is\nclosed".into()),
                ["trusted"] => Ok(true),
                ["facts"] => Ok(facts.fields == ticket_fields()),
                _ => Ok(false),
            }
        })
    }
}

#[derive(Clone, Object)]
#[rule(View = owner | same(tenant) & engine)]
#[rule(Edit = !is_locked & (owner | engine))]
#[rule(Delete = owner & !engine)]
struct Ticket {
    #[object(key)]
    number: u64,
    #[object(owner)]
    author: Option<u64>,
    #[object(tenant)]
    company: String,
    #[object(members)]
    watchers: Vec<String>,
    #[object(flag)]
    is_locked: bool,
}

/// What the engine is told of the ticket 7.
fn ticket_fields() -> Vec<(&'static str, FieldValue)> {
    let text = str::to_owned;
    vec![
        ("author", FieldValue::User(Some(text("100")))),
        ("company", FieldValue::Tenant(Some(text("acme")))),
        ("watchers", FieldValue::Users(vec![text("rita"), text("sam")])),
        ("is_locked", FieldValue::Flag(false)),
    ]
}

impl Load for Ticket {
    type Source = ();

    async fn load(number: &u64, _: &(), _: &()) -> Result<Option<Self>, Problem> {
        let watchers = vec!["rita".to_owned(), "sam".to_owned()];
        let (number, company, is_locked) = (*number, "acme".to_owned(), *number == 8);
        let ticket = Self { number, author: Some(100), company, watchers, is_locked };
        Ok((number < 10).then_some(ticket))
    }
}

impl LoadLocked for Ticket {
    type Lock = ();

    async fn load_locked(number: &u64, _: &(), _: &()) -> Result<Option<(Self, ())>, Problem> {
        Ok(Self::load(number, &(), &()).await?.map(|ticket| (ticket, ())))
    }
}

#[get("/tickets/{number}")]
#[auth(scheme = CallerScheme, optional)]
async fn see(ticket: Allowed<Ticket>) -> String {
    ticket.number.to_string()
}

#[put("/tickets/{number}")]
#[auth(scheme = CallerScheme)]
async fn edit(ticket: Allowed<Ticket, Edit>) -> String {
    ticket.number.to_string()
}

#[delete("/tickets/{number}")]
#[auth(scheme = CallerScheme)]
async fn close(ticket: Locked<Ticket, Delete>) -> String {
    ticket.number.to_string()
}

#[post("/tickets")]
#[auth(scheme = CallerScheme)]
async fn merge(tickets: Lookup<Ticket, Edit>) -> Result<String, Problem> {
    Ok(tickets.get(&7).await?.number.to_string())
}

fn desk_app() -> App<()> {
    App::new(()).scheme(CallerScheme).routes(routes![see, edit, close, merge])
}

async fn serving_desk() -> (Running, Desk) {
    let desk = Desk::default();
    let server = Running::start(desk_app().engine(desk.clone())).await;
    desk.take_questions();
    (server, desk)
}

#[tokio::test]
async fn an_engine_is_asked_only_where_the_rest_of_the_rule_does_not_decide() {
    let (server, desk) = serving_desk().await;
    let trusted = Some("tom;company=acme;role=trusted");
    let failing = Some("cy;company=acme;role=failing");
    for (what, caller, status, questions) in [
        // The owner, and a caller of another tenant.
        ("GET /tickets/7", Some("100;role=failing"), 200, &[][..]),
        ("GET /tickets/7", Some("tom;company=globex;role=trusted"), 404, &[]),
        ("GET /tickets/7", Some("bob;company=acme"), 404, &["bob view Ticket 7"]),
        ("GET /tickets/7", trusted, 200, &["tom view Ticket 7"]),
        ("GET /tickets/7", Some("tom;company=acme;role=facts"), 200, &["tom view Ticket 7"]),
        ("GET /tickets/8", Some("tom;company=acme;role=facts"), 404, &["tom view Ticket 8"]),
        ("GET /tickets/7", failing, 503, &["cy view Ticket 7"]),
        ("PUT /tickets/7", trusted, 200, &["tom view Ticket 7", "tom edit Ticket 7"]),
        ("PUT /tickets/8", trusted, 403, &["tom view Ticket 8"]),
        ("PUT /tickets/8", Some("100;role=failing"), 403, &[]),
        ("PUT /tickets/7", Some("100;role=failing"), 200, &[]),
        ("POST /tickets", trusted, 200, &["tom view Ticket 7", "tom edit Ticket 7"]),
        ("POST /tickets", failing, 503, &["cy view Ticket 7"]),
        ("DELETE /tickets/7", Some("100"), 200, &["100 delete Ticket 7"]),
        ("DELETE /tickets/7", Some("100;role=trusted"), 403, &["100 delete Ticket 7"]),
        // An undecided request is refused, even if a refusal of the engine would permit it.
        ("DELETE /tickets/7", Some("100;role=failing"), 503, &["100 delete Ticket 7"]),
        // There is no ticket, or no named caller.
        ("GET /tickets/10", trusted, 404, &[]),
        ("GET /tickets/7", None, 404, &[]),
        ("GET /tickets/7", Some(";company=acme;role=trusted"), 404, &[]),
    ] {
        let response = send(&server, what, caller, &[]).await;
        assert_eq!(response.status, status, "{what} {caller:?} {response:?}");
        assert_eq!(desk.take_questions(), questions, "{what} {caller:?}");
    }
}

#[tokio::test]
async fn an_object_that_the_engine_refuses_is_like_none() {
    let (server, _) = serving_desk().await;
    let caller = Some("bob;company=acme");
    for method in ["GET", "PUT", "DELETE"] {
        let refused = send(&server, &format!("{method} /tickets/7"), caller, &[]).await;
        let missing = send(&server, &format!("{method} /tickets/77"), caller, &[]).await;
        assert_eq!(refused.problem(), (404, "object.not-found".to_owned()));
        assert_eq!((refused.lines(), refused.text()), (missing.lines(), missing.text()));
    }
}

#[tokio::test]
async fn a_failure_of_the_engine_is_logged_and_not_shown() {
    let (log, _logged) = Log::start("policy_server");
    let (server, _) = serving_desk().await;
    let response = send(&server, "PUT /tickets/7", Some("cy;company=acme;role=failing"), &[]).await;
    assert_eq!(response.problem(), (503, "object.engine-unavailable".to_owned()));
    assert!(!response.text().contains("desk"), "{}", response.text());
    let failed = log.with_code("object.engine-failed");
    assert_eq!(failed.len(), 1, "{failed:?}");
    for part in ["object=Ticket", "action=view", r"error=the desk is\nclosed"] {
        assert!(failed[0].contains(part), "{part} {failed:?}");
    }
}

#[derive(Object)]
#[rule(View = engine)]
struct Unknown {
    #[object(key)]
    id: u64,
}

impl Load for Unknown {
    type Source = ();

    async fn load(id: &u64, _: &(), _: &()) -> Result<Option<Self>, Problem> {
        Ok(Some(Self { id: *id }))
    }
}

#[get("/unknown/{id}")]
#[auth(scheme = CallerScheme)]
async fn unknown(it: Allowed<Unknown>) -> String {
    it.id.to_string()
}

#[test]
fn an_engine_is_checked_against_all_objects_when_the_app_starts() {
    let desk = Desk::default();
    desk_app().engine(desk.clone()).check().expect("an engine that decides");
    let fields = r#"["author", "company", "watchers", "is_locked"]"#;
    assert_eq!(desk.take_questions(), [format!(r#"Ticket ["view", "edit", "delete"] {fields}"#)]);
    let error = desk_app().routes(routes![unknown]).engine(desk).check().expect_err("no type");
    let Error::Start(problems) = &error else { panic!("{error}") };
    let found: Vec<_> = problems.iter().map(|it| (it.code(), it.location(), it.value())).collect();
    assert_eq!(found, [("object.engine-invalid", "App::engine", Some("desk")); 2]);
    assert!(error.to_string().contains("line 3: no such type"), "{error}");
}

#[test]
fn a_rule_that_asks_needs_an_engine() {
    let error = desk_app().check().expect_err("no engine");
    let Error::Start(problems) = &error else { panic!("{error}") };
    let found: Vec<_> = problems.iter().map(|it| (it.code(), it.value())).collect();
    let of = |rule| ("object.engine-missing", Some(rule));
    assert_eq!(found, [of("Ticket.view"), of("Ticket.edit"), of("Ticket.delete")]);
}

#[tokio::test]
async fn an_engine_that_no_rule_asks_is_noticed() {
    let (log, _logged) = Log::start("policy_server");
    let server = Running::start(app(&Orders::sample()).engine(Desk::default())).await;
    send(&server, "GET /orders", None, &[]).await;
    let notices = log.with_code("object.engine-unused");
    assert!(notices.len() == 1 && notices[0].contains("desk"), "{notices:?}");
    let (log, _logged) = Log::start("policy_server");
    let (server, _) = serving_desk().await;
    send(&server, "GET /tickets/7", None, &[]).await;
    assert_eq!(log.with_code("object.engine-unused"), [""; 0]);
}
