//! Encodes a ticket as a Redis value.

use std::borrow::Cow;

use policy_core::session::{Handle, Identity};
use serde::{Deserialize, Serialize};

use super::reply::{time, time_of};
use crate::store::{StoreError, Ticket};

#[derive(Serialize, Deserialize)]
struct TicketRecord<'a> {
    user: Cow<'a, str>,
    roles: Cow<'a, [Box<str>]>,
    scopes: Cow<'a, [Box<str>]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<Cow<'a, str>>,
    authenticated: Option<u64>,
    session: Option<[u8; 16]>,
    token: Option<(Cow<'a, str>, u64)>,
    cut_offs: u64,
    expires: u64,
}

pub(super) fn write(ticket: &Ticket) -> Result<Vec<u8>, StoreError> {
    let Ticket { identity, authenticated, session, token, cut_offs, expires } = ticket;
    let stored = TicketRecord {
        user: Cow::Borrowed(&identity.subject),
        roles: Cow::Borrowed(&identity.roles),
        scopes: Cow::Borrowed(&identity.scopes),
        tenant: identity.tenant.as_deref().map(Cow::Borrowed),
        authenticated: authenticated.map(time),
        session: session.map(|session| session.0),
        token: token.as_ref().map(|(id, expires)| (Cow::Borrowed(&**id), time(*expires))),
        cut_offs: *cut_offs,
        expires: time(*expires),
    };
    serde_json::to_vec(&stored).map_err(StoreError::new)
}

pub(super) fn read(value: &[u8]) -> Result<Ticket, StoreError> {
    let stored: TicketRecord<'_> = serde_json::from_slice(value).map_err(StoreError::new)?;
    let (roles, scopes) = (stored.roles.into_owned(), stored.scopes.into_owned());
    let mut identity = Identity::new(stored.user).roles(roles).scopes(scopes);
    identity.tenant = stored.tenant.map(|tenant| tenant.into_owned().into());
    Ok(Ticket {
        identity,
        authenticated: stored.authenticated.map(time_of),
        session: stored.session.map(Handle),
        token: stored.token.map(|(id, expires)| (id.into(), time_of(expires))),
        cut_offs: stored.cut_offs,
        expires: time_of(stored.expires),
    })
}

#[cfg(test)]
mod tests {
    use policy_core::time::Timestamp;

    use super::*;

    #[test]
    fn a_ticket_without_a_tenant_is_written_as_before_there_were_tenants() {
        let identity = Identity::new("ada").roles(["admin"]);
        let ticket = Ticket::new(identity, Timestamp::from_millis(7));
        let before = r#"{"user":"ada","roles":["admin"],"scopes":[],"authenticated":null,"#
            .to_owned()
            + r#""session":null,"token":null,"cut_offs":0,"expires":7}"#;
        assert_eq!(write(&ticket).unwrap(), before.as_bytes());
        assert_eq!(read(before.as_bytes()).unwrap(), ticket);
        let of_tenant = Ticket { identity: ticket.identity.clone().tenant("acme"), ..ticket };
        assert_eq!(read(&write(&of_tenant).unwrap()).unwrap(), of_tenant);
    }
}
