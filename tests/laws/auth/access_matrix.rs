//! A handler runs exactly for callers who satisfy the `#[auth]` of its route.

use http::Method;
use policy_server::{
    AuthError, AuthScheme, Scheme, SchemeRequest, http, prelude::*, testing::FaultyStore,
};
use proptest::{option, prelude::*, sample::select};

use super::test_server::{
    Reply, Request, TestServer, identity, issue, login, login_by_token, token_settings,
};
use crate::law::{Precondition, holds};

/// A key in a header of its own: `x-key: subject;scopes;roles`.
struct Keys;

impl Scheme for Keys {
    const AMBIENT: bool = false;

    async fn authenticate(
        &self,
        request: &mut SchemeRequest<'_>,
    ) -> Result<Option<Identity>, AuthError> {
        match request.headers().get("x-key").map(|key| key.to_str().expect("text")) {
            None => Ok(None),
            Some("wrong") => Err(AuthError::Invalid),
            Some(key) => Ok(Some(identity(key))),
        }
    }
}

/// What a route requires, written a second time by hand.
#[derive(Clone, Copy, Debug)]
struct AccessRow {
    path: &'static str,
    session: bool,
    token: bool,
    key: bool,
    optional: bool,
    scopes: &'static [&'static str],
    roles: &'static [&'static str],
    fresh: Option<u64>,
}

const NOTHING: AccessRow = AccessRow {
    path: "",
    session: false,
    token: false,
    key: false,
    optional: false,
    scopes: &[],
    roles: &[],
    fresh: None,
};

fn greet(me: Option<&Principal>) -> String {
    match me {
        None => "nobody".to_owned(),
        Some(me) => {
            let scheme = match me.scheme() {
                AuthScheme::Session => "session",
                AuthScheme::Token => "token",
                AuthScheme::Own("Keys") => "key",
                other => panic!("{other:?} stands in no row"),
            };
            format!("{} by {scheme}", me.subject())
        }
    }
}

macro_rules! access_matrix {
    ($($name:ident $path:literal ($($auth:tt)*) $who:ty => { $($field:ident: $value:expr),* })*) => {
        $(
            #[get($path)]
            #[auth($($auth)*)]
            async fn $name(me: $who) -> String {
                let me: Option<Principal> = me.into();
                greet(me.as_ref())
            }
        )*

        const ACCESS_MATRIX: &[AccessRow] =
            &[$(AccessRow { path: $path, $($field: $value,)* ..NOTHING }),*];

        fn furnish() -> (TestServer, FaultyStore) {
            let store = FaultyStore::default();
            let sessions = Sessions::store(store.clone());
            let app = App::new(()).sessions(sessions).tokens(token_settings()).scheme(Keys);
            let app = app.routes(routes![login, login_by_token, issue]);
            (TestServer::new(app.routes(routes![$($name),*])), store)
        }
    };
}

access_matrix! {
    f0 "/0" (session) Principal => { session: true }
    f1 "/1" (token) Principal => { token: true }
    f2 "/2" (session | token) Principal => { session: true, token: true }
    f3 "/3" (scheme = Keys) Principal => { key: true }
    f4 "/4" (session, optional) Option<Principal> => { session: true, optional: true }
    f5 "/5" (token | session, optional) Option<Principal> =>
        { session: true, token: true, optional: true }
    f6 "/6" (session | token, scopes = ["s"]) Principal =>
        { session: true, token: true, scopes: &["s"] }
    f7 "/7" (session | token, scopes = ["s", "t"]) Principal =>
        { session: true, token: true, scopes: &["s", "t"] }
    f8 "/8" (token, scopes = ["t", "s"], roles = ["r"]) Principal =>
        { token: true, scopes: &["t", "s"], roles: &["r"] }
    f9 "/9" (session, roles = ["r", "q"]) Principal => { session: true, roles: &["r", "q"] }
    f10 "/10" (session | token, roles = ["r", "q"]) Principal =>
        { session: true, token: true, roles: &["r", "q"] }
    f11 "/11" (session, fresh = "10m") Principal => { session: true, fresh: Some(600) }
    f12 "/12" (session | token, fresh = "1m") Principal =>
        { session: true, token: true, fresh: Some(60) }
    f13 "/13" (session | token, scopes = ["s"], roles = ["r"], fresh = "2m") Principal =>
        { session: true, token: true, scopes: &["s"], roles: &["r"], fresh: Some(120) }
    f14 "/14" (scheme = Keys, scopes = ["s", "t"]) Principal => { key: true, scopes: &["s", "t"] }
    f15 "/15" (scheme = Keys, roles = ["q", "r"], fresh = "1m") Principal =>
        { key: true, roles: &["q", "r"], fresh: Some(60) }
    f16 "/16" (scheme = Keys, optional) Option<Principal> => { key: true, optional: true }
    f17 "/17" (session | token, optional, scopes = ["s"]) Option<Principal> =>
        { session: true, token: true, optional: true, scopes: &["s"] }
    f18 "/18" (token, optional, fresh = "1m") Option<Principal> =>
        { token: true, optional: true, fresh: Some(60) }
    f19 "/19" (session, optional, roles = ["q"]) Option<Principal> =>
        { session: true, optional: true, roles: &["q"] }
}

thread_local! {
    static SERVER: (TestServer, FaultyStore) = furnish();
}

/// Sends a request to a server that has handled many before.
fn response(row: &AccessRow, shows: &Shows) -> Reply {
    SERVER.with(|(server, store)| {
        let request = present(server, row.path, shows);
        if shows.is_store_lost {
            store.fail();
        }
        let reply = server.send(request);
        store.recover();
        reply
    })
}

#[derive(Clone, Debug)]
struct Person {
    name: &'static str,
    scopes: Vec<&'static str>,
    roles: Vec<&'static str>,
}

impl Person {
    fn text(&self) -> String {
        format!("{};{};{}", self.name, self.scopes.join(" "), self.roles.join(" "))
    }
}

/// A credential of one kind, valid or not.
#[derive(Clone, Debug)]
enum Shown {
    Valid(Person),
    /// A token without the time of its user's login.
    OfUnknownAge(Person),
    Invalid,
    /// Not a credential of this kind.
    Malformed,
    /// A field value with another meaning.
    Other,
}

/// The credentials of a request, some time after they were issued.
#[derive(Clone, Debug)]
struct Shows {
    session: Option<Shown>,
    token: Option<Shown>,
    key: Option<Shown>,
    age: u64,
    scheme: &'static str,
    /// Whether the session store fails to respond.
    is_store_lost: bool,
}

fn person(name: &'static str) -> impl Strategy<Value = Person> {
    // Mostly the required rights are there, or all cases would be refusals.
    let has = || prop::bool::weighted(0.75);
    (has(), has(), has(), any::<bool>()).prop_map(move |(s, t, r, q)| {
        let held = |list: &[(&'static str, bool)]| {
            list.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect()
        };
        // Includes names that have a required name as a prefix, or in another case.
        let scopes = held(&[("s", s), ("ss", !s), ("S", !s), ("t", t)]);
        Person { name, scopes, roles: held(&[("r", r), ("r2", !r), ("R", !r), ("q", q)]) }
    })
}

fn credential(name: &'static str) -> impl Strategy<Value = Shown> {
    prop_oneof![
        8 => person(name).prop_map(Shown::Valid),
        2 => person(name).prop_map(Shown::OfUnknownAge),
        1 => Just(Shown::Invalid),
        1 => Just(Shown::Malformed),
        1 => Just(Shown::Other),
    ]
}

fn shows() -> impl Strategy<Value = Shows> {
    let age = select(vec![0, 30, 59, 60, 61, 119, 120, 200, 329, 330, 599, 600]);
    let scheme = select(vec!["Bearer", "bearer", "BEARER"]);
    let kinds = (
        option::of(credential("ada")),
        option::of(credential("bob")),
        option::of(credential("eve")),
    );
    let is_store_lost = prop::bool::weighted(0.15);
    (kinds, age, scheme, is_store_lost).prop_map(
        |((session, token, key), age, scheme, is_store_lost)| Shows {
            session,
            token,
            key,
            age,
            scheme,
            is_store_lost,
        },
    )
}

/// A request with these credentials, issued at the age that they state.
fn present(server: &TestServer, path: &str, shows: &Shows) -> Request {
    let of = |path: &str, person: &Person| {
        let reply = server.send(Request::post(path).body(person.text()));
        assert_eq!(reply.status, 200, "{reply:?}");
        reply
    };
    let mut request = Request::new(Method::GET, path);
    match &shows.session {
        None => (),
        Some(Shown::Valid(person) | Shown::OfUnknownAge(person)) => {
            request = request.cookie(of("/login", person).set_id().as_deref());
        }
        Some(Shown::Invalid) => request = request.cookie(Some(&"A".repeat(43))),
        Some(Shown::Malformed) => request = request.cookie(Some("short")),
        Some(Shown::Other) => request = request.with("cookie", "sid=1; theme=dark"),
    }
    let authorization = match &shows.token {
        None => None,
        Some(Shown::Valid(person)) => {
            let token = of("/tokens/login", person).text("access_token");
            Some(format!("{} {token}", shows.scheme))
        }
        Some(Shown::OfUnknownAge(person)) => {
            let token = of("/tokens/issue", person).text("access_token");
            Some(format!("{} {token}", shows.scheme))
        }
        Some(Shown::Invalid) => Some(format!("{} abc.def.ghi", shows.scheme)),
        Some(Shown::Malformed) => Some(format!("{} two words", shows.scheme)),
        Some(Shown::Other) => Some("Basic YTpi".to_owned()),
    };
    if let Some(authorization) = authorization {
        request = request.with("authorization", authorization);
    }
    match &shows.key {
        None | Some(Shown::Other) => (),
        Some(Shown::Valid(person) | Shown::OfUnknownAge(person)) => {
            request = request.with("x-key", person.text());
        }
        Some(Shown::Invalid | Shown::Malformed) => request = request.with("x-key", "wrong"),
    }
    server.wait(shows.age);
    request
}

/// The expected result: a status, and the handler's body if it runs.
fn due(row: &AccessRow, shows: &Shows) -> (u16, Option<String>) {
    let age = Some(shows.age);
    let proven = if row.token && !matches!(shows.token, None | Some(Shown::Other)) {
        match shows.token.as_ref().expect("a token") {
            Shown::Malformed => return (400, None),
            Shown::Valid(_) | Shown::OfUnknownAge(_) if shows.age >= 330 => return (401, None),
            Shown::Valid(person) => Some((person, "token", age)),
            Shown::OfUnknownAge(person) => Some((person, "token", None)),
            Shown::Invalid | Shown::Other => return (401, None),
        }
    } else if row.key {
        match &shows.key {
            Some(Shown::Valid(person) | Shown::OfUnknownAge(person)) => {
                // A key is proven anew with every request.
                Some((person, "key", Some(0)))
            }
            Some(Shown::Invalid | Shown::Malformed) => return (401, None),
            None | Some(Shown::Other) => None,
        }
    } else if row.session {
        match &shows.session {
            Some(Shown::Valid(_) | Shown::OfUnknownAge(_) | Shown::Invalid)
                if shows.is_store_lost =>
            {
                return (503, None);
            }
            Some(Shown::Valid(person) | Shown::OfUnknownAge(person)) => {
                Some((person, "session", age))
            }
            _ => None,
        }
    } else {
        None
    };
    let Some((person, scheme, age)) = proven else {
        let allowed = (200, Some("nobody".to_owned()));
        return if row.optional { allowed } else { (401, None) };
    };
    let has_scopes = row.scopes.iter().all(|scope| person.scopes.contains(scope));
    let has_role = row.roles.is_empty() || row.roles.iter().any(|role| person.roles.contains(role));
    let is_fresh = row.fresh.is_none_or(|most| age.is_some_and(|age| age < most));
    match (has_scopes && has_role, is_fresh) {
        (false, _) => (403, None),
        (true, false) => (401, None),
        (true, true) => (200, Some(format!("{} by {scheme}", person.name))),
    }
}

fn ran(reply: &Reply) -> Option<String> {
    (reply.status == 200).then(|| reply.body.clone())
}

/// T16, auth gate. A handler runs only for a principal that satisfies its `#[auth]`: the credential
/// of a scheme that it names, all its scopes, one of its roles, and a login as recent as it
/// requires; or without a principal where it says so. Otherwise the response is 400 for a malformed
/// field, 401 without a valid credential or a recent login, 403 without the rights, and 503 if the
/// store fails to respond.
#[test]
fn t16_the_handler_runs_exactly_for_callers_of_the_access_matrix() {
    let cases = (select(ACCESS_MATRIX), shows());
    holds("T16", 39, cases, |(row, shows)| {
        let reply = response(&row, &shows);
        let (status, says) = due(&row, &shows);
        prop_assert_eq!(reply.status, status, "{:?}", reply);
        prop_assert_eq!(ran(&reply), says);
        // The precondition is a credential that the route accepts, with enough rights or not.
        let anonymous = Shows { session: None, token: None, key: None, ..shows };
        Ok(Precondition::met_if(due(&row, &anonymous) != (status, ran(&reply))))
    });
}

/// T16, monotony. One more valid and sufficient credential never turns acceptance into refusal.
/// Sufficient means that the same route accepts it alone. A bearer token decides alone where it is
/// accepted, so that a valid token without the rights of the route is not sufficient, and displaces
/// the session that had them. A credential of a kind that the route does not accept changes
/// nothing.
#[test]
fn t16_another_sufficient_credential_excludes_no_caller() {
    let cases = (select(ACCESS_MATRIX), shows(), select(vec!["session", "token", "key"]));
    holds("T16, monotony", 3, cases, |(row, shows, kind)| {
        let nothing = Shows { session: None, token: None, key: None, ..shows.clone() };
        let (mut without, mut alone) = (shows.clone(), nothing.clone());
        let is_taken = match kind {
            "session" => {
                (without.session, alone.session) = (None, shows.session.clone());
                row.session
            }
            "token" => {
                (without.token, alone.token) = (None, shows.token.clone());
                row.token
            }
            _ => {
                (without.key, alone.key) = (None, shows.key.clone());
                row.key
            }
        };
        let response = |shows: &Shows| response(&row, shows);
        let (before, alone, both) = (response(&without), response(&alone), response(&shows));
        if before.status == 200 && alone.status == 200 {
            prop_assert_eq!(both.status, 200, "{:?}", both);
        }
        if !is_taken {
            prop_assert_eq!(both.status, before.status);
            prop_assert_eq!(both.body, before.body);
        }
        let has_more = ran(&alone).is_some_and(|says| says != "nobody");
        Ok(Precondition::met_if(before.status == 200 && has_more))
    });
}
