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

    /// The name, if the password is right.
    pub(crate) async fn verify(
        &self,
        credentials: Credentials,
        guesser: Guesser<'_>,
    ) -> Result<String, Problem> {
        // Before the attempt counts: a user who is refused because of others has not used one up.
        let place = self.passwords.place(guesser.queue(&credentials.name))?;
        self.attempts.take(&credentials.name, &guesser)?;
        let users = self.clone();
        let verified = self.passwords.run(place, move |passwords| {
            let Credentials { name, password } = credentials;
            let hash = users.find(&name)?;
            Ok(passwords.verify(&password, hash.as_deref()).then_some(name))
        });
        let wrong = || {
            Problem::forbidden().code("accounts.wrong").detail("the name or the password is wrong")
        };
        verified.await?.ok_or_else(wrong)
    }

    pub(crate) async fn set_password(&self, name: &str, password: String) -> Result<(), Problem> {
        check(&password)?;
        let place = self.passwords.place(Queue::Familiar)?;
        let (users, name) = (self.clone(), name.to_owned());
        self.passwords
            .run(place, move |passwords| {
                let hash = passwords.hash(&password)?;
                Ok(users.put(&name, &hash)?)
            })
            .await
    }

    fn find(&self, name: &str) -> Result<Option<String>, redb::Error> {
        let users = self.database.begin_read()?.open_table(USERS)?;
        Ok(users.get(name)?.map(|hash| hash.value().to_owned()))
    }

    /// Durable when it returns.
    fn put(&self, name: &str, hash: &str) -> Result<(), redb::Error> {
        let change = self.database.begin_write()?;
        change.open_table(USERS)?.insert(name, hash)?;
        Ok(change.commit()?)
    }

    /// Like `put`, unless a user with this name exists. Returns whether the user was added.
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
