//! Tasks: their versions, their pages, and those of others.

use std::collections::BTreeSet;

use policy_server::testing::TestPage;
use serde_json::{Value, json};

use crate::site::{PASSWORD, Site, add, path, refusal, with};

pub(crate) async fn a_task_is_added_read_changed_and_deleted(site: &Site) {
    let lead = site.lead("gerda").await;
    let member = site.member(&lead, "gustav").await;
    let me: Value = member.get("/me").send().await.json();
    let added = lead.post("/tasks").json(&json!({ "title": " write ", "note": "a note" }));
    let added = added.send().await;
    let task: Value = added.json();
    let task_path = path("tasks", &task);
    assert_eq!(added.header("location"), Some(&*task_path));
    assert_eq!((&task["title"], &task["author"]), (&json!("write"), &json!("GERDA")));
    let read = member.get(&task_path).send().await;
    assert_eq!((read.header("etag"), read.json::<Value>()), (Some("\"1\""), task));

    let new = json!({ "title": "write it", "note": "", "done": true, "assignee": me["id"] });
    let changed = member.put(&task_path).header("if-match", "\"1\"").json(&new).send().await;
    assert_eq!((changed.status().as_u16(), changed.header("etag")), (200, Some("\"2\"")));
    let changed: Value = changed.json();
    assert_eq!((&changed["done"], &changed["assignee"]), (&json!(true), &me["id"]));
    for (done, count) in [("true", 1), ("false", 0)] {
        let list: Value = lead.get(&format!("/tasks?done={done}")).send().await.json();
        assert_eq!(list["tasks"].as_array().map(Vec::len), Some(count), "{done}");
    }

    let delete = |page: &TestPage| page.delete(&task_path).header("if-match", "\"2\"").send();
    assert_eq!(delete(&member).await.status(), 403, "leads do");
    assert_eq!(delete(&lead).await.status(), 204);
    assert_eq!(member.get(&task_path).send().await.status(), 404);
    for wrong in [json!({ "title": "" }), json!({ "title": "x".repeat(201) }), json!({ "x": 1 })] {
        assert_eq!(lead.post("/tasks").json(&wrong).send().await.status(), 422, "{wrong}");
    }
}

pub(crate) async fn changes_need_the_newest_version(site: &Site) {
    let lead = site.lead("hanna").await;
    let task = path("tasks", &add(&lead, "once").await);
    let change = |tag: &'static str, title: &str| {
        lead.put(&task).header("if-match", tag).json(&json!({ "title": title })).send()
    };
    assert_eq!(change("\"1\"", "twice").await.status(), 200);
    let stale = change("\"1\"", "lost").await;
    assert_eq!(refusal(&stale), with(412, "request.precondition-failed"));
    let blind = lead.put(&task).json(&json!({ "title": "lost" })).send().await;
    assert_eq!(refusal(&blind), with(428, "request.precondition-required"));
    assert_eq!(lead.delete(&task).header("if-match", "\"1\"").send().await.status(), 412);
    assert_eq!(lead.get(&task).send().await.json::<Value>()["title"], "twice");
    // Of many changes at once, one succeeds.
    let race = (0..8).map(|number| change("\"2\"", ["a", "b"][number % 2]));
    let statuses = futures_util::future::join_all(race).await;
    let granted = statuses.iter().filter(|response| response.status() == 200).count();
    assert_eq!(granted, 1);
}

/// PostgreSQL stores none.
pub(crate) async fn a_text_with_a_nul_is_refused(site: &Site) {
    let lead = site.lead("walter").await;
    for new in [
        json!({ "title": "a\0b" }),
        json!({ "title": "a task", "note": "\0" }),
        json!({ "title": "a task", "assignee": "\0" }),
    ] {
        let refused = lead.post("/tasks").json(&new).send().await;
        assert_eq!(refused.status(), 422, "{new}");
    }
    assert_eq!(lead.get("/tasks?after=5-%00").send().await.status(), 422);
    let login = json!({ "login": "walter\0", "password": PASSWORD });
    assert_eq!(site.page().post("/login").json(&login).send().await.status(), 422);
}

pub(crate) async fn a_stranger_finds_no_task_of_another_team(site: &Site) {
    let lead = site.lead("ida").await;
    let task = path("tasks", &add(&lead, "secret").await);
    let stranger = site.lead("igor").await;
    let new = json!({ "title": "mine" });
    let put = stranger.put(&task).header("if-match", "\"1\"").json(&new).send().await;
    let delete = stranger.delete(&task).header("if-match", "\"1\"").send().await;
    for response in [stranger.get(&task).send().await, put, delete] {
        assert_eq!(response.status(), 404);
        assert!(!response.text().contains("secret"));
    }
    let list: Value = stranger.get("/tasks").send().await.json();
    assert_eq!(list, json!({ "tasks": [] }));
    // Nor can one be given to somebody of another team.
    let me: Value = lead.get("/me").send().await.json();
    let new = json!({ "title": "theirs", "assignee": me["id"] });
    assert_eq!(stranger.post("/tasks").json(&new).send().await.status(), 422);
    let nobody = site.page();
    assert_eq!(nobody.get(&task).send().await.status(), 401);
}

pub(crate) async fn pages_of_a_list_have_every_task_once(site: &Site) {
    let lead = site.lead("jana").await;
    for number in 0..7 {
        add(&lead, &format!("task {number}")).await;
    }
    let mut seen = BTreeSet::new();
    let (mut next, mut pages) = (String::new(), 0);
    loop {
        let page: Value = lead.get(&format!("/tasks?limit=3{next}")).send().await.json();
        let tasks = page["tasks"].as_array().expect("tasks");
        for task in tasks {
            assert!(seen.insert(task["title"].as_str().expect("a title").to_owned()));
        }
        pages += 1;
        // A task that is added meanwhile is on the first page, and shifts nothing.
        add(&lead, &format!("late {pages}")).await;
        let Some(after) = page["next"].as_str() else { break };
        next = format!("&after={after}");
    }
    let expected: BTreeSet<String> = (0..7).map(|number| format!("task {number}")).collect();
    assert_eq!((pages, seen), (3, expected));
    for query in ["limit=0", "limit=101", "limit=x", "after=x", "done=maybe"] {
        let refused = lead.get(&format!("/tasks?{query}")).send().await;
        assert!([400, 422].contains(&refused.status().as_u16()), "{query}: {}", refused.status());
    }
}
