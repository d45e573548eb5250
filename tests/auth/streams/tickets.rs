//! Streams that a ticket opens, and what ends them.

use policy_tests::caller_scheme::CallerScheme;

use super::*;

#[post("/ticket/by-scheme")]
#[auth(scheme = CallerScheme)]
async fn ticket_by_scheme(tokens: Tokens) -> Result<String, CredentialError> {
    tokens.ticket().await
}

#[tokio::test]
async fn streams_of_a_ticket_end_with_its_credential() {
    let site = Site::new().await;
    let ada = site.login("ada").await;
    let token = site.token().await;
    let open = async |fields: &[String]| {
        let first = site.post("/ticket", fields, "").await.text().to_owned();
        let second = site.post("/ticket", fields, "").await.text().to_owned();
        (
            site.events(&format!("/events/ticket?ticket={first}"), "x-a: b").await,
            site.socket(&format!("/socket/ticket?ticket={second}"), "x-a: b").await,
        )
    };
    let of_session = open(&ada).await;
    let mut of_token = open(std::slice::from_ref(&token)).await;
    // The expiry of the ticket itself ends nothing.
    site.clock.advance(minutes(2));
    site.post("/logout", &ada, "").await;
    assert_ended(of_session.0).await;
    assert_closed(of_session.1).await;
    site.assert_ticks(&mut of_token.0).await;
    site.post("/revoke", &[token], "").await;
    assert_ended(of_token.0).await;
    assert_closed(of_token.1).await;
}

/// Such a ticket has neither a session nor a token.
#[tokio::test]
async fn a_stream_of_a_ticket_from_a_scheme_ends_by_a_cut_off() {
    for path in ["/cut-off", "/cut-off-all"] {
        let site =
            Site::with(|app| app.scheme(CallerScheme).routes(routes![ticket_by_scheme])).await;
        let caller = "x-caller: ada".to_owned();
        let ticket = site.post("/ticket/by-scheme", &[caller], "").await.text().to_owned();
        let events = site.events(&format!("/events/ticket?ticket={ticket}"), "x-a: b").await;
        site.post(path, &[], "").await;
        assert_ended(events).await;
    }
}

/// A program sends none of the fields that state a page. Browsers cannot omit them.
#[tokio::test]
async fn a_ticket_opens_the_websocket_of_a_program_and_of_an_own_page_but_of_no_other() {
    let site = Site::new().await;
    let ada = site.login("ada").await;
    for (fields, status) in [
        (&[][..], 101),
        (&["origin: https://api.example"], 101),
        (&["origin: https://api.example", "sec-fetch-site: same-origin"], 101),
        (&["origin: https://evil.example"], 403),
        (&["origin: null"], 403),
        (&["sec-fetch-site: cross-site"], 403),
    ] {
        let ticket = site.post("/ticket", &ada, "").await.text().to_owned();
        let all = [&HANDSHAKE[..], fields].concat();
        let mut connection = site.server.connect().await;
        connection.send(raw(&format!("GET /socket/ticket?ticket={ticket}"), &all)).await;
        let head = connection.head().await;
        assert_eq!(head.status, status, "{fields:?} {head:?}");
        if status == 101 {
            assert_echo(&mut connection).await;
        }
    }
}
