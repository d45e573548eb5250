//! The last chapter: the files of containers agree with the program, and the program runs as they say.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
};

use policy_tests::{
    authority::Authority, folder::Folder, image::Image, program::Program, webdriver::Browser,
};
use serde_json::json;

use super::{
    reader::{self, Reader},
    source::{MAIN, Sources},
};

/// Containers do not run here, so this checks what they would fail by first.
pub(super) fn check(sources: &Sources) {
    let [main, page, docker, compose, caddy] =
        [MAIN, "web/index.html", "Dockerfile", "compose.yaml", "Caddyfile"]
            .map(|path| sources.get(path));
    let settings = settings(docker, compose);
    let read = main.split("setting(\"").skip(1).filter_map(|rest| rest.split('"').next());
    let read: BTreeSet<&str> = read.collect();
    let stated: BTreeSet<&str> = settings.keys().copied().collect();
    assert_eq!(read, stated, "the settings of the program, of the Dockerfile and of compose.yaml");

    let sites = sites(caddy);
    let (origin, port) = (settings["PUBLIC_ORIGIN"], settings["LISTEN"].rsplit(':').next());
    let port = port.expect("a port");
    let host = origin.strip_prefix("https://").expect("HTTPS");
    assert!(sites[host].contains(&format!("reverse_proxy service:{port}")), "{caddy}");
    assert!(compose.contains("\n  service:\n"), "{compose}");
    assert!(docker.contains(&format!("\nEXPOSE {port}\n")), "{docker}");
    assert!(page.contains(&format!("const api = \"{origin}\";")), "the API of the page");

    let (name, directives) = sites.iter().find(|(name, _)| **name != host).expect("the page");
    assert!(main.contains(&format!("\"https://{name}\"")), "the origin of the page in PAGES");
    let folder = directives.split("root * ").nth(1).and_then(|rest| rest.split('\n').next());
    assert!(compose.contains(&format!("\"./web:{}:ro\"", folder.expect("a root"))), "{compose}");

    let store = settings["SESSION_STORE"].strip_prefix("redb:").expect("a store in a file");
    let folder = Path::new(store).parent().expect("a folder").display();
    assert!(compose.contains(&format!("volumes: [\"sessions:{folder}\"]")), "{compose}");
    assert!(compose.ends_with("\n  sessions:\n"), "{compose}");
    assert!(docker.contains(&format!("\nVOLUME {folder}\n")), "{docker}");
    // The service depends on `../policy`, as seen from where the image builds it.
    assert!(docker.contains("\nCOPY --from=policy . /policy\nWORKDIR /service\n"), "{docker}");
    assert!(compose.contains("additional_contexts: { policy: ../policy }\n"), "{compose}");
}

/// The image of the Dockerfile with the environment of compose.yaml, behind nginx in place of Caddy,
/// whose certificates come from the Internet. Only ports and the network of the proxy are of this machine.
pub(super) async fn run(reader: &mut Reader) {
    reader.stop();
    reader.write();
    let docker = reader.sources.get("Dockerfile").to_owned();
    let (_, build) = docker.split_once("\n    cargo ").expect("a build");
    let build = build.split(" && ").next().unwrap_or_default();
    println!("    $ cargo {build}");
    let built = reader.command(&format!("cargo {build}")).status().expect("cargo");
    assert!(built.success(), "cargo {build}");

    let compose = reader.sources.get("compose.yaml").to_owned();
    let settings = settings(&docker, &compose);
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or(reader.project().join("target"), PathBuf::from);
    let program = target.join("release/team-tasks");
    let mut image = Image::build(&docker, &reader.project(), &program);
    for (name, value) in &settings {
        let value = match *name {
            "LISTEN" => reader.here(value),
            "TRUSTED_PROXIES" => "127.0.0.1".to_owned(),
            _ => (*value).to_owned(),
        };
        println!("    {name}: {value}");
        image = image.with(name, &value);
    }
    let _service = image.start().unwrap_or_else(|error| panic!("{error}"));

    let certificates = Folder::new().expect("a folder");
    let origin = settings["PUBLIC_ORIGIN"];
    let api = origin.strip_prefix("https://").expect("HTTPS");
    let caddy = sites(reader.sources.get("Caddyfile"));
    let page = caddy.keys().find(|name| **name != api).expect("the page");
    let (authority, upstream) = (Authority::new(), reader.port("8080"));
    let issued = authority.issue(&[api, page]);
    let (certificate, key) = issued.write(certificates.path());
    // With its issuer, by which the browser trusts it.
    fs::write(&certificate, issued.certificate + &authority.pem()).expect("a file");
    let (certificate, key) = (certificate.display(), key.display());
    let web = reader.project().join("web");
    let nginx = Program::nginx(&format!(
        "ssl_certificate {certificate}; ssl_certificate_key {key}; types {{ text/html html; }}
         server {{
             listen ADDRESS ssl; server_name {api};
             location / {{
                 proxy_pass http://127.0.0.1:{upstream};
                 proxy_set_header Host $host;
                 proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
                 proxy_set_header X-Forwarded-Proto $scheme;
             }}
         }}
         server {{ listen ADDRESS ssl; server_name {page}; root {}; }}",
        web.display()
    ))
    .await;

    let rules = format!("MAP *.example {}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", nginx.address);
    let flags = [
        format!("--host-resolver-rules={rules}"),
        format!("--ignore-certificate-errors-spki-list={}", authority.key_hash()),
    ];
    let browser = Browser::with(&flags, &json!({})).expect("a browser");
    reader::add_a_task(&browser, &format!("https://{page}/")).expect("the page");
    browser.goto(&format!("{origin}/csrf")).expect("the API");
    let cookies = browser.cookies().expect("cookies");
    let is_protected = |cookie: &serde_json::Value| {
        cookie["name"].as_str().is_some_and(|name| name.starts_with("__Host-"))
            && cookie["secure"] == true
    };
    assert!(cookies.iter().any(is_protected), "{cookies:?}");

    println!("    a request for another host is refused");
    let other = format!("curl -si http://127.0.0.1:{upstream}/tasks -H 'X-Forwarded-Proto: https'");
    let output = reader.command(&other).output().expect("curl");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("HTTP/1.1 421 "), "{text}");
}

/// The settings of the service: of its image, and of compose.yaml.
fn settings<'a>(docker: &'a str, compose: &'a str) -> BTreeMap<&'a str, &'a str> {
    let image = docker.split("\nENV ").skip(1).filter_map(|rest| rest.lines().next());
    let image = image.flat_map(str::split_whitespace).filter_map(|pair| pair.split_once('='));
    let (_, rest) = compose.split_once("    environment:\n").expect("an environment");
    let lines = rest.lines().take_while(|line| line.starts_with("      "));
    image.chain(lines.filter_map(|line| line.trim_start().split_once(": "))).collect()
}

/// The directives for each host in the Caddyfile.
fn sites(caddy: &str) -> BTreeMap<&str, &str> {
    let sites = caddy.split("\n}\n").filter_map(|site| site.split_once(" {\n"));
    sites.map(|(name, directives)| (name.trim(), directives)).collect()
}
