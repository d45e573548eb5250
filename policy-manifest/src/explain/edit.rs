//! The smallest edit of a policy that lets a request through, and everything else that it opens.

use http::{Request, header};
use policy_core::Refusal;

use super::{is_let_through, method_of};
use crate::{
    Auth, Change, Csrf, Dangers, FacetSource, Manifest, ManifestRoute, RouteCors, RouteKind,
    RouteOrigins, Sources,
    changes::changes,
    engine::{CredentialState, Engine, Login, RequestCredentials},
};

/// An edit of the attributes of a route.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SuggestedEdit {
    /// The edits in words, such as `cors: add the origin "https://app.example"`.
    pub steps: Vec<String>,
    /// Where the edited attribute is written, or the route's handler.
    pub source: Option<FacetSource>,
    /// All changes by the edit: in addition to this request, everything that is allowed with it.
    pub changes: Vec<Change>,
    /// The policy after the edit.
    pub manifest: Manifest,
}

/// Edits the facets that refuse, one after the other. An engine of the edited policy confirms the
/// result.
pub(super) fn of(
    manifest: &Manifest,
    sources: &Sources,
    request: &Request<()>,
    caller: &RequestCredentials,
) -> Option<SuggestedEdit> {
    let own = manifest.app.public_origin.as_deref();
    let original = Engine::new(manifest).ok()?;
    let (method, path) = (method_of(request), request.uri().path().to_owned());
    let place = original.serving(&method, &path)?.clone();
    let mut steps = Vec::new();
    let (mut edited, mut source) = (manifest.clone(), None);
    for _ in 0..6 {
        let engine = Engine::new(&edited).ok()?;
        let Err(refusal) = is_let_through(&engine, own, request, caller) else {
            let changes = changes(manifest, &edited).ok()?;
            return (!steps.is_empty()).then_some(SuggestedEdit {
                steps,
                source,
                changes,
                manifest: edited,
            });
        };
        let mut route = engine.serving(&method, &path)?.clone();
        let (facet, step) = relax(&mut route, refusal, request, caller)?;
        if steps.contains(&step) {
            return None;
        }
        source = source.or_else(|| sources.of(&method, &place.path, facet).cloned());
        steps.push(step);
        edited = replaced(edited, &place, &route, &method, sources);
    }
    None
}

/// The policy with another one for a route and for the other routes of its handler, which share its
/// attributes.
fn replaced(
    mut manifest: Manifest,
    place: &ManifestRoute,
    route: &ManifestRoute,
    method: &str,
    sources: &Sources,
) -> Manifest {
    let handler = |method: &str, path: &str| sources.handlers.get(&format!("{method} {path}"));
    let is_whole = place.kind != RouteKind::Handler;
    // If HEAD has no separate policy, GET serves it.
    let method = if place.methods.iter().any(|known| known == method) { method } else { "GET" };
    let own = handler(method, &place.path);
    let is_edited = |found: &ManifestRoute, known: &str| {
        let is_same = found.path == place.path
            && match is_whole {
                true => found.kind == place.kind && found.methods == place.methods,
                false => known == method,
            };
        is_same || (own.is_some() && handler(known, &found.path) == own)
    };
    let mut routes = Vec::with_capacity(manifest.routes.len() + 1);
    for known in manifest.routes {
        let (inside, outside): (Vec<_>, Vec<_>) =
            known.methods.iter().cloned().partition(|method| is_edited(&known, method));
        let is_bare =
            known.methods.is_empty() && known.path == place.path && known.kind == place.kind;
        if !inside.is_empty() || is_bare {
            routes.push(ManifestRoute {
                path: known.path.clone(),
                methods: inside,
                ..route.clone()
            });
        }
        if !outside.is_empty() || (known.methods.is_empty() && !is_bare) {
            routes.push(ManifestRoute { methods: outside, ..known });
        }
    }
    manifest.routes = routes;
    manifest.normal()
}

/// Edits the facet that refuses a request: the smallest change that lets the request through.
fn relax(
    route: &mut ManifestRoute,
    refusal: Refusal,
    request: &Request<()>,
    caller: &RequestCredentials,
) -> Option<(&'static str, String)> {
    match refusal {
        Refusal::PreflightOrigin
        | Refusal::WebSocketOrigin
        | Refusal::CrossSite
        | Refusal::CsrfOrigin => {
            let origin = request.headers().get(header::ORIGIN)?.to_str().ok()?;
            let needs_credentials =
                refusal == Refusal::CsrfOrigin || request.headers().contains_key(header::COOKIE);
            share(route, origin, needs_credentials)
        }
        Refusal::CsrfToken => {
            route.csrf = Csrf::Origin;
            Some(("csrf", "csrf: `origin`, which asks for no token".to_owned()))
        }
        Refusal::CredentialsMissing => {
            let Auth::Required(requirement) = &mut route.auth else { return None };
            requirement.optional = true;
            Some(("auth", "auth: `optional`".to_owned()))
        }
        Refusal::RightsMissing => {
            let Auth::Required(requirement) = &mut route.auth else { return None };
            let login = login(caller)?;
            let lacking: Vec<_> = requirement
                .scopes
                .iter()
                .filter(|scope| !login.scopes.contains(scope))
                .cloned()
                .collect();
            requirement.scopes.retain(|scope| login.scopes.contains(scope));
            let mut words: Vec<_> =
                lacking.iter().map(|scope| format!("without the scope {scope:?}")).collect();
            let has_role = requirement.roles.is_empty()
                || requirement.roles.iter().any(|role| login.roles.contains(role));
            match login.roles.first() {
                _ if has_role => (),
                Some(role) => {
                    requirement.roles.push(role.clone());
                    words.push(format!("with the role {role:?}"));
                }
                None => {
                    requirement.roles.clear();
                    words.push("without roles".to_owned());
                }
            }
            Some(("auth", format!("auth: {}", words.join(", "))))
        }
        Refusal::LoginTooOld => {
            let Auth::Required(requirement) = &mut route.auth else { return None };
            let age = login(caller)?.age;
            requirement.fresh = age.and_then(|age| age.checked_add(1));
            let words = requirement.fresh.map_or_else(
                || "auth: without `fresh`".to_owned(),
                |seconds| format!("auth: `fresh = \"{seconds}s\"`"),
            );
            Some(("auth", words))
        }
        Refusal::BodyTooLarge => {
            let length = request.headers().get(header::CONTENT_LENGTH)?.to_str().ok()?;
            route.limits.body = length.parse().ok();
            Some(("limits", format!("limit: `body = \"{length} B\"`")))
        }
        _ => None,
    }
}

/// Shares a route with one more origin.
fn share(
    route: &mut ManifestRoute,
    origin: &str,
    with_credentials: bool,
) -> Option<(&'static str, String)> {
    policy_core::origin::OriginPattern::parse(origin).ok()?;
    let cors = route.cors.get_or_insert_with(|| RouteCors {
        origins: RouteOrigins::Listed(Vec::new()),
        credentials: false,
        methods: None,
        headers: Vec::new(),
        expose: Vec::new(),
        max_age: None,
        dangers: Dangers::default(),
    });
    let (patterns, words) = match &mut cors.origins {
        RouteOrigins::Listed(patterns) => (patterns, "origins".to_owned()),
        RouteOrigins::AtRunTime(list) => {
            // Without a bound, the entries of the list decide, not an attribute.
            (list.within.as_mut()?, format!("the bound of the list `{}`", list.list))
        }
    };
    let is_granted = patterns.iter().any(|pattern| pattern == origin);
    let mut step = format!("cors: add {origin:?} to {words}");
    if is_granted {
        step = "cors: keep the origins".to_owned();
    } else {
        patterns.push(origin.to_owned());
    }
    if with_credentials && !cors.credentials {
        cors.credentials = true;
        step += ", and `credentials`";
    }
    Some(("cors", step))
}

/// The login of a caller, by any credential.
fn login(caller: &RequestCredentials) -> Option<&Login> {
    [&caller.token, &caller.ticket, &caller.scheme, &caller.session].into_iter().find_map(|state| {
        match state {
            CredentialState::Valid(login) => Some(login),
            _ => None,
        }
    })
}
