//! The tasks example: each statement with SQLite, and all of them with PostgreSQL; and its page in
//! browsers.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "what a test cannot do without fails it"
)]

mod attachments;
mod browser;
mod live;
mod machines;
mod matrix;
mod members;
mod openapi;
mod site;
mod tasks;
mod users;

use policy_tests::postgres::Postgres;
use site::Site;

/// A test of each statement with a database of its own, and one of all of them in one PostgreSQL: each
/// has teams of its own, so that none sees the others.
macro_rules! statements {
    ($($module:ident::$name:ident)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                $module::$name(&Site::in_memory().await).await;
            }
        )*

        #[tokio::test]
        #[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
        async fn all_statements_hold_with_postgresql() {
            let database = database().await;
            $($module::$name(&Site::at(&database).await).await;)*
        }
    };
}

statements! {
    users::a_lead_signs_up_logs_out_and_logs_in_again
    users::invalid_sign_ups_are_refused
    users::an_invitation_lets_one_person_into_the_team
    users::a_page_of_a_foreign_origin_reads_nothing_and_changes_nothing
    members::a_member_who_is_removed_is_out_at_once
    members::a_lead_gives_and_takes_roles
    members::one_of_two_leads_who_remove_each_other_stays
    members::a_lead_who_is_removed_adds_nothing_by_requests_in_flight
    tasks::a_task_is_added_read_changed_and_deleted
    tasks::changes_need_the_newest_version
    tasks::a_text_with_a_nul_is_refused
    tasks::a_stranger_finds_no_task_of_another_team
    tasks::pages_of_a_list_have_every_task_once
    attachments::a_file_comes_back_as_it_was_and_never_as_a_page
    attachments::a_file_that_is_too_large_or_one_too_many_is_refused
    attachments::a_stranger_neither_reads_nor_adds_a_file
    machines::a_script_does_what_its_scopes_say_until_it_is_ended
}

/// A database in memory ends with its connection, which SQLx closes where a statement was dropped.
#[tokio::test]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn rights_end_before_the_change_that_removes_them() {
    let database = database().await;
    let site = Site::at(&database).await;
    members::a_person_who_is_no_longer_in_the_list_has_no_access(&site).await;
    members::a_machine_that_is_no_longer_in_the_list_has_no_access(&site).await;
}

/// A new database of the server that the tests of this process share.
async fn database() -> String {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let server = Postgres::shared().await;
    let name = format!("tasks{}", COUNT.fetch_add(1, Ordering::Relaxed));
    server.sql(&format!("CREATE DATABASE {name}")).await;
    let url = server.url();
    let (server, _) = url.rsplit_once('/').expect("a database");
    format!("{server}/{name}")
}
