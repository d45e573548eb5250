//! nginx as the upstream, an independent implementation.

use std::fs;

use policy_server::ReverseProxy;

use super::{http::request, program::Program, start};

const SERVER: &str = "
server {
    listen ADDRESS;
    root FOLDER/files;
    absolute_redirect on;
    location /v1/moved { return 301 /v1/index.html; }
    location /v1/cookie {
        add_header set-cookie 'a=1; path=/v1/x; domain=127.0.0.1';
        return 204;
    }
    location /v1/seen {
        return 200 '$host $http_x_forwarded_for $http_x_forwarded_proto $request_uri';
    }
    location /v1/ { alias FOLDER/files/; }
}
";

#[tokio::test]
#[ignore = "needs nginx"]
async fn nginx_behind_the_proxy_is_a_part_of_this_server() {
    let nginx = Program::nginx(SERVER).await;
    let files = nginx.folder.join("files");
    fs::create_dir(&files).expect("a folder");
    fs::write(files.join("index.html"), "<p>index</p>").expect("a file");
    fs::write(files.join("large"), vec![b'x'; 3 << 20]).expect("a file");
    let upstream = format!("http://{}/v1", nginx.address);
    let server = start(ReverseProxy::new("/api", upstream).public().strip_prefix()).await;
    let page = server.response(request("GET /api/index.html", &[])).await;
    assert_eq!((page.status, page.text()), (200, "<p>index</p>"));
    let tag = format!("if-none-match: {}", page.header("etag").expect("a tag"));
    assert_eq!(server.response(request("GET /api/index.html", &[&tag])).await.status, 304);
    let part = server.response(request("GET /api/large", &["range: bytes=0-9"])).await;
    assert_eq!((part.status, part.body.len()), (206, 10));
    let large = server.response(request("GET /api/large", &[])).await;
    assert!(large.body.len() == 3 << 20 && large.body.iter().all(|byte| *byte == b'x'));
    let mut connection = server.connect().await;
    connection.send(request("HEAD /api/large", &[])).await;
    assert_eq!(connection.head().await.header("content-length"), Some("3145728"));

    let moved = server.response(request("GET /api/moved", &[])).await;
    assert_eq!(moved.header("location"), Some("/api/index.html"), "{moved:?}");
    let cookie = server.response(request("GET /api/cookie", &[])).await;
    assert_eq!(cookie.header("set-cookie"), Some("a=1; Path=/api/x"));
    let response = server.response(request("GET /api/seen?x=%2e", &["x-real-ip: 6.6.6.6"])).await;
    assert_eq!(response.text(), "127.0.0.1 127.0.0.1 http /v1/seen?x=%2e");
    let missing = server.response(request("GET /api/missing", &[])).await;
    assert_eq!(missing.status, 404);
    let long = request("PUT /api/index.html", &["content-length: 5"]) + "hello";
    assert_eq!(server.response(long).await.status, 405);
}
