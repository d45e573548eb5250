//! Explores every case that an app can distinguish.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    rc::Rc,
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use policy_browser::SentRequest;

use super::{
    browsing::{Browsing, Cookies, StandIn, swapped},
    caller::Caller,
    credentials::{CredentialFactory, identity},
    declared::{Declaration, DeclaredApp},
    equivalence_classes::{self, MODES, PageCase, Path, RequestCase},
    exchange::Exchange,
    laws::{Verdict, responses},
    probe::{HandlerBehavior, OWN_CREDENTIAL, ProbeScript},
    server::{ProbeRequest, Reply, Server},
    sharing::Sharing,
};
use crate::{
    handler::object::samples::{ListTrial, SampleObject},
    pipeline::service::AppService,
};

/// The endings of handlers other than status 200.
const ENDS: [HandlerBehavior; 4] = [
    HandlerBehavior::Fails(404),
    HandlerBehavior::Fails(303),
    HandlerBehavior::Fails(500),
    HandlerBehavior::Panics,
];

/// Explores one app.
pub(super) struct AppExplorer<'a> {
    pub(super) declared: &'a DeclaredApp,
    pub(super) server: Server,
    browsing: Browsing,
    /// The name of the session cookie.
    pub(super) cookie: String,
    url: String,
}

/// Explores one path of it, and keeps the responses so far.
pub(super) struct PathExplorer<'a, 's> {
    pub(super) app: &'s mut AppExplorer<'a>,
    pub(super) path: &'s Path<'a>,
    pub(super) pages: Vec<PageCase>,
    pub(super) callers: Vec<Caller>,
    /// Two users with all rights, for each kind of credential.
    pub(super) rivals: Vec<(Caller, Caller)>,
    /// Whether preflights were found to depend on origin and method alone.
    pub(super) is_pure: bool,
    responses: HashMap<u64, Rc<Reply>>,
    /// Requests that were sent through layers, with the verdicts on their responses.
    pub(super) arrived: Vec<(ProbeRequest, Verdict)>,
}

impl<'a> AppExplorer<'a> {
    /// Begins to explore an app.
    ///
    /// # Panics
    ///
    /// If no runtime can be started, or the app's own origin cannot be parsed: no law would see a case.
    #[expect(clippy::panic, reason = "a test fails so")]
    pub(super) fn new(declared: &'a DeclaredApp, service: &AppService) -> Self {
        let Some(server) = Server::new(service, &declared.own) else {
            panic!("no request can be sent to the app at `{}`", declared.own)
        };
        let sessions = server.guard().sessions.clone();
        let line = sessions.as_ref().and_then(|sessions| {
            let line = sessions.cookie.set("policy-probe").ok()?;
            Some(line.to_str().ok()?.to_owned())
        });
        let cookie = sessions.map(|sessions| sessions.cookie_name().to_owned());
        let scheme = format!("{OWN_CREDENTIAL}=policy-probe; Path=/; SameSite=None; Secure");
        let now = Duration::from_millis(server.guard().clock.now().millis());
        let browsing = Browsing::new(&declared.own, now, line.as_deref(), &scheme);
        let url = format!("{}/policy-probe", declared.own);
        let cookie = cookie.unwrap_or_default();
        Self { declared, server, browsing, cookie, url }
    }

    #[cfg(test)]
    pub(super) fn browsing(&self) -> &Browsing {
        &self.browsing
    }

    /// Whether a browser keeps a cookie of a response, and sends it back.
    pub(super) fn takes(&self, reply: &Reply) -> bool {
        self.browsing.takes(&self.declared.own, reply)
    }

    /// The explorer of this path. `index` keeps its credentials apart from those of other paths.
    pub(super) fn path<'s>(&'s mut self, index: usize, path: &'s Path<'a>) -> PathExplorer<'a, 's> {
        let mut factory = CredentialFactory::new(self.server.guard(), index as u64);
        let callers = self.server.wait(factory.callers(&path.routes));
        let mut rivals = Vec::new();
        for best in callers.iter().filter(|caller| is_best(caller, &callers)) {
            let another = self.server.wait(factory.another(best));
            rivals.extend(another.map(|another| (best.clone(), another)));
        }
        let (pages, responses) = (path.pages(self.declared), HashMap::new());
        let (is_pure, arrived) = (false, Vec::new());
        PathExplorer { app: self, path, pages, callers, rivals, is_pure, responses, arrived }
    }
}

impl PathExplorer<'_, '_> {
    /// Visits everything that a page may load here, from the simple to the unusual.
    pub(super) fn exchanges(&mut self, mut visit: impl FnMut(&Exchange<'_>)) {
        let (pages, callers) = (self.pages.clone(), self.callers.clone());
        for method in self.path.methods() {
            let is_served = self.path.route_for(method).is_some();
            let request_cases =
                equivalence_classes::request_cases(self.path, method, &self.app.url);
            for (index, request_case) in request_cases.iter().enumerate() {
                // Headers and callers are independent: do not try all combinations of the two.
                let all_callers = is_served && index < 2 * MODES.len();
                for caller in &callers {
                    let is_one_of_few = caller.is_anonymous() || is_best(caller, &callers);
                    if !all_callers && !is_one_of_few {
                        continue;
                    }
                    let all_pages = index < MODES.len() && is_one_of_few;
                    let request_case = request_case.with(caller);
                    for page in pages.iter().filter(|page| all_pages || page.stands_for_others) {
                        self.exchange(page, &request_case, caller, HandlerBehavior::Answers)
                            .iter()
                            .for_each(&mut visit);
                    }
                }
            }
            for behavior in ENDS.into_iter().filter(|_| is_served) {
                for request_case in request_cases.iter().take(MODES.len()) {
                    for caller in callers.iter().filter(|caller| is_best(caller, &callers)) {
                        let request_case = request_case.with(caller);
                        for page in pages.iter().filter(|page| page.stands_for_others) {
                            self.exchange(page, &request_case, caller, behavior)
                                .iter()
                                .for_each(&mut visit);
                        }
                    }
                }
            }
        }
        for request_case in equivalence_classes::loads(self.path, &self.app.url) {
            for caller in callers.iter().filter(|caller| caller.is_in_browser()) {
                let pages = pages.iter().filter(|page| page.stands_for_others);
                let pages: Vec<_> = pages
                    .flat_map(|page| {
                        [
                            page.clone(),
                            page.no_referrer(),
                            page.without_fetch_metadata(),
                            page.no_referrer().without_fetch_metadata(),
                        ]
                    })
                    .collect();
                for page in &pages {
                    self.exchange(page, &request_case, caller, HandlerBehavior::Answers)
                        .iter()
                        .for_each(&mut visit);
                }
            }
        }
    }

    /// One load, to its end.
    fn exchange<'e>(
        &'e mut self,
        page_case: &'e PageCase,
        request_case: &'e RequestCase,
        caller: &'e Caller,
        behavior: HandlerBehavior,
    ) -> Option<Exchange<'e>> {
        let cookies = match caller {
            Caller { cookie: Some(_), .. } => Cookies::Session,
            Caller { own: Some(_), is_ambient: true, .. } => Cookies::Own,
            _ => Cookies::None,
        };
        let (mut preflight, mut sent) = (None, None);
        let AppExplorer { declared, browsing, .. } = &mut *self.app;
        let stand_in = browsing.stand_in(&declared.own, page_case)?;
        let mut node = browsing.begin(&stand_in, request_case, cookies);
        while let Some(request) = node.request() {
            let Some(reply) = self.respond(request, caller, (page_case, &stand_in), behavior)
            else {
                break;
            };
            let next = node.after(&reply, &page_case.origin, &stand_in);
            if request.is_preflight {
                preflight = Some(reply);
            } else if sent.is_none() {
                sent = Some((Rc::clone(&node), reply));
            } else {
                // A redirect: only the first response is judged.
                break;
            }
            node = next;
        }
        Some(Exchange {
            own: &self.app.declared.own,
            path: self.path,
            page_case,
            stand_in,
            request_case,
            caller,
            behavior,
            cookie: &self.app.cookie,
            preflight,
            sent,
            last: node,
            engine: self.app.declared.engine.as_ref(),
        })
    }

    /// Sends a request without a browser.
    pub(super) fn ask(
        &mut self,
        request: &ProbeRequest,
        behavior: HandlerBehavior,
    ) -> Option<Reply> {
        let script = self.script(request.method.as_str(), behavior);
        self.ask_by(request, script)
    }

    /// Sends a request to the app without its layers. Its path names `object`, if there is one, and its
    /// handler reads `list`; with `None`, no object is checked, and no list is read.
    pub(super) fn ask_about(
        &self,
        request: &ProbeRequest,
        object: Option<SampleObject>,
        list: Option<ListTrial>,
    ) -> Option<Reply> {
        let script = self.script(request.method.as_str(), HandlerBehavior::Answers);
        self.app.server.ask_bare(request, ProbeScript { object, list, ..script })
    }

    fn ask_by(&mut self, request: &ProbeRequest, script: ProbeScript) -> Option<Reply> {
        let reply = self.app.server.ask(request, script)?;
        if self.app.declared.has_layers {
            let verdict = responses::judge(&reply, &self.app.cookie);
            self.arrived.push((request.clone(), verdict));
        }
        Some(reply)
    }

    /// Sends a request to which a handler responds with a page; without the layers if `is_bare`.
    pub(super) fn ask_for_page(
        &mut self,
        request: &ProbeRequest,
        behavior: HandlerBehavior,
        is_bare: bool,
    ) -> Option<Reply> {
        let script = self.script(request.method.as_str(), behavior);
        let script = ProbeScript { is_page: true, ..script };
        match is_bare {
            true => self.app.server.ask_bare(request, script),
            false => self.ask_by(request, script),
        }
    }

    /// Sends two requests at the same time.
    pub(super) fn ask_at_once(&mut self, requests: &[ProbeRequest; 2]) -> [Option<Reply>; 2] {
        let [first, _] = requests;
        let script = self.script(first.method.as_str(), HandlerBehavior::Answers);
        self.app.server.ask_both(requests, script)
    }

    /// An anonymous caller, and the caller with the most rights for each kind of credential.
    pub(super) fn best_callers(&self) -> Vec<Caller> {
        let is_one = |caller: &&Caller| caller.is_anonymous() || is_best(caller, &self.callers);
        self.callers.iter().filter(is_one).cloned().collect()
    }

    /// Each method of the path with each of the best callers, if there are layers around the app.
    pub(super) fn through_layers(&self) -> Vec<(Method, Caller)> {
        if !self.app.declared.has_layers {
            return Vec::new();
        }
        let names = self.path.methods();
        let methods = names.iter().filter_map(|name| Method::from_bytes(name.as_bytes()).ok());
        let callers = self.best_callers();
        methods
            .flat_map(|method| callers.iter().map(move |caller| (method.clone(), caller.clone())))
            .collect()
    }

    /// The path, with an unused ticket if the caller has one.
    fn target(&self, caller: &Caller) -> String {
        let path = &self.path.sample;
        if !caller.has_ticket {
            return path.clone();
        }
        let tokens = self.app.server.guard().tokens.as_ref();
        let ticket = tokens.zip(caller.facts()).and_then(|(tokens, facts)| {
            let issuer = facts.issuer.foreign.as_deref();
            let ticket = tokens.mint_ticket(identity(facts), facts.authenticated, issuer);
            self.app.server.wait(ticket).ok()
        });
        format!("{path}?ticket={}", ticket.as_deref().unwrap_or("none"))
    }

    /// The request of a caller with this method, from a page of the app itself.
    pub(super) fn by_own_page(&self, caller: &Caller, method: &Method) -> ProbeRequest {
        self.by(caller, method, Some(&self.app.declared.own))
    }

    /// The request of a caller with this method, from a page of this origin.
    pub(super) fn by(
        &self,
        caller: &Caller,
        method: &Method,
        origin: Option<&str>,
    ) -> ProbeRequest {
        let mut headers = HeaderMap::new();
        let cookies = caller.cookies(&self.app.cookie);
        let own = caller.own.as_deref().filter(|_| !caller.is_ambient);
        for (name, value) in [
            (header::ORIGIN, origin),
            (header::COOKIE, Some(&*cookies).filter(|cookies| !cookies.is_empty())),
            (header::AUTHORIZATION, caller.authorization.as_deref()),
            (HeaderName::from_static(policy_core::csrf::HEADER), caller.csrf.as_deref()),
            (HeaderName::from_static(OWN_CREDENTIAL), own),
        ] {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(name, value);
            }
        }
        let target = self.target(caller);
        ProbeRequest { method: method.clone(), target, headers, body: Bytes::new() }
    }

    /// The headers with all callers' credentials, and others that a preflight must not depend on.
    pub(super) fn credentials(&self) -> Vec<(HeaderName, HeaderValue)> {
        let mut fields: Vec<(HeaderName, HeaderValue)> = Vec::new();
        for caller in self.callers.iter().filter(|caller| is_best(caller, &self.callers)) {
            let of_caller = self.by(caller, &Method::GET, None).headers;
            fields.extend(of_caller.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        for names in ["x-policy-fresh", "authorization", "content-type"] {
            let value = HeaderValue::from_static(names);
            fields.push((header::ACCESS_CONTROL_REQUEST_HEADERS, value));
        }
        let private = HeaderName::from_static("access-control-request-private-network");
        fields.push((private, HeaderValue::from_static("true")));
        fields
    }

    /// The script for the handler of a method.
    pub(super) fn script(&self, method: &str, behavior: HandlerBehavior) -> ProbeScript {
        let route = self.path.route_for(method);
        let exposed = self.path.sharing(method).into_iter().flat_map(Sharing::expose);
        ProbeScript {
            behavior,
            takes_session: route.is_some_and(Declaration::takes_session),
            exposed: exposed.filter_map(|name| name.parse::<HeaderName>().ok()).collect(),
            cookie: Some(self.app.cookie.clone()).filter(|name| !name.is_empty()),
            is_page: false,
            is_slow: false,
            object: None,
            list: None,
        }
    }

    /// The response to a browser's request. Each different request is sent once.
    fn respond(
        &mut self,
        sent: &SentRequest,
        caller: &Caller,
        page: (&PageCase, &StandIn),
        behavior: HandlerBehavior,
    ) -> Option<Rc<Reply>> {
        let mut hasher = DefaultHasher::new();
        let (page_case, _) = page;
        (sent.method.as_str(), sent.is_preflight, behavior).hash(&mut hasher);
        (&page_case.origin, page_case.lacks_fetch_metadata).hash(&mut hasher);
        if !sent.is_preflight {
            caller.name.hash(&mut hasher);
        }
        // If the requested headers make no difference, one preflight represents all others.
        let is_pure = self.is_pure;
        let is_list = |name| is_pure && name == header::ACCESS_CONTROL_REQUEST_HEADERS;
        for (name, value) in sent.headers.iter().filter(|(name, _)| !is_list(*name)) {
            name.hash(&mut hasher);
            value.hash(&mut hasher);
        }
        let key = hasher.finish();
        if let Some(reply) = self.responses.get(&key) {
            return Some(Rc::clone(reply));
        }
        let request = probe_request(sent, caller, page, &self.target(caller), &self.app.cookie);
        let reply = Rc::new(self.ask(&request, behavior)?);
        self.responses.insert(key, Rc::clone(&reply));
        Some(reply)
    }
}

/// The request of a browser with the path, the credentials and the page's origin filled in; `page`
/// is the page and its stand-in.
pub(super) fn probe_request(
    sent: &SentRequest,
    caller: &Caller,
    (page_case, stand_in): (&PageCase, &StandIn),
    target: &str,
    cookie: &str,
) -> ProbeRequest {
    let mut headers = sent.headers.clone();
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    for name in [header::ORIGIN, header::REFERER] {
        if let Some(text) = sent.headers.get(&name).and_then(|value| value.to_str().ok()) {
            set(name, &swapped(text, &stand_in.origin, &page_case.origin));
        }
    }
    if sent.headers.contains_key(header::COOKIE) {
        set(header::COOKIE, &caller.cookies(cookie));
    }
    if let Some(authorization) = &caller.authorization
        && sent.headers.contains_key(header::AUTHORIZATION)
    {
        set(header::AUTHORIZATION, authorization);
    }
    if let Some(csrf) = &caller.csrf
        && sent.headers.contains_key(policy_core::csrf::HEADER)
    {
        set(HeaderName::from_static(policy_core::csrf::HEADER), csrf);
    }
    // Only the author of the scheme knows how a page sends its credential.
    if let Some(own) = &caller.own
        && !caller.is_ambient
        && !sent.is_preflight
    {
        set(HeaderName::from_static(OWN_CREDENTIAL), own);
    }
    if page_case.lacks_fetch_metadata {
        for name in ["sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest", "sec-fetch-user"] {
            headers.remove(name);
        }
    }
    ProbeRequest {
        method: sent.method.clone(),
        target: target.to_owned(),
        headers,
        body: sent.body.clone().map(Bytes::from).unwrap_or_default(),
    }
}

/// Whether this is the caller with the most rights of its kind: the first one has all rights, and
/// the CSRF token if there is one.
fn is_best(caller: &Caller, callers: &[Caller]) -> bool {
    let Some(facts) = caller.facts() else { return callers.len() == 1 };
    let is_rival = |other: &&Caller| {
        other.facts().is_some_and(|of| of.kind == facts.kind)
            && other.csrf.is_some() == other.cookie.is_some()
    };
    callers.iter().find(is_rival).is_some_and(|best| best.name == caller.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AuthError, Scheme, SchemeRequest,
        prelude::*,
        testing::prove::{equivalence_classes::STRANGER, prepared},
    };

    #[test]
    #[should_panic(expected = "no request can be sent to the app at `nowhere`")]
    fn a_proof_that_cannot_begin_fails() {
        let (mut declared, service) = prepared(App::new(()).parts);
        declared.own = "nowhere".to_owned();
        let _ = AppExplorer::new(&declared, &service);
    }

    struct Badge;

    impl Scheme for Badge {
        const AMBIENT: bool = true;

        async fn authenticate(
            &self,
            _request: &mut SchemeRequest<'_>,
        ) -> Result<Option<Identity>, AuthError> {
            Ok(None)
        }
    }

    #[post("/orders")]
    #[auth(scheme = Badge)]
    async fn order() {}

    #[test]
    fn any_site_makes_a_browser_send_the_cookie_of_an_own_scheme() {
        let (declared, service) = prepared(App::new(()).scheme(Badge).routes(routes![order]).parts);
        let paths = Path::all(&declared);
        let (mut explorer, mut is_sent) = (AppExplorer::new(&declared, &service), false);
        explorer.path(0, &paths[0]).exchanges(|exchange| {
            is_sent |= exchange.page() == STRANGER && exchange.is_carried();
        });
        assert!(is_sent);
    }
}
