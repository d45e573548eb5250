//! The users: their names and password hashes.

use std::{io, sync::Arc};

use example_logins::{
    attempts::{Attempts, Guesser},
    passwords::{Passwords, Queue},
};
use policy_server::{
    prelude::*,
    schemars::{self, JsonSchema},
};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use serde::Deserialize;

/// Password hashes by user name.
const USERS: TableDefinition<'_, &str, &str> = TableDefinition::new("users");

/// Name and password of a login. It has no `Debug`, so that it cannot be logged.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Credentials {
    pub(crate) name: String,
    pub(crate) password: String,
}

/// A user whose password was right.
pub(crate) struct Verified {
    pub(crate) name: String,
    /// What the password matched.
    hash: String,
}

/// All users. A name never changes hands here, so it can identify its user in sessions and tokens;
/// if accounts can be renamed or removed, use an id.
#[derive(Clone)]
pub(crate) struct Users {
    database: Arc<Database>,
    passwords: Passwords,
    attempts: Arc<Attempts>,
}

impl Users {
    pub(crate) fn new(database: Arc<Database>) -> io::Result<Self> {
        let (passwords, attempts) = (Passwords::new()?, Arc::new(Attempts::new()?));
        // Creates the table.
        let prepare = || -> Result<(), redb::Error> {
            let change = database.begin_write()?;
            change.open_table(USERS)?;
            Ok(change.commit()?)
        };
        prepare().map_err(io::Error::other)?;
        Ok(Self { database, passwords, attempts })
    }

    /// Adds a user, and returns the name.
    pub(crate) async fn add(&self, new: Credentials) -> Result<String, Problem> {
        let Credentials { name, password } = new;
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        if !(2..=32).contains(&name.len()) || !name.bytes().all(is_name) {
            return Err(Problem::unprocessable()
                .code("accounts.name")
                .detail("a name has 2 to 32 small letters and digits"));
        }
        check(&password)?;
        let (users, place) = (self.clone(), self.passwords.place(Queue::Strangers)?);
        let is_new = self.passwords.run(place, move |passwords| {
            let hash = passwords.hash(&password)?;
            Ok(users.put_new(&name, &hash)?.then_some(name))
        });
        // This reveals whether a name is taken. To avoid that, respond alike in both cases and send
        // the rest by mail.
        let taken = || Problem::conflict().code("accounts.name-taken").detail("the name is taken");
        is_new.await?.ok_or_else(taken)
    }

    /// The user, if the password is right.
    pub(crate) async fn verify(
        &self,
        credentials: Credentials,
        guesser: Guesser<'_>,
    ) -> Result<Verified, Problem> {
        // Before the attempt counts: a user who is refused because of others has not used one up.
        let place = self.passwords.place(guesser.queue(&credentials.name))?;
        self.attempts.take(&credentials.name, &guesser)?;
        let users = self.clone();
        let verified = self.passwords.run(place, move |passwords| {
            let Credentials { name, password } = credentials;
            let hash = users.find(&name)?;
            let is_right = passwords.verify(&password, hash.as_deref());
            Ok(hash.filter(|_| is_right).map(|hash| Verified { name, hash }))
        });
        let wrong = || {
            Problem::forbidden().code("accounts.wrong").detail("the name or the password is wrong")
        };
        verified.await?.ok_or_else(wrong)
    }

    /// Replaces the password that was verified. Of two who replace it at once, one does.
    pub(crate) async fn replace_password(
        &self,
        verified: Verified,
        password: String,
    ) -> Result<(), Problem> {
        check(&password)?;
        let (users, place) = (self.clone(), self.passwords.place(Queue::Familiar)?);
        let replaced = self.passwords.run(place, move |passwords| {
            let hash = passwords.hash(&password)?;
            Ok(users.replace(&verified, &hash)?.then_some(()))
        });
        let late = || {
            Problem::conflict()
                .code("accounts.password-replaced")
                .detail("another request has replaced the password")
        };
        replaced.await?.ok_or_else(late)
    }

    fn find(&self, name: &str) -> Result<Option<String>, redb::Error> {
        let users = self.database.begin_read()?.open_table(USERS)?;
        Ok(users.get(name)?.map(|hash| hash.value().to_owned()))
    }

    /// Returns whether the hash was still this one. Durable when it returns.
    fn replace(&self, verified: &Verified, hash: &str) -> Result<bool, redb::Error> {
        let name = &*verified.name;
        let change = self.database.begin_write()?;
        let is_current = {
            let mut users = change.open_table(USERS)?;
            let is_current = users.get(name)?.is_some_and(|it| it.value() == verified.hash);
            if is_current {
                users.insert(name, hash)?;
            }
            is_current
        };
        change.commit()?;
        Ok(is_current)
    }

    /// Returns whether the user was added, which they are unless the name exists. Durable when it
    /// returns.
    fn put_new(&self, name: &str, hash: &str) -> Result<bool, redb::Error> {
        let change = self.database.begin_write()?;
        let is_new = {
            let mut users = change.open_table(USERS)?;
            let is_new = users.get(name)?.is_none();
            if is_new {
                users.insert(name, hash)?;
            }
            is_new
        };
        change.commit()?;
        Ok(is_new)
    }
}

/// Length is what makes a password strong; the upper limit bounds the cost of hashing.
fn check(password: &str) -> Result<(), Problem> {
    if (10..=200).contains(&password.chars().count()) {
        return Ok(());
    }
    let problem = Problem::unprocessable().code("accounts.password");
    Err(problem.detail("a password has 10 to 200 characters"))
}
