//! The principal of a request.

use std::{borrow::Cow, error::Error, fmt, str::FromStr, sync::Arc, time::Duration};

use policy_core::{
    auth::Requirement,
    session::{Handle, Identity, Record},
    time::Timestamp,
    token::{Claims, Token},
};

use crate::{
    auth::{
        caller::Subject,
        tokens::{Caller, VerifiedToken, foreign_issuer_of},
    },
    base::problem::Problem,
    store::Ticket,
};

/// The authenticated caller of a request: a user of this app.
///
/// Only the framework creates one: a handler with this argument runs only for a caller that
/// satisfies the `#[auth(..)]` of its route. On a route with `optional` it is `Option<Principal>`.
/// A route that takes the tokens of other issuers takes a [`Caller`](crate::Caller) instead; a
/// handler that takes a `Principal` nevertheless does not run for their users (403
/// `auth.caller-foreign`).
///
/// ```
/// use policy_server::prelude::*;
///
/// #[get("/me")]
/// #[auth(session)]
/// async fn me(me: Principal) -> String {
///     me.subject().to_owned()
/// }
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(()).sessions(Sessions::memory()).routes(routes![me]).test();
/// assert_eq!(client.get("/me").send().await.status(), 401);
/// # });
/// ```
#[derive(Clone)]
pub struct Principal(Kind);

#[derive(Clone)]
enum Kind {
    Session(Arc<Record>),
    Token(VerifiedToken),
    Ticket(Arc<Ticket>),
    Own(Arc<Own>),
}

/// A caller that a scheme of the application recognised.
struct Own {
    scheme: &'static str,
    identity: Identity,
}

/// How far the clock of the server that recorded a login may be ahead of ours.
pub(crate) const CLOCK_SKEW: Duration = Duration::from_secs(30);

/// The kind of credential that authenticated a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AuthScheme {
    /// A session cookie.
    Session,
    /// A bearer token.
    Token,
    /// A single-use ticket.
    Ticket,
    /// The application's scheme of this name.
    Own(&'static str),
}

impl Principal {
    /// The user of a session; `None` if it is anonymous.
    pub(crate) fn from_session(record: &Arc<Record>) -> Option<Self> {
        record.identity.is_some().then(|| Self(Kind::Session(Arc::clone(record))))
    }

    pub(crate) fn from_token(token: VerifiedToken) -> Self {
        Self(Kind::Token(token))
    }

    pub(crate) fn from_ticket(ticket: Ticket) -> Self {
        Self(Kind::Ticket(Arc::new(ticket)))
    }

    pub(crate) fn from_scheme(scheme: &'static str, identity: Identity) -> Self {
        Self(Kind::Own(Arc::new(Own { scheme, identity })))
    }

    /// The name of the user, as the login, the token or the scheme gave it.
    pub fn subject(&self) -> &str {
        match self.own_claims() {
            Some(claims) => claims.subject(),
            None => self.identity().map_or("", |identity| &identity.subject),
        }
    }

    /// The name of the user parsed as the application's own type, such as a number.
    ///
    /// # Errors
    ///
    /// 500 if the name does not parse as this type.
    pub fn id<T: FromStr<Err: Error + Send + Sync + 'static>>(&self) -> Result<T, Problem> {
        self.subject().parse().map_err(|error: T::Err| Problem::internal(error))
    }

    /// Writes a key that is unique to this user.
    pub(crate) fn write_key(&self, key: &mut Vec<u8>) {
        let among = match &self.0 {
            Kind::Own(own) => own.scheme,
            _ => self.foreign_issuer().unwrap_or_default(),
        };
        key.extend_from_slice(among.as_bytes());
        key.push(0);
        key.extend_from_slice(self.subject().as_bytes());
    }

    /// The credential that was used.
    pub fn scheme(&self) -> AuthScheme {
        match &self.0 {
            Kind::Session(_) => AuthScheme::Session,
            Kind::Token(_) => AuthScheme::Token,
            Kind::Ticket(_) => AuthScheme::Ticket,
            Kind::Own(own) => AuthScheme::Own(own.scheme),
        }
    }

    /// Whether a scope was granted.
    pub fn has_scope(&self, scope: &str) -> bool {
        match self.own_claims() {
            Some(claims) => claims.has_scope(scope),
            None => self.identity().is_some_and(|of| of.scopes.iter().any(|one| **one == *scope)),
        }
    }

    /// Whether the user has a role.
    pub fn has_role(&self, role: &str) -> bool {
        match self.own_claims() {
            Some(claims) => claims.has_role(role),
            None => self.identity().is_some_and(|of| of.roles.iter().any(|one| **one == *role)),
        }
    }

    /// The roles of the user.
    pub fn roles(&self) -> Vec<Cow<'_, str>> {
        match self.own_claims() {
            Some(claims) => claims.roles().collect(),
            None => {
                let roles = self.identity().into_iter().flat_map(|of| of.roles.iter());
                roles.map(|role| Cow::Borrowed(&**role)).collect()
            }
        }
    }

    /// The scopes that were granted.
    pub fn scopes(&self) -> Vec<&str> {
        match self.own_claims() {
            Some(claims) => claims.scopes().collect(),
            None => {
                let scopes = self.identity().into_iter().flat_map(|of| of.scopes.iter());
                scopes.map(|scope| &**scope).collect()
            }
        }
    }

    /// The tenant to which the user belongs, as the login, the token or the scheme stated it.
    pub fn tenant(&self) -> Option<&str> {
        match self.own_claims() {
            Some(claims) => claims.tenant(),
            None => self.identity()?.tenant.as_deref(),
        }
    }

    /// When the user last logged in. `None` for a scheme that checks its credential on every
    /// request, and for a token without `auth_time`.
    pub fn authenticated_at(&self) -> Option<Timestamp> {
        match &self.0 {
            Kind::Session(record) => record.authenticated,
            Kind::Token(token) => token.claims().authenticated_at(),
            Kind::Ticket(ticket) => ticket.authenticated,
            Kind::Own(_) => None,
        }
    }

    /// The public name of the session.
    pub fn session(&self) -> Option<Handle> {
        match &self.0 {
            Kind::Session(record) => Some(record.handle),
            Kind::Ticket(ticket) => ticket.session,
            Kind::Token(_) | Kind::Own(_) => None,
        }
    }

    /// The token, with its claims.
    pub fn token(&self) -> Option<&Token> {
        match &self.0 {
            Kind::Token(token) => Some(token.token()),
            _ => None,
        }
    }

    /// The issuer of an external token, or of a ticket issued from one; `None` for this app.
    /// Handlers get such a principal as a [`Caller`](crate::Caller) only.
    pub(crate) fn foreign_issuer(&self) -> Option<&str> {
        match &self.0 {
            Kind::Token(token) => token.foreign_issuer(),
            Kind::Ticket(ticket) => foreign_issuer_of(&ticket.token.as_ref()?.0),
            Kind::Session(_) | Kind::Own(_) => None,
        }
    }

    /// The user, and the issuer if it is not this app.
    pub(crate) fn whole_subject(&self) -> Subject<'_> {
        match self.foreign_issuer() {
            None => Subject::User(self.subject()),
            Some(issuer) => Subject::Foreign { issuer, name: self.subject() },
        }
    }

    /// The verified token.
    pub(crate) fn verified(&self) -> Option<&VerifiedToken> {
        match &self.0 {
            Kind::Token(token) => Some(token),
            _ => None,
        }
    }

    /// The ticket.
    pub(crate) fn ticket(&self) -> Option<&Ticket> {
        match &self.0 {
            Kind::Ticket(ticket) => Some(ticket),
            _ => None,
        }
    }

    /// The caller, as stored in tokens and tickets.
    pub(crate) fn caller(&self) -> Caller {
        let identity = match (self.own_claims(), self.identity()) {
            (Some(claims), _) => {
                let identity = Identity::new(claims.subject());
                let mut identity = identity.scopes(claims.scopes()).roles(claims.roles());
                identity.tenant = claims.tenant().map(Into::into);
                identity
            }
            (None, Some(identity)) => identity.clone(),
            (None, None) => Identity::new(""),
        };
        // A session id in the token of an external issuer is unknown to this app.
        let of_token = self.own_claims().and_then(|claims| Handle::parse(claims.session()?));
        let name = |token: &VerifiedToken| {
            let claims = token.claims();
            (token.scoped(claims.id()).into(), claims.expires())
        };
        let of_ticket = || self.ticket()?.token.clone();
        Caller {
            identity,
            authenticated: self.authenticated_at(),
            session: self.session().or(of_token),
            token: self.verified().map(name).or_else(of_ticket),
        }
    }

    /// The stored record of the session.
    pub(crate) fn record(&self) -> Option<&Record> {
        match &self.0 {
            Kind::Session(record) => Some(record),
            _ => None,
        }
    }

    /// Whether the caller logged in less than this many seconds ago. A scheme of the application checks
    /// its credential on every request, so it is always fresh.
    pub(crate) fn is_fresh(&self, seconds: u32, now: impl Fn() -> Timestamp) -> bool {
        match (&self.0, self.authenticated_at()) {
            (Kind::Own(_), _) => true,
            (_, Some(at)) => {
                let now = now();
                // A login further in the future would count as fresh until that time.
                at <= now.after(CLOCK_SKEW) && now.since(at).as_secs() < u64::from(seconds)
            }
            (_, None) => false,
        }
    }

    /// The rights that the policy requires and the caller lacks, in words.
    pub(crate) fn missing_rights(&self, policy: &Requirement) -> Option<String> {
        let named = |names: &mut dyn Iterator<Item = &&str>| {
            names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        let scopes = named(&mut policy.scopes.iter().filter(|scope| !self.has_scope(scope)));
        let roles = policy.roles.iter();
        let has_role = policy.roles.is_empty() || roles.clone().any(|role| self.has_role(role));
        let missing = match (scopes.is_empty(), has_role) {
            (true, true) => return None,
            (false, true) => format!("the caller lacks the scope {scopes}"),
            (true, false) => {
                format!("the caller has none of the roles {}", named(&mut roles.clone()))
            }
            (false, false) => {
                let roles = named(&mut roles.clone());
                format!("the caller lacks the scope {scopes}, and has none of the roles {roles}")
            }
        };
        let hint = match &self.0 {
            Kind::Session(_) => "; a login grants them by `Identity::new(..).scopes(..).roles(..)`",
            _ => "",
        };
        Some(format!("{missing}{hint}"))
    }

    /// The user and their rights, unless the [claims](Self::own_claims) of a token of this app state
    /// them.
    pub(crate) fn identity(&self) -> Option<&Identity> {
        match &self.0 {
            Kind::Session(record) => record.identity.as_ref(),
            Kind::Ticket(ticket) => Some(&ticket.identity),
            Kind::Own(own) => Some(&own.identity),
            Kind::Token(token) => token.foreign_identity(),
        }
    }

    /// The claims of a token of this app.
    fn own_claims(&self) -> Option<Claims<'_>> {
        self.verified()
            .filter(|token| token.foreign_identity().is_none())
            .map(VerifiedToken::claims)
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Principal")
            .field("subject", &self.whole_subject())
            .field("scheme", &self.scheme())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_in_the_future_is_fresh_only_within_the_leeway() {
        let now = Timestamp::from_seconds(1_800_000_000);
        for (at, is_fresh) in [(-60, false), (-59, true), (0, true), (30, true), (31, false)] {
            let at = now.seconds().saturating_add_signed(at);
            let who = Principal::from_ticket(Ticket {
                cut_offs: 0,
                expires: now.after(Ticket::LIFETIME),
                identity: Identity::new("ada"),
                authenticated: Some(Timestamp::from_seconds(at)),
                session: None,
                token: None,
            });
            assert_eq!(who.is_fresh(60, || now), is_fresh, "{at}");
        }
    }
}
