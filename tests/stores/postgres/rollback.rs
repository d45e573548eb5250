//! Databases that go back in time.

use policy_tests::postgres::Postgres;

use super::PostgresStore;
use crate::rollback::{
    Way, a_number_that_is_given_out_twice_is_not_taken_for_the_first,
    nothing_that_was_taken_away_comes_back,
};

/// All rows become those of before, as in a standby that had not got the rest, or a restored copy.
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

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn nothing_that_was_taken_away_comes_back_with_the_rows_of_a_standby_behind() {
    nothing_that_was_taken_away_comes_back(&Rows::start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn a_number_that_rows_of_before_lost_is_not_taken_for_a_later_one() {
    let way = Rows::start().await;
    a_number_that_is_given_out_twice_is_not_taken_for_the_first(&way, |url| {
        PostgresStore::new(url)
    })
    .await;
}
