//! Unix sockets: their files, their peers, and a proxy in front of one.

use std::{
    fs,
    os::unix::fs::{FileTypeExt, PermissionsExt},
    path::{Path, PathBuf},
};

use http::HeaderMap;
use policy_server::{Error, Tls, TrustedProxies};
use policy_tests::{folder, log::Log, program::Program};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, UnixListener, UnixStream},
    runtime::Handle,
    task::spawn_blocking,
};

use super::*;

/// The folder of a socket.
struct Folder(folder::Folder);

impl Folder {
    fn new() -> Self {
        Self(folder::Folder::new().expect("a folder"))
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("app.sock")
    }

    fn address(&self) -> String {
        format!("unix:{}", self.file().display())
    }
}

/// Everything that a server sends on a new connection until it closes it.
async fn exchange(socket: &Path, bytes: &str) -> String {
    let mut stream = soon(UnixStream::connect(socket)).await.expect("a server that listens");
    stream.write_all(bytes.as_bytes()).await.expect("a server that takes bytes");
    let mut received = Vec::new();
    soon(stream.read_to_end(&mut received)).await.expect("a response");
    String::from_utf8_lossy(&received).into_owned()
}

fn asking(path: &str, fields: &[&str]) -> String {
    let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{fields}\r\n")
}

/// Returns the client and the peer of a request, and the remaining fields of proxies.
#[get("/sender")]
#[auth(public)]
async fn sender(client: Option<ClientAddr>, peer: Option<PeerAddr>, fields: HeaderMap) -> String {
    let client = client.map(|ClientAddr(address)| address.to_string());
    let left = fields.keys().filter(|name| name.as_str().contains("forwarded")).count();
    format!("{} {} {left}", client.unwrap_or_default(), peer.is_some())
}

#[get("/rated")]
#[limit(rate = "1/min per address")]
#[auth(public)]
async fn rated() {}

fn sender_app() -> App<()> {
    App::new(()).routes(routes![sender, rated])
}

#[tokio::test]
async fn unix_sockets_are_served_and_their_files_go_with_the_server() {
    let folder = Folder::new();
    for address in [folder.address().into(), ListenAddress::from(&*folder.address())] {
        assert_eq!(address.to_string(), folder.address());
        let server = app().bind(address).await.expect("an app that starts");
        assert_eq!(server.local_addr().to_string(), "0.0.0.0:0");
        let server = Running::serve(server);
        let response = exchange(&folder.file(), &asking("/hello", &[])).await;
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
        // The first bytes select the protocol, even if they arrive one by one.
        let mut slow = UnixStream::connect(folder.file()).await.expect("a server that listens");
        for byte in "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".bytes() {
            slow.write_all(&[byte]).await.expect("a server that takes bytes");
            tokio::task::yield_now().await;
        }
        let mut settings = [0; 9];
        soon(slow.read_exact(&mut settings)).await.expect("the settings of HTTP/2");
        assert_eq!(settings[3], 4);
        drop(slow);
        soon(server.stop()).await.unwrap();
        assert!(!folder.file().exists());
    }
    // The file is removed even if the server never runs.
    drop(app().bind(folder.address()).await.expect("an app that starts"));
    assert!(!folder.file().exists());
}

#[tokio::test]
async fn unix_sockets_of_dead_processes_are_replaced_and_those_in_use_are_not() {
    let folder = Folder::new();
    let listener = UnixListener::bind(folder.file()).expect("a socket");
    let refused = async || {
        let Err(Error::Start(problems)) = app().bind(folder.address()).await else { panic!() };
        let [problem] = &*problems else { panic!("{problems:?}") };
        assert_eq!((problem.code(), problem.value()), ("app.listen", Some(&*folder.address())));
        problem.to_string()
    };
    let text = refused().await;
    assert!(text.contains(": a process listens on this socket"), "{text}");
    assert!(folder.file().exists());
    // The file stays when the process is gone.
    drop(listener);
    let server = Running::serve(app().bind(folder.address()).await.expect("an app that starts"));
    let text = refused().await;
    assert!(text.contains(": a process listens on this socket"), "{text}");
    exchange(&folder.file(), &asking("/hello", &[])).await;
    // What another process has put in its place is not removed.
    fs::remove_file(folder.file()).expect("the socket");
    fs::write(folder.file(), "precious").expect("a file");
    soon(server.stop()).await.unwrap();
    let text = refused().await;
    assert!(text.contains(": a file with this name exists and is not a socket"), "{text}");
    assert_eq!(fs::read(folder.file()).expect("the file"), b"precious");
}

/// As a script may lock it while it restarts a service.
#[tokio::test]
async fn unix_sockets_are_made_and_removed_in_a_folder_that_another_program_has_locked() {
    let folder = Folder::new();
    let lock = fs::File::open(folder.0.path()).expect("the folder");
    lock.lock().expect("a lock");
    let address = folder.address();
    // A wait for the lock would block the thread.
    let started = spawn_blocking(move || {
        let server = Handle::current().block_on(app().bind(address)).expect("an app that starts");
        drop(server);
    });
    soon(started).await.unwrap();
    assert!(!folder.file().exists());
}

#[tokio::test]
async fn unix_sockets_that_cannot_be_made_are_named() {
    let folder = Folder::new();
    let long = format!("unix:{}/{}", folder.0.path().display(), "x".repeat(120));
    let missing = format!("unix:{}/missing/app.sock", folder.0.path().display());
    for (address, reason) in [
        ("unix:", "the path is missing"),
        ("unix:@app", "an abstract name (`@`) has no permissions"),
        (&*long, "path must be shorter than"),
        (&missing, "No such file or directory"),
    ] {
        let error = app().bind(address).await.unwrap_err().to_string();
        assert!(error.contains(&format!("- listener: `{address}`: the server cannot")), "{error}");
        assert!(error.contains(reason) && error.contains("an existing folder"), "{error}");
    }
}

#[tokio::test]
async fn unix_sockets_that_others_have_bound_stay_theirs() {
    let folder = Folder::new();
    let listener = std::os::unix::net::UnixListener::bind(folder.file()).expect("a socket");
    fs::set_permissions(folder.file(), fs::Permissions::from_mode(0o660)).expect("permissions");
    let kept = listener.try_clone().expect("a socket");
    for listener in [ListenAddress::from(listener), {
        kept.set_nonblocking(true).expect("a socket");
        UnixListener::from_std(kept.try_clone().unwrap()).expect("a socket").into()
    }] {
        assert_eq!(listener.to_string(), folder.address());
        let server = Running::serve(app().bind(listener).await.expect("an app that starts"));
        let response = exchange(&folder.file(), &asking("/hello", &[])).await;
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
        soon(server.stop()).await.unwrap();
        let file = fs::metadata(folder.file()).expect("the file");
        assert!(file.file_type().is_socket());
        assert_eq!(file.permissions().mode() & 0o777, 0o660);
    }
}

/// The permissions are those of any other file: under the usual umask, only the owner may write to it.
#[tokio::test]
async fn unix_sockets_have_the_permissions_that_the_umask_leaves() {
    let folder = Folder::new();
    let other = folder.0.path().join("other");
    fs::File::create(&other).expect("a file");
    let server = app().bind(folder.address()).await.expect("an app that starts");
    let mode = |file| fs::metadata(file).expect("the file").permissions().mode() & 0o666;
    assert_eq!(mode(folder.file()), mode(other));
    drop(server);
}

#[tokio::test]
async fn peers_of_unix_sockets_have_no_address_and_may_be_proxies() {
    let folder = Folder::new();
    let proxy_fields = ["x-forwarded-for: 203.0.113.7", "x-forwarded-proto: https"];
    let hosted = |app: App<()>| app.public_origin("https://localhost");
    let proxies = |names: &[&'static str]| TrustedProxies::new(names.iter().copied());
    for (app, fields, expected, notices) in [
        // Development treats the socket as loopback.
        (sender_app(), &[][..], " false 0", 0),
        (hosted(sender_app()), &proxy_fields[..], " false 0", 1),
        (
            hosted(sender_app().behind(proxies(&["127.0.0.1"]).x_forwarded())),
            &proxy_fields,
            " false 0",
            1,
        ),
        (hosted(sender_app().behind(proxies(&["unix"]).x_forwarded())), &[], " false 0", 0),
        (
            hosted(sender_app().behind(proxies(&["unix"]).x_forwarded())),
            &proxy_fields,
            "203.0.113.7 false 2",
            0,
        ),
        (
            hosted(sender_app().behind(proxies(&["unix", "10.0.0.0/8"]).forwarded())),
            &["forwarded: for=203.0.113.7;proto=https, for=10.0.0.1"],
            "203.0.113.7 false 1",
            0,
        ),
    ] {
        let (log, _guard) = Log::start("policy_server");
        let server = Running::serve(app.bind(folder.address()).await.expect("an app that starts"));
        let response = exchange(&folder.file(), &asking("/sender", fields)).await;
        assert!(response.ends_with(&format!("\r\n\r\n{expected}")), "{fields:?}: {response}");
        assert_eq!(log.with_code("proxies.socket").len(), notices, "{:?}", log.with(""));
        soon(server.stop()).await.unwrap();
    }
}

#[tokio::test]
async fn rates_by_address_use_the_client_that_the_proxy_of_a_unix_socket_states() {
    let folder = Folder::new();
    let status = async |client: &str| {
        let forwarded_for = format!("x-forwarded-for: {client}");
        let fields = [&*forwarded_for, "x-forwarded-proto: https"];
        let response = exchange(&folder.file(), &asking("/rated", &fields)).await;
        response[9..12].parse::<u16>().expect("a status")
    };
    let hosted = || sender_app().public_origin("https://localhost");
    for (app, expected) in [
        (hosted().behind(TrustedProxies::new(["unix"]).x_forwarded()), [200, 200, 429]),
        // No proxy states another address.
        (hosted(), [200, 429, 429]),
    ] {
        let server = Running::serve(app.bind(folder.address()).await.expect("an app that starts"));
        let found = [status("203.0.113.7").await, status("203.0.113.8").await];
        assert_eq!([found[0], found[1], status("203.0.113.7").await], expected);
        soon(server.stop()).await.unwrap();
    }
}

#[tokio::test]
async fn unix_sockets_of_proxies_may_begin_with_the_proxy_protocol() {
    let folder = Folder::new();
    let app = sender_app()
        .public_origin("https://localhost")
        .behind(TrustedProxies::new(["unix"]).proxy_protocol());
    let _server = Running::serve(app.bind(folder.address()).await.expect("an app that starts"));
    let request = asking("/sender", &[]);
    let header = "PROXY TCP4 203.0.113.7 10.0.0.1 4000 443\r\n";
    let response = exchange(&folder.file(), &format!("{header}{request}")).await;
    assert!(response.ends_with("\r\n\r\n203.0.113.7 false 0"), "{response}");
    assert_eq!(exchange(&folder.file(), &request).await, "");
}

#[tokio::test]
async fn unix_sockets_count_as_this_machine_and_have_no_port() {
    let folder = Folder::new();
    // Sessions need no TLS, as on loopback.
    let sessions = || sender_app().sessions(policy_server::Sessions::memory());
    for app in [sessions(), sessions().public_origin("https://api.example")] {
        assert!(app.bind(folder.address()).await.is_ok());
    }
    // A trusted proxy on a Unix socket does not protect TCP connections.
    let open = sessions()
        .public_origin("https://api.example")
        .behind(TrustedProxies::new(["unix"]).x_forwarded());
    let error = open.bind("0.0.0.0:0").await.unwrap_err().to_string();
    assert!(error.contains("(app.plain-credentials)"), "{error}");
    let tls = sender_app().tls(Tls::development(folder.0.path()).http3());
    let error = tls.bind(folder.address()).await.unwrap_err().to_string();
    assert!(error.contains("HTTP/3 needs a port, and a Unix socket has none"), "{error}");
    assert!(!folder.file().exists());
}

#[tokio::test]
async fn shutdowns_serve_accepted_clients_of_a_unix_socket() {
    let folder = Folder::new();
    let gate = gate();
    let app = app_with(&gate).settings(ServerSettings::default().max_connections(1));
    let server = Running::serve(app.bind(folder.address()).await.expect("an app that starts"));
    let (socket, waiting) = (folder.file(), asking("/wait", &[]));
    let first = {
        let (socket, waiting) = (socket.clone(), waiting.clone());
        tokio::spawn(async move { exchange(&socket, &waiting).await })
    };
    // Only one connection is allowed, so this one waits in the queue of the kernel.
    let mut second = UnixStream::connect(&socket).await.expect("a server that listens");
    second.write_all(asking("/hello", &[]).as_bytes()).await.expect("a queue");
    let stopped = server.stop();
    until(async || !socket.exists()).await;
    assert!(UnixStream::connect(&socket).await.is_err());
    gate.add_permits(2);
    let first = soon(first).await.expect("a response");
    assert!(first.ends_with("\r\n\r\nwaited"), "{first}");
    let mut response = String::new();
    soon(second.read_to_string(&mut response)).await.expect("a response");
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    soon(stopped).await.unwrap();
}

#[tokio::test]
#[ignore = "needs nginx"]
async fn nginx_reaches_a_unix_socket_and_states_the_client() {
    let folder = Folder::new();
    let app = sender_app()
        .public_origin("https://api.shop.example")
        .behind(TrustedProxies::new(["unix"]).x_forwarded());
    let _server = Running::serve(app.bind(folder.address()).await.expect("an app that starts"));
    let server = format!(
        "server {{
             listen ADDRESS;
             location / {{
                 proxy_pass http://unix:{}:;
                 proxy_http_version 1.1;
                 proxy_set_header Host api.shop.example;
                 proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
                 proxy_set_header X-Forwarded-Proto https;
             }}
         }}",
        folder.file().display()
    );
    let nginx = Program::nginx(&server).await;
    let mut stream = soon(TcpStream::connect(nginx.address)).await.expect("nginx");
    stream.write_all(asking("/sender", &[]).as_bytes()).await.expect("a request");
    let mut response = String::new();
    soon(stream.read_to_string(&mut response)).await.expect("a response");
    assert!(response.ends_with("\r\n\r\n127.0.0.1 false 2"), "{response}");
}
