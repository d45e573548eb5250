//! Health, readiness, and the time between a signal and the exit.

use super::*;

async fn status(connection: &mut Connection, path: &str) -> u16 {
    connection.send(get(path)).await;
    connection.response().await.status
}

#[tokio::test]
async fn readiness_turns_before_anything_else_ends() {
    let (time, gate) = (StoppedTime::begin(), gate());
    let settings = ServerSettings::default().drain(Duration::from_secs(2));
    let server = Running::start(app_with(&gate).settings(settings)).await;
    let address = server.address;
    let mut probe = server.connect().await;
    let mut busy = server.connect().await;
    assert_eq!(status(&mut probe, "/readyz").await, 200);
    busy.send(get("/wait")).await;

    let stopped = server.stop();
    // The change shows within a few requests. The clock is paused, so their number is the bound.
    for _ in 0..1000 {
        if status(&mut probe, "/readyz").await != 200 {
            break;
        }
        tokio::task::yield_now().await;
    }
    probe.send(get("/readyz")).await;
    assert_eq!(probe.response().await.problem(), (503, "server.stopping".to_owned()));
    assert_eq!(status(&mut probe, "/healthz").await, 200);
    // Clients that have not noticed yet are still served.
    let mut late = Connection::open(address).await;
    assert_eq!(status(&mut late, "/hello").await, 200);

    // Then new connections are refused, and waiting requests are finished.
    time.until(late.closed()).await;
    time.pass(Duration::from_secs(1)).await;
    assert!(soon(TcpStream::connect(address)).await.is_err());
    gate.add_permits(1);
    assert_eq!(busy.response().await.text(), "waited");
    soon(stopped).await.expect("an end");
}

#[tokio::test]
async fn probes_are_answered_over_http_2_and_to_head() {
    let server = Running::start(app()).await;
    let client = connect_h2(&server).await;
    let (status, control, text) = h2_response(&client, "/readyz", "cache-control").await;
    assert_eq!((status, &*control, &*text), (200, "no-store", "ok\n"));
    let mut connection = server.connect().await;
    connection.send(request("HEAD /healthz", &[])).await;
    let head = connection.head().await;
    assert_eq!((head.status, head.header("content-length")), (200, Some("3")));
}
