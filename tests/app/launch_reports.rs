//! What the server prints when it starts.

use policy_core::Rule;
use policy_server::ServerSettings;
use policy_tests::{
    http::Connection,
    log::Log,
    process::{ServerProcess, again, again_with_files, role, succeeds},
};

use super::*;

#[get("/prices/{id}")]
#[cors(origins = config("partners", within = ["https://*.partner.example"]), credentials)]
#[auth(public)]
async fn prices(id: u32) -> String {
    id.to_string()
}

#[tokio::test]
async fn start_reports_show_every_route_with_its_policy_and_source() {
    const NAME: &str = "launch_reports::start_reports_show_every_route_with_its_policy_and_source";
    if role().is_some() {
        let files = Mount::new(service_fn(async |_request: Request| {
            Ok::<_, Infallible>(Response::new(Body::empty()))
        }))
        .public();
        return App::new(())
            .policies(
                Policies::new().cors(APP).limits(Limits::NONE.timeout(Duration::from_secs(1))),
            )
            .routes(routes![plain, own, closed, prices])
            .group(
                "/open",
                Group::new().policies(Policies::new().cors(EVERYBODY)).routes(routes![plain]),
            )
            .mount("/files", files)
            .origins("partners", ["https://a.partner.example"])
            .serve("127.0.0.1:0")
            .await
            .expect("an app that serves");
    }
    let mut process = ServerProcess::start(&mut again(NAME, "server"));
    let port = process.address.port();
    assert_eq!(
        process.first_line,
        format!("listening on http://127.0.0.1:{port} (development: loopback hosts only)\n")
    );
    assert_eq!(
        process.lines(6),
        "  GET       /plain          auth: public  shared with https://app.example (app)
  GET       /own            auth: public  shared with https://route.example (route)
  GET       /closed         auth: public  shared with nobody
  GET       /prices/{id}    auth: public  shared with list `partners`, with credentials (route)
  GET       /open/plain     auth: public  shared with * (group)
  GET,HEAD  /files/{*path}  auth: public  shared with https://app.example (app)\n"
    );
}

/// Runs in a separate process, which may open 400 files.
#[tokio::test]
async fn launch_logs_say_that_files_are_fewer_than_connections() {
    const NAME: &str = "launch_reports::launch_logs_say_that_files_are_fewer_than_connections";
    if role().is_none() {
        return succeeds(&mut again_with_files(NAME, "server", "400"));
    }
    for (connections, origin, is_noticed) in [
        (400, Some("https://api.example"), false),
        (401, Some("https://api.example"), true),
        // During development.
        (401, None, false),
    ] {
        let (log, _guard) = Log::start("policy_server");
        let settings = ServerSettings::default().max_connections(connections);
        let app = App::new(()).settings(settings).routes(routes![plain]);
        let app = origin.into_iter().fold(app, App::public_origin);
        let server = Running::start(app).await;
        // Once there is a response, everything has been logged.
        server.response(request("GET /plain", &[])).await;
        let notices = log.with_code("app.open-files");
        assert_eq!(notices.len(), usize::from(is_noticed), "{connections}: {:?}", log.with(""));
        let named = |line: &String| line.contains("max_connections(401)") && line.contains("400");
        assert!(notices.iter().all(named), "{notices:?}");
    }
}

/// The error ends with a forged line.
#[get("/motd")]
#[auth(public)]
async fn motd() -> Result<String, Problem> {
    Err(Problem::internal("no such file\nlistening on http://192.0.2.1"))
}

/// What a process prints after its launch report, while it responds to one request.
async fn printed(test: &str, role: &str, host: &str) -> String {
    let process = ServerProcess::start(&mut again(test, role));
    let mut connection = Connection::open(process.address).await;
    connection.send(format!("GET /motd HTTP/1.1\r\nhost: {host}\r\n\r\n")).await;
    let response = connection.response().await;
    assert_eq!(response.problem(), (500, "handler.failed".to_owned()));
    drop(connection);
    process.terminate();
    let (succeeded, rest) = process.wait_for_exit();
    assert!(succeeded, "{rest}");
    rest
}

#[tokio::test]
async fn errors_are_printed_in_development_if_the_program_has_no_subscriber() {
    const NAME: &str =
        "launch_reports::errors_are_printed_in_development_if_the_program_has_no_subscriber";
    const EVENT: &str = "no such file\\nlistening on http://192.0.2.1";
    if let Some(role) = role() {
        if role == "subscriber" {
            policy_tests::log::print("handler.");
        }
        return App::new(())
            .routes(routes![motd])
            .serve("127.0.0.1:0")
            .await
            .expect("an app that serves");
    }
    let alone = printed(NAME, "alone", "localhost").await;
    let (_report, events) = alone.split_once('\n').expect("the line of the route");
    let (time, event) = events.split_once("Z ").expect("a time");
    assert_eq!(time.len(), "08:30:00".len(), "{time}");
    let page = policy_core::Event::HandlerError.page();
    assert_eq!(
        event,
        format!("ERROR handler.error: the handler returned an error see={page} error={EVENT}\n")
    );
    let subscribed = printed(NAME, "subscriber", "localhost").await;
    assert_eq!(subscribed.matches(EVENT).count(), 1, "{subscribed}");
    assert!(subscribed.contains("\nERROR message="), "{subscribed}");
}

#[tokio::test]
async fn a_deployment_without_a_subscriber_prints_one_notice_and_no_error() {
    const NAME: &str =
        "launch_reports::a_deployment_without_a_subscriber_prints_one_notice_and_no_error";
    if let Some(role) = role() {
        if role == "subscriber" {
            policy_tests::log::print("handler.");
        }
        let app = App::new(()).public_origin("https://shop.example").routes(routes![motd]);
        let server = app.bind("127.0.0.1:0").await.expect("an app that starts");
        eprintln!("http://{}", server.local_addr());
        return server.run().await.expect("a server that runs");
    }
    assert_eq!(
        printed(NAME, "alone", "shop.example").await,
        format!(
            "notice: main: {} (app.subscriber-missing)\n  help: {}\n  see: {}\n",
            Rule::SubscriberMissing.message(),
            Rule::SubscriberMissing.help(),
            Rule::SubscriberMissing.page(),
        )
    );
    let subscribed = printed(NAME, "subscriber", "shop.example").await;
    assert!(subscribed.starts_with("ERROR message="), "{subscribed}");
    assert_eq!(subscribed.lines().count(), 1, "{subscribed}");
}
