//! The sender of the request that is explained.

use clap::Args;
use http::{HeaderName, HeaderValue, Request, header};
use policy_core::{
    cookie::{PresentedCookie, presented},
    csrf,
};
use policy_manifest::{
    Manifest,
    engine::{CredentialState, CsrfTokenState, Login, RequestCredentials},
};

use crate::{failure::Failure, output::Output};

/// The credentials of the request, as the app would find them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Caller")]
pub(crate) struct CallerArguments {
    /// The request has the cookie of a session.
    #[arg(long)]
    session: bool,
    /// The request has a bearer token.
    #[arg(long)]
    token: bool,
    /// The request has a ticket in its query.
    #[arg(long)]
    ticket: bool,
    /// The request has a credential of the app's own scheme.
    #[arg(long)]
    scheme: bool,
    /// A role of the caller. May be given several times.
    #[arg(long = "role", value_name = "NAME")]
    roles: Vec<String>,
    /// A scope of the caller. May be given several times.
    #[arg(long = "scope", value_name = "NAME")]
    scopes: Vec<String>,
    /// Seconds since the caller logged in.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    age: u32,
    /// The issuer of the token, if it is not the app itself.
    #[arg(long, value_name = "URL")]
    issuer: Option<String>,
    /// The state of the credential.
    #[arg(long, value_name = "STATE", default_value = "valid")]
    credential: State,
    /// The request has the CSRF token of the session.
    #[arg(long)]
    csrf: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum State {
    Valid,
    Expired,
    Invalid,
    /// The store or the keys are unavailable.
    Unchecked,
}

impl CallerArguments {
    /// The caller. Adds the field that carries a credential to the request if it is missing.
    pub(super) fn read(
        &self,
        manifest: &Manifest,
        request: &mut Request<()>,
        output: &Output,
    ) -> Result<RequestCredentials, Failure> {
        let cookie = manifest.app.sessions.as_ref().map(|facts| facts.cookie.as_str());
        self.note_unknown(cookie, request, output);
        let state = match self.credential {
            State::Valid => CredentialState::Valid(Login {
                scopes: self.scopes.clone(),
                roles: self.roles.clone(),
                age: Some(self.age),
                issuer: self.issuer.clone(),
            }),
            State::Expired => CredentialState::Expired,
            State::Invalid => CredentialState::Invalid,
            State::Unchecked => CredentialState::Unchecked,
        };
        let of = |is_sent: bool| if is_sent { state.clone() } else { CredentialState::Absent };
        let has_rights = !self.roles.is_empty() || !self.scopes.is_empty();
        if has_rights && !(self.session || self.token || self.ticket || self.scheme) {
            return Err(Failure::new("roles and scopes need a credential")
                .help("add `--session`, `--token`, `--ticket` or `--scheme`"));
        }
        if self.session {
            let cookie = cookie.ok_or_else(|| {
                Failure::new("the app has no sessions").help("leave out `--session`")
            })?;
            add_cookie(request, cookie);
        }
        if self.token {
            add(request, header::AUTHORIZATION, "Bearer explained");
        }
        if self.ticket {
            add_ticket(request)?;
        }
        if self.csrf {
            add(request, HeaderName::from_static(csrf::HEADER), "explained");
        }
        Ok(RequestCredentials {
            session: of(self.session),
            token: of(self.token),
            ticket: of(self.ticket),
            scheme: of(self.scheme),
            csrf: if self.csrf { CsrfTokenState::Valid } else { CsrfTokenState::Absent },
        })
    }

    /// Notes that a credential of a copied request may be valid: only the app knows.
    fn note_unknown(&self, cookie: Option<&str>, request: &Request<()>, output: &Output) {
        let has_session = cookie.is_some_and(|cookie| has_cookie(request, cookie));
        let has_token = request.headers().contains_key(header::AUTHORIZATION);
        for (is_unknown, what, flag) in [
            (has_session && !self.session, "the session cookie", "--session"),
            (has_token && !self.token, "the `Authorization` header", "--token"),
        ] {
            if is_unknown {
                output.note(&format!("{what} counts as invalid; add `{flag}` if it is valid"));
            }
        }
    }
}

/// Whether the request has the session cookie, be it one that the app knows or not.
fn has_cookie(request: &Request<()>, cookie: &str) -> bool {
    presented(request.headers(), cookie)
        .is_ok_and(|presented| !matches!(presented, PresentedCookie::Absent))
}

/// Adds the session cookie unless it is present: with two values, an app uses none.
fn add_cookie(request: &mut Request<()>, cookie: &str) {
    if has_cookie(request, cookie) {
        return;
    }
    let pair = format!("{cookie}=explained");
    let lines = request.headers().get_all(header::COOKIE).iter().map(HeaderValue::as_bytes);
    let all = lines.chain([pair.as_bytes()]).collect::<Vec<_>>().join(b"; ".as_slice());
    let Ok(value) = HeaderValue::from_bytes(&all) else { return };
    request.headers_mut().insert(header::COOKIE, value);
}

/// Adds a header unless it is present.
fn add(request: &mut Request<()>, name: HeaderName, value: &'static str) {
    request.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
}

fn add_ticket(request: &mut Request<()>) -> Result<(), Failure> {
    let sign = if request.uri().query().is_some() { '&' } else { '?' };
    let target = format!("{}{sign}ticket=explained", request.uri());
    *request.uri_mut() = target.parse().map_err(|error| {
        Failure::new(format!("`{target}` is not a URL: {error}")).help("shorten the URL")
    })?;
    Ok(())
}
