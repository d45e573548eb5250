//! Random rules, objects and callers: an object argument, a list in memory and a list in a database agree
//! with a reading of the rule that knows none of them.

use std::{cell::Cell, sync::Mutex};

use policy_core::object::{Condition, Field};
use policy_server::object::{Permits, PermitsByData, Predicate, PredicateValue, Sample};
use policy_tests::postgres::Postgres;
use proptest::{
    collection::vec,
    prelude::*,
    sample::{select, subsequence},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use sqlx::{Row as _, SqlitePool, sqlite::SqlitePoolOptions};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, types::ToSql};

use super::*;

/// A row whose columns could confuse queries: a name that is a value in PostgreSQL, an expression
/// with `OR`, and a key with the name of a column of the relation.
#[derive(Clone, Debug, Object)]
#[rule(View = anyone)]
struct Row {
    #[object(key, column = "thing")]
    id: i64,
    #[object(owner)]
    user: Option<String>,
    #[object(owner)]
    editor: Option<i64>,
    #[object(tenant)]
    company: Option<String>,
    #[object(members, table = "readers", object = "of_thing", user = "user")]
    readers: Vec<String>,
    #[object(flag, column = "state = 'public' OR state = 'shared'")]
    published: bool,
    #[object(flag)]
    archived: bool,
}

/// A row with the rules of a case.
#[derive(Clone, Debug)]
struct Thing(Row);

thread_local! {
    static VIEW: Cell<Option<&'static Condition>> = const { Cell::new(None) };
    static EDIT: Cell<Option<&'static Condition>> = const { Cell::new(None) };
}

impl Object for Thing {
    type Key = i64;
    type Parent = ();
    const NAME: &'static str = "Thing";
    const KEY: &'static str = Row::KEY;
    const FIELDS: &'static [Field] = Row::FIELDS;
    const RULES: &'static [(&'static str, &'static str)] = &[];

    fn names(&self, field: &str, name: &str) -> bool {
        self.0.names(field, name)
    }

    fn flag(&self, field: &str) -> bool {
        self.0.flag(field)
    }

    fn decide(&self, _: &str, _: &Principal) -> bool {
        false
    }

    fn sample(_: Sample<'_>) -> Option<Self> {
        None
    }
}

impl Permits<policy_server::object::View> for Thing {
    fn condition() -> &'static Condition {
        VIEW.get().expect("a rule")
    }
}

impl Permits<Edit> for Thing {
    fn condition() -> &'static Condition {
        EDIT.get().expect("a rule")
    }
}

impl PermitsByData<policy_server::object::View> for Thing {}
impl PermitsByData<Edit> for Thing {}

/// The things of a case, and the results of the list handler.
#[derive(Clone, Default)]
struct Things(Arc<Mutex<(Vec<Thing>, Option<Found>)>>);

struct Found {
    contained: Vec<i64>,
    plain: Predicate,
    /// The predicate for an alias, after two other placeholders.
    of_alias: Predicate,
}

impl Load for Thing {
    type Source = Things;

    async fn load(id: &i64, _: &(), things: &Things) -> Result<Option<Self>, Problem> {
        let things = things.0.lock().expect("the things");
        Ok(things.0.iter().find(|thing| thing.0.id == *id).cloned())
    }
}

#[get("/things/{id}")]
#[auth(scheme = CallerScheme, optional)]
async fn thing(thing: Allowed<Thing, Edit>) -> String {
    thing.0.id.to_string()
}

#[get("/things")]
#[auth(scheme = CallerScheme, optional)]
async fn things(scope: Scope<Thing, Edit>, State(things): State<Things>) {
    let mut things = things.0.lock().expect("the things");
    let contained = things.0.iter().filter(|thing| scope.contains(thing));
    let contained = contained.map(|thing| thing.0.id).collect();
    let (plain, of_alias) = (scope.sql(1), scope.sql_of("t", 3));
    things.1 = Some(Found { contained, plain, of_alias });
}

/// A rule as the test evaluates it.
#[derive(Clone, Debug)]
enum Rule {
    Statement(&'static str),
    Not(Box<Self>),
    Both(Box<Self>, Box<Self>),
    Either(Box<Self>, Box<Self>),
}

const STATEMENTS: [&str; 12] = [
    "anyone",
    "authenticated",
    "owner(user)",
    "owner(editor)",
    "same(company)",
    "member(readers)",
    "published",
    "archived",
    "role(\"lead\")",
    "role(\"clerk\")",
    "scope(\"write\")",
    "scope(\"read\")",
];

impl Rule {
    fn any() -> impl Strategy<Value = Self> {
        let statement = select(&STATEMENTS[..]).prop_map(Self::Statement);
        statement.prop_recursive(4, 12, 2, |inner| {
            let two = (inner.clone(), inner.clone());
            let [both, either] = [two.clone(), two];
            prop_oneof![
                inner.prop_map(|one| Self::Not(Box::new(one))),
                both.prop_map(|(one, other)| Self::Both(Box::new(one), Box::new(other))),
                either.prop_map(|(one, other)| Self::Either(Box::new(one), Box::new(other))),
            ]
        })
    }

    fn text(&self) -> String {
        match self {
            Self::Statement(text) => (*text).to_owned(),
            Self::Not(one) => format!("!({})", one.text()),
            Self::Both(one, other) => format!("({}) & ({})", one.text(), other.text()),
            Self::Either(one, other) => format!("({}) | ({})", one.text(), other.text()),
        }
    }

    fn holds(&self, row: &Row, who: &Who) -> bool {
        match self {
            Self::Not(one) => !one.holds(row, who),
            Self::Both(one, other) => one.holds(row, who) && other.holds(row, who),
            Self::Either(one, other) => one.holds(row, who) || other.holds(row, who),
            Self::Statement(text) => is_true(text, row, who),
        }
    }
}

fn is_true(statement: &str, row: &Row, who: &Who) -> bool {
    let name = who.name.filter(|name| !name.is_empty());
    match statement {
        "anyone" => true,
        "authenticated" => who.name.is_some(),
        "owner(user)" => name.is_some() && row.user.as_deref() == name,
        "owner(editor)" => match (row.editor, name) {
            (Some(editor), Some(name)) => editor.to_string() == name,
            _ => false,
        },
        "same(company)" => {
            who.name.is_some() && who.company.is_some() && row.company.as_deref() == who.company
        }
        "member(readers)" => {
            name.is_some_and(|name| row.readers.iter().any(|reader| reader == name))
        }
        "published" => row.published,
        "archived" => row.archived,
        right => who.name.is_some() && who.rights.contains(&right),
    }
}

#[derive(Clone, Debug)]
struct Who {
    name: Option<&'static str>,
    company: Option<&'static str>,
    rights: Vec<&'static str>,
}

impl Who {
    fn any() -> impl Strategy<Value = Self> {
        const NAMES: [Option<&str>; 8] = [
            None,
            Some(""),
            Some("ada"),
            Some("eve"),
            Some("7"),
            Some("07"),
            Some("-7"),
            Some("+7"),
        ];
        let name = prop_oneof![1 => select(&NAMES[..]), 1 => Just(Some("ada"))];
        let company = select(&[None, Some("acme"), Some("globex")][..]);
        let rights = subsequence(STATEMENTS[8..].to_vec(), 0..=4);
        (name, company, rights).prop_map(|(name, company, rights)| Self { name, company, rights })
    }

    /// As [`CallerScheme`] reads it.
    fn field(&self) -> Option<String> {
        let company = self.company.map(|company| format!(";company={company}"));
        let rights = self.rights.iter().map(|right| {
            let (kind, name) = right.split_once("(\"").expect("a right");
            format!(";{kind}={}", name.trim_end_matches("\")"))
        });
        let parts = company.into_iter().chain(rights).collect::<String>();
        self.name.map(|name| name.to_owned() + &parts)
    }
}

/// A row without a key, with the state that decides whether it is published.
fn any_row() -> impl Strategy<Value = (Row, &'static str)> {
    let user = select(&[None, Some(""), Some("ada"), Some("ada"), Some("eve"), Some("7")][..]);
    let editor = select(&[None, Some(7), Some(-7), Some(8)][..]);
    let company = select(&[None, Some(""), Some("acme"), Some("globex")][..]);
    let readers = subsequence(vec!["", "ada", "eve", "7"], 0..=3);
    let state = select(&["public", "shared", "private"][..]);
    (user, editor, company, readers, state, any::<bool>()).prop_map(
        |(user, editor, company, readers, state, archived)| {
            let row = Row {
                id: 0,
                user: user.map(str::to_owned),
                editor,
                company: company.map(str::to_owned),
                readers: readers.into_iter().map(str::to_owned).collect(),
                published: state != "private",
                archived,
            };
            (row, state)
        },
    )
}

const TABLES: [&str; 2] = [
    "CREATE TABLE things (thing BIGINT PRIMARY KEY, \"user\" TEXT, editor BIGINT, company TEXT, \
     state TEXT, archived BOOLEAN NOT NULL)",
    // This table has a column with the name of the key and another value.
    "CREATE TABLE readers (thing BIGINT, of_thing BIGINT, \"user\" TEXT)",
];

enum Database {
    Sqlite(SqlitePool),
    Postgres(Client),
}

impl Database {
    async fn sqlite() -> Self {
        let options = SqlitePoolOptions::new().max_connections(1);
        let pool = options.connect("sqlite::memory:").await.expect("a database");
        for table in TABLES {
            sqlx::query(table).execute(&pool).await.expect("a table");
        }
        Self::Sqlite(pool)
    }

    async fn postgres() -> Self {
        let client = Postgres::shared().await.client().await;
        client.batch_execute(&TABLES.join(";")).await.expect("tables");
        Self::Postgres(client)
    }

    async fn fill(&self, rows: &[(Row, &str)]) {
        let text = |text: &Option<String>| {
            text.as_ref().map_or_else(|| "NULL".to_owned(), |text| format!("'{text}'"))
        };
        let mut statements =
            vec!["DELETE FROM things".to_owned(), "DELETE FROM readers".to_owned()];
        for (row, state) in rows {
            let Row { id, user, editor, company, readers, archived, .. } = row;
            let editor = editor.map_or_else(|| "NULL".to_owned(), |editor| editor.to_string());
            let (user, company) = (text(user), text(company));
            statements.push(format!(
                "INSERT INTO things VALUES ({id}, {user}, {editor}, {company}, '{state}', {archived})"
            ));
            statements.extend(readers.iter().map(|reader| {
                format!("INSERT INTO readers VALUES ({}, {id}, '{reader}')", id % 3)
            }));
        }
        let statements = statements.join(";");
        match self {
            Self::Sqlite(pool) => {
                sqlx::raw_sql(sqlx::AssertSqlSafe(statements)).execute(pool).await.expect("rows");
            }
            Self::Postgres(client) => client.batch_execute(&statements).await.expect("rows"),
        }
    }

    /// The keys that a query finds. `before` is bound before the values of the predicate.
    async fn select(&self, query: String, before: &[&str], predicate: &Predicate) -> Vec<i64> {
        match self {
            Self::Sqlite(pool) => {
                let mut sent = sqlx::query(sqlx::AssertSqlSafe(query.clone()));
                for value in before {
                    sent = sent.bind(*value);
                }
                for value in &predicate.values {
                    sent = match value {
                        PredicateValue::Text(text) => sent.bind(text),
                        PredicateValue::Number(number) => sent.bind(number),
                    };
                }
                let rows = sent.fetch_all(pool).await;
                let rows = rows.unwrap_or_else(|error| panic!("{error}: {query}"));
                rows.iter().map(|row| row.get(0)).collect()
            }
            Self::Postgres(client) => {
                let values = predicate.values.iter().map(|value| match value {
                    PredicateValue::Text(text) => text as &(dyn ToSql + Sync),
                    PredicateValue::Number(number) => number,
                });
                let before = before.iter().map(|value| value as &(dyn ToSql + Sync));
                let values: Vec<_> = before.chain(values).collect();
                let rows = client.query(&query, &values).await;
                let rows = rows.unwrap_or_else(|error| panic!("{error:?}: {query}"));
                rows.iter().map(|row| row.get(0)).collect()
            }
        }
    }
}

/// How often each kind of case came up.
#[derive(Debug, Default)]
struct Counts {
    allowed: usize,
    denied: usize,
    unseen: usize,
    /// Lists that the rule decides without the row.
    constant: usize,
    negated: usize,
    of_null: usize,
    of_relation: usize,
    of_number: usize,
}

struct Case {
    rules: [Rule; 2],
    who: Who,
    rows: Vec<(Row, &'static str)>,
}

impl Case {
    async fn check(
        &self,
        client: &TestClient,
        things: &Things,
        database: &Database,
        counts: &mut Counts,
    ) {
        let [view, edit] = [0, 1].map(|index| {
            let condition: Condition = self.rules[index].text().parse().expect("a rule");
            &*Box::leak(Box::new(condition))
        });
        VIEW.set(Some(view));
        EDIT.set(Some(edit));
        let rows: Vec<_> = self.rows.iter().map(|(row, _)| Thing(row.clone())).collect();
        things.0.lock().expect("the things").0 = rows;
        database.fill(&self.rows).await;
        let caller = self.who.field();
        let sent = |path: &str| {
            let request = client.get(path);
            match &caller {
                Some(caller) => request.header("x-caller", caller),
                None => request,
            }
        };
        let mut expected = Vec::new();
        for (row, _) in &self.rows {
            let [is_seen, is_edited] = [0, 1].map(|index| self.rules[index].holds(row, &self.who));
            let (status, count) = match (is_seen, is_edited) {
                (false, _) => (404, &mut counts.unseen),
                (true, false) => (403, &mut counts.denied),
                (true, true) => (200, &mut counts.allowed),
            };
            *count += 1;
            expected.extend((status == 200).then_some(row.id));
            let response = sent(&format!("/things/{}", row.id)).send().await;
            assert_eq!(response.status(), status, "{view} / {edit}: {:?} {row:?}", self.who);
        }
        assert_eq!(sent("/things").send().await.status(), 200);
        let found = things.0.lock().expect("the things").1.take().expect("a list");
        let context = format!("{view} / {edit}: {:?} {}", self.who, found.plain.sql);
        assert_eq!(found.contained, expected, "{context} {:?}", self.rows);
        let plain = format!("SELECT thing FROM things WHERE {} ORDER BY thing", found.plain.sql);
        let listed = database.select(plain, &[], &found.plain).await;
        assert_eq!(listed, expected, "{context} {:?}", self.rows);
        let of_alias = format!(
            "SELECT t.thing FROM things AS t CROSS JOIN (SELECT 1 AS editor) AS other \
             WHERE $1 = 'a' AND $2 = 'b' AND {} ORDER BY t.thing",
            found.of_alias.sql
        );
        let listed = database.select(of_alias, &["a", "b"], &found.of_alias).await;
        assert_eq!(listed, expected, "{context} {} {:?}", found.of_alias.sql, self.rows);
        let sql = &found.plain.sql;
        counts.constant += usize::from(["(1 = 1)", "(1 = 0)"].contains(&&**sql));
        counts.negated += usize::from(sql.contains("NOT ("));
        counts.of_relation += usize::from(sql.contains("FROM readers"));
        counts.of_number += usize::from(sql.contains("editor = "));
        let is_null = |(row, _): &(Row, &str)| row.user.is_none();
        counts.of_null +=
            usize::from(sql.contains("COALESCE(\"user\"") && self.rows.iter().any(is_null));
    }
}

fn compare(runtime: &Runtime, database: &Database, cases: u32) -> Counts {
    let things = Things::default();
    let app = App::new(things.clone())
        .scheme(CallerScheme)
        .routes(routes![thing, super::agreement::things]);
    let client = app.test();
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let cases = ([Rule::any(), Rule::any()], Who::any(), vec(any_row(), 6));
    let counts = Cell::new(Counts::default());
    let compared = runner.run(&cases, |(rules, who, mut rows)| {
        for (id, (row, _)) in (1..).zip(&mut rows) {
            row.id = id;
        }
        let mut so_far = counts.take();
        let case = Case { rules, who, rows };
        runtime.block_on(case.check(&client, &things, database, &mut so_far));
        counts.set(so_far);
        Ok(())
    });
    compared.unwrap_or_else(|error| panic!("{error}"));
    counts.take()
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Asserts a minimum of each kind for each 100 cases.
fn assert_floors(counts: &Counts, hundreds: usize) {
    let Counts { allowed, denied, unseen, constant, negated, of_null, of_relation, of_number } =
        counts;
    for (count, floor) in [
        (allowed, 100),
        (denied, 50),
        (unseen, 100),
        (constant, 10),
        (negated, 10),
        (of_null, 2),
        (of_relation, 5),
        (of_number, 2),
    ] {
        assert!(*count >= floor * hundreds, "{counts:?}");
    }
}

#[test]
fn objects_lists_and_sqlite_agree() {
    let runtime = runtime();
    let database = runtime.block_on(Database::sqlite());
    assert_floors(&compare(&runtime, &database, 1000), 10);
}

#[test]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
fn objects_lists_and_postgres_agree() {
    let runtime = runtime();
    let database = runtime.block_on(Database::postgres());
    assert_floors(&compare(&runtime, &database, 1000), 10);
}
