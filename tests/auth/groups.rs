//! `#[auth(group)]`: the callers of a handler are those of its group, or else of the app.
//! `targets.rs` compares each requirement with the same one at the handler.

use policy_server::manifest::Auth;

use super::*;

#[get("/report")]
#[auth(group)]
async fn report() -> &'static str {
    "all of it"
}

#[get("/user")]
#[auth(group)]
async fn user(user: Principal) -> String {
    user.subject().to_owned()
}

#[post("/enter/{role}")]
#[auth(public)]
async fn enter(role: String, sessions: Sessions) -> Result<(), Problem> {
    Ok(sessions.login(Identity::new("ada").roles([role])).await?)
}

fn admins() -> AuthRequirement {
    AuthRequirement::session().roles(&["admin"])
}

fn app() -> App<()> {
    App::new(()).public_origin(OWN).sessions(Sessions::memory())
}

#[tokio::test]
async fn a_handler_admits_whom_its_group_admits() {
    let group = Group::new().auth(admins()).routes(routes![report, user]);
    let client = app().routes(routes![enter]).group("/admin", group).test();
    let get =
        async |path: &str, cookie: &str| client.get(path).header("cookie", cookie).send().await;
    let log_in = async |role: &str| {
        let response = client.post(&format!("/enter/{role}")).origin(OWN).send().await;
        let line = response.header("set-cookie").expect("a session");
        line.split(';').next().expect("a pair").to_owned()
    };
    let (admin, clerk) = (log_in("admin").await, log_in("clerk").await);
    for path in ["/admin/report", "/admin/user"] {
        assert_problem(&get(path, "theme=dark").await, 401, "auth.credentials-missing");
        let refused = get(path, &clerk).await;
        assert_problem(&refused, 403, "auth.rights-missing");
        assert_eq!(refused.header("cache-control"), Some("no-store"));
        assert_eq!(get(path, &admin).await.status(), 200, "{path}");
    }
    assert_eq!(get("/admin/user", &admin).await.text(), "ada");
}

#[test]
fn the_app_decides_where_no_group_does_and_something_has_to() {
    let of_app =
        |change: fn(App<()>) -> App<()>| codes(change(app().routes(routes![report])).check());
    assert_eq!(of_app(|app| app.auth(admins())), [""; 0]);
    assert_eq!(of_app(|app| app.public()), [""; 0]);
    assert_eq!(of_app(|app| app), ["auth.group-missing"]);
    let in_group =
        |group: Group<()>| codes(app().group("/a", group.routes(routes![report])).check());
    assert_eq!(in_group(Group::new().public()), [""; 0]);
    assert_eq!(in_group(Group::new()), ["auth.group-missing"]);
}

/// What a macro refuses where it sees the requirement, the start refuses where it is inherited.
#[test]
fn inherited_requirements_follow_the_same_rules() {
    #[get("/shared")]
    #[cors(origins = ["https://spa.example"])]
    #[auth(group)]
    async fn shared() {}

    #[post("/exempt")]
    #[csrf(exempt = " ")]
    #[auth(group)]
    async fn exempt() {}

    #[get("/cached")]
    #[cache(public, max_age = 60)]
    #[auth(group)]
    async fn cached() {}

    #[get("/counted")]
    #[limit(rate = "10/min per principal")]
    #[auth(group)]
    async fn counted() {}

    #[post("/streamed")]
    #[auth(group)]
    async fn streamed() {}

    #[post("/hook")]
    #[csrf(exempt = "a webhook")]
    #[auth(group)]
    async fn hook() {}

    let in_group = |group: Group<()>| codes(app().group("/a", group).check());
    let user = || Group::new().routes(routes![user]);
    assert_eq!(in_group(user().auth(admins())), [""; 0]);
    assert_eq!(in_group(user().public()), ["auth.principal-of-public"]);
    assert_eq!(in_group(user().auth(admins().optional())), ["auth.principal-of-optional"]);
    assert_eq!(in_group(user().auth(AuthRequirement::token())), ["auth.tokens-missing"]);
    let shared = Group::new().auth(admins()).routes(routes![shared]);
    assert_eq!(in_group(shared), ["auth.cors-without-credentials"]);
    let exempt = Group::new().auth(admins()).routes(routes![exempt]);
    assert_eq!(in_group(exempt), ["csrf.exempt-without-reason"]);
    let cached = || Group::new().routes(routes![cached]);
    assert_eq!(in_group(cached().public()), [""; 0]);
    assert_eq!(in_group(cached().auth(admins())), ["cache.personal-and-shared"]);
    let counted = || Group::new().routes(routes![counted]);
    assert_eq!(in_group(counted().auth(admins())), [""; 0]);
    assert_eq!(in_group(counted().public()), ["limit.rate-of-nobody"]);
    let streamed = Group::new().auth(AuthRequirement::ticket()).routes(routes![streamed]);
    assert_eq!(in_group(streamed), ["auth.ticket-method", "auth.tokens-missing"]);
    let hook = || Group::new().routes(routes![hook]);
    assert_eq!(in_group(hook().auth(admins())), [""; 0]);
    let of_tokens = hook().auth(AuthRequirement::token());
    assert_eq!(in_group(of_tokens), ["auth.tokens-missing", "csrf.nothing-to-forge"]);
}

#[test]
fn a_manifest_states_what_a_handler_inherits_and_where_it_is_written() {
    let owners = AuthRequirement::session().roles(&["owner"]);
    let line = line!() + 1;
    let group = || Group::new().auth(admins()).routes(routes![report]);
    let app = || app().auth(owners).group("/admin", group());
    let manifest = app().manifest();
    let route = manifest.routes.iter().find(|route| route.path == "/admin/report").expect("it");
    let Auth::Required(requirement) = &route.auth else { panic!("{:?}", route.auth) };
    assert_eq!(requirement.roles, ["admin"]);
    let sources = app().sources();
    let source = sources.get("GET", "/admin/report", "auth").expect("a line");
    assert_eq!((source.level.name(), source.line), ("group", line));
}
