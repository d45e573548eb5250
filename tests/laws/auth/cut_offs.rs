//! An operation that takes rights away wins against one that grants them and began earlier.

use std::{future::poll_fn, task::Poll, time::Duration};

use policy_core_tests::law::{Precondition, holds};
use policy_server::{prelude::*, store::MemoryStore};
use proptest::{collection::vec, prelude::*, sample::select};

use super::test_server::{Reply, Request, TestServer, login, step, token_settings};

/// What a request grants to ada.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grant {
    Login,
    Elevation,
    TokenLogin,
    Access,
}

/// How a user is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Sessions,
    Tokens,
    Others,
    Everyone,
    Rights,
}

#[derive(Clone, Copy, Debug)]
struct TokenCutOff {
    way: Way,
    user: &'static str,
    instance: usize,
}

#[derive(Clone, Debug)]
struct Case {
    grant: Grant,
    instance: usize,
    /// What the request cuts off itself, before it grants: ada, or another user.
    own: Option<(Way, &'static str)>,
    before: Vec<TokenCutOff>,
    between: Vec<TokenCutOff>,
    after: Vec<TokenCutOff>,
    /// Whether each instance is notified of the other's cut-offs before the request continues.
    hears: bool,
    /// How many seconds the clock of the second instance is ahead.
    skew: u64,
}

fn ways() -> impl Strategy<Value = Way> {
    select(vec![Way::Sessions, Way::Tokens, Way::Others, Way::Everyone, Way::Rights])
}

fn cuts() -> impl Strategy<Value = Vec<TokenCutOff>> {
    let cut = (ways(), select(vec!["ada", "ada", "bob"]), 0..2_usize)
        .prop_map(|(way, user, instance)| TokenCutOff { way, user, instance });
    vec(cut, 0..3)
}

fn cases() -> impl Strategy<Value = Case> {
    let grants = vec![Grant::Login, Grant::Elevation, Grant::TokenLogin, Grant::Access];
    let own = (ways(), select(vec!["ada", "bob"])).prop_map(Some);
    let own = prop_oneof![2 => Just(None), 1 => own];
    let request = (select(grants), 0..2_usize, own);
    (request, cuts(), cuts(), cuts(), any::<bool>(), 0..20_u64).prop_map(
        |((grant, instance, own), before, between, after, hears, skew)| Case {
            grant,
            instance,
            own,
            before,
            between,
            after,
            hears,
            skew,
        },
    )
}

/// Lets the test run other requests, once.
async fn pause() {
    let mut was_polled = false;
    poll_fn(|context| {
        context.waker().wake_by_ref();
        if std::mem::replace(&mut was_polled, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

async fn cut_off(
    sessions: &Sessions,
    tokens: &Tokens,
    way: &str,
    user: &str,
) -> Result<(), Problem> {
    match way {
        "Sessions" => sessions.revoke_user(user).await?,
        "Tokens" => tokens.revoke_user(user).await?,
        "Others" => sessions.revoke_others().await?,
        "Everyone" => sessions.revoke_everyone().await?,
        "Rights" => sessions.set_rights(Identity::new(user)).await?,
        _ => 0,
    };
    Ok(())
}

#[post("/grant/{grant}/{own}/{user}")]
#[auth(public)]
#[csrf(origin)]
async fn grant(
    grant: String,
    own: String,
    user: String,
    sessions: Sessions,
    session: Session,
    tokens: Tokens,
) -> Result<String, Problem> {
    pause().await;
    cut_off(&sessions, &tokens, &own, &user).await?;
    match &*grant {
        "Login" => sessions.login("ada").await?,
        "Elevation" => session.elevate()?,
        "TokenLogin" => return Ok(tokens.login("ada").await?.access_token),
        _ => return Ok(tokens.issue(&Identity::new("ada"))?.access_token),
    }
    Ok(String::new())
}

#[post("/cut/{way}/{user}")]
#[auth(public)]
#[csrf(origin)]
async fn cut(way: String, user: String, sessions: Sessions, tokens: Tokens) -> Result<(), Problem> {
    // The other user has no session, whose others could end.
    let way = if user != "ada" && way == "Others" { "Sessions" } else { &*way };
    cut_off(&sessions, &tokens, way, &user).await
}

#[get("/who")]
#[auth(session | token)]
async fn who(me: Principal) -> String {
    me.subject().to_owned()
}

fn instance(store: &MemoryStore) -> TestServer {
    let app = App::new(())
        .sessions(Sessions::store(store.clone()))
        .tokens(token_settings().store(store.clone()))
        .routes(routes![grant, cut, who, login]);
    let server = TestServer::new(app);
    // Its background tasks begin.
    server.wait(0);
    server
}

struct Instances {
    servers: [TestServer; 2],
    /// The session of ada that requests `Others`, and that is elevated.
    own: Option<String>,
    /// Whether that session was ended by a cut-off.
    is_own_ended: bool,
}

impl Instances {
    fn new(skew: u64) -> Self {
        let store = MemoryStore::new();
        let servers = [instance(&store), instance(&store)];
        servers[1].clock.advance(Duration::from_secs(skew));
        Self { servers, own: None, is_own_ended: false }
    }

    fn hear(&self) {
        self.servers.iter().for_each(|server| server.wait(1));
    }

    /// Cuts off. Returns whether it concerns ada.
    fn cut(&mut self, cut: TokenCutOff) -> bool {
        let TokenCutOff { way, user, instance } = cut;
        if way == Way::Everyone || user == "ada" {
            if way == Way::Others && (self.own.is_none() || self.is_own_ended) {
                return false;
            }
            self.is_own_ended |= !matches!(way, Way::Others | Way::Rights);
            let request = Request::post(&format!("/cut/{way:?}/ada")).cookie(self.own.as_deref());
            assert_eq!(self.servers[instance].send(request).status, 200);
            return true;
        }
        let request = Request::post(&format!("/cut/{way:?}/{user}"));
        assert_eq!(self.servers[instance].send(request).status, 200);
        false
    }

    fn all(&mut self, cuts: &[TokenCutOff]) -> bool {
        cuts.iter().fold(false, |concerned, one| self.cut(*one) | concerned)
    }

    /// For each instance, whether it accepts what a reply granted.
    fn works(&self, reply: &Reply) -> [bool; 2] {
        let request = match reply.set_id() {
            Some(id) => Request::get("/who").cookie(Some(&id)),
            None => Request::get("/who").bearer(&reply.body),
        };
        [0, 1].map(|instance| self.servers[instance].send(request.clone()).status == 200)
    }
}

/// A request that logs in, elevates or issues tokens gets 409 exactly if another request cut its user
/// off after it began: at any instance, in any way, whatever the clocks show, and whichever user it cuts
/// off itself. (A request that cuts everyone off itself also gets it if any user was cut off before
/// that.) An access token that was issued before its instance was notified of the cut-off is refused
/// from the notification on. What was granted is valid until the next cut-off.
#[test]
fn rights_requested_before_a_cut_off_are_not_granted_after_it() {
    holds("cut-offs", 40, cases(), |case| {
        let mut instances = Instances::new(case.skew);
        instances.all(&case.before);
        instances.hear();
        let first = instances.servers[0].send(Request::post("/login").body("ada"));
        instances.own = first.set_id();
        prop_assert_eq!(first.status, 200, "{:?}", first);

        let own = case.own.map_or("none/none".to_owned(), |(way, user)| format!("{way:?}/{user}"));
        let path = format!("/grant/{:?}/{own}", case.grant);
        let request = Request::post(&path).cookie(instances.own.as_deref());
        let mut running = instances.servers[case.instance].begin(request);
        prop_assert!(step(&mut running).is_none(), "it waits in its handler");
        let is_cut_off = instances.all(&case.between);
        if case.hears {
            instances.hear();
        }
        let reply = step(&mut running).expect("a reply");

        let ends_own = |(way, user): (Way, &str)| match way {
            Way::Everyone => true,
            Way::Sessions => user == "ada",
            Way::Others | Way::Rights | Way::Tokens => false,
        };
        let cuts_everyone_off = case.own.is_some_and(|(way, _)| way == Way::Everyone);
        let loses_own = case.grant == Grant::Elevation && case.own.is_some_and(ends_own);
        if loses_own {
            // The handler gets the error.
            prop_assert_ne!(reply.status, 200, "{:?}", reply);
        } else if is_cut_off {
            let is_unheard = case.grant == Grant::Access && !case.hears;
            prop_assert!(reply.status == 409 || is_unheard, "{:?}", reply);
        } else if case.grant == Grant::Elevation && case.own == Some((Way::Tokens, "ada")) {
            // It ended its own session in the store.
            prop_assert_eq!(reply.status, 409, "{:?}", reply);
        } else if cuts_everyone_off && !case.between.is_empty() {
            // It is no longer known which users were cut off before everyone was.
            prop_assert!(matches!(reply.status, 200 | 409), "{:?}", reply);
        } else {
            prop_assert_eq!(reply.status, 200, "{:?}", reply);
        }

        instances.hear();
        if reply.status == 200 {
            prop_assert_eq!(instances.works(&reply), [!is_cut_off; 2], "{:?}", reply);
        }
        let own_ended = instances.is_own_ended;
        // What the request was given does not depend on the first session.
        instances.is_own_ended = true;
        let is_cut_off_later = instances.all(&case.after);
        instances.is_own_ended = own_ended;
        instances.hear();
        if reply.status == 200 && is_cut_off_later {
            let keeps_sessions = |cut: &TokenCutOff| match cut.way {
                Way::Rights | Way::Others => true,
                Way::Sessions | Way::Tokens => cut.user != "ada",
                Way::Everyone => false,
            };
            let is_kept = case.after.iter().all(keeps_sessions)
                && matches!(case.grant, Grant::Login | Grant::Elevation);
            prop_assert_eq!(instances.works(&reply), [is_kept && !is_cut_off; 2], "{:?}", reply);
        }
        let again = instances.servers[case.instance].send(Request::post("/login").body("ada"));
        prop_assert_eq!(again.status, 200, "a login that begins after all of this");
        Ok(Precondition::met_if(is_cut_off))
    });
}
