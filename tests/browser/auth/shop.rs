//! A deployed API with sessions, with pages of its own and of other sites.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    extract::{WebSocketUpgrade, ws::Message},
    middleware::from_fn_with_state,
    response::{Html, Redirect},
};
use policy_core::cors::CorsConfig;
use policy_server::{Policies, session::SessionSettings, tokens::SecretKey};
use policy_tests::{
    bidi::Bidi,
    handlers::{csrf, login_as, me, revoke},
    pages,
    tls::TlsFront,
};
use tokio::runtime::{Builder, Runtime};

use crate::{
    arrivals::{Arrivals, note},
    auth::{
        extensions::{IN_CHROMIUM, IN_FIREFOX},
        *,
    },
};

/// Calls of state-changing handlers.
type Bank = Arc<AtomicUsize>;

#[get("/")]
#[auth(public)]
async fn page() -> Html<&'static str> {
    Html("<!doctype html><title>api</title>")
}

/// A form of the API's own origin on a page with `no-referrer`.
#[get("/form")]
#[auth(session)]
async fn form(token: CsrfToken) -> impl IntoResponse {
    let form =
        format!("<!doctype html><form method=post action=/transfer>{}</form>", token.field());
    ([("referrer-policy", "no-referrer")], Html(form))
}

#[post("/logout")]
#[auth(session)]
async fn logout(session: Session) -> &'static str {
    session.logout();
    "logged out"
}

/// Begins an anonymous session.
#[post("/visit")]
#[auth(public)]
async fn visit(session: Session) -> Result<String, Problem> {
    Ok(session.increment("visits", 1)?.to_string())
}

/// As above, for callers with tokens as well.
#[get("/either")]
#[auth(session | token)]
async fn either(me: Principal) -> String {
    me.subject().to_owned()
}

#[post("/transfer")]
#[put("/transfer")]
#[auth(session)]
async fn transfer(State(bank): State<Bank>) -> &'static str {
    bank.fetch_add(1, Ordering::SeqCst);
    "transferred"
}

/// As above, with only the origin to detect a forgery.
#[post("/transfer-by-origin")]
#[auth(session)]
#[csrf(origin)]
async fn transfer_by_origin(State(bank): State<Bank>) -> &'static str {
    bank.fetch_add(1, Ordering::SeqCst);
    "transferred"
}

/// As above, without the gate.
#[post("/transfer-unprotected")]
#[auth(session)]
#[csrf(exempt = "shows what the gate is for")]
async fn transfer_unprotected(State(bank): State<Bank>) -> &'static str {
    bank.fetch_add(1, Ordering::SeqCst);
    "transferred"
}

/// Redirects any request, with method and body.
#[post("/moved/{path}")]
#[auth(public)]
async fn moved(path: String) -> Redirect {
    Redirect::temporary(&format!("/{path}"))
}

#[get("/token")]
#[auth(public)]
async fn token(tokens: Tokens) -> Result<String, Problem> {
    Ok(tokens.issue(&Identity::new("ada"))?.access_token)
}

#[get("/socket")]
#[auth(session | token)]
async fn socket(me: Principal, upgrade: WebSocketUpgrade) -> Response {
    let greeting = Message::Text(me.subject().into());
    upgrade.on_upgrade(async move |mut socket| {
        // The client may be gone; then only its end is awaited.
        let _ = socket.send(greeting).await;
        while let Some(Ok(_)) = socket.recv().await {}
    })
}

/// The API at `api.shop.example`. It grants `app.shop.example`, which is same-site, and the
/// cross-site `partner.test` and two extensions where their pages can have a session or send
/// tokens. It grants neither `blog.shop.example` nor `evil.test`.
pub(crate) struct Shop {
    front: TlsFront,
    bank: Bank,
    pub(crate) arrivals: Arrivals,
    /// Dropping it ends all listeners.
    _runtime: Runtime,
}

impl Shop {
    /// A shop with default settings.
    pub(crate) fn open() -> Result<Self, Failure> {
        Self::with(Sessions::memory(), SameSite::Lax)
    }

    /// A shop whose session cookie has this `SameSite`.
    pub(crate) fn with(sessions: SessionSettings, same_site: SameSite) -> Result<Self, Failure> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let bank = Bank::default();
        let arrivals = Arrivals::default();
        let front = runtime.block_on(async {
            let foreign = ["app.shop.example", "blog.shop.example", "partner.test", "evil.test"];
            let front = TlsFront::start(&[&["api.shop.example"], &foreign[..]].concat()).await?;
            let pages = ["app.shop.example", "partner.test"].map(|host| front.origin(host));
            let mut of_sessions = pages[..1].to_vec();
            // With another `SameSite` the shop would not start: cross-site pages never have a
            // session.
            if same_site == SameSite::None {
                of_sessions.push(pages[1].clone());
                of_sessions.extend([IN_CHROMIUM[0], IN_FIREFOX[0]].map(str::to_owned));
            }
            let [mut cors, mut of_either] = [of_sessions, pages.to_vec()].map(CorsConfig::new);
            (cors.credentials, of_either.credentials) = (true, true);
            let key = SecretKey::from_bytes([7; 32]);
            let app = App::new(Arc::clone(&bank))
                .public_origin(front.origin("api.shop.example"))
                .sessions(sessions.same_site(same_site))
                .tokens(Tokens::hs256([("k1", key)])?.from_websocket_protocol())
                .policies(Policies::new().cors(cors))
                .group(
                    "/shared",
                    Group::new().policies(Policies::new().cors(of_either)).routes(routes![either]),
                )
                .routes(routes![
                    page,
                    form,
                    login_as,
                    logout,
                    visit,
                    me,
                    csrf,
                    transfer,
                    transfer_by_origin,
                    transfer_unprotected,
                    moved,
                    token,
                    revoke,
                    socket,
                ])
                .layer(from_fn_with_state(arrivals.clone(), note));
            let api = app.bind("127.0.0.1:0").await?;
            front.forward("api.shop.example", api.local_addr());
            tokio::spawn(api.run_until(pending()));
            let pages = pages::serve().await?;
            for host in foreign {
                front.forward(host, pages);
            }
            Ok::<_, Failure>(front)
        })?;
        Ok(Self { front, bank, arrivals, _runtime: runtime })
    }

    /// A browser that resolves the hosts.
    pub(crate) fn browser(&self) -> Result<Browser, Failure> {
        self.browser_with(ThirdPartyCookies::Allowed, &[])
    }

    /// The same with a choice for third-party cookies, and with additional flags.
    pub(crate) fn browser_with(
        &self,
        cookies: ThirdPartyCookies,
        more: &[String],
    ) -> Result<Browser, Failure> {
        // Chromium's `CookieControlsMode`: off, or block third-party cookies.
        let mode = match cookies {
            ThirdPartyCookies::Allowed => 0,
            ThirdPartyCookies::Blocked => 1,
        };
        let preferences = json!({ "profile.cookie_controls_mode": mode });
        Browser::with(&[&self.front.browser_flags(), more].concat(), &preferences)
    }

    /// Firefox with more preferences; it resolves the hosts and accepts the certificate.
    pub(crate) fn firefox(&self, more: &[(&str, Value)]) -> Result<Bidi, Failure> {
        let preferences = [
            ("network.dns.localDomains", json!("api.shop.example")),
            ("network.proxy.type", json!(0)),
            ("network.captive-portal-service.enabled", json!(false)),
            ("network.connectivity-service.enabled", json!(false)),
        ];
        Bidi::firefox(&[&preferences, more].concat())
    }

    /// A browser with a logged-in user.
    pub(crate) fn browser_of(&self, user: &str) -> Result<Browser, Failure> {
        let browser = self.browser()?;
        self.log_in(&browser, user)?;
        Ok(browser)
    }

    /// Logs in on a page of the API's own origin.
    pub(crate) fn log_in(&self, browser: &Browser, user: &str) -> Result<(), Failure> {
        browser.goto(&self.api())?;
        let response = call(browser, self, "POST", &format!("/login/{user}"))?;
        assert_eq!(response, json!([200, user]));
        Ok(())
    }

    pub(crate) fn api(&self) -> String {
        self.front.origin("api.shop.example")
    }

    pub(crate) fn app(&self) -> String {
        self.front.origin("app.shop.example")
    }

    pub(crate) fn blog(&self) -> String {
        self.front.origin("blog.shop.example")
    }

    pub(crate) fn partner(&self) -> String {
        self.front.origin("partner.test")
    }

    pub(crate) fn evil(&self) -> String {
        self.front.origin("evil.test")
    }

    /// How often a state-changing handler ran.
    pub(crate) fn transfers(&self) -> usize {
        self.bank.load(Ordering::SeqCst)
    }
}

/// The user's choice for third-party cookies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThirdPartyCookies {
    Allowed,
    Blocked,
}

/// A `fetch()` with credentials: status and body, or the name of the error.
pub(crate) const FETCH: &str = "
    const { url, method, headers } = input;
    try {
        const response = await fetch(url, { method, headers, credentials: 'include' });
        return [response.status, await response.text()];
    } catch (error) {
        return [error.name];
    }";

/// The same from the current page.
pub(crate) fn call(
    browser: &Browser,
    shop: &Shop,
    method: &str,
    path: &str,
) -> Result<Value, Failure> {
    call_with(browser, shop, method, path, &json!({}))
}

pub(crate) fn call_with(
    browser: &Browser,
    shop: &Shop,
    method: &str,
    path: &str,
    headers: &Value,
) -> Result<Value, Failure> {
    let url = format!("{}{path}", shop.api());
    browser.run(FETCH, &json!({ "url": url, "method": method, "headers": headers }))
}
