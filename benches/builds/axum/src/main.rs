//! The same as `policy`.

use std::{error::Error, time::Duration};

use axum::{
    Json, Router,
    extract::Path,
    http::{HeaderValue, Method, StatusCode, header::ETAG},
    routing::get,
};
use tokio::net::TcpListener;
use tower_http::cors::CorsLayer;

async fn user(Path(id): Path<u64>) -> Result<Json<String>, (StatusCode, &'static str)> {
    match id {
        1 => Ok(Json("Ada".to_owned())),
        _ => Err((StatusCode::NOT_FOUND, "there is only user 1")),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let cors = CorsLayer::new()
        .allow_origin(HeaderValue::from_static("https://app.shop.example"))
        .allow_methods([Method::GET])
        .expose_headers([ETAG])
        .max_age(Duration::from_secs(600));
    let app = Router::new().route("/users/{id}", get(user)).layer(cors);
    axum::serve(TcpListener::bind("127.0.0.1:8080").await?, app).await?;
    Ok(())
}
