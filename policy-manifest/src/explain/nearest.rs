//! The most similar request that is let through.

use http::{HeaderName, HeaderValue, Method, Request, Uri, header};
use policy_core::{Refusal, csrf, gates::Gate};

use super::{development_origin, is_let_through, served_as};
use crate::{
    Manifest, ManifestRoute, RouteRequirement,
    engine::{CredentialState, CsrfTokenState, Engine, Login, RequestCredentials},
};

/// A request that is let through, and its differences from one that is not.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Nearest {
    /// The differences in words, each as an instruction.
    pub steps: Vec<String>,
    /// The request.
    pub request: Request<()>,
    /// The sender of the request.
    pub caller: RequestCredentials,
}

/// Changes the parts that the gates refuse, one after the other. The engine confirms the result. The
/// second value is whether the request lacks a valid credential, or nothing but its CSRF token: this is
/// known even if no request is found.
pub(super) fn find(
    manifest: &Manifest,
    engine: &Engine,
    request: &Request<()>,
    caller: &RequestCredentials,
) -> (Option<Nearest>, bool) {
    let (request, caller) = (request.clone(), caller.clone());
    let mut near = Nearest { steps: Vec::new(), request, caller };
    let mut refusals = Vec::new();
    let is_found = near.mend_all(manifest, engine, &mut refusals).is_some();
    let needs_credential = refusals.iter().any(|refusal| is_of_credential(*refusal))
        || refusals == [Refusal::CsrfToken];
    (is_found.then_some(near), needs_credential)
}

impl Nearest {
    /// Changes the request until it is let through, and lists why it was not.
    fn mend_all(
        &mut self,
        manifest: &Manifest,
        engine: &Engine,
        refusals: &mut Vec<Refusal>,
    ) -> Option<()> {
        let own = manifest.app.public_origin.as_deref();
        // More steps than there are gates would be a cycle.
        for _ in Gate::ALL {
            let Err(refusal) = is_let_through(engine, own, &self.request, &self.caller) else {
                return (!self.steps.is_empty()).then_some(());
            };
            refusals.push(refusal);
            let step = self.mend(manifest, engine, refusal)?;
            if self.steps.contains(&step) {
                return None;
            }
            self.steps.push(step);
        }
        None
    }

    /// Changes the part of the request that a refusal is about.
    fn mend(&mut self, manifest: &Manifest, engine: &Engine, refusal: Refusal) -> Option<String> {
        let route = engine.serving(served_as(&self.request), self.request.uri().path());
        let route = route.cloned();
        let own = manifest.app.public_origin.clone();
        match refusal {
            Refusal::HostUnknown | Refusal::HostNotLoopback | Refusal::HostMissing => {
                let host = match &own {
                    Some(own) => own.split_once("://")?.1.to_owned(),
                    None => "localhost".to_owned(),
                };
                self.set(header::HOST, &host)?;
                Some(format!("send `Host: {host}`"))
            }
            Refusal::MethodNotAllowed => {
                let path = self.request.uri().path().to_owned();
                let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "QUERY"];
                let method =
                    methods.into_iter().find(|method| engine.serving(method, &path).is_some())?;
                *self.request.method_mut() = Method::from_bytes(method.as_bytes()).ok()?;
                Some(format!("use {method}"))
            }
            Refusal::PreflightOrigin
            | Refusal::WebSocketOrigin
            | Refusal::CrossSite
            | Refusal::CsrfOrigin => {
                let own = own.or_else(|| development_origin(&self.request))?;
                let granted = route.as_ref().and_then(|route| granted_origin(route, refusal));
                let (origin, site) = match granted {
                    Some(origin) => (origin, "cross-site"),
                    None => (own, "same-origin"),
                };
                self.set(header::ORIGIN, &origin)?;
                if self.request.headers().contains_key("sec-fetch-site") {
                    self.set(HeaderName::from_static("sec-fetch-site"), site)?;
                }
                self.request.headers_mut().remove(header::REFERER);
                Some(format!("send it from a page of `{origin}`"))
            }
            Refusal::CsrfToken => {
                self.caller.csrf = CsrfTokenState::Valid;
                self.set(HeaderName::from_static(csrf::HEADER), "token-of-the-session")?;
                Some("send the CSRF token of the session in `X-CSRF-Token`".to_owned())
            }
            refusal if is_of_credential(refusal) => self.log_in(manifest, &route?),
            Refusal::RightsMissing => self.add_rights(&route?),
            Refusal::LoginTooOld => {
                let login = self.login()?;
                login.age = Some(0);
                Some("log in again".to_owned())
            }
            Refusal::BodyTooLarge => {
                let most = route?.limits.body?;
                self.set(header::CONTENT_LENGTH, &most.to_string())?;
                Some(format!("send at most {most} bytes"))
            }
            Refusal::MediaType => {
                self.set(header::CONTENT_TYPE, "application/json")?;
                Some("state the media type in `Content-Type`".to_owned())
            }
            _ => None,
        }
    }

    fn set(&mut self, name: HeaderName, value: &str) -> Option<()> {
        self.request.headers_mut().insert(name, HeaderValue::from_str(value).ok()?);
        Some(())
    }

    /// Has exactly one ticket in the query.
    fn set_ticket(&mut self) -> Option<()> {
        let uri = self.request.uri();
        let others = parameters(uri).filter(|parameter| !is_ticket(parameter));
        let query: Vec<_> = others.chain(["ticket=ticket"]).collect();
        let target = format!("{}?{}", uri.path(), query.join("&"));
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(target.parse().ok()?);
        *self.request.uri_mut() = Uri::from_parts(parts).ok()?;
        Some(())
    }

    /// Sends a valid credential of the first kind that the route takes, with the required rights.
    fn log_in(&mut self, manifest: &Manifest, route: &ManifestRoute) -> Option<String> {
        let requirement = route.auth.requirement()?;
        let has_bearer = self.request.headers().contains_key(header::AUTHORIZATION);
        let tokens = manifest.app.tokens.as_ref();
        let app_issuer = tokens.is_some_and(|facts| facts.issuer.is_some());
        let named = requirement.issuers.iter().find(|name| *name != policy_core::auth::OWN_ISSUER);
        let issuer = match requirement.issuers.is_empty() {
            true if app_issuer => None,
            true => tokens.and_then(|facts| facts.accepts.first()).map(|facts| &facts.issuer),
            false => named,
        };
        let good = |issuer: Option<String>| {
            CredentialState::Valid(Login {
                scopes: requirement.scopes.clone(),
                roles: requirement.roles.first().cloned().into_iter().collect(),
                age: Some(0),
                issuer,
            })
        };
        if requirement.token && (has_bearer || !requirement.session) {
            self.caller.token = good(issuer.cloned());
            self.set(header::AUTHORIZATION, "Bearer token")?;
            return Some(format!("send a valid bearer token{}", rights(requirement)));
        }
        // A ticket that is sent decides before a session and a scheme.
        let has_ticket = parameters(self.request.uri()).any(is_ticket);
        let has_other = requirement.session || requirement.scheme.is_some();
        if requirement.ticket && (has_ticket || !has_other) {
            self.caller.ticket = good(issuer.cloned());
            self.set_ticket()?;
            return Some(format!("send a valid ticket in `?ticket=`{}", rights(requirement)));
        }
        if requirement.session {
            let cookie = &manifest.app.sessions.as_ref()?.cookie;
            self.caller.session = good(None);
            self.set(header::COOKIE, &format!("{cookie}=session"))?;
            return Some(format!("log in, and send the session cookie{}", rights(requirement)));
        }
        if let Some(scheme) = &requirement.scheme {
            self.caller.scheme = good(None);
            return Some(format!("send a credential of `{}`{}", scheme.name, rights(requirement)));
        }
        None
    }

    fn add_rights(&mut self, route: &ManifestRoute) -> Option<String> {
        let requirement = route.auth.requirement()?;
        let login = self.login()?;
        let lacks = |scope: &&String| !login.scopes.contains(scope);
        let scopes: Vec<_> = requirement.scopes.iter().filter(lacks).cloned().collect();
        let has_role = requirement.has_role(login);
        let role = requirement.roles.first().filter(|_| !has_role).cloned();
        let words = scopes.iter().map(|scope| format!("the scope `{scope}`"));
        let words: Vec<_> =
            words.chain(role.iter().map(|role| format!("the role `{role}`"))).collect();
        login.scopes.extend(scopes);
        login.roles.extend(role);
        Some(format!("have {}", words.join(" and ")))
    }

    /// The login of the deciding credential.
    fn login(&mut self) -> Option<&mut Login> {
        let RequestCredentials { session, token, ticket, scheme, .. } = &mut self.caller;
        let has_bearer = self.request.headers().contains_key(header::AUTHORIZATION);
        let states = match has_bearer {
            true => [token, ticket, scheme, session],
            false => [ticket, scheme, session, token],
        };
        states.into_iter().find_map(|state| match state {
            CredentialState::Valid(login) => Some(login),
            _ => None,
        })
    }
}

/// The parameters of a query.
fn parameters(uri: &Uri) -> impl Iterator<Item = &str> {
    uri.query().unwrap_or_default().split('&').filter(|parameter| !parameter.is_empty())
}

fn is_ticket(parameter: &str) -> bool {
    parameter.starts_with("ticket=")
}

/// Whether a request is refused for lack of a valid credential.
fn is_of_credential(refusal: Refusal) -> bool {
    matches!(
        refusal,
        Refusal::CredentialsMissing
            | Refusal::TokenInvalid
            | Refusal::TokenExpired
            | Refusal::TicketInvalid
            | Refusal::CredentialInvalid
            | Refusal::AuthorizationMalformed
            | Refusal::CredentialsUnchecked
    )
}

/// An origin that the policy of a route grants, with credentials if the request depends on the
/// user's.
fn granted_origin(route: &ManifestRoute, refusal: Refusal) -> Option<String> {
    let cors = route.cors.as_ref()?;
    let needs_credentials = match refusal {
        Refusal::CsrfOrigin => true,
        Refusal::WebSocketOrigin => route.kind.is_service(),
        _ => false,
    };
    if needs_credentials && !cors.credentials {
        return None;
    }
    let witness = cors.region().witness()?;
    Some(witness.origin().to_owned())
}

/// The rights that a route requires, in words.
fn rights(requirement: &RouteRequirement) -> String {
    let scopes = requirement.scopes.iter().map(|scope| format!("scope `{scope}`"));
    let roles = requirement.roles.first().map(|role| format!("role `{role}`"));
    let words: Vec<_> = scopes.chain(roles).collect();
    if words.is_empty() { String::new() } else { format!(" with {}", words.join(", ")) }
}
