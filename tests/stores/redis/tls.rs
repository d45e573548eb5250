//! Servers with TLS. Each has one port with TLS, and one without TLS for the test itself.

use policy_tests::{
    authority::Authority,
    folder::Folder,
    http::soon,
    port::Port,
    redis::parameter,
    redis_sentinel::{NAME, replicas},
};

use super::*;
use crate::site::{says, start_error, until};

/// The files of servers, with a certificate for one name.
struct Files(Folder);

impl Files {
    fn new(name: &str) -> Self {
        let files = Self(Folder::new().unwrap());
        let authority = Authority::new();
        authority.issue(&[name]).write(files.0.path());
        std::fs::write(files.path("own"), authority.pem()).unwrap();
        std::fs::write(files.path("others"), Authority::new().pem()).unwrap();
        files
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn settings(&self, port: &str) -> Vec<String> {
        vec![
            format!("tls-port={port}"),
            format!("tls-cert-file={}", self.path("cert.pem")),
            format!("tls-key-file={}", self.path("key.pem")),
            format!("tls-ca-cert-file={}", self.path("own")),
            "tls-auth-clients=no".to_owned(),
        ]
    }

    async fn start(&self, port: &str, more: &[&str]) -> Redis {
        let settings = self.settings(port);
        let own = settings.iter().map(String::as_str);
        Redis::start(&own.chain(more.iter().copied()).collect::<Vec<_>>()).await
    }
}

fn number(port: &Port) -> String {
    port.address.port().to_string()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn the_certificate_and_its_name_are_checked() {
    let files = Files::new("localhost");
    let port = Port::reserve();
    let server = files.start(&number(&port), &[]).await;
    let url = format!("rediss://:secret@localhost:{}/", number(&port));
    let instance = Instance::start(&format!("{url}?sslrootcert={}", files.path("own"))).await;
    let ada = instance.login("ada").await;
    assert_eq!(ada.status(&instance).await, 200);
    // The end of a session through the other port reaches a stream at this one.
    let stream = ada.open(&instance).await;
    let plain = Instance::start(&server.url()).await;
    assert_eq!(ada.post(&plain, "/logout").await.status(), 200);
    assert!(soon(stream).await.unwrap());
    for url in [url.clone(), format!("{url}?sslrootcert={}", files.path("others"))] {
        says(&start_error(&url).await, &["certificate", "write `sslrootcert=`"]);
    }
    let other_name = url.replace("localhost", "127.0.0.1");
    let wrong = format!("{other_name}?sslrootcert={}", files.path("own"));
    says(&start_error(&wrong).await, &["certificate", "the name that its certificate states"]);
    let wrong = url.replace("rediss:", "redis:");
    says(&start_error(&wrong).await, &["write `rediss://` if the server uses TLS"]);
}

/// The sentinel, both servers, and the connections between them.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn the_primary_of_sentinels_is_followed() {
    let files = Files::new("127.0.0.1");
    let reserved = [(); 3].map(|()| Port::reserve());
    let ports = reserved.each_ref().map(number);
    let start = async |at: usize| {
        let announced = format!("replica-announce-port={}", ports[at]);
        let more = ["masterauth=secret", "tls-replication=yes", "repl-diskless-sync-delay=0"];
        files.start(&ports[at], &[&more[..], &[&announced]].concat()).await
    };
    let servers = [start(0).await, start(1).await];
    servers[1].command(&["REPLICAOF", "127.0.0.1", &ports[0]]).await;
    until(async || replicas(&servers[0]).await == 1).await;
    let lines = files.settings(&ports[2]);
    let mut lines: Vec<_> = lines.iter().map(|setting| setting.replacen('=', " ", 1)).collect();
    lines.extend([
        "tls-replication yes".to_owned(),
        format!("sentinel monitor {NAME} 127.0.0.1 {} 1", ports[0]),
        format!("sentinel auth-pass {NAME} secret"),
    ]);
    let sentinel = Redis::start_sentinel("sentinel-secret", &lines).await;
    let url = format!(
        "rediss+sentinel://:secret@127.0.0.1:{}/{NAME}?sentinel_password=sentinel-secret&wait=1&{}",
        ports[2],
        parameter()
    );
    says(&start_error(&url).await, &["no sentinel", "certificate", "write `sslrootcert=`"]);
    let instances = Instance::three(&format!("{url}&sslrootcert={}", files.path("own"))).await;
    let ada = instances[0].login("ada").await;
    let stream = ada.open(&instances[1]).await;
    let fails_over = ["SENTINEL", "FAILOVER", NAME];
    until(async || sentinel.try_command(&fails_over).await.is_some()).await;
    until(async || servers[0].command(&["ROLE"]).await != servers[1].command(&["ROLE"]).await)
        .await;
    let primary = async || sentinel.command(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME]).await;
    until(async || format!("{:?}", primary().await).contains(&*ports[1])).await;
    for instance in &instances {
        until(async || ada.post(instance, "/count").await.status() == 200).await;
    }
    until(async || ada.post(&instances[2], "/logout").await.status() == 200).await;
    assert!(soon(stream).await.unwrap());
}

/// A node names the TLS port of the node that has the keys.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn any_node_of_a_cluster_leads_to_the_one_that_has_the_keys() {
    let files = Files::new("127.0.0.1");
    let reserved = [(); 4].map(|()| Port::reserve());
    let ports = reserved.each_ref().map(number);
    let start = async |at: usize| {
        let bus = format!("cluster-port={}", ports[at + 2]);
        let more = ["cluster-enabled=yes", "tls-cluster=yes", "cluster-node-timeout=60000"];
        files.start(&ports[at], &[&more[..], &[&bus]].concat()).await
    };
    let nodes = [start(0).await, start(1).await];
    for (node, (first, last)) in nodes.iter().zip([("0", "8191"), ("8192", "16383")]) {
        node.command(&["CLUSTER", "ADDSLOTSRANGE", first, last]).await;
    }
    nodes[1].command(&["CLUSTER", "SET-CONFIG-EPOCH", "2"]).await;
    nodes[0].command(&["CLUSTER", "MEET", "127.0.0.1", &ports[1], &ports[3]]).await;
    let is_ready = async |node: &Redis| {
        let info = node.command(&["CLUSTER", "INFO"]).await;
        redis::from_redis_value::<String>(info).unwrap().contains("cluster_state:ok")
    };
    until(async || is_ready(&nodes[0]).await && is_ready(&nodes[1]).await).await;
    let own = files.path("own");
    let mut owners = std::collections::BTreeSet::new();
    while owners.len() < 2 {
        let parameter = parameter();
        let key = format!("{{{}}}:", parameter.strip_prefix("prefix=").unwrap());
        owners.insert(nodes[0].try_command(&["EXISTS", &key]).await.is_some());
        for port in &ports[..2] {
            let url = format!("rediss://:secret@127.0.0.1:{port}/?{parameter}&sslrootcert={own}");
            let instance = Instance::start(&url).await;
            assert_eq!(instance.login("ada").await.status(&instance).await, 200);
        }
    }
}
