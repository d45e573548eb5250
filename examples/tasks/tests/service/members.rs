//! What leads may change about the people of their team.

use std::{future::poll_fn, pin::pin, task::Poll};

use axum_core::body::Body;
use futures_util::stream;
use policy_server::http::Method;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::site::{PASSWORD, Session, Site, path, refusal, sign_up, with};

pub(crate) async fn a_member_who_is_removed_is_out_at_once(site: &Site) {
    let lead = site.lead("edith").await;
    let member = site.member(&lead, "emil").await;
    let me: Value = member.get("/me").send().await.json();
    let own = path("members", &me);
    assert_eq!(member.delete(&own).send().await.status(), 403);
    let stranger = site.lead("eve").await;
    assert_eq!(stranger.delete(&own).send().await.status(), 404);
    let new = json!({ "title": "for emil", "assignee": me["id"] });
    let task: Value = lead.post("/tasks").json(&new).send().await.json();
    assert_eq!(lead.delete(&own).send().await.status(), 204);
    assert_eq!(member.get("/tasks").send().await.status(), 401);
    let login = json!({ "login": "emil", "password": PASSWORD });
    assert_eq!(member.post("/login").json(&login).send().await.status(), 403);

    let task: Value = lead.get(&path("tasks", &task)).send().await.json();
    assert_eq!(task["assignee"], Value::Null);
    let me: Value = lead.get("/me").send().await.json();
    let oneself = lead.delete(&path("members", &me)).send().await;
    assert_eq!(refusal(&oneself), with(409, "members.oneself"));
}

pub(crate) async fn a_lead_gives_and_takes_roles(site: &Site) {
    let lead = site.lead("fanny").await;
    let member = site.member(&lead, "felix").await;
    let me: Value = member.get("/me").send().await.json();
    let role = format!("{}/role", path("members", &me));
    let invite = || member.post("/invitations").json(&json!({ "role": "member" })).send();
    assert_eq!(invite().await.status(), 403);
    assert_eq!(lead.put(&role).json(&json!({ "role": "lead" })).send().await.status(), 204);
    let code = invite().await;
    assert_eq!(code.status(), 201, "in the session that there was");
    let code: Value = code.json();
    let machine = json!({ "name": "a script", "scopes": ["tasks:read"] });
    let machine: Value = member.post("/machines").json(&machine).send().await.json();
    let script = || {
        let token = format!("Bearer {}", machine["access_token"].as_str().expect("a token"));
        site.client.get("/tasks").header("authorization", token).send()
    };
    assert_eq!(script().await.status(), 200);
    assert_eq!(lead.put(&role).json(&json!({ "role": "member" })).send().await.status(), 204);
    assert_eq!(invite().await.status(), 403);
    // Nothing of it is left to come back with.
    assert_eq!(script().await.status(), 401);
    let late = sign_up(&site.page(), "fritz", json!({ "invitation": code["code"] })).await;
    assert_eq!(refusal(&late), with(403, "invitations.invalid"));
    let unknown = lead.put(&role).json(&json!({ "role": "machine" })).send().await;
    assert_eq!(unknown.status(), 422);
}

/// Both requests are admitted before either takes the right of the other away.
pub(crate) async fn one_of_two_leads_who_remove_each_other_stays(site: &Site) {
    for round in 0..4 {
        let one = site.lead(&format!("greta{round}")).await;
        let other = site.member(&one, &format!("georg{round}")).await;
        let mut own = Vec::new();
        for page in [&one, &other] {
            own.push(path("members", &page.get("/me").send().await.json()));
        }
        let lead = json!({ "role": "lead" });
        let response = one.put(&format!("{}/role", own[1])).json(&lead).send().await;
        assert_eq!(response.status(), 204);
        let (by_one, by_other) =
            tokio::join!(one.delete(&own[1]).send(), other.delete(&own[0]).send());
        let winner = match (by_one.status().as_u16(), by_other.status().as_u16()) {
            (204, 401 | 403 | 404) => one,
            (401 | 403 | 404, 204) => other,
            both => unreachable!("one of both stays: {both:?}"),
        };
        let people: Value = winner.get("/members").send().await.json();
        assert_eq!(
            (people.as_array().map(Vec::len), &people[0]["role"]),
            (Some(1), &"lead".into())
        );
    }
}

/// The head of a request is admitted while its author is a lead, and its body arrives afterwards.
pub(crate) async fn a_lead_who_is_removed_adds_nothing_by_requests_in_flight(site: &Site) {
    let lead = site.lead("tilda").await;
    let requests = [
        ("/invitations", r#"{"role":"lead"}"#),
        ("/machines", r#"{"name":"a script","scopes":["tasks:read"]}"#),
    ];
    for (round, (to, content)) in requests.into_iter().enumerate() {
        let login = format!("timo{round}");
        let other = site.member(&lead, &login).await;
        let own = path("members", &other.get("/me").send().await.json());
        let role = lead.put(&format!("{own}/role")).json(&json!({ "role": "lead" })).send().await;
        assert_eq!(role.status(), 204);

        let session = Session::begin(site, &login).await;
        let (says_that_it_reads, is_read) = oneshot::channel();
        let (arrives, body) = oneshot::channel::<&str>();
        let body = Body::from_stream(stream::once(async move {
            says_that_it_reads.send(()).expect("the test");
            body.await
        }));
        let request = session.request(site, Method::POST, to);
        let request = request.header("content-type", "application/json").body(body);
        let (response, ()) = tokio::join!(request.send(), async {
            is_read.await.expect("a handler that reads the body");
            assert_eq!(lead.delete(&own).send().await.status(), 204);
            arrives.send(content).expect("a handler that waits");
        });
        assert_eq!(response.status(), 403, "{to}: {}", response.text());
    }
    let machines: Value = lead.get("/machines").send().await.json();
    assert_eq!(machines, json!([]));
}

/// Whether a request is done after this number of steps. If not, its client leaves.
async fn is_done_after(steps: usize, request: impl Future) -> bool {
    let mut request = pin!(request);
    let mut taken = 0;
    poll_fn(|context| {
        if taken == steps {
            return Poll::Ready(false);
        }
        taken += 1;
        request.as_mut().poll(context).map(|_| true)
    })
    .await
}

/// At every step, the request is dropped.
pub(crate) async fn a_person_who_is_no_longer_in_the_list_has_no_access(site: &Site) {
    let lead = site.lead("uma").await;
    let session = Session::begin(site, "uma").await;
    let mut is_done = false;
    let (mut steps, mut round) = (0, 0);
    while !is_done {
        round += 1;
        let member = site.member(&lead, &format!("udo{round}")).await;
        let me: Value = member.get("/me").send().await.json();
        let mut is_listed = true;
        while is_listed && !is_done {
            let request = session.request(site, Method::DELETE, &path("members", &me)).send();
            is_done = is_done_after(steps, request).await;
            steps += 1;
            let people: Vec<Value> = lead.get("/members").send().await.json();
            is_listed = people.iter().any(|person| person["id"] == me["id"]);
        }
        assert_eq!(member.get("/tasks").send().await.status(), 401, "after {steps} steps");
    }
}

pub(crate) async fn a_machine_that_is_no_longer_in_the_list_has_no_access(site: &Site) {
    let lead = site.lead("vera").await;
    let session = Session::begin(site, "vera").await;
    let mut is_done = false;
    let mut steps = 0;
    while !is_done {
        let new = json!({ "name": "a script", "scopes": ["tasks:read"] });
        let tokens: Value = lead.post("/machines").json(&new).send().await.json();
        let mut machines: Vec<Value> = lead.get("/machines").send().await.json();
        while let Some(machine) = machines.first().filter(|_| !is_done) {
            let request = session.request(site, Method::DELETE, &path("machines", machine)).send();
            is_done = is_done_after(steps, request).await;
            steps += 1;
            machines = lead.get("/machines").send().await.json();
        }
        let token = format!("Bearer {}", tokens["access_token"].as_str().expect("a token"));
        let list = site.client.get("/tasks").header("authorization", token).send().await;
        assert_eq!(list.status(), 401, "after {steps} steps");
    }
}
