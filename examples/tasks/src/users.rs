//! People: signing up, logging in and out, and who calls.

use std::sync::Arc;

use axum_core::{extract::FromRequestParts, response::AppendHeaders};
use example_logins::{
    attempts::{Attempts, Guesser},
    devices::{Device, Devices},
    passwords::{Passwords, Queue},
};
use policy_server::{
    Refusal,
    extract::Rejects,
    http::{HeaderName, HeaderValue, header::SET_COOKIE, request::Parts},
    prelude::*,
    response::{Created, NoContent},
    schemars::{self, JsonSchema},
};
use serde::{Deserialize, Serialize};

use crate::{
    SCOPES, Service, invitations,
    live::{Live, News},
    store::{Store, now, row, secret},
};

/// For every route that hashes a password: an address guesses slowly, whichever accounts it tries.
const PASSWORDS: Limits = Limits::NONE.rate(Rate::per_minute(30)).body(4 * 1024);

/// Hashes passwords, and counts attempts at accounts.
#[derive(Clone)]
pub(crate) struct Logins {
    pub(crate) passwords: Passwords,
    pub(crate) attempts: Arc<Attempts>,
}

/// The caller: a person, or a machine. An argument of a handler, read with each request, so that a
/// new role holds at once.
#[derive(Clone, JsonSchema, Serialize)]
pub(crate) struct Member {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) role: String,
    pub(crate) team: String,
    team_name: String,
}

/// Has no `Debug`, so that it cannot be logged.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Credentials {
    login: String,
    password: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewUser {
    login: String,
    password: String,
    /// The name that others see; the login, if it is left out.
    #[serde(default)]
    name: String,
    #[serde(flatten)]
    place: Place,
}

/// The team of a person who signs up.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Place {
    /// A new team of this name, as its lead.
    Team(String),
    /// The team that an invitation names.
    Invitation(String),
}

impl Validate for NewUser {
    fn validate(&self) -> Result<(), Invalid> {
        let is_login = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let length = (2..=32).contains(&self.login.len());
        let has_team = match &self.place {
            Place::Team(name) => is_name(name),
            Place::Invitation(_) => true,
        };
        Invalid::new()
            .check(
                length && self.login.bytes().all(is_login),
                "/login",
                "a login has 2 to 32 small letters and digits",
            )
            // Length is what makes a password strong; the upper limit bounds the cost of hashing.
            .check(
                (10..=200).contains(&self.password.chars().count()),
                "/password",
                "a password has 10 to 200 characters",
            )
            .check(
                self.name.is_empty() || is_name(&self.name),
                "/name",
                "a name has 1 to 60 letters",
            )
            .check(has_team, "/team", "a team has a name of 1 to 60 letters")
            .result()
    }
}

/// The member, with the cookie by which the device is known at the next login.
type Remembered = (AppendHeaders<[(HeaderName, HeaderValue); 1]>, Json<Member>);

/// Whether a text can be shown as the name of somebody or something.
pub(crate) fn is_name(text: &str) -> bool {
    (1..=60).contains(&text.trim().chars().count()) && !text.chars().any(char::is_control)
}

/// Whether a text can be stored: PostgreSQL takes no NUL.
pub(crate) fn is_text(text: &str) -> bool {
    !text.contains('\0')
}

#[post("/signup")]
#[limit(PASSWORDS)]
#[auth(public)]
pub(crate) async fn sign_up(
    sessions: Sessions,
    State(store): State<Store>,
    State(live): State<Live>,
    State(logins): State<Logins>,
    State(devices): State<Devices>,
    Valid(Json(new)): Valid<Json<NewUser>>,
) -> Result<Created<Remembered>, Problem> {
    let NewUser { login, password, name, place } = new;
    let queue = logins.passwords.place(Queue::Strangers)?;
    let hash = logins.passwords.run(queue, move |passwords| Ok(passwords.hash(&password)?)).await?;
    let (id, name) = (secret()?, if name.is_empty() { login.clone() } else { name });
    // The member, and the team or the end of the invitation, or nothing of it.
    let mut change = store.pool.begin().await.or_internal()?;
    let (team, role) = match place {
        Place::Team(name) => {
            let team = secret()?;
            sqlx::query("INSERT INTO teams (id, name) VALUES ($1, $2)")
                .bind(&team)
                .bind(name.trim())
                .execute(&mut *change)
                .await
                .or_internal()?;
            (team, "lead".to_owned())
        }
        Place::Invitation(code) => invitations::accept(&mut change, &code).await?,
    };
    let added = sqlx::query(
        "INSERT INTO members (id, team, name, role, login, password, created)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
    );
    let added = added.bind(&id).bind(&team).bind(name.trim()).bind(&role).bind(&login).bind(hash);
    let added = added.bind(now()).execute(&mut *change).await.or_internal()?;
    if added.rows_affected() == 0 {
        // This tells that a login is taken. To avoid that, respond alike and send the rest by mail.
        return Err(Problem::conflict().code("users.login-taken").detail("the login is taken"));
    }
    change.commit().await.or_internal()?;
    live.tell(&team, News::Team).await;
    sessions.login(identity(&id, &team, &role)).await?;
    let cookie = AppendHeaders([(SET_COOKIE, devices.remember(&login)?)]);
    let me = store.member(&id).await?.or_not_found()?;
    Ok(Created::here((cookie, Json(me))))
}

#[post("/login")]
#[limit(PASSWORDS)]
#[auth(public)]
pub(crate) async fn login(
    sessions: Sessions,
    device: Device,
    State(store): State<Store>,
    State(logins): State<Logins>,
    State(devices): State<Devices>,
    Json(Credentials { login, password }): Json<Credentials>,
) -> Result<Remembered, Problem> {
    Invalid::new().check(is_text(&login), "/login", "a login has no NUL").result()?;
    let guesser = Guesser::Device(&device);
    // Before the attempt counts: a user who is refused because of others has not used one up.
    let queue = logins.passwords.place(guesser.queue(&login))?;
    logins.attempts.take(&login, &guesser)?;
    let found = sqlx::query_as("SELECT id, password FROM members WHERE login = $1");
    let found: Option<(String, String)> =
        found.bind(&login).fetch_optional(&store.pool).await.or_internal()?;
    let (id, hash) = found.unzip();
    // An unknown login takes as long.
    let verify = move |passwords: &Passwords| Ok(passwords.verify(&password, hash.as_deref()));
    let is_right = logins.passwords.run(queue, verify).await?;
    let id = id.filter(|_| is_right).ok_or_else(|| {
        Problem::forbidden().code("users.wrong").detail("the login or the password is wrong")
    })?;
    // Waits for a change of the role that has ended the sessions, and is not committed yet.
    let settled = sqlx::query("UPDATE members SET name = name WHERE id = $1").bind(&id);
    settled.execute(&store.pool).await.or_internal()?;
    let me = store.member(&id).await?.or_not_found()?;
    sessions.login(identity(&id, &me.team, &me.role)).await?;
    Ok((AppendHeaders([(SET_COOKIE, devices.remember(&login)?)]), Json(me)))
}

#[post("/logout")]
#[auth(session)]
pub(crate) async fn logout(session: Session) -> NoContent {
    session.logout();
    NoContent
}

#[get("/me")]
#[auth(session | token)]
pub(crate) async fn me(me: Member) -> Json<Member> {
    Json(me)
}

/// What a person may do, for sessions. Nobody moves to another team.
pub(crate) fn identity(id: &str, team: &str, role: &str) -> Identity {
    Identity::new(id).tenant(team).roles([role]).scopes(SCOPES)
}

impl Store {
    /// A member who is still there.
    pub(crate) async fn member(&self, id: &str) -> Result<Option<Member>, Problem> {
        sqlx::query_as(
            "SELECT m.id, m.name, m.role, m.team, t.name AS team_name
             FROM members m JOIN teams t ON t.id = m.team
             WHERE m.id = $1 AND m.role <> 'former'",
        )
        .bind(id)
        .fetch_optional(&self.pool)
        .await
        .or_internal()
    }
}

row! { Member: id name role team team_name }

impl FromRequestParts<Service> for Member {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, Problem> {
        let me = Principal::from_request_parts(parts, service).await?;
        // The member was removed a moment ago.
        let gone = || Problem::from(Refusal::SessionEnded);
        service.store.member(me.subject()).await?.ok_or_else(gone)
    }
}

impl Rejects for Member {
    type Problems = Problem;
}
