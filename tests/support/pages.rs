//! Pages of other sites than the API's: blank ones, redirects to the parameter `to`, and ones that
//! set `cookie`.

use std::{
    collections::HashMap,
    net::{Ipv4Addr, SocketAddr},
};

use axum::{
    Router,
    extract::Query,
    response::{Html, IntoResponse, Redirect, Response},
};
use policy_server::http::{Uri, header::SET_COOKIE};
use tokio::net::TcpListener;

use crate::webdriver::Failure;

/// Serves them for any host, until the runtime ends.
pub async fn serve() -> Result<SocketAddr, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(axum::serve(listener, Router::new().fallback(page)).into_future());
    Ok(address)
}

async fn page(uri: Uri, Query(query): Query<HashMap<String, String>>) -> Response {
    if let Some(to) = query.get("to") {
        return Redirect::temporary(to).into_response();
    }
    let page = Html(format!("<!doctype html><title>{}</title><body>", uri.path()));
    match query.get("cookie") {
        Some(cookie) => ([(SET_COOKIE, cookie.clone())], page).into_response(),
        None => page.into_response(),
    }
}
