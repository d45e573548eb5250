//! The callers that a path can distinguish, with credentials issued by the app's own services.

use std::time::Duration;

use policy_core::{
    auth::OWN_ISSUER,
    object::Atom,
    session::{Handle, Identity, Record, SessionId},
    time::Timestamp,
};
use policy_manifest::RouteRequirement;

use super::{
    caller::{Caller, CredentialKind, CredentialState, Defect, Facts, Issuer},
    declared::Declaration,
    probe::BAD_CREDENTIAL,
};
use crate::{
    auth::{AuthService, session::SessionService, tokens::TokenService},
    base::clock::Clock,
    handler::object::samples::TENANT,
    store::CreateSession,
};

/// Users have numbers, which objects of any type can name.
const FIRST_USER: u64 = 7000;

/// Makes credentials.
pub(super) struct CredentialFactory<'a> {
    sessions: Option<&'a SessionService>,
    tokens: Option<&'a TokenService>,
    clock: &'a Clock,
    /// The index of the path, and the number of callers made for it.
    index: u64,
    caller_count: u64,
}

/// Rights that make a difference to a path.
#[derive(Clone, Debug)]
struct Rights {
    /// Appended to "logged in".
    name: String,
    scopes: Vec<String>,
    roles: Vec<String>,
    /// Seconds since the login; `None` if the credential does not state it.
    age: Option<u64>,
}

impl<'a> CredentialFactory<'a> {
    /// A factory for the path at this index, since ids of sessions differ between paths.
    pub(super) fn new(guard: &'a AuthService, index: u64) -> Self {
        let (sessions, tokens) = (guard.sessions.as_deref(), guard.tokens.as_deref());
        Self { sessions, tokens, clock: &guard.clock, index, caller_count: 0 }
    }

    /// A number that is unique among all paths.
    fn number(&self) -> u64 {
        (self.index << 16) + self.caller_count
    }

    /// All callers that the path can distinguish, the simplest first.
    pub(super) async fn callers(&mut self, path: &[&Declaration]) -> Vec<Caller> {
        let mut callers = vec![Caller::anonymous()];
        let rights = rights_of(path);
        let asks = |of: fn(&RouteRequirement) -> bool| {
            path.iter().any(|route| route.requirement().is_some_and(of))
        };
        let takes_session = path.iter().any(|route| route.takes_session());
        if asks(|requirement| requirement.session) || takes_session {
            self.by_session(&rights, &mut callers).await;
        }
        if asks(|requirement| requirement.token) {
            self.by_token(&rights, &mut callers);
            self.by_foreign_token(&rights, &mut callers);
        }
        if asks(|requirement| requirement.ticket) && self.tokens.is_some() {
            self.by_ticket(&rights, &mut callers);
            self.by_foreign_ticket(path, &rights, &mut callers);
        }
        let own = path.iter().find_map(|route| route.requirement()?.scheme.as_ref());
        if let Some(own) = own {
            self.by_own_scheme(own.ambient, &rights, &mut callers);
        }
        callers
    }

    /// Another user with the same rights.
    pub(super) async fn another(&mut self, of: &Caller) -> Option<Caller> {
        self.caller_count += 1;
        let facts =
            Facts { subject: (FIRST_USER + self.caller_count).to_string(), ..of.facts()?.clone() };
        let mut caller = Caller { name: format!("{}, another user", of.name), ..of.clone() };
        match facts.kind {
            CredentialKind::Session => {
                let (cookie, csrf) = begin(self.sessions?, &facts, self.number(), true).await?;
                caller.cookie = Some(cookie);
                caller.csrf = of.csrf.as_ref().map(|_| csrf);
            }
            CredentialKind::Token => {
                let (now, user) = (self.clock.now(), identity(&facts));
                let token = match &facts.issuer.foreign {
                    None => self.tokens?.mint(&user, now, facts.authenticated).ok()?,
                    Some(issuer) => {
                        self.tokens?.mint_foreign(issuer, &user, facts.authenticated)?.0
                    }
                };
                caller.authorization = Some(format!("Bearer {token}"));
            }
            CredentialKind::Ticket => (),
            CredentialKind::Own => caller.own = Some(own_credential(&facts)),
        }
        caller.state = CredentialState::Known(facts);
        Some(caller)
    }

    fn facts(&mut self, kind: CredentialKind, rights: &Rights) -> Facts {
        self.caller_count += 1;
        let now = self.clock.now();
        Facts {
            subject: (FIRST_USER + self.caller_count).to_string(),
            kind,
            issuer: self.own_issuer(),
            scopes: rights.scopes.clone(),
            roles: rights.roles.clone(),
            authenticated: rights.age.map(|age| earlier(now, age)),
            now,
        }
    }

    async fn by_session(&mut self, rights: &[Rights], callers: &mut Vec<Caller>) {
        let Some(service) = self.sessions else { return };
        for (index, rights) in rights.iter().enumerate() {
            let facts = self.facts(CredentialKind::Session, rights);
            let Some((cookie, csrf)) = begin(service, &facts, self.number(), true).await else {
                continue;
            };
            let name = format!("somebody logged in{}", rights.name);
            let caller = Caller { cookie: Some(cookie), ..Caller::valid(name.clone(), facts) };
            // First without the CSRF token of the session: a page of another origin does not have
            // it.
            if index == 0 {
                callers.push(caller.clone());
            }
            callers.push(Caller {
                name: format!("{name}, with the token of the session"),
                csrf: Some(csrf),
                ..caller
            });
        }
        let best = rights.first().cloned().unwrap_or_else(Rights::none);
        let facts = self.facts(CredentialKind::Session, &best);
        let unknown = SessionId::from_bytes(spread(u64::MAX)).text();
        let expired = begin(service, &facts, self.number(), false).await.map(|(cookie, _)| cookie);
        for (name, cookie, defect) in [
            ("a cookie that is no session's", Some("none".to_owned()), Defect::Malformed),
            ("a session that never was", Some(unknown), Defect::Unknown),
            ("a session that expired", expired, Defect::Expired),
        ] {
            callers.push(Caller { cookie, ..Caller::bad(name, CredentialKind::Session, defect) });
        }
    }

    fn by_token(&mut self, rights: &[Rights], callers: &mut Vec<Caller>) {
        let Some(service) = self.tokens else { return };
        let now = self.clock.now();
        let bearer = |token: &str| Some(format!("Bearer {token}"));
        for rights in rights {
            let facts = self.facts(CredentialKind::Token, rights);
            let identity = identity(&facts);
            let Ok(token) = service.mint(&identity, now, facts.authenticated) else { continue };
            let caller = Caller::valid(format!("a token{}", rights.name), facts);
            callers.push(Caller { authorization: bearer(&token), ..caller });
        }
        let best = rights.first().cloned().unwrap_or_else(Rights::none);
        let facts = self.facts(CredentialKind::Token, &best);
        let then = earlier(now, service.longest().as_secs() + 3600);
        let expired = service.mint(&identity(&facts), then, Some(then)).ok();
        let forged = expired.as_ref().and_then(|token| token.rsplit_once('.'));
        let forged = forged.map(|(head, _)| format!("{head}.{}", "A".repeat(43)));
        for (name, authorization, defect) in [
            ("an Authorization that is none", Some("Bearer".to_owned()), Defect::Malformed),
            ("a token that is none", bearer("none"), Defect::Unknown),
            (
                "a token with a wrong signature",
                forged.and_then(|token| bearer(&token)),
                Defect::Unknown,
            ),
            ("a token that expired", expired.and_then(|token| bearer(&token)), Defect::Expired),
        ] {
            let caller = Caller::bad(name, CredentialKind::Token, defect);
            callers.push(Caller { authorization, ..caller });
        }
    }

    fn by_ticket(&mut self, rights: &[Rights], callers: &mut Vec<Caller>) {
        for rights in rights {
            let facts = self.facts(CredentialKind::Ticket, rights);
            let caller = Caller::valid(format!("a ticket{}", rights.name), facts);
            callers.push(Caller { has_ticket: true, ..caller });
        }
        let none = Caller::bad("a ticket that is none", CredentialKind::Ticket, Defect::Unknown);
        callers.push(Caller { has_ticket: true, ..none });
    }

    /// Tickets issued from tokens of the issuers that the path names, and of one that it does not.
    fn by_foreign_ticket(
        &mut self,
        path: &[&Declaration],
        rights: &[Rights],
        callers: &mut Vec<Caller>,
    ) {
        let Some(service) = self.tokens else { return };
        let is_foreign = |name: &&str| *name != OWN_ISSUER && *name != service.own_name();
        let named = path.iter().filter_map(|route| route.requirement()).flat_map(|it| &it.issuers);
        let mut names: Vec<&str> = named.map(String::as_str).filter(is_foreign).collect();
        names.sort_unstable();
        names.dedup();
        names.push("https://policy-probe.invalid");
        let best = rights.first().cloned().unwrap_or_else(Rights::none);
        for name in names {
            let issuer = foreign_issuer(service, name);
            let facts = Facts { issuer, ..self.facts(CredentialKind::Ticket, &best) };
            let caller = Caller::valid(format!("a ticket of a user of `{name}`"), facts);
            callers.push(Caller { has_ticket: true, ..caller });
        }
    }

    /// Tokens of the external issuers of the app, with all rights that each may give.
    fn by_foreign_token(&mut self, rights: &[Rights], callers: &mut Vec<Caller>) {
        let Some(service) = self.tokens else { return };
        let best = rights.first().cloned().unwrap_or_else(Rights::none);
        for name in service.external_names() {
            let mut facts = self.facts(CredentialKind::Token, &best);
            let minted = service.mint_foreign(name, &identity(&facts), facts.authenticated);
            let Some((token, user)) = minted else { continue };
            let is_given =
                |rights: &[Box<str>], right: &str| rights.iter().any(|it| **it == *right);
            facts.scopes.retain(|scope| is_given(&user.scopes, scope));
            facts.roles.retain(|role| is_given(&user.roles, role));
            facts.issuer = foreign_issuer(service, name);
            let caller = Caller::valid(format!("a token of a user of `{name}`"), facts);
            callers.push(Caller { authorization: Some(format!("Bearer {token}")), ..caller });
        }
    }

    fn own_issuer(&self) -> Issuer {
        let own_name = self.tokens.map(|tokens| tokens.own_name().to_owned());
        let words = [OWN_ISSUER.to_owned()].into_iter().chain(own_name).collect();
        Issuer { words, is_default: true, foreign: None }
    }

    fn by_own_scheme(&mut self, is_ambient: bool, rights: &[Rights], callers: &mut Vec<Caller>) {
        for rights in rights {
            let facts = self.facts(CredentialKind::Own, rights);
            let own = Some(own_credential(&facts));
            let name = format!("a credential of the own scheme{}", rights.name);
            callers.push(Caller { own, is_ambient, ..Caller::valid(name, facts) });
        }
        let own = Some(BAD_CREDENTIAL.to_owned());
        let name = "a wrong credential of the own scheme";
        let wrong = Caller::bad(name, CredentialKind::Own, Defect::Unknown);
        callers.push(Caller { own, is_ambient, ..wrong });
    }
}

/// An issuer that is not the app.
fn foreign_issuer(service: &TokenService, name: &str) -> Issuer {
    Issuer {
        words: vec![name.to_owned()],
        is_default: service.only_issuer() == Some(name),
        foreign: Some(name.to_owned()),
    }
}

impl Rights {
    fn none() -> Self {
        Self { name: String::new(), scopes: Vec::new(), roles: Vec::new(), age: Some(0) }
    }
}

/// All rights that a path requires, and the largest sets that lack one of them.
fn rights_of(path: &[&Declaration]) -> Vec<Rights> {
    let requirements = || path.iter().filter_map(|route| route.requirement());
    let mut all = Rights::none();
    for requirement in requirements() {
        all.scopes.extend(requirement.scopes.iter().cloned());
        all.roles.extend(requirement.roles.iter().cloned());
    }
    for atom in path.iter().flat_map(|route| route.conditions()) {
        match atom {
            Atom::Scope(scope) => all.scopes.push(scope),
            Atom::Role(role) => all.roles.push(role),
            _ => (),
        }
    }
    for list in [&mut all.scopes, &mut all.roles] {
        list.sort_unstable();
        list.dedup();
    }
    let mut rights = vec![all.clone()];
    for scope in &all.scopes {
        rights.push(Rights {
            name: format!(" without the scope `{scope}`"),
            scopes: all.scopes.iter().filter(|other| *other != scope).cloned().collect(),
            ..all.clone()
        });
    }
    if !all.roles.is_empty() {
        rights.push(Rights {
            name: " without a role".to_owned(),
            roles: Vec::new(),
            ..all.clone()
        });
    }
    for role in all.roles.iter().filter(|_| all.roles.len() > 1) {
        rights.push(Rights {
            name: format!(" with no role but `{role}`"),
            roles: vec![role.clone()],
            ..all.clone()
        });
    }
    let limits = requirements().filter_map(|requirement| requirement.fresh);
    let mut limits: Vec<u32> = limits.collect();
    limits.sort_unstable();
    limits.dedup();
    for limit in &limits {
        let (name, age) = (format!(" more than {limit} s ago"), Some(u64::from(*limit) + 1));
        rights.push(Rights { name, age, ..all.clone() });
    }
    if !limits.is_empty() {
        rights.push(Rights { name: " at an unknown time".to_owned(), age: None, ..all });
    }
    rights
}

/// A credential that the probe reads in place of a scheme.
fn own_credential(Facts { subject, scopes, roles, .. }: &Facts) -> String {
    format!("{subject}/{}/{}", scopes.join("&"), roles.join("&"))
}

pub(super) fn identity(facts: &Facts) -> Identity {
    Identity::new(&facts.subject)
        .tenant(TENANT)
        .scopes(facts.scopes.iter().map(String::as_str))
        .roles(facts.roles.iter().map(String::as_str))
}

/// Puts a session into the store. Returns the value of its cookie, and its CSRF token.
async fn begin(
    service: &SessionService,
    facts: &Facts,
    number: u64,
    is_alive: bool,
) -> Option<(String, String)> {
    const IDLE: Duration = Duration::from_secs(900);
    let id = SessionId::from_bytes(spread(number));
    let [handle, nonce]: [[u8; 16]; 2] =
        [number.into(), (number + (1 << 32)).into()].map(u128::to_le_bytes);
    let deadline = if is_alive { facts.now.after(IDLE) } else { facts.now };
    let record = Record {
        handle: Handle(handle),
        identity: Some(identity(facts)),
        epoch: 0,
        version: 1,
        created: facts.authenticated.unwrap_or(facts.now),
        authenticated: facts.authenticated,
        rotated: facts.now,
        last_seen: facts.now,
        idle_deadline: deadline,
        absolute_deadline: deadline,
        idle: IDLE,
        is_remembered: false,
        binding: id.key().0,
        data: Box::default(),
    };
    let csrf = service.csrf.token(&record.binding, nonce);
    service.store.create(CreateSession::new(id.key(), record, facts.now)).await.ok()?;
    Some((id.text(), csrf))
}

/// Bytes that look random, but are the same each time.
fn spread(number: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    let mut word = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    for chunk in bytes.chunks_mut(8) {
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

fn earlier(time: Timestamp, seconds: u64) -> Timestamp {
    Timestamp::from_seconds(time.seconds().saturating_sub(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{prelude::*, testing::prove::declared::DeclaredApp};

    #[get("/keys")]
    #[auth(session, fresh = "1h")]
    async fn keys() {}

    #[post("/keys")]
    #[auth(session, fresh = "1m")]
    async fn add_key() {}

    #[test]
    fn a_login_is_too_old_for_each_limit_of_a_path() {
        let app = App::new(()).sessions(Sessions::memory()).routes(routes![keys, add_key]);
        let declared = DeclaredApp::read(&app.parts);
        let path: Vec<_> = declared.routes.iter().collect();
        let ages: Vec<_> = rights_of(&path).into_iter().map(|rights| rights.age).collect();
        assert_eq!(ages, [Some(0), Some(61), Some(3601), None]);
    }
}
