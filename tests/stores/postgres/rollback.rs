//! Databases that go back in time.

use policy_server::store::{
    CreateSession, ERA, Revocation, RevokeUser, SessionCreated, SessionStore, TokenStore,
};
use policy_tests::{
    postgres::Postgres,
    relay::{Network, Relay},
};

use super::{PostgresStore, empty_schema};
use crate::{
    limits::{
        a_client_gets_one_burst_more_from_all_instances, limits_continue_from_the_older_state,
        permits_are_held_twice_until_they_are_renewed,
    },
    records::{NOW, key, record},
    rollback::{
        Way, a_loss_of_logouts_alone_is_noticed, a_loss_of_replaced_sessions_alone_is_noticed,
        a_reused_number_is_not_mistaken_for_the_first,
        counts_of_processes_that_are_gone_are_removed, is_refused, issue,
        no_list_of_origins_is_widened, recent_writes_are_detected_as_lost, revoke_user,
        revoked_rights_stay_revoked,
    },
    site::{Instance, until},
};

/// All rows become those of an earlier state, as in a standby that had not received the rest, or a
/// restored copy.
struct Rows(&'static Postgres, String);

impl Rows {
    async fn start() -> Self {
        let server = Postgres::shared().await;
        Self(server, server.schema())
    }

    /// Does the same with each table of the store.
    async fn each(&self, statements: &str) {
        let schema = self.1.rsplit_once('=').unwrap().1;
        let statements = statements.replace("SCHEMA", schema);
        self.0
            .sql(&format!(
                "DO $$ DECLARE one text; BEGIN
                    CREATE SCHEMA IF NOT EXISTS {schema}_saved;
                    SET LOCAL session_replication_role = replica;
                    FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = '{schema}' LOOP
                        {statements}
                    END LOOP;
                END $$"
            ))
            .await;
    }
}

impl Way for Rows {
    fn url(&self) -> String {
        self.1.clone()
    }

    async fn save(&self) {
        self.each(
            "EXECUTE format('DROP TABLE IF EXISTS SCHEMA_saved.%I', one);
             EXECUTE format('CREATE TABLE SCHEMA_saved.%1$I AS SELECT * FROM SCHEMA.%1$I', one);",
        )
        .await;
    }

    async fn go_back(&self) {
        self.each(
            "EXECUTE format('DELETE FROM SCHEMA.%1$I', one);
             EXECUTE format('INSERT INTO SCHEMA.%1$I SELECT * FROM SCHEMA_saved.%1$I', one);",
        )
        .await;
    }
}

/// A primary, and a standby that takes over without the last changes that its primary has acknowledged.
struct Failover {
    primary: Postgres,
    standby: Postgres,
}

impl Failover {
    async fn start() -> Self {
        let primary = Postgres::start(&[]).await;
        let standby = primary.standby().await;
        Self { primary, standby }
    }
}

impl Way for Failover {
    fn url(&self) -> String {
        self.primary.url_with(&self.standby)
    }

    async fn save(&self) {
        self.standby.cut_off_from(&self.primary).await;
    }

    async fn go_back(&self) {
        self.primary.kill();
        self.standby.promote().await;
    }
}

/// The network of one instance, which leads to one of the two servers.
struct Route {
    relays: [Relay; 2],
    url: String,
}

impl Route {
    async fn to_primary(servers: &Failover) -> Self {
        let to = |server: &Postgres| Relay::start(&server.url());
        let ((one, url), (other, of_other)) = (to(&servers.primary), to(&servers.standby));
        let (_, address) = of_other.split_once('@').unwrap();
        let (address, path) = address.split_once('/').unwrap();
        let url = url.replace(
            &format!("/{path}"),
            &format!(",{address}/{path}?target_session_attrs=read-write"),
        );
        let route = Self { relays: [one, other], url };
        route.lead_to(0).await;
        route
    }

    /// Leads to the server with this number from now on.
    async fn lead_to(&self, server: usize) {
        self.relays[1 - server].set(Network::Cut).await;
        self.relays[server].set(Network::Well).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn revoked_rights_stay_revoked_after_a_failover_to_a_lagging_standby() {
    revoked_rights_stay_revoked(&Failover::start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn a_number_lost_by_a_standby_is_not_mistaken_for_a_later_one() {
    let ways = tokio::join!(Failover::start(), Failover::start()).into();
    a_reused_number_is_not_mistaken_for_the_first(&ways, |url| PostgresStore::new(url)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn a_loss_of_logouts_alone_is_noticed_after_a_failover() {
    let way = Failover::start().await;
    a_loss_of_logouts_alone_is_noticed(&way, |url| PostgresStore::new(url)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn a_loss_of_replaced_sessions_alone_is_noticed_after_a_failover() {
    let way = Failover::start().await;
    a_loss_of_replaced_sessions_alone_is_noticed(&way, |url| PostgresStore::new(url)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn rows_of_processes_that_are_gone_are_removed() {
    let (server, url, schema) = empty_schema().await;
    let pass_days = async |days| {
        let pass = format!("UPDATE {schema}.marks SET used = used - interval '{days} days'");
        server.sql(&pass).await;
    };
    let client = server.client().await;
    let count = format!("SELECT count(*) FROM {schema}.marks WHERE area = 'ended'");
    let counts = async || {
        client.query_one(&count, &[]).await.unwrap().get::<_, i64>(0).unsigned_abs() as usize
    };
    counts_of_processes_that_are_gone_are_removed(|| PostgresStore::new(&*url), pass_days, counts)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn writes_just_before_a_failover_are_detected_as_lost() {
    let way = Failover::start().await;
    recent_writes_are_detected_as_lost(&way, |url| PostgresStore::new(url)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn no_list_of_origins_is_widened_by_a_standby_behind() {
    no_list_of_origins_is_widened(&Failover::start().await).await;
}

/// Both sides of a split accept writes and assign numbers.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn each_change_between_two_primaries_is_noticed() {
    let servers = Failover::start().await;
    let routes = [Route::to_primary(&servers).await, Route::to_primary(&servers).await];
    let [one, two] = [0, 1].map(|number: usize| PostgresStore::new(&*routes[number].url));
    for store in [&one, &two] {
        SessionStore::open(store).await.unwrap();
    }
    let make = async |store: &PostgresStore| {
        store.revoke_user(RevokeUser::new("ada", NOW)).await.unwrap();
        let revocation = Revocation::User { user: "ada".into(), before: 5 };
        store.revoke(revocation).await.unwrap();
    };
    let eras = async |store: &PostgresStore, since: u64| {
        let mut eras = [0; 2];
        // Each idle connection to the other server fails once.
        until(async || {
            let (cut_offs, news) = (store.cut_offs().await, store.revocations(since).await);
            let (Ok(cut_offs), Ok(news)) = (cut_offs, news) else { return false };
            eras = [cut_offs, news.sequence].map(|number| number / ERA);
            true
        })
        .await;
        eras
    };
    make(&one).await;
    assert_eq!((eras(&one, 0).await, eras(&two, 0).await), ([0; 2], [0; 2]));
    servers.save().await;
    make(&one).await;
    servers.standby.promote().await;
    routes[0].lead_to(1).await;
    assert_eq!(eras(&one, 1).await, [1; 2], "the new primary lacks what `one` made");
    // Each side continues separately.
    make(&two).await;
    let began = two.cut_offs().await.unwrap();
    assert_eq!(began / ERA, 0, "`two` has seen one primary only");
    make(&one).await;
    routes[0].lead_to(0).await;
    assert_eq!(eras(&one, ERA).await, [2; 2], "the old primary lacks what the new one gave out");
    let create = CreateSession::new(key(1), record(1, Some("bob")), NOW).began(began);
    assert_eq!(two.create(create).await.unwrap(), SessionCreated::CutOff, "it began before that");
    assert_eq!(eras(&two, began).await, [2; 2], "at the same server, both go on in one era");
    routes[0].lead_to(1).await;
    assert_eq!(eras(&one, 2 * ERA).await, [3; 2]);
    routes[1].lead_to(1).await;
    assert_eq!(eras(&two, 2 * ERA).await, [3; 2], "what `two` notices was noticed before");
}

/// Instances come to the new primary, back to the old one, and to the new one again, one after the other.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn an_instance_keeps_its_endings_on_both_sides_of_a_split() {
    let servers = Failover::start().await;
    let routes = [Route::to_primary(&servers).await, Route::to_primary(&servers).await];
    let (a, b) = (Instance::start(&routes[0].url).await, Instance::start(&routes[1].url).await);
    let mut visitors = Vec::new();
    for user in ["ada", "bob"] {
        visitors.push((a.login(user).await, issue(&a, user).await));
    }
    let [(ada, [of_ada, _]), (bob, [of_bob, _])] = &visitors[..] else { panic!("two users") };
    revoke_user(&a, "somebody").await;
    servers.save().await;
    revoke_user(&a, "ada").await;
    servers.standby.promote().await;
    // `ada` is logged in at the new primary.
    routes[0].lead_to(1).await;
    assert_eq!(ada.status(&a).await, 401, "from the first response on");
    until(async || is_refused(&a, of_ada).await).await;
    // `bob` is cut off at the old primary, where `b` still is.
    revoke_user(&b, "bob").await;
    routes[0].lead_to(0).await;
    until(async || a.status("/ready").await == 200).await;
    until(async || is_refused(&a, of_bob).await).await;
    assert_eq!(bob.status(&a).await, 401);
    for server in [1, 0, 1] {
        routes[1].lead_to(server).await;
        assert_eq!(bob.status(&b).await, 401, "from the first response on");
        routes[0].lead_to(server).await;
        for instance in [&a, &b] {
            until(async || instance.status("/ready").await == 200).await;
            for (visitor, token) in [(ada, of_ada), (bob, of_bob)] {
                until(async || visitor.status(instance).await == 401).await;
                until(async || is_refused(instance, token).await).await;
            }
        }
        // A new login succeeds once `b` knows what `a` has ended again.
        until(async || b.try_to_login("ada").await.is_ok()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn revoked_rights_stay_revoked_with_the_rows_of_a_lagging_standby() {
    revoked_rights_stay_revoked(&Rows::start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn a_number_lost_by_old_rows_is_not_mistaken_for_a_later_one() {
    let ways = tokio::join!(Rows::start(), Rows::start()).into();
    a_reused_number_is_not_mistaken_for_the_first(&ways, |url| PostgresStore::new(url)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn limits_continue_from_the_rows_of_before() {
    let open = |url: &str| PostgresStore::new(url);
    limits_continue_from_the_older_state(&Rows::start().await, open, true).await;
}

/// The tables of limits are unlogged, so a standby has no rows of them.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn limits_restart_after_a_failover() {
    let open = |url: &str| PostgresStore::new(url);
    limits_continue_from_the_older_state(&Failover::start().await, open, false).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn a_client_gets_one_burst_more_when_rows_of_before_come_back() {
    a_client_gets_one_burst_more_from_all_instances(&Rows::start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn permits_are_held_twice_after_rows_of_before_until_they_are_renewed() {
    permits_are_held_twice_until_they_are_renewed(Rows::start).await;
}
