//! Stores that several instances share, on real servers.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "what a test cannot do without fails it"
)]

/// Tests that need a server. Each starts it and awaits its expression.
macro_rules! tests_on {
    ($server:ident = $start:expr, $needs:literal; $(#[test] fn $test:ident => $check:expr;)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        #[ignore = $needs]
        async fn $test() {
            let $server = $start;
            $check.await;
        }
    )*};
}

mod faults;
mod files;
mod histories;
mod history;
mod instances;
mod killed;
mod limits;
mod moving;
mod origins;
mod outages;
mod pair;
mod postgres;
mod records;
mod redis;
mod rollback;
mod site;
