//! The browser: the model of `policy_core::browser`, asked once for each question that it is asked
//! more than once.
//!
//! What it does depends on the page, on what that loads, on the cookies it has, and on what it
//! sees of the answers. So each load is a tree: at its nodes a request is sent, and its branches
//! are the answers that look different to a browser.

use std::{
    cell::RefCell,
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    rc::Rc,
    time::Duration,
};

use http::{HeaderName, header};
use policy_core::browser::{
    Answer, Blocked, Event, Fetch, LoadId, Outcome, Output, Profile, ResponseType, Sent, State,
    ThirdParty, step,
};

use super::{
    atoms::{Shape, Stance},
    server::Reply,
};

/// Every load runs alone.
const ID: LoadId = LoadId(1);

/// A browser that keeps nothing from a page that it may have, so that no policy gets help.
const PROFILE: Profile = Profile::STANDARD.third_party(ThirdParty::Sent);

/// How a load ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The page has the answer, with these fields.
    Readable(Vec<HeaderName>),
    /// There is an answer, and the page sees nothing of it.
    Opaque,
    /// A script ran, a document was loaded, or a WebSocket opened.
    Loaded,
    /// The browser kept it from the page.
    Blocked(Blocked),
    /// The model did not come to an end.
    Lost,
}

/// A point of a load.
#[derive(Debug)]
pub(super) struct Node {
    kind: Kind,
    next: RefCell<HashMap<u64, Rc<Node>>>,
}

#[derive(Debug)]
enum Kind {
    Sends(Box<(State, Sent)>),
    Ended(End),
}

impl Node {
    fn of(state: State, outputs: Vec<Output>) -> Rc<Self> {
        let mut kind = Kind::Ended(End::Lost);
        for output in outputs {
            kind = match output {
                Output::Send { request, .. } => Kind::Sends(Box::new((state, request))),
                Output::Done { outcome, .. } => Kind::Ended(end(outcome)),
            };
            break;
        }
        Rc::new(Self { kind, next: RefCell::default() })
    }

    /// The request that is sent here.
    pub(super) fn sent(&self) -> Option<&Sent> {
        match &self.kind {
            Kind::Sends(sends) => Some(&sends.1),
            Kind::Ended(_) => None,
        }
    }

    /// How the load ended here.
    pub(super) fn end(&self) -> Option<&End> {
        match &self.kind {
            Kind::Ended(end) => Some(end),
            Kind::Sends(_) => None,
        }
    }

    /// Where the load goes after an answer.
    pub(super) fn after(&self, reply: &Reply) -> Rc<Self> {
        let Kind::Sends(sends) = &self.kind else {
            return Rc::new(Self { kind: Kind::Ended(End::Lost), next: RefCell::default() });
        };
        let (state, sent) = &**sends;
        let key = looks(sent, reply);
        let mut next = self.next.borrow_mut();
        let node = next.entry(key).or_insert_with(|| {
            let answer = Answer {
                status: reply.status,
                headers: reply.headers.clone(),
                body: reply.body.to_vec(),
            };
            let (state, outputs) = step(state.clone(), Event::Answer { id: ID, answer });
            Self::of(state, outputs)
        });
        Rc::clone(node)
    }
}

/// What a browser sees of an answer. Where it is asked for by `fetch()`, that is what it may show.
fn looks(sent: &Sent, reply: &Reply) -> u64 {
    let mut hasher = DefaultHasher::new();
    let is_fetched = sent.headers.get("sec-fetch-mode").is_some_and(|mode| mode == "cors");
    let is_redirect = (300..400).contains(&reply.status);
    if sent.is_preflight || is_redirect || !is_fetched {
        reply.status.hash(&mut hasher);
    }
    for (name, value) in &reply.headers {
        name.hash(&mut hasher);
        let is_seen = name.as_str().starts_with("access-control-")
            || *name == "cross-origin-resource-policy"
            || *name == header::LOCATION;
        let is_volatile =
            matches!(*name, header::SET_COOKIE | header::DATE | header::CONTENT_LENGTH);
        if is_seen || (!is_fetched && !is_volatile) {
            value.hash(&mut hasher);
        }
    }
    hasher.finish()
}

fn end(outcome: Outcome) -> End {
    match outcome {
        Outcome::Response(response) => match response.kind {
            ResponseType::Basic | ResponseType::Cors => {
                End::Readable(response.headers.keys().cloned().collect())
            }
            ResponseType::Opaque | ResponseType::OpaqueRedirect => End::Opaque,
        },
        Outcome::Script(_) | Outcome::Page(..) | Outcome::Open => End::Loaded,
        Outcome::Blocked(blocked) => End::Blocked(blocked),
    }
}

/// Which cookies a browser has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Cookies {
    None,
    /// That of the sessions, with another value.
    Session,
    /// One that any site can have it send.
    Own,
}

/// Browsers in front of one app.
pub(super) struct Browsing {
    /// One without cookies, one with that of the sessions, one with that of an own scheme.
    browsers: [State; 3],
    loads: HashMap<Key, Rc<Node>>,
}

/// A page, what it loads, and the cookies there are.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    origin: String,
    shape: String,
    cookies: Cookies,
}

impl Browsing {
    /// `session` and `scheme` are the lines that set the cookies.
    pub(super) fn new(own: &str, now: Duration, session: Option<&str>, scheme: &str) -> Self {
        let browser = |line: Option<&str>| {
            let state = State::new(PROFILE, now);
            let Some(value) = line.and_then(|line| line.parse().ok()) else { return state };
            let event = Event::Start { id: ID, page: None, fetch: Fetch::navigate(own) };
            let (state, _) = step(state, event);
            let mut answer = Answer { status: 200, ..Answer::default() };
            answer.headers.insert(header::SET_COOKIE, value);
            step(state, Event::Answer { id: ID, answer }).0
        };
        let browsers = [browser(None), browser(session), browser(Some(scheme))];
        Self { browsers, loads: HashMap::new() }
    }

    /// Whether a browser that has no cookie keeps that of an answer, and sends it back.
    pub(super) fn takes(&self, own: &str, reply: &Reply) -> bool {
        let [none, ..] = &self.browsers;
        let open = || Event::Start { id: ID, page: None, fetch: Fetch::navigate(own) };
        let (state, _) = step(none.clone(), open());
        let answer = Answer { status: 200, headers: reply.headers.clone(), body: Vec::new() };
        let (state, _) = step(state, Event::Answer { id: ID, answer });
        let (_, outputs) = step(state, open());
        outputs.iter().any(|output| match output {
            Output::Send { request, .. } => request.headers.contains_key(header::COOKIE),
            Output::Done { .. } => false,
        })
    }

    /// Begins a load.
    pub(super) fn begin(&mut self, stance: &Stance, shape: &Shape, cookies: Cookies) -> Rc<Node> {
        let key = Key { origin: stance.origin.clone(), shape: shape.key.clone(), cookies };
        let [none, session, own] = &self.browsers;
        let node = self.loads.entry(key).or_insert_with(|| {
            let state = match cookies {
                Cookies::None => none,
                Cookies::Session => session,
                Cookies::Own => own,
            };
            let event = Event::Start {
                id: ID,
                page: Some(stance.page.clone()),
                fetch: shape.fetch.clone(),
            };
            let (state, outputs) = step(state.clone(), event);
            Node::of(state, outputs)
        });
        Rc::clone(node)
    }
}
