//! nginx behind the proxy: a server that nobody here wrote.

use std::{
    fs,
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use policy_server::Proxy;

use super::{http::request, started};

/// nginx with files of its own, ended when it is dropped.
struct Nginx {
    process: Child,
    folder: PathBuf,
    port: u16,
}

impl Nginx {
    fn start() -> Self {
        let folder = std::env::temp_dir().join(format!("policy-nginx-{}", std::process::id()));
        let files = folder.join("files");
        fs::create_dir_all(&files).expect("a folder");
        fs::write(files.join("index.html"), "<p>index</p>").expect("a file");
        fs::write(files.join("large"), vec![b'x'; 3 << 20]).expect("a file");
        // Free at this moment.
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port").port();
        let at = folder.display();
        let config = format!(
            "daemon off; master_process off; pid {at}/pid; error_log stderr error; worker_processes 1;
             events {{ worker_connections 64; }}
             http {{
                 access_log off;
                 client_body_temp_path {at}/body; proxy_temp_path {at}/proxy;
                 fastcgi_temp_path {at}/fastcgi; uwsgi_temp_path {at}/uwsgi; scgi_temp_path {at}/scgi;
                 server {{
                     listen 127.0.0.1:{port};
                     root {at}/files;
                     absolute_redirect on;
                     location /v1/moved {{ return 301 /v1/index.html; }}
                     location /v1/cookie {{ add_header set-cookie 'a=1; path=/v1/x; domain=127.0.0.1'; return 204; }}
                     location /v1/seen {{ return 200 \"$host $http_x_forwarded_for $http_x_forwarded_proto $request_uri\"; }}
                     location /v1/ {{ alias {at}/files/; }}
                 }}
             }}"
        );
        let file = folder.join("nginx.conf");
        fs::write(&file, config).expect("a file");
        let process = Command::new("nginx")
            .args(["-p", &at.to_string(), "-c", &file.display().to_string()])
            .stdin(Stdio::null())
            .spawn()
            .expect("nginx");
        Self { process, folder, port }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
        let _gone = fs::remove_dir_all(&self.folder);
    }
}

#[tokio::test]
#[ignore = "needs nginx"]
async fn nginx_behind_the_proxy_is_a_part_of_this_server() {
    let nginx = Nginx::start();
    let origin = format!("http://127.0.0.1:{}", nginx.port);
    while tokio::net::TcpStream::connect(("127.0.0.1", nginx.port)).await.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let server = started(Proxy::new("/api", format!("{origin}/v1")).strip_prefix()).await;
    let page = server.answer(request("GET /api/index.html", &[])).await;
    assert_eq!((page.status, page.text()), (200, "<p>index</p>"));
    let tag = format!("if-none-match: {}", page.header("etag").expect("a tag"));
    assert_eq!(server.answer(request("GET /api/index.html", &[&tag])).await.status, 304);
    let part = server.answer(request("GET /api/large", &["range: bytes=0-9"])).await;
    assert_eq!((part.status, part.body.len()), (206, 10));
    let large = server.answer(request("GET /api/large", &[])).await;
    assert!(large.body.len() == 3 << 20 && large.body.iter().all(|byte| *byte == b'x'));
    let mut connection = server.connect().await;
    connection.send(request("HEAD /api/large", &[])).await;
    assert_eq!(connection.head().await.header("content-length"), Some("3145728"));

    let moved = server.answer(request("GET /api/moved", &[])).await;
    assert_eq!(moved.header("location"), Some("/api/index.html"), "{moved:?}");
    let cookie = server.answer(request("GET /api/cookie", &[])).await;
    assert_eq!(cookie.header("set-cookie"), Some("a=1; Path=/api/x"));
    let seen = server.answer(request("GET /api/seen?x=%2e", &["x-real-ip: 6.6.6.6"])).await;
    assert_eq!(seen.text(), "127.0.0.1 127.0.0.1 http /v1/seen?x=%2e");
    let missing = server.answer(request("GET /api/missing", &[])).await;
    assert_eq!(missing.status, 404);
    let long = request("PUT /api/index.html", &["content-length: 5"]) + "hello";
    assert_eq!(server.answer(long).await.status, 405);
}
