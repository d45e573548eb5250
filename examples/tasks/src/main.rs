//! The tasks of teams, and their page.

use std::{env, path::PathBuf};

use policy_server::Report;

#[tokio::main]
async fn main() -> Result<(), Report> {
    let folder = env::var_os(tasks::FOLDER).map_or("target/tasks".into(), PathBuf::from);
    let database = env::var("DATABASE_URL")
        .unwrap_or_else(|_| format!("sqlite:{}?mode=rwc", folder.join("tasks.sqlite").display()));
    // Without the page: `.origins("apps", [..]).serve("127.0.0.1:8080").await`.
    tasks::serve(tasks::app(&database, &folder).await?).await?;
    Ok(())
}
