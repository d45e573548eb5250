//! The tasks of a team.

use std::sync::{Arc, Mutex, PoisonError};

use policy_server::prelude::*;
use serde::{Deserialize, Serialize};

// ANCHOR: data
#[derive(Clone, Deserialize, Serialize)]
struct Task {
    title: String,
    #[serde(default)]
    done: bool,
}

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
// ANCHOR_END: data

// ANCHOR: handlers
#[get("/tasks")]
#[auth(public)]
async fn list(State(tasks): State<Tasks>) -> impl IntoResponse {
    Json(tasks.change(|tasks| tasks.clone())).etag()
}

#[post("/tasks")]
#[auth(public)]
async fn add(State(tasks): State<Tasks>, Valid(Json(task)): Valid<Json<Task>>) -> StatusCode {
    tasks.change(|tasks| tasks.push(task));
    StatusCode::CREATED
}

#[put("/tasks/{number}/done")]
#[auth(public)]
async fn finish(number: usize, State(tasks): State<Tasks>) -> Result<StatusCode, Problem> {
    let found = tasks.change(|tasks| {
        let task = tasks.get_mut(number)?;
        task.done = true;
        Some(())
    });
    found.ok_or_else(|| Problem::not_found().detail(format!("there is no task {number}")))?;
    Ok(StatusCode::NO_CONTENT)
}

fn app() -> App<Tasks> {
    App::new(Tasks::default()).routes(routes![list, add, finish])
}

#[tokio::main]
async fn main() -> Result<(), Report> {
    tracing_subscriber::fmt::init();
    app().serve("127.0.0.1:8080").await?;
    Ok(())
}
// ANCHOR_END: handlers

/// What the chapter says of this program.
#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[tokio::test]
    async fn every_mistake_of_the_chapter_gets_its_response() {
        let client = app().test();
        let task = |field: &'static str, value: &'static str| BTreeMap::from([(field, value)]);
        let add = |body| client.post("/tasks").json(&body).send();
        assert_eq!(add(task("title", "write a compiler")).await.status(), 201);
        assert_eq!(client.put("/tasks/0/done").send().await.status(), 204);
        let list = client.get("/tasks").send().await;
        assert_eq!(list.text(), r#"[{"title":"write a compiler","done":true}]"#);
        let again = client.get("/tasks").header("if-none-match", list.header("etag").unwrap());
        assert_eq!(again.send().await.status(), 304);

        let invalid = add(task("title", "")).await;
        assert_eq!(invalid.status(), 422);
        assert!(invalid.text().contains("/title") && invalid.text().contains("has 1 to 200"));
        assert_eq!(add(task("titel", "x")).await.status(), 422);
        assert_eq!(client.post("/tasks").form(&task("title", "x")).send().await.status(), 415);
        assert_eq!(client.put("/tasks/nine/done").send().await.status(), 400);
        assert_eq!(client.put("/tasks/9/done").send().await.status(), 404);
        let delete = client.delete("/tasks").send().await;
        assert_eq!(delete.header("allow"), Some("GET, HEAD, OPTIONS, POST"));
        assert_eq!(delete.status(), 405);
    }
}
