//! Requests, reduced to the parts that decide. They become HTTP requests to an app with a given
//! origin and a given session cookie.

use http::{HeaderName, HeaderValue, Method, Request, Uri, header};
use policy_core::{
    csrf,
    isolation::{SEC_FETCH_DEST, SEC_FETCH_MODE, SEC_FETCH_SITE},
};

use super::side::Identity;
use crate::engine::{CredentialState, CsrfTokenState, Login, RequestCredentials};

/// Which page sends a request, as its headers state it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sender {
    pub(crate) origin: HeaderOrigin,
    /// `Sec-Fetch-Site`, which may be there twice
    pub(crate) site: Option<&'static str>,
    /// The mode and the destination of a link.
    pub(crate) is_link: bool,
    /// The mode `cors`.
    pub(crate) is_cors: bool,
    /// `Referer`, only if no other header states a page.
    pub(crate) referer: HeaderOrigin,
    pub(crate) is_upgrade: bool,
    pub(crate) is_early: bool,
    /// Whether the request names a host other than the app's.
    pub(crate) is_misdirected: bool,
}

/// An origin that a header states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum HeaderOrigin {
    #[default]
    Absent,
    /// The origin of the app.
    Own,
    /// Another origin, and the index of the set of origins that it represents.
    Other(String, usize),
    /// Text that is not an origin.
    Malformed,
    Repeated,
}

/// The credentials of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) bearer: Slot,
    pub(crate) ticket: Slot,
    pub(crate) scheme: Slot,
    pub(crate) cookie: Cookie,
    pub(crate) has_csrf: bool,
    pub(crate) extra: Extra,
}

/// One credential.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Slot {
    #[default]
    Absent,
    Valid(Login),
    Invalid,
    Unchecked,
    /// A malformed credential; only bearer tokens have this state.
    Malformed,
    /// HTTP authentication in place of a bearer token.
    OtherScheme,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cookie {
    #[default]
    Absent,
    Session(Slot),
    /// A cookie other than that of the session.
    Other,
    TooLarge,
}

/// The parts of a request that only some routes read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extra {
    /// The query for JSONP.
    pub(crate) query: Option<String>,
    /// `Content-Range`
    pub(crate) is_part: bool,
    /// QUERY without a media type.
    pub(crate) is_untyped: bool,
    /// `Max-Forwards: 0`
    pub(crate) is_last: bool,
}

/// Two values of `Sec-Fetch-Site`.
pub(crate) const REPEATED: &str = "repeated";

/// A host name that no app has.
const OTHER_HOST: &str = "other.invalid";

/// The target of requests for a tunnel.
pub(crate) const TUNNEL: &str = "db.example:5432";

/// More bytes than the cookies of a request may have.
const TOO_LARGE: usize = 16 * 1024 + 1;

/// A request of a sender with credentials. The path is empty for a tunnel.
pub(crate) fn request(
    (method, path): (&str, &str),
    sender: &Sender,
    credentials: &Credentials,
    identity: &Identity,
) -> Request<()> {
    let is_tunnel = path.is_empty();
    let mut fields: Vec<(HeaderName, String)> = Vec::new();
    let own = match sender.is_misdirected && identity.is_development {
        true => format!("http://{OTHER_HOST}"),
        false => identity.origin.clone(),
    };
    let host = match (is_tunnel, sender.is_misdirected) {
        (true, _) => TUNNEL,
        (false, true) => OTHER_HOST,
        (false, false) => &identity.host,
    };
    fields.push((header::HOST, host.to_owned()));
    match &sender.origin {
        HeaderOrigin::Absent => (),
        HeaderOrigin::Own => fields.push((header::ORIGIN, own.clone())),
        HeaderOrigin::Other(origin, _) => fields.push((header::ORIGIN, origin.clone())),
        HeaderOrigin::Malformed => fields.push((header::ORIGIN, "malformed".to_owned())),
        HeaderOrigin::Repeated => {
            fields.extend([(header::ORIGIN, "null"), (header::ORIGIN, "null")].map(owned));
        }
    }
    match sender.site {
        None => (),
        Some(REPEATED) => {
            let sites = ["same-origin", "cross-site"];
            fields.extend(sites.map(|site| owned((SEC_FETCH_SITE, site))));
        }
        Some(site) => fields.push(owned((SEC_FETCH_SITE, site))),
    }
    if sender.is_link {
        fields.extend([(SEC_FETCH_MODE, "navigate"), (SEC_FETCH_DEST, "document")].map(owned));
    } else if sender.is_cors {
        fields.push(owned((SEC_FETCH_MODE, "cors")));
    }
    match &sender.referer {
        HeaderOrigin::Absent => (),
        HeaderOrigin::Own => fields.push((header::REFERER, format!("{own}/"))),
        _ => fields.push(owned((header::REFERER, "https://evil.example/"))),
    }
    if sender.is_upgrade {
        fields.extend([(header::UPGRADE, "websocket"), (header::CONNECTION, "upgrade")].map(owned));
    }
    if sender.is_early {
        fields.push(owned((HeaderName::from_static("early-data"), "1")));
    }
    let bearer = match credentials.bearer {
        Slot::Absent => None,
        Slot::Malformed => Some("Bearer a b"),
        Slot::OtherScheme => Some("Basic YTpi"),
        _ => Some("Bearer token"),
    };
    let authorization = if is_tunnel { header::PROXY_AUTHORIZATION } else { header::AUTHORIZATION };
    fields.extend(bearer.map(|value| (authorization, value.to_owned())));
    match &credentials.cookie {
        Cookie::Absent => (),
        Cookie::Session(_) => fields.push((header::COOKIE, format!("{}=session", identity.cookie))),
        Cookie::Other => fields.push(owned((header::COOKIE, "theme=dark"))),
        Cookie::TooLarge => fields.push((header::COOKIE, "0".repeat(TOO_LARGE))),
    }
    if credentials.has_csrf {
        fields.push(owned((HeaderName::from_static(csrf::HEADER), "token-of-the-session")));
    }
    if method == "QUERY" && !credentials.extra.is_untyped {
        fields.push(owned((header::CONTENT_TYPE, "application/json")));
    }
    if credentials.extra.is_part {
        fields.push(owned((header::CONTENT_RANGE, "bytes 0-1/2")));
    }
    if credentials.extra.is_last {
        fields.push(owned((HeaderName::from_static("max-forwards"), "0")));
    }
    let ticket = (credentials.ticket != Slot::Absent).then(|| "ticket=ticket".to_owned());
    let query: Vec<String> = ticket.into_iter().chain(credentials.extra.query.clone()).collect();
    let target = match (is_tunnel, query.is_empty()) {
        (true, _) => TUNNEL.to_owned(),
        (false, true) => path.to_owned(),
        (false, false) => format!("{path}?{}", query.join("&")),
    };
    build_request(method, &target, fields)
}

/// A preflight of a page for a method.
pub(crate) fn preflight(
    (method, path): (&str, &str),
    origin: &HeaderOrigin,
    identity: &Identity,
) -> Request<()> {
    let sender = Sender { origin: origin.clone(), ..Sender::default() };
    let mut request = request(("OPTIONS", path), &sender, &Credentials::default(), identity);
    if let Ok(value) = HeaderValue::from_str(method) {
        request.headers_mut().insert(header::ACCESS_CONTROL_REQUEST_METHOD, value);
    }
    request
}

fn owned((name, value): (HeaderName, &str)) -> (HeaderName, String) {
    (name, value.to_owned())
}

fn build_request(method: &str, target: &str, fields: Vec<(HeaderName, String)>) -> Request<()> {
    let mut request = Request::new(());
    if let Ok(method) = Method::from_bytes(method.as_bytes()) {
        *request.method_mut() = method;
    }
    *request.uri_mut() = target.parse().unwrap_or(Uri::from_static("/"));
    for (name, value) in fields {
        if let Ok(value) = HeaderValue::from_str(&value) {
            request.headers_mut().append(name, value);
        }
    }
    request
}

impl Credentials {
    /// The result of checking the credentials in the stores and with the keys of the app.
    pub(crate) fn caller(&self) -> RequestCredentials {
        let csrf = if self.has_csrf { CsrfTokenState::Valid } else { CsrfTokenState::Absent };
        let [session, token, ticket, scheme] = self.slots().map(Slot::state);
        RequestCredentials { session, token, ticket, scheme, csrf }
    }

    fn slots(&self) -> [&Slot; 4] {
        let session = match &self.cookie {
            Cookie::Session(slot) => slot,
            Cookie::Absent | Cookie::Other | Cookie::TooLarge => &Slot::Absent,
        };
        [session, &self.bearer, &self.ticket, &self.scheme]
    }

    /// Whether there are credentials, and none of them is valid.
    pub(super) fn are_broken(&self) -> bool {
        let is_valid = |slot: &&Slot| matches!(slot, Slot::Valid(_));
        let is_broken =
            |slot: &&Slot| !matches!(slot, Slot::Absent | Slot::Valid(_) | Slot::OtherScheme);
        let slots = self.slots();
        (self.cookie == Cookie::TooLarge || slots.iter().any(is_broken))
            && !slots.iter().any(is_valid)
    }

    /// Whether no credential has a role or a scope.
    pub(super) fn have_no_rights(&self) -> bool {
        self.slots().into_iter().all(|slot| match slot {
            Slot::Valid(login) => login.roles.is_empty() && login.scopes.is_empty(),
            _ => true,
        })
    }
}

impl Slot {
    fn state(&self) -> CredentialState {
        match self {
            Self::Absent | Self::OtherScheme => CredentialState::Absent,
            Self::Valid(login) => CredentialState::Valid(login.clone()),
            Self::Invalid | Self::Malformed => CredentialState::Invalid,
            Self::Unchecked => CredentialState::Unchecked,
        }
    }
}
