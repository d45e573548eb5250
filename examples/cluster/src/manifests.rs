//! Checks that `compose.yaml` and the Kubernetes manifests say what the app reads.

use std::path::Path;

use yaml_rust2::{Yaml, YamlLoader};

use crate::instance::{
    INSTANCE, LISTEN, LIVENESS, PUBLIC_ORIGIN, READINESS, SESSION_STORE, TRUSTED_PROXIES,
};

const VARIABLES: [&str; 5] = [INSTANCE, LISTEN, PUBLIC_ORIGIN, SESSION_STORE, TRUSTED_PROXIES];

/// The only document of a file.
fn document(text: &str) -> Yaml {
    let mut documents = YamlLoader::load_from_str(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(documents.len(), 1, "{text}");
    documents.remove(0)
}

fn deployment() -> Yaml {
    document(include_str!("../kubernetes/deployment.yaml"))
}

/// The one container of the deployment.
fn container(deployment: &Yaml) -> &Yaml {
    let containers = &deployment["spec"]["template"]["spec"]["containers"];
    assert_eq!(containers.as_vec().map(Vec::len), Some(1));
    &containers[0]
}

#[track_caller]
fn text(value: &Yaml) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value:?}"))
}

#[test]
fn the_deployment_sets_exactly_the_variables_of_the_app() {
    let deployment = deployment();
    assert_eq!(text(&deployment["apiVersion"]), "apps/v1");
    assert_eq!(text(&deployment["kind"]), "Deployment");
    let entries = container(&deployment)["env"].as_vec().expect("variables").iter();
    let mut names: Vec<&str> = entries.clone().map(|entry| text(&entry["name"])).collect();
    names.sort_unstable();
    assert_eq!(names, VARIABLES);
    for entry in entries {
        let is_stated = entry["value"].as_str().is_some();
        let is_referred_to = entry["valueFrom"].as_hash().is_some();
        assert!(is_stated != is_referred_to, "{entry:?}");
        // A password is never written here.
        let is_secret = text(&entry["name"]) == SESSION_STORE;
        assert_eq!(entry["valueFrom"]["secretKeyRef"]["key"].as_str().is_some(), is_secret);
    }
    let arguments = container(&deployment)["args"].as_vec().expect("arguments");
    assert_eq!(arguments.iter().map(text).collect::<Vec<_>>(), ["cluster", "instance"]);
}

#[test]
fn probes_ask_the_routes_and_the_port_of_the_app() {
    let deployment = deployment();
    let container = container(&deployment);
    let port = &container["ports"][0];
    for (probe, path) in
        [("startupProbe", LIVENESS), ("livenessProbe", LIVENESS), ("readinessProbe", READINESS)]
    {
        let get = &container[probe]["httpGet"];
        assert_eq!(
            (text(&get["path"]), text(&get["port"])),
            (path, text(&port["name"])),
            "{probe}"
        );
    }
    let listen = container["env"].as_vec().expect("variables").iter();
    let listen = listen.clone().find(|entry| text(&entry["name"]) == LISTEN).expect("an address");
    let number = port["containerPort"].as_i64().expect("a port");
    assert_eq!(text(&listen["value"]), format!("0.0.0.0:{number}"));
}

#[test]
fn the_service_and_the_budget_mean_the_pods_of_the_deployment() {
    let deployment = deployment();
    let service = document(include_str!("../kubernetes/service.yaml"));
    let budget = document(include_str!("../kubernetes/disruption.yaml"));
    assert_eq!((text(&service["apiVersion"]), text(&service["kind"])), ("v1", "Service"));
    let kind = (text(&budget["apiVersion"]), text(&budget["kind"]));
    assert_eq!(kind, ("policy/v1", "PodDisruptionBudget"));
    let labels = &deployment["spec"]["template"]["metadata"]["labels"];
    assert!(labels.as_hash().is_some_and(|labels| !labels.is_empty()));
    for selector in [
        &deployment["spec"]["selector"]["matchLabels"],
        &service["spec"]["selector"],
        &budget["spec"]["selector"]["matchLabels"],
    ] {
        assert_eq!(selector, labels);
    }
    let port = &container(&deployment)["ports"][0]["name"];
    assert_eq!(&service["spec"]["ports"][0]["targetPort"], port);
    // Otherwise no node could ever be drained.
    let (least, replicas) = (&budget["spec"]["minAvailable"], &deployment["spec"]["replicas"]);
    assert!(least.as_i64() < replicas.as_i64(), "{least:?} {replicas:?}");
}

/// The program and the user of the image, and the port that it names.
#[test]
fn the_deployment_runs_the_built_image() {
    let lines: Vec<&str> = include_str!("../Dockerfile").lines().collect();
    let says = |line: String| assert!(lines.contains(&&*line), "no `{line}`: {lines:?}");
    let deployment = deployment();
    let container = container(&deployment);
    let arguments = container["args"].as_vec().expect("arguments").iter();
    let arguments: Vec<String> = arguments.map(|one| format!("{:?}", text(one))).collect();
    says(format!("CMD [{}]", arguments.join(", ")));
    let security = &deployment["spec"]["template"]["spec"]["securityContext"];
    assert_eq!(security["runAsNonRoot"].as_bool(), Some(true));
    let user = security["runAsUser"].as_i64().expect("a user");
    says(format!("USER {user}:{user}"));
    says(format!("EXPOSE {}", container["ports"][0]["containerPort"].as_i64().expect("a port")));
    // The binary is that of this package.
    let name = env!("CARGO_PKG_NAME");
    assert!(lines.iter().any(|line| line.ends_with(&format!("--package {name}"))), "{lines:?}");
    says(format!("COPY --from=build /policy/target/release/{name} /usr/local/bin/{name}"));
    let build = &document(include_str!("../compose.yaml"))["services"]["instance"]["build"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(text(&build["context"]));
    assert!(root.join(text(&build["dockerfile"])).is_file() && root.join("Cargo.lock").is_file());
}

/// The drain of the app and its requests in flight fit into the time before the process is killed.
#[test]
fn an_instance_has_time_to_stop() {
    let compose = document(include_str!("../compose.yaml"));
    let grace = text(&compose["services"]["instance"]["stop_grace_period"]);
    let grace = grace.strip_suffix('s').and_then(|seconds| seconds.parse().ok());
    let pods = deployment();
    let pods = pods["spec"]["template"]["spec"]["terminationGracePeriodSeconds"].as_i64();
    let needed = crate::instance::DRAIN.as_secs() + 30;
    for grace in [grace, pods] {
        assert!(grace.is_some_and(|seconds| seconds > needed as i64), "{grace:?}");
    }
}

#[test]
fn compose_sets_only_variables_of_the_app_and_runs_all_instances() {
    let compose = document(include_str!("../compose.yaml"));
    let instance = &compose["services"]["instance"];
    let environment = instance["environment"].as_hash().expect("variables");
    for name in environment.keys() {
        assert!(VARIABLES.contains(&text(name)), "{name:?}");
    }
    let address = text(&instance["environment"][LISTEN]);
    // Caddy asks this port of every address of the name.
    let front = include_str!("../Caddyfile");
    let port = address.strip_prefix("0.0.0.0:").expect("all addresses");
    assert!(front.contains(&format!("dynamic a instance {port} ")), "{front}");
    let replicas = &deployment()["spec"]["replicas"];
    assert_eq!(&instance["deploy"]["replicas"], replicas);
    // A password is drawn by the person who starts it, and written nowhere.
    let store = &compose["services"]["store"]["environment"]["POSTGRES_PASSWORD"];
    assert!(text(store).starts_with("${POSTGRES_PASSWORD:?"), "{store:?}");
    assert!(text(&instance["environment"][SESSION_STORE]).contains(text(store)));
    // The URL and the health check name the user and the database that the server makes.
    let store = &compose["services"]["store"];
    let (user, database) =
        ["POSTGRES_USER", "POSTGRES_DB"].map(|name| text(&store["environment"][name])).into();
    let url = text(&instance["environment"][SESSION_STORE]);
    assert!(url.starts_with(&format!("postgres://{user}:")), "{url}");
    assert!(url.contains(&format!("@store/{database}?")), "{url}");
    let check = store["healthcheck"]["test"].as_vec().expect("a command");
    for option in [format!("--username={user}"), format!("--dbname={database}")] {
        assert!(check.iter().any(|word| text(word) == option), "{check:?}");
    }
    for name in ["front", "instance", "store"] {
        assert!(compose["services"][name].as_hash().is_some(), "{name}");
    }
    let waits_for = &instance["depends_on"]["store"]["condition"];
    assert_eq!(text(waits_for), "service_healthy");
}
