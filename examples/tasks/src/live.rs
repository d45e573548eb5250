//! What happens in a team, told at once to the pages that its members have open: changes as server-sent
//! events, and who is here over a WebSocket. Both end with the session that opened them.
//!
//! An event says what changed and not how: a page fetches it by the route that decides who may. With
//! PostgreSQL, events reach the pages of all instances, by `NOTIFY`. Each instance knows only who
//! is on its own pages.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::{Stream, StreamExt, stream};
use policy_server::{
    extract::ws::{Message, WebSocket, WebSocketUpgrade},
    prelude::*,
    response::sse::{Event, KeepAlive, Sse},
};
use serde::Serialize;
use serde_json::json;
use sqlx::{AnyPool, postgres::PgListener};
use tokio::{
    sync::broadcast::{Receiver, Sender, error::RecvError},
    time::sleep,
};

use crate::{store::Store, users::Member};

/// What changed.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum News<'a> {
    /// The task with this id, or its attachments.
    Task(&'a str),
    /// The task with this id is gone.
    Removed(&'a str),
    /// The members of the team.
    Team,
}

/// In place of events that were missed: a page looks at everything again.
const MISSED: &str = "\"missed\"";

/// The channel of PostgreSQL.
const CHANNEL: &str = "tasks_news";

#[derive(Clone)]
pub(crate) struct Live {
    /// A team, a space, and an event as JSON; without a team, for all teams. Without an open page,
    /// there is no receiver.
    news: Sender<Arc<str>>,
    /// The teams in which somebody came, moved or went.
    moves: Sender<Arc<str>>,
    here: Arc<Here>,
    /// Where events go first, so that every instance receives them.
    database: Option<AnyPool>,
}

/// The open pages, by their numbers.
#[derive(Default)]
struct Here {
    pages: Mutex<BTreeMap<u64, Page>>,
    count: AtomicU64,
}

/// An open page of one member.
struct Page {
    team: Arc<str>,
    member: String,
    name: String,
    /// The task that it shows.
    task: String,
}

impl Live {
    pub(crate) fn new(store: &Store) -> Self {
        let news = Sender::new(256);
        let database = store.postgres.as_ref().map(|url| {
            tokio::spawn(hear(url.clone(), news.clone()));
            store.pool.clone()
        });
        Self { news, moves: Sender::new(256), here: Arc::default(), database }
    }

    /// Tells a team what changed. The change is made already, so that a failure here is no failure of
    /// the request: pages see it when they load again.
    pub(crate) async fn tell(&self, team: &str, news: News<'_>) {
        let text = format!("{team} {}", json!(news));
        match &self.database {
            // Fails only without a subscriber.
            None => drop(self.news.send(text.into())),
            Some(pool) => {
                let notify = sqlx::query("SELECT pg_notify($1, $2)").bind(CHANNEL).bind(text);
                let _lost = notify.execute(pool).await;
            }
        }
    }
}

/// Passes on what any instance tells.
async fn hear(url: String, news: Sender<Arc<str>>) {
    loop {
        if let Ok(mut listener) = PgListener::connect(&url).await
            && listener.listen(CHANNEL).await.is_ok()
        {
            let _nobody = news.send(format!(" {MISSED}").into());
            // `None` is a connection that was lost.
            while let Ok(Some(heard)) = listener.try_recv().await {
                let _nobody = news.send(heard.payload().into());
            }
        }
        sleep(Duration::from_secs(1)).await;
    }
}

/// The next event for a team.
async fn next(news: &mut Receiver<Arc<str>>, team: &str) -> Option<String> {
    loop {
        match news.recv().await {
            Ok(text) => match text.split_once(' ') {
                Some((of, event)) if of == team || of.is_empty() => return Some(event.to_owned()),
                _ => (),
            },
            Err(RecvError::Lagged(_)) => return Some(MISSED.to_owned()),
            Err(RecvError::Closed) => return None,
        }
    }
}

#[get("/events")]
#[limit(concurrency = 1000)]
#[auth(session | token, scopes = ["tasks:read"])]
pub(crate) async fn events(
    me: Member,
    State(live): State<Live>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let events = stream::unfold((live.news.subscribe(), me.team), async |(mut news, team)| {
        let event = next(&mut news, &team).await?;
        Some((Ok::<_, Infallible>(Event::default().data(event)), (news, team)))
    });
    // For Firefox, a stream is open once something was sent.
    let begin = stream::iter([Ok(Event::default().comment("begin"))]);
    Sse::new(begin.chain(events)).keep_alive(KeepAlive::default())
}

/// A page states which task it shows, and is sent who else is here.
#[get("/presence")]
#[limit(concurrency = 1000)]
#[auth(session)]
pub(crate) async fn presence(
    me: Member,
    State(live): State<Live>,
    upgrade: WebSocketUpgrade,
) -> impl IntoResponse {
    // A message is the id of a task.
    upgrade.max_message_size(64).on_upgrade(move |socket| attend(live, me, socket))
}

async fn attend(live: Live, me: Member, mut socket: WebSocket) {
    let mut moves = live.moves.subscribe();
    let place = Place::take(&live, me);
    loop {
        let moved = tokio::select! {
            moved = moves.recv() => moved,
            message = socket.recv() => match message {
                Some(Ok(Message::Text(task))) => {
                    place.shows(task.as_str());
                    continue;
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                _ => return,
            },
        };
        let concerns = match moved {
            Ok(team) => team == place.team,
            Err(RecvError::Lagged(_)) => true,
            Err(RecvError::Closed) => return,
        };
        let list = || Message::text(live.here.list(&place.team));
        if concerns && socket.send(list()).await.is_err() {
            return;
        }
    }
}

/// An open page among those that are here, for as long as its socket lives.
struct Place {
    number: u64,
    team: Arc<str>,
    live: Live,
}

impl Place {
    fn take(live: &Live, me: Member) -> Self {
        let number = live.here.count.fetch_add(1, Ordering::Relaxed);
        let team: Arc<str> = me.team.into();
        let page =
            Page { team: Arc::clone(&team), member: me.id, name: me.name, task: String::new() };
        live.here.change(|pages| pages.insert(number, page));
        let place = Self { number, team, live: live.clone() };
        place.tell();
        place
    }

    fn shows(&self, task: &str) {
        self.live.here.change(|pages| {
            if let Some(page) = pages.get_mut(&self.number) {
                task.clone_into(&mut page.task);
            }
        });
        self.tell();
    }

    fn tell(&self) {
        let _nobody = self.live.moves.send(Arc::clone(&self.team));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.live.here.change(|pages| pages.remove(&self.number));
        self.tell();
    }
}

impl Here {
    fn change<T>(&self, change: impl FnOnce(&mut BTreeMap<u64, Page>) -> T) -> T {
        change(&mut self.pages.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The pages of a team, as JSON.
    fn list(&self, team: &str) -> String {
        self.change(|pages| {
            let of_team = pages.values().filter(|page| *page.team == *team);
            let page = |page: &Page| json!({ "member": page.member, "name": page.name, "task": page.task });
            json!(of_team.map(page).collect::<Vec<_>>()).to_string()
        })
    }
}
