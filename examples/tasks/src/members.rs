//! The people of a team, and what its leads may change about them.

use policy_server::{
    Refusal,
    object::Action,
    prelude::*,
    response::{NoContent, TaggedJson},
    schemars::{self, JsonSchema},
};
use serde::{Deserialize, Serialize};
use sqlx::{Any, Transaction};

use crate::{
    invitations::Role,
    live::{Live, News},
    store::{Store, load, row},
    users::identity,
};

#[derive(JsonSchema, Object, Serialize)]
#[rule(View = same(tenant))]
#[rule(Manage = same(tenant) & role("lead"))]
pub(crate) struct Person {
    #[object(key)]
    id: String,
    #[object(tenant)]
    #[serde(skip)]
    team: String,
    name: String,
    role: String,
}

load! {
    Person: "SELECT id, team, name, role FROM members WHERE role IN ('lead', 'member') AND" "id"
}
row! { Person: id team name role }

/// Changing the role of a person, or removing them.
pub(crate) enum Manage {}

impl Action for Manage {
    const NAME: &'static str = "manage";
}

#[get("/members")]
#[auth(session | token, scopes = ["tasks:read"])]
pub(crate) async fn list(
    visible: Scope<Person>,
    State(store): State<Store>,
) -> Result<TaggedJson<Vec<Person>>, Problem> {
    let people: Vec<Person> = store.visible(SELECT, visible.sql(1)).await?;
    Ok(Json(people).etag())
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewRole {
    role: Role,
}

/// Takes effect in all sessions of the member at once, and ends the streams that they have open.
#[put("/members/{id}/role")]
#[auth(session)]
pub(crate) async fn set_role(
    person: Allowed<Person, Manage>,
    me: Principal,
    sessions: Sessions,
    State(store): State<Store>,
    State(live): State<Live>,
    Json(NewRole { role }): Json<NewRole>,
) -> Result<NoContent, Problem> {
    store.become_role(&me, &person, role.name(), &sessions).await?;
    live.tell(&person.team, News::Team).await;
    Ok(NoContent)
}

/// Ends every session of the member. The tasks stay, and are for nobody.
#[delete("/members/{id}")]
#[auth(session)]
pub(crate) async fn remove(
    person: Allowed<Person, Manage>,
    me: Principal,
    sessions: Sessions,
    State(store): State<Store>,
    State(live): State<Live>,
) -> Result<NoContent, Problem> {
    store.become_role(&me, &person, "former", &sessions).await?;
    live.tell(&person.team, News::Team).await;
    Ok(NoContent)
}

impl Store {
    /// Begins a change for which its author has to be a lead still. Such changes of a team happen
    /// one after the other: of two leads who remove each other at once, the second one is no lead
    /// any more, and a lead who is removed adds nothing with a request that was admitted before.
    pub(crate) async fn begin_as_lead(
        &self,
        team: &str,
        author: &str,
    ) -> Result<Transaction<'static, Any>, Problem> {
        let mut change = self.pool.begin().await.or_internal()?;
        // Locks the team.
        let locked = sqlx::query("UPDATE teams SET name = name WHERE id = $1").bind(team);
        locked.execute(&mut *change).await.or_internal()?;
        let lead = sqlx::query("SELECT id FROM members WHERE id = $1 AND role = 'lead'");
        let lead = lead.bind(author).fetch_optional(&mut *change).await.or_internal()?;
        lead.ok_or(Refusal::RightsMissing)?;
        Ok(change)
    }

    /// Gives another role to a person of the team, and to their sessions. A person who is no longer
    /// a lead loses what a lead could come back with: open invitations, and machines whose tokens
    /// they have seen.
    async fn become_role(
        &self,
        me: &Principal,
        person: &Person,
        role: &str,
        sessions: &Sessions,
    ) -> Result<(), Problem> {
        let id = &person.id;
        // Leads cannot change their own role, so that no team is without a lead.
        if me.subject() == id {
            let problem = Problem::conflict().code("members.oneself");
            return Err(problem.detail("another lead has to do this"));
        }
        let mut change = self.begin_as_lead(&person.team, me.subject()).await?;
        let changed = sqlx::query(
            "UPDATE members SET role = $1, login = CASE WHEN $1 = 'former' THEN NULL ELSE login END
             WHERE id = $2 AND role IN ('lead', 'member')",
        );
        let changed = changed.bind(role).bind(id).execute(&mut *change).await;
        let changed = changed.or_internal()?.rows_affected();
        changed.checked_sub(1).ok_or(Refusal::ObjectDenied)?;
        let mut machines = Vec::<String>::new();
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
        // Before the commit: if this fails, or the client leaves, the person is still in the list,
        // and the change can be repeated. The team is locked, so changes of rights are made one after
        // the other, and sessions have the rights of the last.
        for machine in machines {
            sessions.revoke_user(&machine).await?;
        }
        if role == "former" {
            sessions.revoke_user(id).await?;
        } else {
            sessions.set_rights(identity(id, &person.team, role)).await?;
        }
        change.commit().await.or_internal()
    }
}
