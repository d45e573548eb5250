//! The tasks of a team. Handlers take a task as their rules permit it, so that the tasks of another team
//! are not there.

use policy_server::{
    Refusal,
    prelude::*,
    response::{Created, NoContent, TaggedJson},
    schemars::{self, JsonSchema},
};
use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, FromRow, Row, any::AnyRow};

use crate::{
    live::{Live, News},
    members::Person,
    store::{Cursor, Store, bind, load, now, secret},
    users::{Member, is_text},
};

#[derive(JsonSchema, Object, Serialize)]
#[rule(View = same(tenant))]
#[rule(Edit = same(tenant))]
#[rule(Delete = same(tenant) & role("lead"))]
pub(crate) struct Task {
    #[object(key)]
    pub(crate) id: String,
    #[object(tenant)]
    #[serde(skip)]
    pub(crate) team: String,
    title: String,
    note: String,
    done: bool,
    /// A member of the team.
    assignee: Option<String>,
    /// The name of the person who added it.
    author: String,
    created: i64,
    /// The version that the `ETag` states.
    #[object(version)]
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
            .check(is_text(&self.title), "/title", "a title has no NUL")
            .check(is_text(&self.note), "/note", "a note has no NUL")
            .check(
                self.assignee.as_deref().is_none_or(is_text),
                "/assignee",
                "is nobody of the team",
            )
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
        Invalid::new()
            .check((1..=100).contains(&self.limit), "/limit", "is 1 to 100")
            .check(is_text(&self.after.id), "/after", "is no `next` of a page")
            .result()
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
    visible: Scope<Task>,
    State(store): State<Store>,
    Valid(Query(Page { after, limit, done })): Valid<Query<Page>>,
) -> Result<TaggedJson<Tasks>, Problem> {
    let mut tasks = store.tasks(&visible, &after, done, limit + 1).await?;
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
pub(crate) async fn show(task: Allowed<Task>) -> (ETag, Json<Task>) {
    task.into_inner().tagged()
}

#[post("/tasks")]
#[limit(rate = "120/min per principal")]
#[auth(session | token, scopes = ["tasks:write"])]
pub(crate) async fn add(
    me: Member,
    people: Scope<Person>,
    State(store): State<Store>,
    State(live): State<Live>,
    Valid(Json(new)): Valid<Json<Content>>,
) -> Result<Created<(ETag, Json<Task>)>, Problem> {
    let id = secret()?;
    let assignee = store.assignee(&people, new.assignee).await?;
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
    let task = Task::load(&id, &(), &store).await?.or_not_found()?;
    Ok(Created::at(format!("/tasks/{id}"), task.tagged()))
}

/// Changes the version that the client has seen: of two who edit a task, the second is told.
#[put("/tasks/{id}")]
#[limit(rate = "120/min per principal")]
#[auth(session | token, scopes = ["tasks:write"])]
pub(crate) async fn change(
    task: Allowed<Task, Edit>,
    people: Scope<Person>,
    preconditions: Preconditions,
    State(store): State<Store>,
    State(live): State<Live>,
    Valid(Json(new)): Valid<Json<Content>>,
) -> Result<(ETag, Json<Task>), Problem> {
    preconditions.require_match()?;
    let assignee = store.assignee(&people, new.assignee).await?;
    let changed = sqlx::query(
        "UPDATE tasks SET title = $1, note = $2, done = $3, assignee = $4, version = version + 1
         WHERE id = $5 AND version = $6",
    )
    .bind(new.title.trim())
    .bind(&new.note)
    .bind(i64::from(new.done))
    .bind(assignee)
    .bind(&task.id)
    .bind(task.version);
    let changed = changed.execute(&store.pool).await.or_internal()?.rows_affected();
    changed.checked_sub(1).ok_or(STALE)?;
    live.tell(&task.team, News::Task(&task.id)).await;
    Ok(Task::load(&task.id, &(), &store).await?.or_not_found()?.tagged())
}

/// With its attachments.
#[delete("/tasks/{id}")]
#[auth(session)]
pub(crate) async fn remove(
    task: Allowed<Task, Delete>,
    preconditions: Preconditions,
    State(store): State<Store>,
    State(live): State<Live>,
) -> Result<NoContent, Problem> {
    preconditions.require_match()?;
    let removed = sqlx::query("DELETE FROM tasks WHERE id = $1 AND version = $2");
    let removed = removed.bind(&task.id).bind(task.version).execute(&store.pool).await;
    removed.or_internal()?.rows_affected().checked_sub(1).ok_or(STALE)?;
    live.tell(&task.team, News::Removed(&task.id)).await;
    Ok(NoContent)
}

/// Another request changed it between the check and the write.
const STALE: Refusal = Refusal::PreconditionFailed;

impl Task {
    fn tagged(self) -> (ETag, Json<Self>) {
        (ETag::version(self.version.unsigned_abs()), Json(self))
    }
}

load! {
    Task: "SELECT t.id, t.team, t.title, t.note, t.done, t.assignee, m.name AS author, t.created,
                  t.version,
                  (SELECT count(*) FROM attachments a WHERE a.task = t.id) AS attachments
           FROM tasks t JOIN members m ON m.id = t.author WHERE" "t.id"
}

impl Store {
    async fn tasks(
        &self,
        visible: &Scope<Task>,
        after: &Cursor,
        done: Option<bool>,
        limit: i64,
    ) -> Result<Vec<Task>, Problem> {
        let visible = visible.sql_of("t", 5);
        let sql = format!(
            "{SELECT} {} AND (t.created, t.id) < ($1, $2) AND ($3 < 0 OR t.done = $3)
             ORDER BY t.created DESC, t.id DESC LIMIT $4",
            visible.sql
        );
        let found = sqlx::query_as(AssertSqlSafe(sql)).bind(after.created).bind(&after.id);
        let found = found.bind(done.map_or(-1, i64::from)).bind(limit);
        bind(found, visible.values).fetch_all(&self.pool).await.or_internal()
    }

    /// The one that a task is for, if it is a person of the team.
    async fn assignee(
        &self,
        people: &Scope<Person>,
        id: Option<String>,
    ) -> Result<Option<String>, Problem> {
        let Some(id) = id else { return Ok(None) };
        let person = Person::load(&id, &(), self).await?;
        let of_team = person.is_some_and(|person| people.contains(&person));
        Invalid::new().check(of_team, "/assignee", "is nobody of the team").result()?;
        Ok(Some(id))
    }
}

impl FromRow<'_, AnyRow> for Task {
    fn from_row(row: &AnyRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            team: row.try_get("team")?,
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
