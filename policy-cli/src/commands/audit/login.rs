//! The login whose session an audit uses.

use std::path::Path;

use http::{HeaderName, HeaderValue, Request, header};
use policy_manifest::Manifest;

use super::{
    exchange::Response,
    judge::outcome,
    plan::{Probe, Purpose, Trial},
    target::Target,
};
use crate::{
    commands::explain::{ParsedRequest, curl, har},
    failure::Failure,
    input::read_text,
};

/// A request that logs a user in.
#[derive(Debug)]
pub(super) struct Login {
    pub(super) request: Request<()>,
    /// May have a password, and is never shown.
    pub(super) body: String,
    /// The name of the cookie that it sets.
    cookie: String,
}

/// Headers that are about a connection, or about the body as it was sent before.
const OF_CONNECTION: [HeaderName; 6] = [
    header::ACCEPT_ENCODING,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::TE,
    header::TRANSFER_ENCODING,
];

impl Login {
    /// Reads the request from a file with a curl line, or from an entry of a HAR file.
    pub(super) fn read(
        file: &Path,
        entry: usize,
        manifest: &Manifest,
        target: &Target,
    ) -> Result<Self, Failure> {
        let Some(facts) = &manifest.app.sessions else {
            return Err(Failure::new("the app has no sessions").help("leave out `--login`"));
        };
        let text = read_text(file, "name a file with a curl line, or a HAR file")?;
        let is_har = text.trim_start_matches('\u{feff}').trim_start().starts_with('{');
        let written = if is_har { har::parse(&text, entry)? } else { curl::parse(text.trim())? };
        let mut request = written.request(manifest)?;
        let ParsedRequest { headers, body, .. } = written;
        let declares_body = headers.iter().any(|(name, value)| {
            let is_length = name.eq_ignore_ascii_case("content-length") && value != "0";
            is_length || name.eq_ignore_ascii_case("content-type")
        });
        if declares_body && body.is_none() {
            return Err(Failure::new(format!("`{}` has no body of the login", file.display()))
                .help("write the whole body in the line, with `--data-raw` or `--json`"));
        }
        let host = request.headers().get(header::HOST).map(HeaderValue::as_bytes);
        if !host.is_some_and(|host| host.eq_ignore_ascii_case(target.authority.as_bytes())) {
            return Err(Failure::new(format!("the login is not for `{}`", target.origin()))
                .help("name a request to the origin that is audited"));
        }
        OF_CONNECTION.iter().for_each(|name| {
            request.headers_mut().remove(name);
        });
        Ok(Self { request, body: body.unwrap_or_default(), cookie: facts.cookie.clone() })
    }

    /// The login as a trial, so that its response is judged as any other.
    pub(super) fn trial(&self, route: String) -> Trial {
        let probe = Probe {
            request: self.request.clone(),
            caller: policy_manifest::engine::RequestCredentials::default(),
            credential: None,
        };
        Trial { route, purpose: Purpose::Login, probes: vec![probe] }
    }

    /// The request without what identifies a user.
    pub(super) fn anonymous_request(&self) -> Request<()> {
        let mut request = self.request.clone();
        let fields = [header::HOST, header::ORIGIN]
            .into_iter()
            .filter_map(|name| Some((name.clone(), self.request.headers().get(&name)?.clone())));
        *request.headers_mut() = fields.collect();
        request
    }

    /// The session that a response sets, as `Cookie` has it.
    pub(super) fn session(&self, response: &Response) -> Result<HeaderValue, Failure> {
        let set = response.lines(&header::SET_COOKIE).find_map(|line| {
            let mut parts = line.split(';').map(str::trim);
            let pair = parts.next()?;
            let (name, value) = pair.split_once('=')?;
            let is_removed = parts.any(|part| part.eq_ignore_ascii_case("max-age=0"));
            let is_session = name == self.cookie && !value.is_empty() && !is_removed;
            is_session.then(|| pair.to_owned())
        });
        let mut session =
            set.and_then(|pair| HeaderValue::from_str(&pair).ok()).ok_or_else(|| {
                let (cookie, outcome) = (&self.cookie, outcome(response));
                Failure::new(format!("the login sets no session cookie `{cookie}`: {outcome}"))
                    .help("name a request that logs a user in, with `Origin` as its page sends it")
            })?;
        session.set_sensitive(true);
        Ok(session)
    }
}
