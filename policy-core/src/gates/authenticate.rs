//! Gate 7: which of the credentials of a request counts.

use std::fmt;

use http::{HeaderMap, Method};

use super::{Gate, Sender};
use crate::{
    auth::{Authorization, authorization},
    catalogue::Refusal,
};

/// The kinds of credentials that a route takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CredentialKinds {
    /// The cookie of a session.
    pub session: bool,
    /// A bearer token.
    pub token: bool,
    /// A ticket in the query.
    pub ticket: bool,
    /// The credential of a custom scheme.
    pub scheme: bool,
}

/// The credential that counts; nothing is verified yet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Credential<'a> {
    /// No credential is presented.
    None,
    /// A bearer token.
    Bearer(&'a [u8]),
    /// A ticket.
    Ticket(&'a str),
    /// The credential that the scheme of the route finds.
    Scheme,
    /// The session that the cookie names, if there is one.
    Session,
}

impl fmt::Debug for Credential<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Bearer(_) => "Bearer(..)",
            Self::Ticket(_) => "Ticket(..)",
            Self::Scheme => "Scheme",
            Self::Session => "Session",
        })
    }
}

/// On a route that takes bearer tokens, a token alone decides. An invalid credential is refused; no
/// other credential is tried in its place. A ticket counts only for the methods that an event
/// source and a WebSocket use: GET, and CONNECT over HTTP/2. Other methods act on the resource of
/// the URL, and any page can put its own ticket into a URL.
///
/// # Errors
///
/// The gate that refuses, and why.
#[inline(always)]
pub fn credential<'a>(
    taken: CredentialKinds,
    method: &Method,
    query: Option<&'a str>,
    headers: &'a HeaderMap,
    sender: &Sender,
) -> Result<Credential<'a>, (Gate, Refusal)> {
    if taken.token {
        match authorization(headers) {
            Authorization::None | Authorization::OtherScheme => (),
            Authorization::Bearer(token) => return Ok(Credential::Bearer(token)),
            Authorization::Invalid => {
                return Err((Gate::Authenticate, Refusal::AuthorizationMalformed));
            }
        }
    }
    if taken.ticket
        && matches!(*method, Method::GET | Method::CONNECT)
        && let Some(ticket) = query.and_then(ticket)
    {
        // Checked before the ticket is redeemed: a refused request does not use it up.
        sender.admit_ticket().map_err(|refusal| (Gate::Csrf, refusal))?;
        return Ok(Credential::Ticket(ticket));
    }
    Ok(match taken {
        CredentialKinds { scheme: true, .. } => Credential::Scheme,
        CredentialKinds { session: true, .. } => Credential::Session,
        _ => Credential::None,
    })
}

/// The ticket of the query: exactly one `ticket` parameter.
fn ticket(query: &str) -> Option<&str> {
    let mut tickets = query.split('&').filter_map(|parameter| parameter.strip_prefix("ticket="));
    match (tickets.next(), tickets.next()) {
        (Some(ticket), None) => Some(ticket),
        _ => None,
    }
}
