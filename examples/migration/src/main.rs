//! Runs one of the steps: `cargo run -p migration -- 3`.

use std::{env, error::Error};

use axum::Router;
use migration::{notes::Notes, step1_axum, step2_layer, step3_mounted, step4_moved, step5_policy};
use tokio::net::TcpListener;

const ADDRESS: &str = "127.0.0.1:8080";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let notes = Notes::default();
    match env::args().nth(1).as_deref() {
        Some("1") => by_axum(step1_axum::service(notes)).await?,
        Some("2") => by_axum(step2_layer::service(notes)?).await?,
        Some("3") => step3_mounted::app(notes).serve(ADDRESS).await?,
        Some("4") => step4_moved::app(notes).serve(ADDRESS).await?,
        Some("5") => step5_policy::app(notes).serve(ADDRESS).await?,
        _ => return Err("name a step, 1 to 5: cargo run -p migration -- 1".into()),
    }
    Ok(())
}

async fn by_axum(service: Router) -> Result<(), Box<dyn Error>> {
    Ok(axum::serve(TcpListener::bind(ADDRESS).await?, service).await?)
}
