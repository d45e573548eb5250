//! Tickets: a caller can open one stream with each.

use policy_core::token::{OpaqueKind, OpaqueToken, TokenError, TokenNames};
#[cfg(feature = "testing")]
use policy_core::{session::Identity, time::Timestamp};

use super::TokenService;
use crate::{
    auth::{
        CredentialError,
        tokens::{Caller, foreign_issuer_of, scoped},
    },
    store::{StoreError, Ticket, TokenHash},
};

impl TokenService {
    /// Issues a ticket to the caller of a request that knows `cut_offs`.
    pub(in crate::auth::tokens) async fn put_ticket(
        &self,
        caller: Caller,
        cut_offs: u64,
    ) -> Result<String, CredentialError> {
        self.refresh_key().await.map_err(CredentialError::token_store)?;
        self.check_cut_offs(&caller.user(), cut_offs)?;
        let token = OpaqueToken::from_bytes(OpaqueKind::Ticket, self.draw()?);
        let issued_at = self.revocation_cache.issue_time(&caller.user(), self.clock.now());
        let ticket = Ticket {
            // Everything that a cut-off of this second covers was issued before it.
            expires: issued_at.after(Ticket::LIFETIME),
            identity: caller.identity,
            authenticated: caller.authenticated,
            session: caller.session,
            token: caller.token,
            cut_offs,
        };
        self.store
            .put_ticket(TokenHash(token.hash()), ticket)
            .await
            .map_err(CredentialError::token_store)?;
        Ok(token.text())
    }

    /// Redeems a ticket: only the first call gets it, and none if its user or token was revoked
    /// since it was issued, or its token expired.
    pub(crate) async fn take_ticket(&self, text: &str) -> Result<Option<Ticket>, StoreError> {
        let Some(token) = OpaqueToken::parse(OpaqueKind::Ticket, text) else { return Ok(None) };
        self.refresh_key().await?;
        let now = self.clock.now();
        let ticket = self.store.take_ticket(TokenHash(token.hash()), now).await?;
        let Some(ticket) = ticket else { return Ok(None) };
        // A revocation of its token need not be known any longer than the token could be used.
        if ticket.token.as_ref().is_some_and(|(_, expires)| expires.after(self.leeway) <= now) {
            return Ok(None);
        }
        let issued_at = ticket.issued_at();
        let id = ticket.token.as_ref().map_or("", |(id, _)| id);
        let session = ticket.session.map(|session| session.to_string());
        let user = scoped(foreign_issuer_of(id), &ticket.identity.subject);
        let cut_offs = Some(ticket.cut_offs);
        let names = || TokenNames { id, session: session.as_deref(), user: &user, cut_offs };
        match self.check(issued_at, names) {
            Ok(()) => Ok(Some(ticket)),
            Err(TokenError::StoreUnavailable) => {
                Err(StoreError::new("the revocations are out of date"))
            }
            Err(_) => Ok(None),
        }
    }

    /// A ticket of a user who logged in at `authenticated`, as if issued from a token of this
    /// external issuer, if there is one.
    #[cfg(feature = "testing")]
    pub(crate) async fn mint_ticket(
        &self,
        identity: Identity,
        authenticated: Option<Timestamp>,
        issuer: Option<&str>,
    ) -> Result<String, CredentialError> {
        let expires = self.clock.now().after(self.lifetime);
        let token = issuer.map(|issuer| (scoped(Some(issuer), "probe").into(), expires));
        let caller = Caller { identity, authenticated, session: None, token };
        self.put_ticket(caller, self.newest_cut_off()).await
    }
}
