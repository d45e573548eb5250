//! Conditional requests about an object with a version (RFC 9110 13).

use super::*;

/// A change applies only to the version that the client saw.
#[tokio::test]
async fn a_change_of_another_version_is_refused() {
    let (server, _) = serving().await;
    for (condition, status) in [
        ("if-match: \"3\"", 200),
        ("if-match: \"2\", \"3\"", 200),
        ("if-match: *", 200),
        ("if-match: \"2\"", 412),
        ("if-match: W/\"3\"", 412),
        ("if-match: \"03\"", 412),
        ("if-none-match: *", 412),
        ("if-none-match: \"3\"", 412),
        ("if-none-match: W/\"3\"", 412),
        ("if-none-match: \"2\"", 200),
        // The object has no date, so this condition does not apply.
        ("if-unmodified-since: Sun, 06 Nov 1994 08:49:37 GMT", 200),
    ] {
        let response = send(&server, "DELETE /orders/1", Some("ada"), &[condition]).await;
        assert_eq!(response.status, status, "{condition} {response:?}");
        if status == 412 {
            assert_eq!(response.problem().1, "request.precondition-failed");
        }
    }
}

/// A board in version 7.
#[derive(Debug, Object)]
#[rule(View = anyone)]
struct Board {
    #[object(key)]
    id: u64,
    #[object(version)]
    version: u64,
}

impl Load for Board {
    type Source = Orders;

    async fn load(id: &u64, _: &(), _: &Orders) -> Result<Option<Self>, Problem> {
        Ok(Some(Self { id: *id, version: 7 }))
    }
}

/// A card in version 3.
#[derive(Debug, Object)]
#[rule(View = anyone)]
#[rule(Delete = anyone)]
#[object(parent = Board)]
struct Card {
    #[object(key)]
    id: u64,
    #[object(version)]
    version: u64,
}

impl Load for Card {
    type Source = Orders;

    async fn load(id: &u64, _: &Board, _: &Orders) -> Result<Option<Self>, Problem> {
        Ok(Some(Self { id: *id, version: 3 }))
    }
}

#[delete("/boards/{board}/cards/{card}")]
#[auth(public)]
async fn delete_card(board: Allowed<Board>, card: Allowed<Card, Delete>) -> String {
    format!("{} is gone from {}", card.id, board.id)
}

/// A client has the tag of the card from its response, and none of the board.
#[tokio::test]
async fn conditions_are_about_the_last_object_of_the_path() {
    let app = App::new(Orders::sample()).routes(routes![delete_card]);
    let server = Running::start(app).await;
    for (condition, status) in [
        ("if-match: \"3\"", 200),
        ("if-match: \"7\"", 412),
        ("if-none-match: \"3\"", 412),
        ("if-none-match: \"7\"", 200),
    ] {
        let response = send(&server, "DELETE /boards/1/cards/2", None, &[condition]).await;
        assert_eq!(response.status, status, "{condition} {response:?}");
    }
}

/// Rights are checked first: a caller without the right to an object does not learn its version.
#[tokio::test]
async fn rights_are_before_conditions() {
    let (server, _) = serving().await;
    for condition in ["if-match: \"3\"", "if-match: \"2\""] {
        let unseen = send(&server, "DELETE /orders/1", Some("eve"), &[condition]).await;
        assert_eq!(unseen.status, 404);
        let denied = send(&server, "POST /orders/1/refund", Some("ada"), &[condition]).await;
        assert_eq!(denied.status, 403);
    }
}

/// For GET and HEAD, the tag of the response decides, which may differ from the object's.
#[tokio::test]
async fn reading_is_about_the_response() {
    let (server, _) = serving().await;
    for method in ["GET", "HEAD"] {
        for (condition, status) in
            [("if-none-match: \"3\"", 304), ("if-none-match: \"2\"", 200), ("if-match: \"2\"", 412)]
        {
            let what = format!("{method} /orders/1");
            let response = send(&server, &what, Some("ada"), &[condition]).await;
            assert_eq!(response.status, status, "{what} {condition}");
        }
        for (condition, status) in [
            ("if-none-match: \"9\"", 304),
            ("if-none-match: \"3\"", 200),
            ("if-match: \"9\"", 200),
            ("if-match: \"3\"", 412),
        ] {
            let what = format!("{method} /summaries/1");
            let response = send(&server, &what, Some("ada"), &[condition]).await;
            assert_eq!(response.status, status, "{what} {condition}");
        }
        // This response has no tag.
        let what = format!("{method} /maybe/1");
        let response = send(&server, &what, Some("ada"), &["if-none-match: \"3\""]).await;
        assert_eq!(response.status, 200);
    }
}
