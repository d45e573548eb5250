//! What happened to an account, for its user to notice a stranger: kept in a file, and sent at once
//! to the pages that the user has open.

use std::{io, sync::Arc};

use axum::response::sse::{Event, KeepAlive, Sse};
use example_logins::devices::Device;
use futures_util::stream::{self, Stream};
use policy_server::{
    Clock,
    prelude::*,
    schemars::{self, JsonSchema},
};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use serde::Serialize;
use tokio::{
    sync::broadcast::{self, error::RecvError},
    task::spawn_blocking,
};

/// Time, text, device and address, by user and number.
type Row = (u64, &'static str, &'static str, &'static str);
const EVENTS: TableDefinition<'_, (&str, u64), Row> = TableDefinition::new("events");

/// How many events of a user are kept, the newest.
const KEPT: u64 = 50;

/// An event as its user sees it.
#[derive(Clone, JsonSchema, Serialize)]
pub(crate) struct SecurityEvent {
    /// In milliseconds since 1970.
    at: u64,
    what: String,
    device: String,
    address: String,
}

#[derive(Clone)]
pub(crate) struct Events {
    database: Arc<Database>,
    /// User and event. Without an open page there is no subscriber.
    news: broadcast::Sender<(String, SecurityEvent)>,
}

impl Events {
    pub(crate) fn new(database: Arc<Database>) -> io::Result<Self> {
        // Creates the table.
        let prepare = || -> Result<(), redb::Error> {
            let change = database.begin_write()?;
            change.open_table(EVENTS)?;
            Ok(change.commit()?)
        };
        prepare().map_err(io::Error::other)?;
        Ok(Self { database, news: broadcast::Sender::new(100) })
    }

    /// Tells the user what happened from this device. The event is durable when this returns, so
    /// that a login that cannot be told fails. Users here have no mail address; a service that
    /// knows one sends the same text there, from here.
    pub(crate) async fn record(
        &self,
        user: &str,
        what: &'static str,
        device: &Device,
    ) -> Result<(), Problem> {
        let event = SecurityEvent {
            at: Clock::system().now().millis(),
            what: what.to_owned(),
            device: device.name.clone(),
            address: device.place(),
        };
        let (events, owner, written) = (self.clone(), user.to_owned(), event.clone());
        let written = spawn_blocking(move || events.append(&owner, &written));
        written.await.map_err(Problem::internal)?.map_err(Problem::internal)?;
        // Sending fails only without a subscriber.
        let _ = self.news.send((user.to_owned(), event));
        Ok(())
    }

    /// The events of a user, newest first.
    pub(crate) async fn list(&self, user: &str) -> Result<Vec<SecurityEvent>, Problem> {
        let (events, user) = (self.clone(), user.to_owned());
        let read = spawn_blocking(move || events.read(&user));
        read.await.map_err(Problem::internal)?.map_err(Problem::internal)
    }

    /// The events of one user from now on. The stream does not end by itself: the server ends it
    /// with the session that requested it.
    pub(crate) fn stream(
        &self,
        user: &str,
    ) -> Sse<impl Stream<Item = Result<Event, axum::Error>> + use<>> {
        let start = (self.news.subscribe(), user.to_owned());
        let news = stream::unfold(start, async |(mut news, user)| {
            loop {
                match news.recv().await {
                    Ok((whose, event)) if whose == user => {
                        return Some((Event::default().json_data(event), (news, user)));
                    }
                    Ok(_) | Err(RecvError::Lagged(_)) => (),
                    Err(RecvError::Closed) => return None,
                }
            }
        });
        Sse::new(news).keep_alive(KeepAlive::default())
    }

    fn append(&self, user: &str, event: &SecurityEvent) -> Result<(), redb::Error> {
        let SecurityEvent { at, what, device, address } = event;
        let change = self.database.begin_write()?;
        {
            let mut events = change.open_table(EVENTS)?;
            let newest = events.range((user, 0)..=(user, u64::MAX))?.next_back().transpose()?;
            let number = newest.map_or(0, |(key, _)| key.value().1 + 1);
            events.insert((user, number), (*at, &**what, &**device, &**address))?;
            if let Some(oldest) = number.checked_sub(KEPT) {
                events.remove((user, oldest))?;
            }
        }
        Ok(change.commit()?)
    }

    fn read(&self, user: &str) -> Result<Vec<SecurityEvent>, redb::Error> {
        let events = self.database.begin_read()?.open_table(EVENTS)?;
        let mut list = Vec::new();
        for event in events.range((user, 0)..=(user, u64::MAX))?.rev() {
            let (_, row) = event?;
            let (at, what, device, address) = row.value();
            let [what, device, address] = [what, device, address].map(str::to_owned);
            list.push(SecurityEvent { at, what, device, address });
        }
        Ok(list)
    }
}
