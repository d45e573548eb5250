//! What a token opened ends with it.

use super::*;

#[tokio::test]
async fn a_stream_of_a_token_ends_a_minute_after_revocations_could_last_be_read() {
    let site = Site::new().await;
    let token = site.token().await;
    let mut events = site.events("/events", &token).await;
    site.store.fail();
    for _ in 0..2 {
        site.clock.advance(Duration::from_secs(20));
        site.assert_ticks(&mut events).await;
    }
    site.clock.advance(Duration::from_secs(21));
    assert_cut(events).await;
}

#[tokio::test]
async fn a_token_that_expires_or_is_revoked_ends_what_it_opened() {
    let site = Site::new().await;
    for end in ["/revoke", "/cut-off", "/cut-off-all", ""] {
        let (one, other) = (site.token().await, site.token().await);
        let events = site.events("/events", &one).await;
        let socket = site.socket("/socket", &one).await;
        let mut other_events = site.events("/events", &other).await;
        match end {
            "" => site.clock.advance(minutes(6)),
            end => drop(site.post(end, std::slice::from_ref(&one), "").await),
        }
        assert_cut(events).await;
        assert_closed(socket).await;
        if end == "/revoke" {
            site.assert_ticks(&mut other_events).await;
        } else {
            assert_cut(other_events).await;
        }
        site.clock.advance(Duration::from_secs(2));
    }
}

#[tokio::test]
async fn the_end_of_a_family_ends_what_its_access_tokens_opened() {
    let site = Site::new().await;
    let pair: Value = serde_json::from_str(site.post("/family", &[], "").await.text()).unwrap();
    let field = format!("authorization: Bearer {}", pair["access_token"].as_str().unwrap());
    let events = site.events("/events", &field).await;
    let made = site.post("/ticket", std::slice::from_ref(&field), "").await;
    let by_ticket = site.socket(&format!("/socket/ticket?ticket={}", made.text()), "x-a: b").await;
    site.post("/family/end", &[], pair["refresh_token"].as_str().unwrap()).await;
    assert_cut(events).await;
    assert_closed(by_ticket).await;
}
