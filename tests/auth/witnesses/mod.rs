//! Mistakes that a review should find, each as two apps: the comparison of their manifests finds
//! it, and both apps, over sockets, decide each witness as the comparison says.

mod pairs;

use std::collections::BTreeSet;

use policy_manifest::{
    diff::{Axis, Diff, Witness, diff},
    engine::{CredentialState, CsrfTokenState, Decision, Login},
};
use policy_server::http::{HeaderMap, Method, Request, header};
use policy_tests::{
    handlers,
    http::{Connection, RawResponse, Running, request},
};
use tokio::net::TcpListener;

use super::*;

/// Two apps, of which the new one is weaker.
struct Pair {
    name: &'static str,
    effect: Effect,
    /// The other way round, nothing is weaker.
    is_one_way: bool,
    old: Build,
    new: Build,
}

/// Builds an app from what both have, with the origin of the server behind proxies.
type Build = Box<dyn Fn(App<()>, &str) -> App<()>>;

/// How a client sees the difference.
#[derive(Clone, Copy)]
enum Effect {
    /// The app lets more requests through, or lets more pages read their responses.
    Requests,
    /// The response to this request has another value in this field.
    Field(&'static str, &'static str),
    /// The response to this request has another body.
    Body(&'static str),
    /// A page of this origin reads `GET /list`.
    Shared(&'static str),
    /// The session cookie has other attributes.
    Cookie,
    /// The app lets more of these requests through at once.
    AtOnce(&'static str, usize),
    /// A body of this many bytes is accepted.
    Length(usize),
    /// The session or token is still valid after this many seconds without a request.
    Alive(&'static str, u64),
}

/// Both apps of a pair, and what the test knows about a client of them.
struct Sides {
    clocks: [Clock; 2],
    /// The session stores, unless the pair is about the settings of sessions.
    stores: [FaultyStore; 2],
    running: [Running; 2],
}

/// A session and tokens of one user.
struct Credentials {
    cookie: String,
    /// The attributes with which the cookie was set.
    attributes: String,
    csrf: String,
    token: String,
    ticket: String,
}

#[derive(Default, serde::Deserialize, serde::Serialize)]
struct Rights {
    scopes: Vec<String>,
    roles: Vec<String>,
}

#[post("/login-as")]
#[auth(public)]
#[csrf(exempt = "the client of this test is a program")]
async fn login_as(sessions: Sessions, tokens: Tokens, rights: String) -> Result<String, Problem> {
    let Rights { scopes, roles } = serde_json::from_str(&rights).unwrap_or_default();
    let user = Identity::new("ada").scopes(scopes).roles(roles);
    sessions.login(user.clone()).await?;
    Ok(tokens.issue(&user)?.access_token)
}

#[get("/own-ticket")]
#[auth(token)]
async fn own_ticket(tokens: Tokens) -> Result<String, CredentialError> {
    tokens.ticket().await
}

/// What both apps of each pair have.
fn common(clock: &Clock, store: &FaultyStore) -> App<()> {
    App::new(())
        .clock(clock.clone())
        .sessions(Sessions::store(store.clone()))
        .tokens(token_settings())
        .routes(routes![login_as, own_ticket, handlers::csrf, handlers::me, handlers::by_token])
}

fn token_settings() -> TokenSettings {
    Tokens::hs256(case_keys(&["k1"])).expect("keys").audience("api")
}

impl Pair {
    fn apps(&self, upstream: &str) -> [(App<()>, Clock, FaultyStore); 2] {
        [&self.old, &self.new].map(|build| {
            let (clock, store) = (Clock::at(START), FaultyStore::default());
            (build(common(&clock, &store), upstream), clock, store)
        })
    }

    /// The comparison, or an error if it does not find what is weaker.
    fn diff(&self, upstream: &str) -> Result<Diff, String> {
        let [old, new] = self.apps(upstream).map(|(app, ..)| app.manifest());
        let found = diff(&old, &new).expect("manifests of apps");
        let reversed = diff(&new, &old).expect("manifests of apps");
        match (is_weaker(&found), is_weaker(&reversed)) {
            (false, _) => Err("nothing is weaker".to_owned()),
            (true, true) if self.is_one_way => Err(format!("reversed: {}", summary(&reversed))),
            (true, false) if !self.is_one_way => Err("it is weaker in one direction".to_owned()),
            _ => Ok(found),
        }
    }

    async fn sides(&self, upstream: &str) -> Sides {
        let [(old, old_clock, old_store), (new, new_clock, new_store)] = self.apps(upstream);
        Sides {
            clocks: [old_clock, new_clock],
            stores: [old_store, new_store],
            running: [Running::start(old).await, Running::start(new).await],
        }
    }
}

/// Whether `cargo policy diff --no-new-access` fails.
fn is_weaker(diff: &Diff) -> bool {
    diff.findings.iter().any(|finding| finding.axis == Axis::Widened)
        || diff.changes.iter().any(|change| change.direction.opens())
}

/// What is weaker, in words.
fn summary(diff: &Diff) -> String {
    let findings = diff.findings.iter().filter(|finding| finding.axis == Axis::Widened);
    let cases = findings.flat_map(|finding| &finding.cases);
    let cases = cases.map(|case| format!("{} {:?}", case.senders.words(), case.callers));
    let changes = diff.changes.iter().filter(|change| change.direction.opens());
    cases.chain(changes.map(ToString::to_string)).collect::<Vec<_>>().join("; ")
}

impl Sides {
    /// Logs in to both apps, so that the session, the token and the ticket have these rights.
    async fn login(&self, logins: &[Login; 3]) -> [Credentials; 2] {
        let [old, new] = &self.running;
        let credentials =
            [Credentials::obtain(old, logins).await, Credentials::obtain(new, logins).await];
        let age = logins.iter().filter_map(|login| login.age).max().unwrap_or_default();
        for clock in &self.clocks {
            clock.advance(Duration::from_secs(age.into()));
        }
        credentials
    }
}

impl Credentials {
    async fn obtain(running: &Running, [session, token, ticket]: &[Login; 3]) -> Self {
        let (set_cookie, _) = login(running, session).await;
        let (cookie, attributes) = set_cookie.split_once(';').expect("attributes");
        let csrf = running.response(request("GET /csrf", &[&format!("cookie: {cookie}")])).await;
        let csrf: Value = serde_json::from_slice(&csrf.body).expect("JSON");
        let (_, of_ticket) = login(running, ticket).await;
        let of_ticket = format!("authorization: Bearer {of_ticket}");
        let ticket = running.response(request("GET /own-ticket", &[&of_ticket])).await;
        assert_eq!(ticket.status, 200, "{ticket:?}");
        Self {
            cookie: cookie.to_owned(),
            attributes: attributes.to_owned(),
            csrf: csrf["token"].as_str().expect("a token").to_owned(),
            token: login(running, token).await.1,
            ticket: ticket.text().to_owned(),
        }
    }

    /// The bytes of a witness, with credentials in place of its placeholders.
    fn fill(&self, request: &Request<()>, witness: &Witness) -> String {
        let caller = &witness.caller;
        let mut target = request.uri().to_string();
        let mut fields: Vec<String> = Vec::new();
        for (name, value) in request.headers() {
            let mut value = value.to_str().expect("text").to_owned();
            if name == header::COOKIE && is_of_app(&caller.session) {
                assert!(value.ends_with("=session"), "{value}");
                value.clone_from(&self.cookie);
            }
            if name == header::AUTHORIZATION && is_of_app(&caller.token) {
                value = format!("Bearer {}", self.token);
            }
            if name == "x-csrf-token" && caller.csrf == CsrfTokenState::Valid {
                value.clone_from(&self.csrf);
            }
            fields.push(format!("{name}: {value}"));
        }
        if is_of_app(&caller.ticket) {
            target = target.replace("ticket=ticket", &format!("ticket={}", self.ticket));
        }
        format!("{} {target} HTTP/1.1\r\n{}\r\n\r\n", request.method(), fields.join("\r\n"))
    }
}

/// The cookie line of a new session, and a token, both of a user with these rights.
async fn login(running: &Running, login: &Login) -> (String, String) {
    let rights = Rights { scopes: login.scopes.clone(), roles: login.roles.clone() };
    let rights = serde_json::to_string(&rights).expect("JSON");
    let length = format!("content-length: {}", rights.len());
    let head = request("POST /login-as", &[&length]);
    let response = running.response(head + &rights).await;
    assert_eq!(response.status, 200, "{response:?}");
    (response.header("set-cookie").expect("a cookie").to_owned(), response.text().to_owned())
}

/// Whether a credential is replaced by one of the app. Others are malformed as they are.
fn is_of_app(state: &CredentialState) -> bool {
    match state {
        CredentialState::Valid(login) => login.issuer.is_none(),
        CredentialState::Unchecked => true,
        CredentialState::Absent | CredentialState::Invalid | CredentialState::Expired => false,
    }
}

/// The rights of the session, the token and the ticket of a witness.
fn logins_of(witness: &Witness) -> [Login; 3] {
    let caller = &witness.caller;
    [&caller.session, &caller.token, &caller.ticket].map(|state| match state {
        CredentialState::Valid(login) => login.clone(),
        _ => Login::default(),
    })
}

async fn response_of(running: &Running, method: &Method, bytes: &str) -> RawResponse {
    let mut connection = running.connect().await;
    connection.send(bytes).await;
    match *method {
        Method::HEAD => connection.head().await,
        _ => connection.response().await,
    }
}

/// What an app decides, and which pages may read the response. Handlers respond with status 200.
#[derive(Debug, PartialEq, Eq)]
struct Decided {
    status: u16,
    /// Empty where nothing is refused, and in responses to HEAD.
    code: String,
    shared_with: Option<String>,
    with_credentials: Option<String>,
}

impl Decided {
    fn by(response: &RawResponse) -> Self {
        let is_refused = response.status >= 400 && !response.body.is_empty();
        let text_of = |name: &str| response.header(name).map(str::to_owned);
        Self {
            status: response.status,
            code: if is_refused { response.problem().1 } else { String::new() },
            shared_with: text_of(header::ACCESS_CONTROL_ALLOW_ORIGIN.as_str()),
            with_credentials: text_of(header::ACCESS_CONTROL_ALLOW_CREDENTIALS.as_str()),
        }
    }

    fn expected(decision: &Decision, method: &Method) -> Self {
        let refusal = decision.refusal().filter(|_| *method != Method::HEAD);
        Self {
            status: decision.status.unwrap_or(200),
            code: refusal.map(|refusal| refusal.code().to_owned()).unwrap_or_default(),
            shared_with: text_of(&decision.cors, &header::ACCESS_CONTROL_ALLOW_ORIGIN),
            with_credentials: text_of(&decision.cors, &header::ACCESS_CONTROL_ALLOW_CREDENTIALS),
        }
    }
}

fn text_of(fields: &HeaderMap, name: &header::HeaderName) -> Option<String> {
    fields.get(name).map(|value| value.to_str().expect("text").to_owned())
}

/// Sends each witness of a comparison to both apps, and counts them.
async fn replay(pair: &Pair, found: &Diff, upstream: &str) -> Result<usize, String> {
    let mut count = 0;
    for witness in found.findings.iter().flat_map(|finding| &finding.cases).map(|it| &it.witness) {
        let sides = pair.sides(upstream).await;
        let credentials = sides.login(&logins_of(witness)).await;
        let requests = [&witness.request, witness.moved.as_ref().unwrap_or(&witness.request)];
        let decisions = [&witness.before, &witness.after];
        if witness.caller.session == CredentialState::Unchecked {
            sides.stores.iter().for_each(FaultyStore::fail);
        }
        for side in [0, 1] {
            let bytes = credentials[side].fill(requests[side], witness);
            let method = requests[side].method();
            let response = response_of(&sides.running[side], method, &bytes).await;
            let decided = Decided::by(&response);
            let expected = Decided::expected(decisions[side], method);
            if decided != expected {
                let side = ["before", "after"][side];
                return Err(format!(
                    "{side}, {}: {decided:?}, not {expected:?}, for\n{bytes}",
                    witness.credentials
                ));
            }
        }
        count += 1;
    }
    Ok(count)
}

/// Tells whether a client sees the effect of a change that lets no further request through.
async fn observe(pair: &Pair, upstream: &str) -> Result<(), String> {
    let sides = pair.sides(upstream).await;
    let credentials = sides.login(&Default::default()).await;
    let old = observe_side(pair.effect, &sides, &credentials, 0).await;
    let new = observe_side(pair.effect, &sides, &credentials, 1).await;
    let is_as_expected = match pair.effect {
        Effect::AtOnce(..) => old < new,
        Effect::Length(_) => [&*old, &*new] == ["413", "200"],
        Effect::Alive(..) => [&*old, &*new] == ["401", "200"],
        _ => old != new,
    };
    if is_as_expected { Ok(()) } else { Err(format!("{old:?} before, {new:?} after")) }
}

/// What a client of one app sees.
async fn observe_side(
    effect: Effect,
    sides: &Sides,
    credentials: &[Credentials; 2],
    side: usize,
) -> String {
    let (running, clock) = (&sides.running[side], &sides.clocks[side]);
    let Credentials { cookie, token, attributes, .. } = &credentials[side];
    let of_user = format!("cookie: {cookie}");
    let ask = async |line: &str, field: &str| running.response(request(line, &[field])).await;
    let field_of = |response: RawResponse, name| response.header(name).unwrap_or("none").to_owned();
    match effect {
        Effect::Requests => unreachable!("witnesses are replayed"),
        Effect::Field(line, name) => field_of(ask(line, &of_user).await, name),
        Effect::Body(line) => ask(line, &of_user).await.text().to_owned(),
        Effect::Shared(origin) => {
            let response = ask("GET /list", &format!("origin: {origin}")).await;
            field_of(response, "access-control-allow-origin")
        }
        Effect::Cookie => attributes.clone(),
        Effect::AtOnce(line, sent) => {
            let mut admitted = 0;
            for _ in 0..sent {
                admitted += usize::from(ask(line, &of_user).await.status == 200);
            }
            format!("{admitted:05}")
        }
        Effect::Length(length) => {
            let fields = ["origin: http://localhost", &format!("content-length: {length}")];
            let body = "a".repeat(length);
            running.response(request("POST /m", &fields) + &body).await.status.to_string()
        }
        Effect::Alive(line, seconds) => {
            clock.advance(Duration::from_secs(seconds));
            let by_token = format!("authorization: Bearer {token}");
            let field = if line == "GET /by-token" { &by_token } else { &of_user };
            ask(line, field).await.status.to_string()
        }
    }
}

/// A server behind the proxies of some pairs. For paths that end in `echo`, its body is the target, and
/// whether it got a cookie.
async fn upstream() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let origin = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut connection = Connection::over(stream);
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.extend(connection.exactly(1).await);
            }
            let head = String::from_utf8(head).expect("text");
            let target = head.split(' ').nth(1).expect("a target");
            let body = match target.ends_with("/echo") {
                true => format!("{target} {}", head.contains("\r\ncookie:")),
                false => "reached".to_owned(),
            };
            let is_head = head.starts_with("HEAD");
            let body_sent = if is_head { "" } else { &body };
            let length = body.len();
            let fields = format!("content-length: {length}\r\nconnection: close");
            connection.try_send(format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n{body_sent}")).await;
        }
    });
    origin
}

#[tokio::test]
async fn each_mistake_of_a_review_is_found_and_both_apps_decide_its_witnesses() {
    let origin = upstream().await;
    let pairs = pairs::all();
    let names: BTreeSet<_> = pairs.iter().map(|pair| pair.name).collect();
    assert_eq!(names.len(), pairs.len(), "each has a name of its own");
    let (mut problems, mut replayed) = (Vec::new(), 0);
    for pair in &pairs {
        match judge(pair, &origin).await {
            Ok(witnesses) => replayed += witnesses,
            Err(problem) => problems.push(format!("{}: {problem}", pair.name)),
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(pairs.len() >= 96, "only {} pairs", pairs.len());
    assert!(replayed > 200, "only {replayed} witnesses");
}

/// Finds the mistake, and counts the witnesses that both apps decide as the comparison says.
async fn judge(pair: &Pair, upstream: &str) -> Result<usize, String> {
    let found = pair.diff(upstream)?;
    let replayed = replay(pair, &found, upstream).await?;
    match pair.effect {
        Effect::Requests if replayed == 0 => Err("no request is decided otherwise".to_owned()),
        Effect::Requests => Ok(replayed),
        _ => observe(pair, upstream).await.map(|()| replayed),
    }
}
