//! The tasks of a team. Every statement names the team of the caller, so that the tasks of another one
//! are not there.

use policy_server::{
    Refusal,
    prelude::*,
    response::{Created, NoContent, TaggedJson},
    schemars::{self, JsonSchema},
};
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, Row, any::AnyRow};

use crate::{
    live::{Live, News},
    store::{Cursor, Store, now, secret},
    users::Member,
};

#[derive(JsonSchema, Serialize)]
pub(crate) struct Task {
    id: String,
    title: String,
    note: String,
    done: bool,
    /// A member of the team.
    assignee: Option<String>,
    /// The name of the person who added it.
    author: String,
    created: i64,
    /// The version that the `ETag` states.
    version: i64,
    attachments: i64,
}

/// What a client says of a task.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Content {
    title: String,
    #[serde(default)]
    note: String,
    #[serde(default)]
    done: bool,
    #[serde(default)]
    assignee: Option<String>,
}

impl Validate for Content {
    fn validate(&self) -> Result<(), Invalid> {
        let (title, note) = (self.title.trim().chars().count(), self.note.chars().count());
        Invalid::new()
            .check((1..=200).contains(&title), "/title", "a title has 1 to 200 letters")
            .check(note <= 4000, "/note", "a note has at most 4000 letters")
            .result()
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Page {
    /// The `next` of the page before.
    #[serde(default)]
    after: Cursor,
    #[serde(default = "usual")]
    limit: i64,
    /// Only those that are done, or only those that are not.
    done: Option<bool>,
}

fn usual() -> i64 {
    20
}

impl Validate for Page {
    fn validate(&self) -> Result<(), Invalid> {
        Invalid::new().check((1..=100).contains(&self.limit), "/limit", "is 1 to 100").result()
    }
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct Tasks {
    tasks: Vec<Task>,
    /// Where the next page begins; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Newest first.
#[get("/tasks")]
#[auth(session | token, scopes = ["tasks:read"])]
pub(crate) async fn list(
    me: Member,
    State(store): State<Store>,
    Valid(Query(Page { after, limit, done })): Valid<Query<Page>>,
) -> Result<TaggedJson<Tasks>, Problem> {
    let mut tasks = store.tasks(&me.team, &after, done, limit + 1).await?;
    // One more than asked for, which says whether there is a next page.
    let has_more = tasks.len() > usize::try_from(limit).unwrap_or_default();
    if has_more {
        tasks.pop();
    }
    let last = tasks.last().filter(|_| has_more);
    let next = last.map(|task| Cursor::text(task.created, &task.id));
    Ok(Json(Tasks { tasks, next }).etag())
}

#[get("/tasks/{id}")]
#[auth(session | token, scopes = ["tasks:read"])]
pub(crate) async fn show(
    id: String,
    me: Member,
    State(store): State<Store>,
) -> Result<(ETag, Json<Task>), Problem> {
    let task = store.task(&me.team, &id).await?.or_not_found()?;
    Ok((task.etag(), Json(task)))
}

#[post("/tasks")]
#[limit(rate = "120/min per principal")]
#[auth(session | token, scopes = ["tasks:write"])]
pub(crate) async fn add(
    me: Member,
    State(store): State<Store>,
    State(live): State<Live>,
    Valid(Json(new)): Valid<Json<Content>>,
) -> Result<Created<(ETag, Json<Task>)>, Problem> {
    let id = secret()?;
    let assignee = store.assignee(&me, new.assignee).await?;
    sqlx::query(
        "INSERT INTO tasks (id, team, title, note, done, assignee, author, created)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(&id)
    .bind(&me.team)
    .bind(new.title.trim())
    .bind(&new.note)
    .bind(i64::from(new.done))
    .bind(assignee)
    .bind(&me.id)
    .bind(now())
    .execute(&store.pool)
    .await
    .or_internal()?;
    live.tell(&me.team, News::Task(&id)).await;
    let task = store.task(&me.team, &id).await?.or_not_found()?;
    Ok(Created::at(format!("/tasks/{id}"), (task.etag(), Json(task))))
}

/// Changes the version that the client has seen: of two who edit a task, the second is told.
#[put("/tasks/{id}")]
#[limit(rate = "120/min per principal")]
#[auth(session | token, scopes = ["tasks:write"])]
pub(crate) async fn change(
    id: String,
    me: Member,
    seen: Preconditions,
    State(store): State<Store>,
    State(live): State<Live>,
    Valid(Json(new)): Valid<Json<Content>>,
) -> Result<(ETag, Json<Task>), Problem> {
    let task = store.task(&me.team, &id).await?.or_not_found()?;
    seen.require_match()?.check(&task.etag())?;
    let assignee = store.assignee(&me, new.assignee).await?;
    let changed = sqlx::query(
        "UPDATE tasks SET title = $1, note = $2, done = $3, assignee = $4, version = version + 1
         WHERE id = $5 AND version = $6",
    )
    .bind(new.title.trim())
    .bind(&new.note)
    .bind(i64::from(new.done))
    .bind(assignee)
    .bind(&id)
    .bind(task.version);
    changed
        .execute(&store.pool)
        .await
        .or_internal()?
        .rows_affected()
        .checked_sub(1)
        .ok_or(STALE)?;
    live.tell(&me.team, News::Task(&id)).await;
    let task = store.task(&me.team, &id).await?.or_not_found()?;
    Ok((task.etag(), Json(task)))
}

/// With its attachments.
#[delete("/tasks/{id}")]
#[auth(session, roles = ["lead"])]
pub(crate) async fn remove(
    id: String,
    me: Member,
    seen: Preconditions,
    State(store): State<Store>,
    State(live): State<Live>,
) -> Result<NoContent, Problem> {
    let task = store.task(&me.team, &id).await?.or_not_found()?;
    seen.require_match()?.check(&task.etag())?;
    let removed = sqlx::query("DELETE FROM tasks WHERE id = $1 AND version = $2");
    let removed = removed.bind(&id).bind(task.version).execute(&store.pool).await.or_internal()?;
    removed.rows_affected().checked_sub(1).ok_or(STALE)?;
    live.tell(&me.team, News::Removed(&id)).await;
    Ok(NoContent)
}

/// Another request changed it between the check and the write.
const STALE: Refusal = Refusal::PreconditionFailed;

impl Task {
    fn etag(&self) -> ETag {
        ETag::version(self.version.unsigned_abs())
    }
}

/// A statement that reads tasks.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT t.id, t.title, t.note, t.done, t.assignee, m.name AS author, t.created,
                    t.version,
                    (SELECT count(*) FROM attachments a WHERE a.task = t.id) AS attachments
             FROM tasks t JOIN members m ON m.id = t.author ",
            $rest
        )
    };
}

impl Store {
    pub(crate) async fn task(&self, team: &str, id: &str) -> Result<Option<Task>, Problem> {
        let found = sqlx::query_as(select!("WHERE t.id = $1 AND t.team = $2"));
        found.bind(id).bind(team).fetch_optional(&self.pool).await.or_internal()
    }

    async fn tasks(
        &self,
        team: &str,
        after: &Cursor,
        done: Option<bool>,
        limit: i64,
    ) -> Result<Vec<Task>, Problem> {
        sqlx::query_as(select!(
            "WHERE t.team = $1 AND (t.created, t.id) < ($2, $3) AND ($4 < 0 OR t.done = $4)
             ORDER BY t.created DESC, t.id DESC LIMIT $5"
        ))
        .bind(team)
        .bind(after.created)
        .bind(&after.id)
        .bind(done.map_or(-1, i64::from))
        .bind(limit)
        .fetch_all(&self.pool)
        .await
        .or_internal()
    }

    /// The one that a task is for, if it is a person of the team.
    async fn assignee(&self, me: &Member, id: Option<String>) -> Result<Option<String>, Problem> {
        let Some(id) = id else { return Ok(None) };
        let of_team =
            self.member(&id).await?.is_some_and(|it| it.team == me.team && it.role != "machine");
        Invalid::new().check(of_team, "/assignee", "is nobody of the team").result()?;
        Ok(Some(id))
    }
}

impl FromRow<'_, AnyRow> for Task {
    fn from_row(row: &AnyRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            title: row.try_get("title")?,
            note: row.try_get("note")?,
            done: row.try_get::<i64, _>("done")? != 0,
            assignee: row.try_get("assignee")?,
            author: row.try_get("author")?,
            created: row.try_get("created")?,
            version: row.try_get("version")?,
            attachments: row.try_get("attachments")?,
        })
    }
}
