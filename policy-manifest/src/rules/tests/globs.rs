//! Globs, and the paths for which they stand.

use super::*;

#[test]
fn a_wildcard_of_a_glob_stands_for_the_beginning_of_a_mount() {
    let mount = |path: &str| ManifestRoute::new(RouteKind::Mount, path, ["GET"], Auth::Public);
    for (glob, other) in [
        ("/v*/admin/**", mount("/v1")),
        ("/*/admin/**", mount("/v1")),
        ("/**/admin/**", mount("/v1/area")),
        ("/v*/admin/**", route(&["GET"], "/v1/{*rest}", Auth::Public)),
        ("/v*/admin", route(&["GET"], "/v1/{page}", Auth::Public)),
        ("/v*/*/x*/admin", route(&["GET"], "/v1/{page}/x1/{*rest}", Auth::Public)),
    ] {
        let rules =
            format!("[never.strangers]\nroutes = [\"{glob}\"]\nwithout-roles = [\"admin\"]");
        let admin = ["/v2/admin/users", "/v2/a/x2/admin", "/v2/admin"];
        let admin = admin.map(|path| route(&["GET"], path, session(&["admin"])));
        let path = other.path.clone();
        let found = violations(&rules, admin.into_iter().chain([other]).collect());
        assert_eq!(found.len(), 1, "{glob} {path}: {found:?}");
        assert!(found[0].contains(&format!("{path} reached")), "{glob} {path}: {found:?}");
    }
}

#[test]
fn an_answer_is_not_that_of_a_path_whose_method_another_route_serves() {
    let rules = "[never.a]\nroutes = [\"HEAD /adm\", \"HEAD /adm/b\"]\ncallers = [\"anonymous\"]";
    let routes = vec![
        route(&["GET"], "/{x}", Auth::Public),
        route(&["HEAD"], "/{x}", session(&[])),
        route(&["GET"], "/{x}/b", Auth::Public),
    ];
    assert_eq!(violations(rules, routes), ["never.a HEAD /{x}/b reached"]);
}
