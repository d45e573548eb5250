//! Where one request ends and the next one begins (RFC 9112 6 and 11.2).

use policy_tests::corpus::{self, BEHIND, Want};

use super::*;

/// The statuses of all responses on a connection, and the last body.
async fn statuses(connection: &mut http::Connection) -> (Vec<u16>, String) {
    let rest = connection.rest().await;
    let mut statuses = Vec::new();
    let text = String::from_utf8_lossy(&rest).into_owned();
    // No body of this app contains this text.
    for response in text.split("HTTP/1.").skip(1) {
        let status = response.split(' ').nth(1).and_then(|status| status.parse().ok());
        statuses.push(status.expect("a status"));
    }
    (statuses, text)
}

#[tokio::test]
async fn framing_is_never_anybodys_guess() {
    let server = Running::start(app()).await;
    for case in corpus::all() {
        let mut connection = server.connect().await;
        connection.try_send([&case.bytes, BEHIND].concat()).await;
        let (statuses, text) = statuses(&mut connection).await;
        let what = format!("{}: `{}` got\n{text}", case.name, case.bytes.escape_ascii());
        match case.want {
            Want::Refused => {
                let refused = [400, 417, 421, 431, 501, 505];
                assert!(statuses.len() == 1 && refused.contains(&statuses[0]), "{what}");
            }
            Want::Last(status) => assert_eq!(statuses, [status], "{what}"),
            Want::Served(status) => {
                assert_eq!(statuses, [status, 200], "{what}");
                assert!(text.ends_with("behind"), "{what}");
            }
        }
        if let Want::Last(200) | Want::Served(200) = case.want {
            assert!(text.contains("\r\n\r\nhello"), "{what}");
        }
    }
    assert_serving(&server).await;
}

/// The sender gets an error, and no response to what follows.
#[tokio::test]
async fn ambiguous_framing_ends_the_connection_unread() {
    let server = Running::start(app()).await;
    for case in corpus::all() {
        // The handler notices a truncated body, perhaps after the head of the response was sent.
        if matches!(case.want, Want::Served(_) | Want::Last(400)) {
            continue;
        }
        let mut connection = server.connect().await;
        connection.try_send(&case.bytes).await;
        connection.try_send(BEHIND).await;
        let response = connection.response().await;
        assert_eq!(response.header("connection"), Some("close"), "{}: {response:?}", case.name);
    }
}

/// RFC 9112 9.3.2: responses come in the order of the requests.
#[tokio::test]
async fn framing_keeps_the_order_of_many_requests_at_once() {
    let server = Running::start(app()).await;
    let mut connection = server.connect().await;
    let mut bytes = String::new();
    for n in 0..50 {
        bytes += &request(&format!("GET /names/{n}"), &[]);
        bytes += &request("POST /upload", &["content-length: 2"]);
        bytes += &format!("{n:02}");
        bytes += &request("POST /upload", &["transfer-encoding: chunked"]);
        bytes += &format!("2\r\n{n:02}\r\n0\r\n\r\n");
    }
    connection.send(bytes).await;
    for n in 0..50 {
        assert_eq!(connection.response().await.text(), format!("{n}"));
        assert_eq!(connection.response().await.text(), format!("{n:02}"));
        assert_eq!(connection.response().await.text(), format!("{n:02}"));
    }
    assert_serving(&server).await;
}
