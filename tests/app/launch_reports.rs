//! What the server prints when it starts.

use policy_server::ServerSettings;
use policy_tests::{
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
        let (log, _guard) = Log::of("policy_server");
        let settings = ServerSettings::default().max_connections(connections);
        let app = App::new(()).settings(settings).routes(routes![plain]);
        let app = origin.into_iter().fold(app, App::public_origin);
        let server = Running::start(app).await;
        // Once there is a response, everything has been logged.
        server.response(request("GET /plain", &[])).await;
        let notices = log.of_code("app.open-files");
        assert_eq!(notices.len(), usize::from(is_noticed), "{connections}: {:?}", log.with(""));
        let named = |line: &String| line.contains("max_connections(401)") && line.contains("400");
        assert!(notices.iter().all(named), "{notices:?}");
    }
}
