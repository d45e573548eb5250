//! The people of a team, and what its leads may change about them.

use policy_server::{
    prelude::*,
    response::{NoContent, TaggedJson},
    schemars::{self, JsonSchema},
};
use serde::{Deserialize, Serialize};

use crate::{
    invitations::Role,
    live::{Live, News},
    store::Store,
    users::{Member, identity},
};

#[derive(JsonSchema, Serialize)]
pub(crate) struct Person {
    id: String,
    name: String,
    role: String,
}

#[get("/members")]
#[auth(session | token, scopes = ["tasks:read"])]
pub(crate) async fn list(
    me: Member,
    State(store): State<Store>,
) -> Result<TaggedJson<Vec<Person>>, Problem> {
    let people: Vec<(String, String, String)> = sqlx::query_as(
        "SELECT id, name, role FROM members WHERE team = $1 AND role IN ('lead', 'member')
         ORDER BY created, id",
    )
    .bind(&me.team)
    .fetch_all(&store.pool)
    .await
    .or_internal()?;
    let people = people.into_iter().map(|(id, name, role)| Person { id, name, role });
    Ok(Json(people.collect::<Vec<_>>()).etag())
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewRole {
    role: Role,
}

/// Takes effect in all sessions of the member at once, and ends the streams that they have open.
#[put("/members/{id}/role")]
#[auth(session, roles = ["lead"])]
pub(crate) async fn set_role(
    id: String,
    me: Member,
    sessions: Sessions,
    State(store): State<Store>,
    State(live): State<Live>,
    Json(NewRole { role }): Json<NewRole>,
) -> Result<NoContent, Problem> {
    not_oneself(&me, &id)?;
    for machine in store.become_role(&me, &id, role.name()).await? {
        sessions.revoke_user(&machine).await?;
    }
    sessions.set_rights(identity(&id, role.name())).await?;
    live.tell(&me.team, News::Team).await;
    Ok(NoContent)
}

/// Ends every session of the member. The tasks stay, and are for nobody.
#[delete("/members/{id}")]
#[auth(session, roles = ["lead"])]
pub(crate) async fn remove(
    id: String,
    me: Member,
    sessions: Sessions,
    State(store): State<Store>,
    State(live): State<Live>,
) -> Result<NoContent, Problem> {
    not_oneself(&me, &id)?;
    for machine in store.become_role(&me, &id, "former").await? {
        sessions.revoke_user(&machine).await?;
    }
    sessions.revoke_user(&id).await?;
    live.tell(&me.team, News::Team).await;
    Ok(NoContent)
}

/// Leads cannot change their own role, so that no team is without a lead.
fn not_oneself(me: &Member, id: &str) -> Result<(), Problem> {
    if me.id != id {
        return Ok(());
    }
    Err(Problem::conflict().code("members.oneself").detail("another lead has to do this"))
}

impl Store {
    /// Gives another role to a person of the team. A person who is no longer a lead loses what a lead
    /// could come back with: open invitations, and machines whose tokens they have seen. Returns the
    /// machines.
    async fn become_role(&self, me: &Member, id: &str, role: &str) -> Result<Vec<String>, Problem> {
        let mut change = self.pool.begin().await.or_internal()?;
        let changed = sqlx::query(
            "UPDATE members SET role = $1, login = CASE WHEN $1 = 'former' THEN NULL ELSE login END
             WHERE id = $2 AND team = $3 AND role IN ('lead', 'member')",
        );
        let changed = changed.bind(role).bind(id).bind(&me.team).execute(&mut *change).await;
        (changed.or_internal()?.rows_affected() > 0).then_some(()).or_not_found()?;
        let mut machines = Vec::new();
        if role != "lead" {
            let invitations = sqlx::query("DELETE FROM invitations WHERE author = $1");
            invitations.bind(id).execute(&mut *change).await.or_internal()?;
            let ended = sqlx::query_scalar(
                "UPDATE members SET role = 'former' WHERE author = $1 AND role = 'machine'
                 RETURNING id",
            );
            machines = ended.bind(id).fetch_all(&mut *change).await.or_internal()?;
        }
        if role == "former" {
            let tasks = sqlx::query(
                "UPDATE tasks SET assignee = NULL, version = version + 1 WHERE assignee = $1",
            );
            tasks.bind(id).execute(&mut *change).await.or_internal()?;
        }
        change.commit().await.or_internal()?;
        Ok(machines)
    }
}
