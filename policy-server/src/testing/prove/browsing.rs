//! The browser of a proof: the model of `policy_browser`, with its results cached.
//!
//! The behaviour of the browser depends on the page, the load, the cookies, and what it sees of the
//! responses. So each load is a tree: each node sends a request, and its branches are the responses
//! that the browser can distinguish. The name of an origin makes no difference, except for its
//! scheme and its site: one page represents all pages that agree in these, and the two names are
//! swapped in requests and responses.

use std::{
    cell::RefCell,
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    rc::Rc,
    time::Duration,
};

use http::{HeaderMap, HeaderName, HeaderValue, header};
use policy_browser::{
    Blocked, Event, Fetch, LoadId, Outcome, Output, Page, PageOrigin, Profile, ReferrerPolicy,
    ResponseType, SentRequest, ServerResponse, State, ThirdParty, Url, step,
};

use super::{
    equivalence_classes::{PageCase, RequestCase},
    server::Reply,
};
use crate::observe::request_id;

/// Every load runs alone.
const ID: LoadId = LoadId(1);

/// A browser that blocks nothing beyond the standards, so that it does not help a policy.
const PROFILE: Profile = Profile::STANDARD.third_party(ThirdParty::Sent);

/// How a load ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LoadEnd {
    /// The page can read the response, with these headers.
    Readable(Vec<HeaderName>),
    /// There is a response, but the page sees nothing of it.
    Opaque,
    /// A script ran, a document was loaded, or a WebSocket opened.
    Loaded,
    /// The browser blocked the load.
    Blocked(Blocked),
    /// The model did not finish.
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
    Sends(Box<(State, SentRequest)>),
    Ended(LoadEnd),
}

impl Node {
    fn new(state: State, outputs: Vec<Output>) -> Rc<Self> {
        // The last one is about the load.
        let kind = match outputs.into_iter().next_back() {
            Some(Output::Request { request, .. }) => Kind::Sends(Box::new((state, request))),
            Some(Output::Done { outcome, .. }) => Kind::Ended(end(outcome)),
            None => Kind::Ended(LoadEnd::Lost),
        };
        Rc::new(Self { kind, next: RefCell::default() })
    }

    /// The request that is sent here.
    pub(super) fn request(&self) -> Option<&SentRequest> {
        match &self.kind {
            Kind::Sends(sends) => Some(&sends.1),
            Kind::Ended(_) => None,
        }
    }

    /// How the load ended here.
    pub(super) fn end(&self) -> Option<&LoadEnd> {
        match &self.kind {
            Kind::Ended(end) => Some(end),
            Kind::Sends(_) => None,
        }
    }

    /// The next node after a response to the page `real`, which `stand_in` represents.
    pub(super) fn after(&self, reply: &Reply, real: &str, stand_in: &StandIn) -> Rc<Self> {
        let Kind::Sends(sends) = &self.kind else {
            return Rc::new(Self { kind: Kind::Ended(LoadEnd::Lost), next: RefCell::default() });
        };
        let (state, sent) = &**sends;
        let swap = |value: &HeaderValue| {
            let text = value.to_str().ok()?;
            HeaderValue::from_str(&swapped(text, real, &stand_in.origin)).ok()
        };
        let named = reply.headers.get(header::ACCESS_CONTROL_ALLOW_ORIGIN).and_then(swap);
        let key = looks(sent, reply, named.as_ref());
        let mut next = self.next.borrow_mut();
        let node = next.entry(key).or_insert_with(|| {
            let mut headers = reply.headers.clone();
            if let Some(named) = named {
                headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, named);
            }
            let response = ServerResponse::new(reply.status, headers, reply.body.to_vec());
            let (state, outputs) = step(state.clone(), Event::Response { id: ID, response });
            Self::new(state, outputs)
        });
        Rc::clone(node)
    }
}

/// A hash of what a browser sees of a response. For `fetch()`, this is also what it may show.
fn looks(sent: &SentRequest, reply: &Reply, named: Option<&HeaderValue>) -> u64 {
    let mut hasher = DefaultHasher::new();
    let is_fetched = sent.headers.get("sec-fetch-mode").is_some_and(|mode| mode == "cors");
    let is_redirect = (300..400).contains(&reply.status);
    if sent.is_preflight || is_redirect || !is_fetched {
        reply.status.hash(&mut hasher);
    }
    for (name, value) in &reply.headers {
        name.hash(&mut hasher);
        if *name == header::ACCESS_CONTROL_ALLOW_ORIGIN {
            named.hash(&mut hasher);
            continue;
        }
        let is_seen = name.as_str().starts_with("access-control-")
            || *name == "cross-origin-resource-policy"
            || *name == header::LOCATION;
        let is_volatile = *name == request_id::FIELD
            || matches!(*name, header::SET_COOKIE | header::DATE | header::CONTENT_LENGTH);
        if is_seen || (!is_fetched && !is_volatile) {
            value.hash(&mut hasher);
        }
    }
    hasher.finish()
}

fn end(outcome: Outcome) -> LoadEnd {
    match outcome {
        Outcome::Response(response) => match response.kind {
            ResponseType::Basic | ResponseType::Cors => {
                LoadEnd::Readable(response.headers.keys().cloned().collect())
            }
            ResponseType::Opaque | ResponseType::OpaqueRedirect => LoadEnd::Opaque,
        },
        Outcome::Script(_) | Outcome::Page(..) | Outcome::Open => LoadEnd::Loaded,
        Outcome::Blocked(blocked) => LoadEnd::Blocked(blocked),
    }
}

/// The cookies of a browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Cookies {
    None,
    /// The session cookie, with another value.
    Session,
    /// The cookie of a custom scheme, which any site can make the browser send.
    Own,
}

/// The relation of a page to an app, as a browser states it.
fn site_of(browser: &State, page: Page, own: &str) -> Option<HeaderValue> {
    let event = Event::Start { id: ID, page: Some(page), fetch: Fetch::get(own) };
    let (_, outputs) = step(browser.clone(), event);
    outputs.iter().find_map(|output| match output {
        Output::Request { request, .. } => request.headers.get("sec-fetch-site").cloned(),
        Output::Done { .. } => None,
    })
}

/// Whether a page of this origin is of another site than an app.
pub(super) fn is_of_other_site(origin: &str, own: &str) -> bool {
    let Ok(url) = Url::parse(origin) else { return false };
    let mut page = Page::at(url);
    page.origin = PageOrigin::Tuple(origin.to_owned());
    let browser = State::new(PROFILE, Duration::ZERO);
    site_of(&browser, page, own).is_some_and(|site| site == "cross-site")
}

/// Browsers in front of one app.
pub(super) struct Browsing {
    /// One without cookies, one with a session cookie, one with the cookie of a custom scheme.
    browsers: [State; 3],
    /// The loads, by the index of the stand-in, by the cookies, and by the load's key.
    loads: HashMap<(usize, Cookies), HashMap<String, Rc<Node>>>,
    /// The stand-ins, with their relation to the app.
    stand_ins: Vec<(String, StandIn)>,
    /// The indices of the stand-ins, by origin and by whether the page sends no referrer.
    indices: HashMap<(String, bool), usize>,
}

/// A page that represents another one that differs only in its name.
#[derive(Clone, Debug)]
pub(super) struct StandIn {
    index: usize,
    page: Rc<Page>,
    /// Its name.
    pub(super) origin: Rc<str>,
}

/// A text in which two names of origins are swapped.
pub(super) fn swapped(text: &str, one: &str, other: &str) -> String {
    if text == one {
        other.to_owned()
    } else if text == other {
        one.to_owned()
    } else if text.strip_prefix(one) == Some("/") {
        // `Referer`
        format!("{other}/")
    } else {
        text.to_owned()
    }
}

impl Browsing {
    /// `session` and `scheme` are the lines that set the cookies.
    pub(super) fn new(own: &str, now: Duration, session: Option<&str>, scheme: &str) -> Self {
        let browser = |line: Option<&str>| {
            let state = State::new(PROFILE, now);
            let Some(value) = line.and_then(|line| line.parse().ok()) else { return state };
            let event = Event::Start { id: ID, page: None, fetch: Fetch::navigate(own) };
            let (state, _) = step(state, event);
            let headers = HeaderMap::from_iter([(header::SET_COOKIE, value)]);
            let response = ServerResponse::new(200, headers, Vec::new());
            step(state, Event::Response { id: ID, response }).0
        };
        let browsers = [browser(None), browser(session), browser(Some(scheme))];
        Self { browsers, loads: HashMap::new(), stand_ins: Vec::new(), indices: HashMap::new() }
    }

    /// Whether a browser without cookies keeps the cookie of a response, and sends it back.
    pub(super) fn takes(&self, own: &str, reply: &Reply) -> bool {
        let [none, ..] = &self.browsers;
        let open = || Event::Start { id: ID, page: None, fetch: Fetch::navigate(own) };
        let (state, _) = step(none.clone(), open());
        let response = ServerResponse::new(200, reply.headers.clone(), Vec::new());
        let (state, _) = step(state, Event::Response { id: ID, response });
        let (_, outputs) = step(state, open());
        outputs.iter().any(|output| match output {
            Output::Request { request, .. } => request.headers.contains_key(header::COOKIE),
            Output::Done { .. } => false,
        })
    }

    /// The page that represents another one.
    pub(super) fn stand_in(&mut self, own: &str, page_case: &PageCase) -> Option<StandIn> {
        let is_no_referrer = page_case.page.referrer_policy == ReferrerPolicy::NoReferrer;
        let name = (page_case.origin.clone(), is_no_referrer);
        if let Some(index) = self.indices.get(&name) {
            return self.stand_ins.get(*index).map(|(_, stand_in)| stand_in.clone());
        }
        let [none, ..] = &self.browsers;
        let site = site_of(none, page_case.page.clone(), own);
        let is_opaque = page_case.page.origin == PageOrigin::Opaque;
        let relation =
            format!("{} {is_opaque} {is_no_referrer} {site:?}", page_case.page.url.scheme());
        let known = self.stand_ins.iter().position(|(known, _)| *known == relation);
        let index = known.unwrap_or(self.stand_ins.len());
        if known.is_none() {
            let (page, origin) =
                (Rc::new(page_case.page.clone()), page_case.origin.as_str().into());
            self.stand_ins.push((relation, StandIn { index, page, origin }));
        }
        self.indices.insert(name, index);
        self.stand_ins.get(index).map(|(_, stand_in)| stand_in.clone())
    }

    /// Begins a load.
    pub(super) fn begin(
        &mut self,
        stand_in: &StandIn,
        request_case: &RequestCase,
        cookies: Cookies,
    ) -> Rc<Node> {
        let loads = self.loads.entry((stand_in.index, cookies)).or_default();
        if let Some(node) = loads.get(&request_case.key) {
            return Rc::clone(node);
        }
        let [none, session, own] = &self.browsers;
        let state = match cookies {
            Cookies::None => none,
            Cookies::Session => session,
            Cookies::Own => own,
        };
        let page = Some(Page::clone(&stand_in.page));
        let event = Event::Start { id: ID, page, fetch: request_case.fetch.clone() };
        let (state, outputs) = step(state.clone(), event);
        let node = Node::new(state, outputs);
        loads.insert(request_case.key.clone(), Rc::clone(&node));
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        prelude::*,
        session::SameSite,
        testing::prove::{
            equivalence_classes::Path, exchange::Exchange, explorer::AppExplorer, prepared,
        },
    };

    const SHOP: CorsPolicy =
        CorsPolicy::origins(&["https://app.shop.example", "https://*.partner.example"])
            .credentials()
            .headers(&["x-request-id"])
            .build();

    #[get("/orders")]
    #[cors(SHOP)]
    #[auth(session)]
    async fn orders() {}

    #[post("/orders")]
    #[cors(SHOP)]
    #[auth(session)]
    async fn order() {}

    #[get("/prices")]
    #[cors(origins = ["*"])]
    #[auth(public)]
    async fn prices() {}

    /// The end of the same load in a new browser, by the page itself.
    fn replayed(browsing: &Browsing, exchange: &Exchange<'_>) -> LoadEnd {
        let [none, session, _] = &browsing.browsers;
        let state = if exchange.caller.cookie.is_some() { session } else { none };
        let page = Some(exchange.page_case.page.clone());
        let event = Event::Start { id: ID, page, fetch: exchange.request_case.fetch.clone() };
        let (mut state, mut outputs) = step(state.clone(), event);
        loop {
            let request = match outputs.pop().unwrap() {
                Output::Done { outcome, .. } => return end(outcome),
                Output::Request { request, .. } => request,
            };
            let reply = match request.is_preflight {
                true => exchange.preflight.as_deref().unwrap(),
                false => exchange.reply().unwrap(),
            };
            let (headers, body) = (reply.headers.clone(), reply.body.to_vec());
            let response = ServerResponse::new(reply.status, headers, body);
            (state, outputs) = step(state, Event::Response { id: ID, response });
        }
    }

    #[test]
    fn a_page_that_stands_in_gets_what_the_page_itself_would() {
        let app = App::new(())
            .public_origin("https://api.shop.example")
            .sessions(Sessions::memory().same_site(SameSite::None))
            .routes(routes![orders, order, prices]);
        let (declared, service) = prepared(app.parts);
        let paths = Path::all(&declared);
        let own = AppExplorer::new(&declared, &service);
        let mut explorer = AppExplorer::new(&declared, &service);
        let (mut swapped, mut blocked) = (0, 0);
        for (index, path) in paths.iter().enumerate() {
            explorer.path(index, path).exchanges(|exchange| {
                let expected = match replayed(own.browsing(), exchange) {
                    LoadEnd::Blocked(mut blocked) => {
                        blocked.url = exchange.url();
                        Err(blocked)
                    }
                    end => Ok(end),
                };
                let found = exchange.blocked().map_or_else(|| Ok(exchange.end().clone()), Err);
                assert_eq!(found, expected, "{exchange}");
                swapped += u32::from(*exchange.stand_in.origin != *exchange.page());
                blocked += u32::from(expected.is_err());
            });
        }
        assert!(swapped > 1000 && blocked > 1000, "{swapped} {blocked}");
    }
}
