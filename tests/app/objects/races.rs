//! Edits that race with the withdrawal of the right to them, in SQLite and PostgreSQL.

use std::sync::atomic::AtomicI64;

use axum::body::{Bytes, to_bytes};
use policy_server::{
    Refusal,
    object::{LoadLocked, Locked},
};
use policy_tests::{
    folder::Folder,
    http::{Connection, soon},
    postgres::Postgres,
};
use sqlx::{
    Any, AnyPool, AssertSqlSafe, Row as _, Transaction,
    any::{AnyPoolOptions, install_default_drivers},
};
use tokio::sync::{Barrier, watch};

use super::*;

#[derive(Debug, Object)]
#[rule(View = owner(reader))]
#[rule(Edit = owner(editor))]
struct Page {
    #[object(key)]
    id: i64,
    #[object(owner)]
    reader: Option<String>,
    #[object(owner)]
    editor: Option<String>,
    #[object(version)]
    version: i64,
}

/// `history` gets an `e` from each edit, and a `w` from the withdrawal: the order in which the database
/// wrote them.
const TABLE: &str = "CREATE TABLE raced_pages (id BIGINT PRIMARY KEY, reader TEXT, editor TEXT, \
                     version BIGINT NOT NULL, history TEXT NOT NULL)";

/// The progress of the last request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Begun,
    Loaded,
    Locking,
    Locked,
    Withdrawing,
    Withdrawn,
}

#[derive(Clone)]
struct Pages {
    pool: AnyPool,
    /// How a transaction begins, and the end of a query that locks what it reads.
    begin: &'static str,
    lock: &'static str,
    step: watch::Sender<Step>,
    last: Arc<AtomicI64>,
}

impl Pages {
    async fn open(url: &str, begin: &'static str, lock: &'static str) -> Self {
        install_default_drivers();
        let pool = AnyPoolOptions::new().connect(url).await.expect("a database");
        let pages =
            Self { pool, begin, lock, step: watch::channel(Step::Begun).0, last: Arc::default() };
        pages.sql(TABLE).await;
        pages
    }

    async fn sql(&self, sql: &'static str) {
        sqlx::query(sql).execute(&self.pool).await.expect("a statement");
    }

    /// The id of a new page, which ada may edit.
    async fn add(&self) -> i64 {
        let id = self.last.fetch_add(1, Ordering::Relaxed);
        let added = sqlx::query("INSERT INTO raced_pages VALUES ($1, 'ada', 'ada', 1, '')");
        added.bind(id).execute(&self.pool).await.expect("a page");
        self.step.send_replace(Step::Begun);
        id
    }

    async fn history(&self, id: i64) -> String {
        let found = sqlx::query_scalar("SELECT history FROM raced_pages WHERE id = $1").bind(id);
        found.fetch_one(&self.pool).await.expect("a page")
    }

    async fn comes_to(&self, is_there: impl Fn(Step) -> bool) {
        let mut steps = self.step.subscribe();
        soon(steps.wait_for(|step| is_there(*step))).await.expect("a step");
    }

    /// Waits until a statement waits for a lock. SQLite does not say.
    async fn is_blocked(&self) {
        const BLOCKED: &str = "SELECT count(*) FROM pg_stat_activity \
                               WHERE wait_event_type = 'Lock' AND query LIKE '%raced_pages%'";
        let blocked = async || sqlx::query_scalar::<_, i64>(BLOCKED).fetch_one(&self.pool).await;
        let is_postgres = !self.lock.is_empty();
        soon(async { while is_postgres && blocked().await.expect("a number") == 0 {} }).await;
    }

    async fn load(
        &self,
        id: i64,
        lock: &str,
        connection: impl sqlx::Executor<'_, Database = Any>,
    ) -> Result<Option<Page>, Problem> {
        let sql = format!("SELECT reader, editor, version FROM raced_pages WHERE id = $1{lock}");
        let found = sqlx::query(AssertSqlSafe(sql)).bind(id).fetch_optional(connection).await;
        Ok(found.or_internal()?.map(|row| Page {
            id,
            reader: row.get("reader"),
            editor: row.get("editor"),
            version: row.get("version"),
        }))
    }
}

impl Load for Page {
    type Source = Pages;

    async fn load(id: &i64, _: &(), pages: &Pages) -> Result<Option<Self>, Problem> {
        let page = pages.load(*id, "", &pages.pool).await;
        pages.step.send_replace(Step::Loaded);
        page
    }
}

impl LoadLocked for Page {
    type Lock = Transaction<'static, Any>;

    async fn load_locked(
        id: &i64,
        _: &(),
        pages: &Pages,
    ) -> Result<Option<(Self, Self::Lock)>, Problem> {
        pages.step.send_replace(Step::Locking);
        let mut change = pages.pool.begin_with(pages.begin).await.or_internal()?;
        let page = pages.load(*id, pages.lock, &mut *change).await?;
        pages.step.send_replace(Step::Locked);
        Ok(page.map(|page| (page, change)))
    }
}

#[put("/locked/{id}")]
#[auth(scheme = CallerScheme)]
async fn edit_locked(page: Locked<Page, Edit>, _body: Bytes) -> Result<(), Problem> {
    let (page, mut change) = page.into_parts();
    let edited = sqlx::query("UPDATE raced_pages SET history = history || 'e' WHERE id = $1");
    edited.bind(page.id).execute(&mut *change).await.or_internal()?;
    change.commit().await.or_internal()
}

#[put("/versioned/{id}")]
#[auth(scheme = CallerScheme)]
async fn edit_version(
    page: Allowed<Page, Edit>,
    State(pages): State<Pages>,
    _body: Bytes,
) -> Result<(), Problem> {
    let edited = sqlx::query(
        "UPDATE raced_pages SET history = history || 'e', version = version + 1
         WHERE id = $1 AND version = $2",
    );
    let edited = edited.bind(page.id).bind(page.version).execute(&pages.pool).await;
    edited.or_internal()?.rows_affected().checked_sub(1).ok_or(Refusal::PreconditionFailed)?;
    Ok(())
}

/// Takes a right away, in a transaction that is open until the body has arrived.
#[post("/withdrawals/{right}/{id}")]
#[auth(scheme = CallerScheme)]
#[object(none = "every caller of the test may do this")]
async fn withdraw(
    right: String,
    id: i64,
    State(pages): State<Pages>,
    body: Body,
) -> Result<(), Problem> {
    let set = match &*right {
        "edit" => "editor = NULL, version = version + 1",
        "view" => "reader = NULL, version = version + 1",
        "edit-quietly" => "editor = NULL",
        _ => return Err(Problem::not_found()),
    };
    pages.step.send_replace(Step::Withdrawing);
    let mut change = pages.pool.begin_with(pages.begin).await.or_internal()?;
    let sql = format!("UPDATE raced_pages SET history = history || 'w', {set} WHERE id = $1");
    let withdrawn = sqlx::query(AssertSqlSafe(sql)).bind(id).execute(&mut *change).await;
    withdrawn.or_internal()?;
    pages.step.send_replace(Step::Withdrawn);
    to_bytes(body, 1).await.or_internal()?;
    change.commit().await.or_internal()
}

/// A request without its body of one byte.
fn head(what: &str, id: i64) -> String {
    request(&format!("{what}/{id}"), &["x-caller: ada", "content-length: 1"])
}

async fn connections(server: &Running) -> [Connection; 2] {
    [server.connect().await, server.connect().await]
}

/// Whether the edit was made, which has to be before the withdrawal. A refused edit changed nothing.
async fn is_made(pages: &Pages, id: i64, edit: &RawResponse, refusals: &[&str]) -> bool {
    let history = pages.history(id).await;
    match (edit.status, &*history) {
        (200, "ew") => true,
        (403 | 404 | 412, "w") if refusals.contains(&&*edit.problem().1) => false,
        _ => panic!("{history}: {edit:?}"),
    }
}

/// Sends edits and withdrawals at once; half of the withdrawals when the edit is about to be checked.
/// Returns how many edits were made, and how many refused.
async fn race(server: &Running, pages: &Pages, edit: &str, rounds: usize) -> [usize; 2] {
    let mut counts = [0, 0];
    for round in 0..rounds {
        let id = pages.add().await;
        let (withdrawal, refusal) = match round % 2 {
            0 => ("POST /withdrawals/edit", "object.denied"),
            _ => ("POST /withdrawals/view", "object.not-found"),
        };
        let barrier = Arc::new(Barrier::new(2));
        let [edit, withdrawal] = [(edit, false), (withdrawal, round % 4 > 1)].map(|sent| {
            let (request, is_later) = (head(sent.0, id) + ".", sent.1);
            let (barrier, pages, address) = (Arc::clone(&barrier), pages.clone(), server.address);
            tokio::spawn(async move {
                let mut connection = Connection::open(address).await;
                barrier.wait().await;
                if is_later {
                    pages.comes_to(|step| step != Step::Begun).await;
                }
                connection.send(request).await;
                connection.response().await
            })
        });
        let edit = soon(edit).await.expect("a response");
        assert_eq!(soon(withdrawal).await.expect("a response").status, 200);
        let refusals = [refusal, "request.precondition-failed"];
        counts[usize::from(!is_made(pages, id, &edit, &refusals).await)] += 1;
    }
    counts
}

/// The withdrawal is acknowledged while the edit waits for the lock.
async fn an_edit_that_waits_for_the_lock_is_refused(server: &Running, pages: &Pages) {
    for (right, code) in [("edit", "object.denied"), ("view", "object.not-found")] {
        let id = pages.add().await;
        let [mut edit, mut withdrawal] = connections(server).await;
        withdrawal.send(head(&format!("POST /withdrawals/{right}"), id)).await;
        pages.comes_to(|step| step == Step::Withdrawn).await;
        edit.send(head("PUT /locked", id) + ".").await;
        pages.comes_to(|step| step == Step::Locking).await;
        pages.is_blocked().await;
        withdrawal.send(".").await;
        assert_eq!(soon(withdrawal.response()).await.status, 200);
        let edit = soon(edit.response()).await;
        assert!(!is_made(pages, id, &edit, &[code]).await);
    }
}

async fn a_withdrawal_waits_for_an_edit_with_the_lock(server: &Running, pages: &Pages) {
    let id = pages.add().await;
    let [mut edit, mut withdrawal] = connections(server).await;
    edit.send(head("PUT /locked", id)).await;
    pages.comes_to(|step| step == Step::Locked).await;
    withdrawal.send(head("POST /withdrawals/edit", id) + ".").await;
    pages.comes_to(|step| step == Step::Withdrawing).await;
    pages.is_blocked().await;
    edit.send(".").await;
    let edit = soon(edit.response()).await;
    assert_eq!(soon(withdrawal.response()).await.status, 200);
    assert!(is_made(pages, id, &edit, &[]).await);
}

/// A version notices a withdrawal only if that changes the version, too.
async fn a_version_shows_what_changed_it(server: &Running, pages: &Pages) {
    for (right, status, history) in
        [("edit", 412, "w"), ("view", 412, "w"), ("edit-quietly", 200, "we")]
    {
        let id = pages.add().await;
        let [mut edit, mut withdrawal] = connections(server).await;
        edit.send(head("PUT /versioned", id)).await;
        pages.comes_to(|step| step == Step::Loaded).await;
        withdrawal.send(head(&format!("POST /withdrawals/{right}"), id) + ".").await;
        assert_eq!(soon(withdrawal.response()).await.status, 200);
        edit.send(".").await;
        let edit = soon(edit.response()).await;
        assert_eq!((edit.status, &*pages.history(id).await), (status, history), "{right}");
    }
}

async fn no_edit_follows_its_withdrawal(pages: Pages) {
    let app = App::new(pages.clone()).scheme(CallerScheme).routes(routes![
        edit_locked,
        edit_version,
        withdraw
    ]);
    let server = Running::start(app).await;
    an_edit_that_waits_for_the_lock_is_refused(&server, &pages).await;
    a_withdrawal_waits_for_an_edit_with_the_lock(&server, &pages).await;
    a_version_shows_what_changed_it(&server, &pages).await;
    for edit in ["PUT /locked", "PUT /versioned"] {
        let counts = race(&server, &pages, edit, 200).await;
        assert!(counts.iter().all(|count| *count >= 15), "{edit}: {counts:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_edit_follows_its_withdrawal_in_sqlite() {
    let folder = Folder::new().expect("a folder");
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("pages").display());
    let pages = Pages::open(&url, "BEGIN IMMEDIATE", "").await;
    // Loads do not wait for a transaction that writes.
    pages.sql("PRAGMA journal_mode = WAL").await;
    no_edit_follows_its_withdrawal(pages).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn no_edit_follows_its_withdrawal_in_postgres() {
    let url = Postgres::shared().await.url();
    no_edit_follows_its_withdrawal(Pages::open(&url, "BEGIN", " FOR UPDATE").await).await;
}
