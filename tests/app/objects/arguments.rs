//! Which parameter of the path names which object, and the arguments beside them.

use policy_server::object::{LoadLocked, Locked};

use super::*;

#[derive(Clone, Debug, Object)]
#[rule(View = member(members))]
#[rule(Edit = owner)]
struct Team {
    #[object(key)]
    name: String,
    #[object(owner)]
    lead: String,
    #[object(members)]
    members: Vec<String>,
}

impl Load for Team {
    type Source = Orders;

    async fn load(name: &String, _: &(), _: &Orders) -> Result<Option<Self>, Problem> {
        let members = match &**name {
            "red" => ["ada", "bob"],
            "blue" => ["eve", "bob"],
            _ => return Ok(None),
        };
        let members = members.map(str::to_owned).to_vec();
        Ok(Some(Self { name: name.clone(), lead: members[0].clone(), members }))
    }
}

/// A task of a team: the same number is another task in another team.
#[derive(Debug, Object)]
#[rule(View = authenticated)]
#[rule(Edit = owner)]
#[object(parent = Team)]
struct Task {
    #[object(key)]
    number: u32,
    #[object(owner)]
    user: String,
    team: String,
}

impl Load for Task {
    type Source = Orders;

    async fn load(number: &u32, team: &Team, orders: &Orders) -> Result<Option<Self>, Problem> {
        orders.loaded.fetch_add(1, Ordering::Relaxed);
        let (team, user) = match (&*team.name, number) {
            ("red", 1) => ("red", "ada"),
            ("blue", 2) => ("blue", "eve"),
            _ => return Ok(None),
        };
        Ok(Some(Self { number: *number, user: user.to_owned(), team: team.to_owned() }))
    }
}

/// A lock that says when it is dropped.
struct Transaction(Arc<AtomicUsize>);

impl Drop for Transaction {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl LoadLocked for Task {
    type Lock = Transaction;

    async fn load_locked(
        number: &u32,
        team: &Team,
        orders: &Orders,
    ) -> Result<Option<(Self, Transaction)>, Problem> {
        let task = Self::load(number, team, orders).await?;
        Ok(task.map(|task| (task, Transaction(Arc::clone(&orders.loaded)))))
    }
}

#[get("/teams/{team}/tasks/{task}")]
#[auth(scheme = CallerScheme)]
async fn by_name(task: Allowed<Task>, team: Allowed<Team>) -> String {
    format!("{}: {} of {}", task.user, task.number, team.name)
}

#[get("/in-order/{a}/{b}")]
#[auth(scheme = CallerScheme)]
async fn by_order(one: Allowed<Team>, other: Allowed<Task>) -> String {
    format!("{}: {} of {}", other.user, other.number, one.name)
}

#[put("/teams/{team}/tasks/{task}")]
#[auth(scheme = CallerScheme)]
async fn edit(_team: Allowed<Team>, mut task: Locked<Task, Edit>) -> String {
    let locks = task.lock().0.load(Ordering::Relaxed);
    let (task, _transaction) = task.into_parts();
    format!("{} after {locks}", task.team)
}

#[put("/led/{team}/{task}")]
#[auth(scheme = CallerScheme)]
async fn led(team: Allowed<Team, Edit>, task: Allowed<Task, Edit>) -> String {
    format!("{} {}", team.lead, task.number)
}

/// Plain parameters before, between and after objects, with a reason.
#[get("/{region}/teams/{team}/{year}/tasks/{task}/{*rest}")]
#[auth(scheme = CallerScheme)]
#[object(none = "regions, years and files are the same for everyone")]
async fn mixed(
    rest: String,
    task: Allowed<Task>,
    year: u16,
    team: Allowed<Team>,
    State(orders): State<Orders>,
    region: String,
    Query(words): Query<BTreeMap<String, String>>,
) -> String {
    let loads = orders.loads();
    format!("{region} {} {year} {} {rest} {} {loads}", team.name, task.number, words.len())
}

/// Each argument takes the parameter of its name, whatever the order.
#[get("/swapped/{from}/{to}")]
#[auth(scheme = CallerScheme)]
async fn swapped(to: Allowed<Team>, from: Allowed<Team>) -> String {
    format!("{} to {}", from.name, to.name)
}

async fn serving() -> (Running, Orders) {
    let orders = Orders::sample();
    let routes = routes![by_name, by_order, edit, led, mixed, swapped];
    let app = App::new(orders.clone()).scheme(CallerScheme).routes(routes);
    (Running::start(app).await, orders)
}

async fn text(server: &Running, what: &str, caller: &str) -> Result<String, u16> {
    let response = send(server, what, Some(caller), &[]).await;
    match response.status {
        200 => Ok(response.text().to_owned()),
        status => Err(status),
    }
}

/// A child is loaded under the parent in its path, which the caller has to see.
#[tokio::test]
async fn a_child_of_another_parent_is_not_found() {
    let (server, orders) = serving().await;
    for path in ["/teams/#/tasks/", "/in-order/#/"] {
        for (team, task, caller, expected) in [
            ("red", 1, "ada", Ok("ada: 1 of red")),
            ("red", 1, "bob", Ok("ada: 1 of red")),
            ("blue", 2, "bob", Ok("eve: 2 of blue")),
            ("blue", 1, "bob", Err(404)),
            ("red", 2, "bob", Err(404)),
            ("red", 1, "eve", Err(404)),
            ("green", 1, "ada", Err(404)),
        ] {
            let before = orders.loads();
            let what = format!("GET {}{task}", path.replace('#', team));
            let found = text(&server, &what, caller).await;
            assert_eq!(found, expected.map(str::to_owned), "{what} {caller}");
            // A child is not asked for under a parent that the caller does not see.
            let is_under = team != "green" && caller != "eve";
            assert_eq!(orders.loads() - before, usize::from(is_under), "{what} {caller}");
        }
    }
}

#[tokio::test]
async fn each_object_has_its_action() {
    let (server, orders) = serving().await;
    assert_eq!(text(&server, "PUT /led/red/1", "ada").await, Ok("ada 1".to_owned()));
    // Bob sees both, and leads neither.
    let before = orders.loads();
    assert_eq!(text(&server, "PUT /led/red/1", "bob").await, Err(403));
    assert_eq!(orders.loads(), before);
    assert_eq!(text(&server, "PUT /led/red/1", "eve").await, Err(404));
    assert_eq!(text(&server, "PUT /led/red/2", "ada").await, Err(404));
}

/// A lock is dropped with the request, also if the caller does not get the object.
#[tokio::test]
async fn a_lock_ends_with_the_request() {
    let (server, orders) = serving().await;
    for (caller, expected) in [("ada", Ok("red after 1")), ("bob", Err(403))] {
        orders.loaded.store(0, Ordering::Relaxed);
        let changed = text(&server, "PUT /teams/red/tasks/1", caller).await;
        assert_eq!(changed, expected.map(str::to_owned), "{caller}");
        // One for the load, and one for the dropped lock.
        assert_eq!(orders.loads(), 2, "{caller}");
    }
}

#[tokio::test]
async fn plain_parameters_beside_objects() {
    let (server, orders) = serving().await;
    let what = "GET /north/teams/red/2026/tasks/1/a/b?x=1&y=2";
    assert_eq!(text(&server, what, "ada").await, Ok("north red 2026 1 a/b 2 1".to_owned()));
    assert_eq!(text(&server, what, "eve").await, Err(404));
    // Parameters are parsed before anything is loaded.
    let before = orders.loads();
    for (wrong, parameter) in [
        ("GET /north/teams/red/soon/tasks/1/a", "year"),
        ("GET /north/teams/blue/2026/tasks/x/a", "task"),
    ] {
        let response = send(&server, wrong, Some("ada"), &[]).await;
        assert_eq!(response.status, 400);
        assert!(response.text().contains(parameter), "{response:?}");
    }
    assert_eq!(orders.loads(), before);
}

#[tokio::test]
async fn names_come_before_the_order() {
    let (server, _) = serving().await;
    let both = text(&server, "GET /swapped/red/blue", "bob").await;
    assert_eq!(both, Ok("red to blue".to_owned()));
    for path in ["/swapped/red/blue", "/swapped/blue/red"] {
        assert_eq!(text(&server, &format!("GET {path}"), "ada").await, Err(404), "{path}");
    }
}
