//! Files of tasks, kept in the database, so that every instance has them and a backup is one thing.
//! Where they are many or large, keep them in an object store, and its address here.

use axum_core::response::AppendHeaders;
use bytes::Bytes;
use policy_server::{
    http::{HeaderName, header::CONTENT_DISPOSITION},
    prelude::*,
    response::Created,
    schemars::{self, JsonSchema},
};
use serde::{Deserialize, Serialize};
use sqlx::AssertSqlSafe;

use crate::{
    live::{Live, News},
    store::{Store, load, now, row, secret},
    tasks::Task,
};

/// The maximum number of attachments of a task.
const MOST: i64 = 20;

#[derive(JsonSchema, Object, Serialize)]
#[rule(View = same(tenant))]
pub(crate) struct Attachment {
    #[object(key)]
    id: String,
    /// The team of its task.
    #[object(tenant)]
    #[serde(skip)]
    team: String,
    name: String,
    size: i64,
}

load! {
    Attachment: "SELECT a.id, t.team, a.name, a.size
                 FROM attachments a JOIN tasks t ON t.id = a.task WHERE" "a.id"
}
row! { Attachment: id team name size }

#[get("/tasks/{id}/attachments")]
#[auth(session | token, scopes = ["tasks:read"])]
pub(crate) async fn list(
    task: Allowed<Task>,
    State(store): State<Store>,
) -> Result<Json<Vec<Attachment>>, Problem> {
    let sql = format!("{SELECT} a.task = $1 ORDER BY a.created, a.id");
    let found = sqlx::query_as(AssertSqlSafe(sql)).bind(&task.id);
    Ok(Json(found.fetch_all(&store.pool).await.or_internal()?))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct UploadQuery {
    name: String,
}

/// The content is the body, as the page sends a `File`.
#[post("/tasks/{id}/attachments")]
#[limit(body = "1 MiB", timeout = "1m", concurrency = 16, rate = "60/h per principal")]
#[auth(session | token, scopes = ["tasks:write"])]
pub(crate) async fn upload(
    task: Allowed<Task, Edit>,
    me: Principal,
    State(store): State<Store>,
    State(live): State<Live>,
    Query(UploadQuery { name }): Query<UploadQuery>,
    content: Bytes,
) -> Result<Created<Json<Attachment>>, Problem> {
    let is_plain = !name.chars().any(|sign| sign.is_control() || "/\\".contains(sign));
    Invalid::new()
        .check(is_plain && (1..=120).contains(&name.chars().count()), "/name", "is no file name")
        .check(!content.is_empty(), "", "the file is empty")
        .result()?;
    let size = i64::try_from(content.len()).or_internal()?;
    let file = Attachment { id: secret()?, team: task.team.clone(), name, size };
    let mut change = store.pool.begin().await.or_internal()?;
    // A task shows how many it has, so its version changes; and other uploads wait for this one.
    let newer = sqlx::query("UPDATE tasks SET version = version + 1 WHERE id = $1");
    let newer = newer.bind(&task.id).execute(&mut *change).await.or_internal()?;
    (newer.rows_affected() > 0).then_some(()).or_not_found()?;
    let added = sqlx::query(
        "INSERT INTO attachments (id, task, name, size, content, author, created)
         SELECT $1, $2, $3, $4, $5, $6, $7
         WHERE (SELECT count(*) FROM attachments WHERE task = $2) < $8",
    )
    .bind(&file.id)
    .bind(&task.id)
    .bind(&file.name)
    .bind(file.size)
    .bind(&*content)
    .bind(me.subject())
    .bind(now())
    .bind(MOST);
    if added.execute(&mut *change).await.or_internal()?.rows_affected() == 0 {
        let problem = Problem::conflict().code("attachments.too-many");
        return Err(problem.detail(format!("a task has at most {MOST} attachments")));
    }
    change.commit().await.or_internal()?;
    live.tell(&task.team, News::Task(&task.id)).await;
    Ok(Created::here(Json(file)))
}

/// Never shown as a page, since the content of the file is input of the uploader.
#[get("/attachments/{id}")]
#[auth(session | token, scopes = ["tasks:read"])]
pub(crate) async fn download(
    file: Allowed<Attachment>,
    State(store): State<Store>,
) -> Result<(ETag, AppendHeaders<[(HeaderName, String); 1]>, Vec<u8>), Problem> {
    let found = sqlx::query_scalar("SELECT content FROM attachments WHERE id = $1").bind(&file.id);
    let found: Option<Vec<u8>> = found.fetch_optional(&store.pool).await.or_internal()?;
    let content = found.or_not_found()?;
    let disposition = format!("attachment; filename*=UTF-8''{}", coded(&file.name));
    let headers = AppendHeaders([(CONTENT_DISPOSITION, disposition)]);
    Ok((ETag::from_content(&content), headers, content))
}

/// A name in a parameter of a header (RFC 8187 3.2).
fn coded(name: &str) -> String {
    let code = |byte: u8| match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    name.bytes().map(code).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_cannot_inject_headers() {
        assert_eq!(coded("a b\"; c=\r\nä.txt"), "a%20b%22%3B%20c%3D%0D%0A%C3%A4.txt");
    }
}
