//! The callers of a route, and what each of them gets.

use http::{
    HeaderName, HeaderValue, Method,
    header::{ACCESS_CONTROL_ALLOW_ORIGIN, AUTHORIZATION, CACHE_CONTROL, COOKIE, VARY},
};
use policy_browser::{Credentials, Fetch, Outcome, Page, SentRequest, ServerResponse, Url};
use policy_core::{auth::OWN_ISSUER, csrf, method::is_safe};
use policy_manifest::{
    ManifestRoute, RouteOrigins, RouteRequirement,
    engine::{CredentialState, CsrfTokenState, Login, RequestCredentials},
};
use serde::Serialize;

use super::{
    decide::Problem,
    world::{Exchange, World, program_request},
};

/// What a caller gets, from the least to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Gets {
    /// Nothing.
    Nothing,
    /// What the policy is for.
    Served,
    /// What every user gets.
    Users,
    /// What anybody gets.
    Open,
    /// What belongs to a user.
    Harm,
}

/// A caller.
#[derive(Debug, Serialize)]
pub(crate) struct Actor {
    /// `own`, `granted`, `attacker`, `program` or `cache`.
    pub(crate) who: &'static str,
    name: &'static str,
    /// The origin of its page; empty if it has none.
    origin: String,
    pub(crate) gets: Gets,
    /// What it gets, in a sentence.
    pub(crate) says: String,
    asks: Vec<Ask>,
}

/// One way to ask.
#[derive(Debug, Serialize)]
pub(crate) struct Ask {
    /// How it asks.
    how: String,
    gets: Gets,
    says: String,
    /// What the console of the browser says.
    console: Option<String>,
    exchanges: Vec<Exchange>,
}

impl Actor {
    /// The worst of all that it gets counts.
    fn new(
        who: &'static str,
        name: &'static str,
        origin: impl Into<String>,
        asks: Vec<Ask>,
    ) -> Self {
        let worst = asks.iter().rev().max_by_key(|ask| ask.gets);
        let gets = worst.map_or(Gets::Nothing, |ask| ask.gets);
        let says = worst.map(|ask| ask.says.clone()).unwrap_or_default();
        Self { who, name, origin: origin.into(), gets, says, asks }
    }
}

/// The page of the attacker at an origin; `null` for one in a sandbox.
pub(super) fn page_of(origin: &str) -> Result<Page, Problem> {
    let problem = || Problem::new("attacker", "write an origin such as https://evil.test, or null");
    if origin == "null" {
        let url = Url::parse("https://evil.test/").map_err(|_never| problem())?;
        return Ok(Page::at(url).sandboxed());
    }
    let url = Url::parse(origin).map_err(|_invalid| problem())?;
    let is_page = matches!(url.scheme(), "https" | "http") && url.has_host();
    if is_page { Ok(Page::at(url)) } else { Err(problem()) }
}

/// Lets everybody ask for a route.
pub(super) fn play(world: &World, index: usize, attacker: &Page) -> Vec<Actor> {
    let Some(stage) = Stage::new(world, index) else { return Vec::new() };
    vec![
        stage.own(),
        stage.granted_page(),
        stage.attacker(attacker),
        stage.program(),
        stage.cache(),
    ]
}

/// A route, and how to ask for it.
struct Stage<'a> {
    world: &'a World,
    route: &'a ManifestRoute,
    method: Method,
    address: String,
    /// What the route requires of callers.
    requirement: Option<&'a RouteRequirement>,
}

/// The side from which a result is judged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    Friend,
    Attacker,
}

impl<'a> Stage<'a> {
    fn new(world: &'a World, index: usize) -> Option<Self> {
        let route = world.route(index)?;
        let method = route.methods.first()?.parse().ok()?;
        let path = world.example_path(route)?;
        let requirement = route.auth.requirement();
        let call = route.jsonp.as_ref().map(|jsonp| format!("?{}=show", jsonp.callback));
        let address = world.address(&format!("{path}{}", call.unwrap_or_default()));
        Some(Self { world, route, method, address, requirement })
    }

    fn takes(&self, credential: fn(&RouteRequirement) -> bool) -> bool {
        self.requirement.is_some_and(credential)
    }

    fn takes_session(&self) -> bool {
        self.route.takes_session || self.takes(|requirement| requirement.session)
    }

    /// A user with the rights that the route asks for.
    fn user(&self) -> Login {
        let Some(requirement) = self.requirement else { return Login::default() };
        let issuer = requirement.issuers.iter().find(|issuer| *issuer != OWN_ISSUER);
        Login {
            scopes: requirement.scopes.clone(),
            roles: requirement.roles.first().cloned().into_iter().collect(),
            age: Some(0),
            issuer: issuer.cloned(),
        }
    }

    /// `fetch()` of a page that works with this app.
    fn friendly(&self, credentials: Credentials) -> Fetch {
        let fetch = Fetch::new(self.method.as_str(), &self.address).credentials(credentials);
        let has_token = self.takes(|requirement| requirement.token) && !self.takes_session();
        let is_guarded = self.takes_session() && credentials == Credentials::Include;
        let headers = [
            has_token.then_some(("authorization", "Bearer e7Kf")),
            (is_guarded && !self.is_safe()).then_some((csrf::HEADER, "m2Wd")),
        ];
        let fetch = headers
            .into_iter()
            .flatten()
            .fold(fetch, |fetch, (name, value)| fetch.header(name, value));
        if self.has_content() { fetch.json("content") } else { fetch }
    }

    fn is_safe(&self) -> bool {
        is_safe(self.method.as_str())
    }

    fn has_content(&self) -> bool {
        matches!(self.method.as_str(), "POST" | "PUT" | "PATCH" | "QUERY")
    }

    fn own(&self) -> Actor {
        let page = Page::at(self.world.origin().clone());
        let ask = self.ask("fetch()", &page, self.friendly(Credentials::Include), View::Friend);
        Actor::new("own", "Your own page, logged in", page.origin.to_string(), vec![ask])
    }

    fn granted_page(&self) -> Actor {
        let cors = self.route.cors.as_ref();
        let (name, origin) = match self.example_of_granted() {
            Some(origin) => ("A page that you allow", origin),
            None => ("A page that you do not allow", "https://partner.example".to_owned()),
        };
        let Ok(page) = page_of(&origin) else {
            return Actor::new("granted", name, origin, Vec::new());
        };
        let credentials = match cors {
            Some(cors) if !cors.credentials => Credentials::SameOrigin,
            _ => Credentials::Include,
        };
        let how = match credentials {
            Credentials::Include => "fetch() with credentials",
            _ => "fetch() without credentials",
        };
        Actor::new(
            "granted",
            name,
            origin,
            vec![self.ask(how, &page, self.friendly(credentials), View::Friend)],
        )
    }

    /// An origin that may read the route.
    fn example_of_granted(&self) -> Option<String> {
        match &self.route.cors.as_ref()?.origins {
            RouteOrigins::Listed(origins) => origins.iter().find_map(|it| example_of(it)),
            RouteOrigins::AtRunTime(_) => None,
        }
    }

    fn attacker(&self, page: &Page) -> Actor {
        let ask = |how: &str, fetch| self.ask(how, page, fetch, View::Attacker);
        let fetch =
            Fetch::new(self.method.as_str(), &self.address).credentials(Credentials::Include);
        let mut asks = Vec::new();
        match self.method.as_str() {
            "GET" => {
                if self.requirement.is_none() {
                    let plain = fetch.clone().credentials(Credentials::Omit);
                    asks.push(ask("fetch() without credentials", plain));
                }
                asks.push(ask("fetch() with credentials", fetch));
                asks.push(ask("a <script> with this address", Fetch::script(&self.address)));
            }
            "POST" => {
                asks.push(ask(
                    "a form that submits itself",
                    Fetch::form(&self.address, [("to", "evil")]),
                ));
                let simple = fetch.header("content-type", "text/plain").body("{}");
                asks.push(ask("fetch() with credentials, as simple as a form", simple));
            }
            _ => asks.push(ask("fetch() with credentials", fetch)),
        }
        Actor::new(
            "attacker",
            "An attacker's page, in your user's browser",
            page.origin.to_string(),
            asks,
        )
    }

    /// Asks from a page in the browser of the user.
    fn ask(&self, how: &str, page: &Page, fetch: Fetch, view: View) -> Ask {
        let mut exchanges = Vec::new();
        let (_, outcome) = policy_browser::run(self.world.browser(), Some(page), fetch, |sent| {
            let exchange = self.world.serve(sent, &self.credentials(sent, self.user()));
            let response = exchange.response.clone();
            let status = exchange.decision.status.unwrap_or(200);
            exchanges.push(exchange);
            ServerResponse::new(status, response, Vec::new())
        });
        let (gets, says) = self.judge(&outcome, &exchanges, view);
        let console = outcome.blocked().map(ToString::to_string);
        Ask { how: how.to_owned(), gets, says, console, exchanges }
    }

    /// What the credentials of a request name.
    fn credentials(&self, sent: &SentRequest, user: Login) -> RequestCredentials {
        let csrf = match sent.headers.contains_key(csrf::HEADER) {
            true => CsrfTokenState::Valid,
            false => CsrfTokenState::Absent,
        };
        let valid = CredentialState::Valid(user);
        RequestCredentials {
            session: valid.clone(),
            token: valid.clone(),
            ticket: valid,
            csrf,
            ..RequestCredentials::default()
        }
    }

    fn judge(&self, outcome: &Outcome, exchanges: &[Exchange], view: View) -> (Gets, String) {
        let sent = exchanges.iter().rev().find(|exchange| !exchange.is_preflight);
        let Some(exchange) = sent else {
            let says = "Nothing. The browser asks first, and never sends the request.";
            return (Gets::Nothing, says.to_owned());
        };
        let decision = &exchange.decision;
        if let Some(refusal) = decision.refusal() {
            return (Gets::Nothing, format!("Nothing: {}, {}.", refusal.status(), refusal.code()));
        }
        let is_users = decision.is_authenticated;
        let reads = outcome.is_readable()
            || matches!(outcome, Outcome::Script(_)) && self.route.jsonp.is_some();
        let changes = !self.is_safe();
        let cookie = match exchange.withheld.is_empty() {
            true => "The request carries no credential",
            false => "The browser keeps the cookie out of the request",
        };
        let (gets, says) = match (view, is_users, reads, changes) {
            (View::Friend, true, true, false) => (Gets::Served, "Reads the response for its user."),
            (View::Friend, true, true, true) => {
                (Gets::Served, "Acts for its user, and reads the response.")
            }
            (View::Friend, false, true, _) => (Gets::Served, "Reads the response."),
            (View::Friend, _, false, _) => {
                (Gets::Nothing, "Reads nothing: the browser keeps the response from the page.")
            }
            (View::Attacker, true, true, false) => (Gets::Harm, "Reads the data of your user."),
            (View::Attacker, true, true, true) => {
                (Gets::Harm, "Acts as your user, and reads the response.")
            }
            (View::Attacker, true, false, true) => {
                (Gets::Harm, "Acts as your user, who has only opened a page.")
            }
            (View::Attacker, true, false, false) => {
                (Gets::Nothing, "Reads nothing: the browser keeps the response from the page.")
            }
            (View::Attacker, false, true, _) => (Gets::Open, "Reads what everybody may read."),
            (View::Attacker, false, false, true) => (Gets::Open, "Sends what everybody may send."),
            (View::Attacker, false, false, false) => (Gets::Nothing, "Reads nothing."),
        };
        let says = match (view, is_users, self.requirement) {
            (View::Attacker, false, Some(_)) => format!("{says} {cookie}."),
            _ => says.to_owned(),
        };
        (gets, says)
    }

    /// A program is bound by no browser: it sends any `Origin`, and reads every response.
    fn program(&self) -> Actor {
        let own = self.world.origin().origin().ascii_serialization();
        let forged = self.example_of_granted().unwrap_or(own);
        let mut asks =
            vec![self.run("curl without credentials, with a forged Origin", &forged, None)];
        if self.requirement.is_some() {
            let user = Login { age: Some(86_400), ..Login::default() };
            asks.push(self.run(
                "curl with the login of a user without rights, of yesterday",
                &forged,
                Some(&user),
            ));
        }
        Actor::new("program", "curl: a program, bound by no browser", "", asks)
    }

    fn run(&self, how: &str, origin: &str, user: Option<&Login>) -> Ask {
        let url = Url::parse(&self.address);
        let mut exchanges = Vec::new();
        let (mut gets, mut says) = (Gets::Nothing, String::new());
        if let Ok(url) = url {
            let mut sent = program_request(&self.method, url, origin);
            let mut add = |name: HeaderName, value: &'static str| {
                sent.headers.insert(name, HeaderValue::from_static(value));
            };
            if self.has_content() {
                add(http::header::CONTENT_TYPE, "application/json");
            }
            match user {
                Some(_) if self.takes_session() => {
                    add(COOKIE, "__Host-sid=q4Zt");
                    add(HeaderName::from_static(csrf::HEADER), "m2Wd");
                }
                Some(_) => add(AUTHORIZATION, "Bearer e7Kf"),
                None => (),
            }
            let caller = self.credentials(&sent, user.cloned().unwrap_or_default());
            let exchange = self.world.serve(&sent, &caller);
            (gets, says) = match (exchange.decision.refusal(), user) {
                (Some(refusal), _) => {
                    (Gets::Nothing, format!("Nothing: {}, {}.", refusal.status(), refusal.code()))
                }
                (None, Some(_)) => {
                    (Gets::Users, "Gets the response: every user may call this.".to_owned())
                }
                (None, None) => {
                    (Gets::Open, "Gets the response: everybody may call this.".to_owned())
                }
            };
            exchanges.push(exchange);
        }
        Ask { how: how.to_owned(), gets, says, console: None, exchanges }
    }

    /// A cache between the app and all of its users, after a request of the user.
    fn cache(&self) -> Actor {
        let page = Page::at(self.world.origin().clone());
        let mut ask = self.ask(
            "keeps the response to your own page",
            &page,
            self.friendly(Credentials::Include),
            View::Friend,
        );
        ask.console = None;
        (ask.gets, ask.says) = match ask.exchanges.last() {
            Some(exchange) => self.judge_caching(exchange),
            None => (Gets::Nothing, "Keeps nothing.".to_owned()),
        };
        Actor::new("cache", "A CDN: a cache that all users share", "", vec![ask])
    }

    /// Whether a shared cache may store a response, and for whom (RFC 9111 3, 3.5 and 4.1).
    fn judge_caching(&self, exchange: &Exchange) -> (Gets, String) {
        let nothing = |why: &str| (Gets::Nothing, format!("Keeps nothing: {why}."));
        if !matches!(self.method.as_str(), "GET" | "HEAD") {
            return nothing("caches keep responses to GET");
        }
        if exchange.decision.refusal().is_some() {
            return nothing("the request is refused");
        }
        let control = words(exchange, &CACHE_CONTROL);
        let has = |name: &str| control.iter().any(|word| word.split('=').next() == Some(name));
        if let Some(word) = ["no-store", "private"].into_iter().find(|word| has(word)) {
            return nothing(&format!("Cache-Control says {word}"));
        }
        let is_opened = ["public", "s-maxage", "must-revalidate"].into_iter().any(has);
        if exchange.sends(&AUTHORIZATION) && !is_opened {
            return nothing("the request has a token, and Cache-Control does not say public");
        }
        if exchange.decision.is_authenticated {
            return (
                Gets::Harm,
                "Keeps the response of one user, and gives it to the next.".to_owned(),
            );
        }
        let is_shared =
            exchange.response.get(ACCESS_CONTROL_ALLOW_ORIGIN).is_some_and(|value| value != "*");
        let is_keyed = words(exchange, &VARY).iter().any(|name| name == "origin");
        if is_shared && !is_keyed {
            return (Gets::Harm, "Gives the grant of one origin to another.".to_owned());
        }
        let seconds = ["s-maxage=", "max-age="]
            .into_iter()
            .find_map(|name| control.iter().find_map(|word| word.strip_prefix(name)));
        let time =
            seconds.map_or("as long as it guesses".to_owned(), |it| format!("for {it} seconds"));
        let key = if is_keyed { ", one copy for each Origin" } else { "" };
        (Gets::Served, format!("Keeps the public response {time}{key}."))
    }
}

/// The words of a list in a header, in lower case.
fn words(exchange: &Exchange, name: &HeaderName) -> Vec<String> {
    let lines = exchange.response.get_all(name).iter().filter_map(|value| value.to_str().ok());
    let words = lines.flat_map(|line| line.split(','));
    words.map(|word| word.trim().to_ascii_lowercase()).collect()
}

/// An origin that a pattern grants.
fn example_of(pattern: &str) -> Option<String> {
    let pattern = if pattern == "*" { "https://anyone.example" } else { pattern };
    // What is left is the label of a host, or a part of it.
    let origin = pattern.replace(":*", ":8443").replacen('*', "app", 1);
    page_of(&origin).is_ok().then_some(origin)
}
