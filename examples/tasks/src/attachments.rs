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

use crate::{
    live::{Live, News},
    store::{Store, now, secret},
    users::Member,
};

/// The maximum number of attachments of a task.
const MOST: i64 = 20;

#[derive(JsonSchema, Serialize)]
pub(crate) struct Attachment {
    id: String,
    name: String,
    size: i64,
}

#[get("/tasks/{id}/attachments")]
#[auth(session | token, scopes = ["tasks:read"])]
pub(crate) async fn list(
    id: String,
    me: Member,
    State(store): State<Store>,
) -> Result<Json<Vec<Attachment>>, Problem> {
    store.task(&me.team, &id).await?.or_not_found()?;
    let found: Vec<(String, String, i64)> = sqlx::query_as(
        "SELECT id, name, size FROM attachments WHERE task = $1 ORDER BY created, id",
    )
    .bind(&id)
    .fetch_all(&store.pool)
    .await
    .or_internal()?;
    let found = found.into_iter().map(|(id, name, size)| Attachment { id, name, size });
    Ok(Json(found.collect()))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Named {
    name: String,
}

/// The content is the body, as the page sends a `File`.
#[post("/tasks/{id}/attachments")]
#[limit(body = "1 MiB", timeout = "1m", concurrency = 16, rate = "60/h per principal")]
#[auth(session | token, scopes = ["tasks:write"])]
pub(crate) async fn upload(
    id: String,
    me: Member,
    State(store): State<Store>,
    State(live): State<Live>,
    Query(Named { name }): Query<Named>,
    content: Bytes,
) -> Result<Created<Json<Attachment>>, Problem> {
    let is_plain = !name.chars().any(|sign| sign.is_control() || "/\\".contains(sign));
    Invalid::new()
        .check(is_plain && (1..=120).contains(&name.chars().count()), "/name", "is no file name")
        .check(!content.is_empty(), "", "the file is empty")
        .result()?;
    let file =
        Attachment { id: secret()?, name, size: i64::try_from(content.len()).or_internal()? };
    let mut change = store.pool.begin().await.or_internal()?;
    // A task shows how many it has, so this is another version of it; and others wait for this one.
    let task = sqlx::query("UPDATE tasks SET version = version + 1 WHERE id = $1 AND team = $2");
    let task = task.bind(&id).bind(&me.team).execute(&mut *change).await.or_internal()?;
    (task.rows_affected() > 0).then_some(()).or_not_found()?;
    let added = sqlx::query(
        "INSERT INTO attachments (id, task, name, size, content, author, created)
         SELECT $1, $2, $3, $4, $5, $6, $7
         WHERE (SELECT count(*) FROM attachments WHERE task = $2) < $8",
    )
    .bind(&file.id)
    .bind(&id)
    .bind(&file.name)
    .bind(file.size)
    .bind(&*content)
    .bind(&me.id)
    .bind(now())
    .bind(MOST);
    if added.execute(&mut *change).await.or_internal()?.rows_affected() == 0 {
        let problem = Problem::conflict().code("attachments.too-many");
        return Err(problem.detail(format!("a task has at most {MOST} attachments")));
    }
    change.commit().await.or_internal()?;
    live.tell(&me.team, News::Task(&id)).await;
    Ok(Created::here(Json(file)))
}

/// Never shown as a page, since the content of the file is input of the uploader.
#[get("/attachments/{id}")]
#[auth(session | token, scopes = ["tasks:read"])]
pub(crate) async fn download(
    id: String,
    me: Member,
    State(store): State<Store>,
) -> Result<(ETag, AppendHeaders<[(HeaderName, String); 1]>, Vec<u8>), Problem> {
    let found = sqlx::query_as(
        "SELECT a.name, a.content FROM attachments a JOIN tasks t ON t.id = a.task
         WHERE a.id = $1 AND t.team = $2",
    );
    let found: Option<(String, Vec<u8>)> =
        found.bind(&id).bind(&me.team).fetch_optional(&store.pool).await.or_internal()?;
    let (name, content) = found.or_not_found()?;
    let disposition = format!("attachment; filename*=UTF-8''{}", coded(&name));
    let headers = AppendHeaders([(CONTENT_DISPOSITION, disposition)]);
    Ok((ETag::of_content(&content), headers, content))
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
