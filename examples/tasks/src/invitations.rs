//! Invitations: a code, which a lead hands out as a link, and which makes one person a member.

use policy_server::{
    prelude::*,
    response::Created,
    schemars::{self, JsonSchema},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use sqlx::AnyConnection;

use crate::{
    store::{Store, now, secret},
    users::Member,
};

/// How long a code can be used.
const LIFETIME: i64 = 7 * 24 * 60 * 60 * 1000;

/// The role of a person in a team.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    Lead,
    Member,
}

impl Role {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Lead => "lead",
            Self::Member => "member",
        }
    }
}

/// The user that an invitation adds to a team, and the role.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "NewInvitation")]
pub(crate) struct New {
    role: Role,
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct Invitation {
    /// Shown only once: the database has its digest.
    code: String,
    expires: i64,
}

#[post("/invitations")]
#[limit(rate = "30/h per principal")]
#[auth(session, roles = ["lead"])]
pub(crate) async fn invite(
    me: Member,
    State(store): State<Store>,
    Json(New { role }): Json<New>,
) -> Result<Created<Json<Invitation>>, Problem> {
    let (code, expires) = (secret()?, now() + LIFETIME);
    let mut change = store.begin_as_lead(&me.team, &me.id).await?;
    sqlx::query(
        "INSERT INTO invitations (digest, team, role, author, expires) VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(digest(&code))
    .bind(&me.team)
    .bind(role.name())
    .bind(&me.id)
    .bind(expires)
    .execute(&mut *change)
    .await
    .or_internal()?;
    change.commit().await.or_internal()?;
    Ok(Created::here(Json(Invitation { code, expires })))
}

/// Uses a code up, and returns the team and the role that it gives. Of two who use it at once, one
/// waits for the transaction of the other, and then finds it used.
pub(crate) async fn accept(
    change: &mut AnyConnection,
    code: &str,
) -> Result<(String, String), Problem> {
    let used = sqlx::query_as(
        "UPDATE invitations SET used = $1 WHERE digest = $2 AND used IS NULL AND expires > $1
         RETURNING team, role",
    );
    let used = used.bind(now()).bind(digest(code)).fetch_optional(change).await;
    used.or_internal()?.ok_or_else(|| {
        Problem::forbidden()
            .code("invitations.invalid")
            .detail("the invitation was used, has expired or never was: ask for another one")
    })
}

fn digest(code: &str) -> String {
    let digest = Sha256::digest(code);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
