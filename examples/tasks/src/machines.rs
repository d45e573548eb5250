//! Tokens for machines: a script of the team, with a part of what people may do.
//!
//! A machine is a user of its own: its tokens outlive the session of the lead who made them and end
//! when that person is no longer a lead, its tasks bear its name, and it can be ended separately. An
//! access token lasts minutes; the script gets the next one with its refresh token, which counts once.

use policy_server::{
    prelude::*,
    response::{Created, NoContent},
    schemars::{self, JsonSchema},
    tokens::IssuedTokens,
};
use serde::{Deserialize, Serialize};

use crate::{
    SCOPES,
    store::{Store, load, now, row, secret},
    users::{Member, is_name},
};

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewMachine {
    name: String,
    scopes: Vec<String>,
}

impl Validate for NewMachine {
    fn validate(&self) -> Result<(), Invalid> {
        let known = self.scopes.iter().all(|scope| SCOPES.contains(&&**scope));
        Invalid::new()
            .check(is_name(&self.name), "/name", "a name has 1 to 60 letters")
            .check(known && !self.scopes.is_empty(), "/scopes", "name `tasks:read`, `tasks:write`")
            .result()
    }
}

#[derive(JsonSchema, Object, Serialize)]
#[rule(View = same(tenant))]
#[rule(Delete = same(tenant) & role("lead"))]
pub(crate) struct Machine {
    #[object(key)]
    id: String,
    #[object(tenant)]
    #[serde(skip)]
    team: String,
    name: String,
    scopes: String,
}

load! { Machine: "SELECT id, team, name, scopes FROM members WHERE role = 'machine' AND" "id" }
row! { Machine: id team name scopes }

#[get("/machines")]
#[auth(session, roles = ["lead"])]
pub(crate) async fn list(
    visible: Scope<Machine>,
    State(store): State<Store>,
) -> Result<Json<Vec<Machine>>, Problem> {
    Ok(Json(store.visible(SELECT, visible.sql(1)).await?))
}

/// Its first tokens, which are shown this once. Needs a recent login: a person at an open browser
/// gets nothing that lasts.
#[post("/machines")]
#[limit(rate = "30/h per principal")]
#[auth(session, roles = ["lead"], fresh = "15m")]
pub(crate) async fn add(
    me: Member,
    tokens: Tokens,
    State(store): State<Store>,
    Valid(Json(NewMachine { name, scopes })): Valid<Json<NewMachine>>,
) -> Result<Created<IssuedTokens>, Problem> {
    let id = secret()?;
    let mut change = store.begin_as_lead(&me.team, &me.id).await?;
    sqlx::query(
        "INSERT INTO members (id, team, name, role, scopes, author, created)
         VALUES ($1, $2, $3, 'machine', $4, $5, $6)",
    )
    .bind(&id)
    .bind(&me.team)
    .bind(name.trim())
    .bind(scopes.join(" "))
    .bind(&me.id)
    .bind(now())
    .execute(&mut *change)
    .await
    .or_internal()?;
    // A machine that somebody ends from here on gets no tokens.
    change.commit().await.or_internal()?;
    let identity = Identity::new(id).tenant(me.team).scopes(scopes);
    Ok(Created::here(tokens.login(identity).await?))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Refresh {
    refresh_token: String,
}

/// The next tokens. One that is used twice was copied, and ends them all.
#[post("/machines/token")]
#[limit(rate = "60/min")]
#[auth(public)]
pub(crate) async fn refresh(
    tokens: Tokens,
    Json(Refresh { refresh_token }): Json<Refresh>,
) -> Result<IssuedTokens, CredentialError> {
    tokens.refresh(&refresh_token).await
}

/// Ends all of its tokens at once.
#[delete("/machines/{id}")]
#[auth(session)]
pub(crate) async fn remove(
    machine: Allowed<Machine, Delete>,
    tokens: Tokens,
    State(store): State<Store>,
) -> Result<NoContent, Problem> {
    // Before it leaves the list, so that this can be repeated if it fails or its client leaves.
    tokens.revoke_user(&machine.id).await?;
    let ended = sqlx::query("UPDATE members SET role = 'former' WHERE id = $1");
    ended.bind(&machine.id).execute(&store.pool).await.or_internal()?;
    Ok(NoContent)
}
