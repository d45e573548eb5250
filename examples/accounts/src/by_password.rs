//! Signing up, logging in, and the password: every route on which a browser sends one.

use axum::response::AppendHeaders;
use example_logins::{
    attempts::Guesser,
    devices::{Device, Devices},
};
use http::{HeaderName, HeaderValue, header::SET_COOKIE};
use policy_server::{
    prelude::*,
    response::{Created, NoContent},
    schemars::{self, JsonSchema},
};
use serde::Deserialize;

use super::{
    PASSWORDS, Profile,
    events::Events,
    users::{Credentials, Users},
};

/// The user who logged in, with the cookie by which the device is known at the next login.
type Remembered = (AppendHeaders<[(HeaderName, HeaderValue); 1]>, Json<Profile>);

#[post("/signup")]
#[auth(public)]
#[limit(PASSWORDS)]
pub(crate) async fn sign_up(
    sessions: Sessions,
    session: Session,
    device: Device,
    State(devices): State<Devices>,
    State(users): State<Users>,
    State(events): State<Events>,
    Json(new): Json<Credentials>,
) -> Result<Created<Remembered>, Problem> {
    let name = users.add(new).await?;
    begin(&name, &sessions, &session, &device).await?;
    events.record(&name, "The account was created", &device).await?;
    let cookie = AppendHeaders([(SET_COOKIE, devices.remember(&name)?)]);
    Ok(Created::here((cookie, Json(Profile { name, by: "session" }))))
}

#[post("/login")]
#[auth(public)]
#[limit(PASSWORDS)]
pub(crate) async fn login(
    sessions: Sessions,
    session: Session,
    device: Device,
    State(devices): State<Devices>,
    State(users): State<Users>,
    State(events): State<Events>,
    Json(credentials): Json<Credentials>,
) -> Result<Remembered, Problem> {
    let name = users.verify(credentials, Guesser::Device(&device)).await?.name;
    begin(&name, &sessions, &session, &device).await?;
    let is_known = device.last_login(&name).is_some();
    let what = if is_known { "A login" } else { "A login on a new device" };
    events.record(&name, what, &device).await?;
    let cookie = AppendHeaders([(SET_COOKIE, devices.remember(&name)?)]);
    Ok((cookie, Json(Profile { name, by: "session" })))
}

/// The session gets a new id, whatever the request came with; the response sets its cookie. It
/// stores how its user recognises it, and when this device was last used.
async fn begin(
    name: &str,
    sessions: &Sessions,
    session: &Session,
    device: &Device,
) -> Result<(), Problem> {
    sessions.login(name).await?;
    session.set("device", &device.name)?;
    session.set("address", device.place())?;
    session.set("since", device.last_login(name).map(|login| login.at.millis()))?;
    Ok(())
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewPassword {
    current: String,
    password: String,
}

/// Asks for the current password, so that a person at an open browser cannot take the account over.
/// Ends all other sessions and all tokens, in case someone knew the old password, including those
/// that are being made with it at this moment. This session continues under a new id.
#[post("/password")]
#[auth(session, fresh = "5m")]
#[limit(PASSWORDS)]
pub(crate) async fn change_password(
    me: Principal,
    sessions: Sessions,
    device: Device,
    State(users): State<Users>,
    State(events): State<Events>,
    Json(NewPassword { current, password }): Json<NewPassword>,
) -> Result<NoContent, Problem> {
    let credentials = Credentials { name: me.subject().to_owned(), password: current };
    let verified = users.verify(credentials, Guesser::Session(&me)).await?;
    // The client may leave meanwhile. Once the password is another one, the rest has to follow.
    let change = tokio::spawn(async move {
        users.replace_password(verified, password).await?;
        sessions.login(me.subject()).await?;
        sessions.revoke_others().await?;
        events.record(me.subject(), "The password was changed", &device).await?;
        Ok::<_, Problem>(NoContent)
    });
    change.await.or_internal()?
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Password {
    password: String,
}

/// Asks for the password again, after which the session is fresh.
#[post("/confirm")]
#[auth(session)]
#[limit(PASSWORDS)]
pub(crate) async fn confirm(
    me: Principal,
    session: Session,
    State(users): State<Users>,
    Json(Password { password }): Json<Password>,
) -> Result<NoContent, Problem> {
    let credentials = Credentials { name: me.subject().to_owned(), password };
    users.verify(credentials, Guesser::Session(&me)).await?;
    session.elevate()?;
    Ok(NoContent)
}
