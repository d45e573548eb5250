//! Login, logout, and who is logged in.

use std::{env, io};

use policy_server::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The one user: replace it by a table of users.
#[derive(Clone, Debug)]
pub struct User {
    name: String,
    /// The SHA-256 of the password, in hexadecimal.
    digest: String,
}

/// What the form of the page sends.
#[derive(Deserialize)]
pub struct Login {
    name: String,
    password: String,
}

/// What the page shows.
#[derive(Serialize)]
pub struct Me {
    name: String,
}

/// Anybody may try, ten times a minute. `Sessions` demands that a page of this origin asks.
#[post("/login")]
#[limit(rate = "10/min", body = "1 KiB")]
#[auth(public)]
pub async fn login(
    State(user): State<User>,
    sessions: Sessions,
    Json(login): Json<Login>,
) -> Result<Json<Me>, Problem> {
    if !user.is(&login) {
        return Err(Problem::forbidden().detail("the name or the password is wrong"));
    }
    sessions.login(login.name.as_str()).await?; // a new id; the response sets the cookie
    Ok(Json(Me { name: login.name }))
}

#[post("/logout")]
#[auth(session)]
pub async fn logout(session: Session) -> StatusCode {
    session.logout();
    StatusCode::NO_CONTENT
}

#[get("/me")]
#[auth(session)]
pub async fn me(me: Principal) -> Json<Me> {
    Json(Me { name: me.subject().to_owned() })
}

impl User {
    /// Reads `APP_USER`.
    ///
    /// # Errors
    ///
    /// It is not set or malformed: says what to write.
    pub fn from_env() -> io::Result<Self> {
        let text = env::var("APP_USER").unwrap_or_default();
        Self::parse(&text).ok_or_else(|| {
            io::Error::other(
                "APP_USER has to be a name and the digest of a password\n\
                 help: export APP_USER=\"me $(printf 'correct horse' | sha256sum | cut -d' ' -f1)\"",
            )
        })
    }

    /// A name, a space and the SHA-256 of a password in hexadecimal.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, digest) = text.trim().split_once(' ')?;
        let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_digest.then(|| Self { name: name.to_owned(), digest: digest.to_ascii_lowercase() })
    }

    fn is(&self, login: &Login) -> bool {
        let digest: String = Sha256::digest(&login.password)
            .iter()
            .flat_map(|byte| [byte >> 4, byte & 15])
            .filter_map(|nibble| char::from_digit(nibble.into(), 16))
            .collect();
        // Digests: where they first differ says nothing about the password.
        digest == self.digest && login.name == self.name
    }
}
