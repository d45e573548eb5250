//! Lints about the requests that pages of granted origins may send and the responses that they may
//! read.

use policy_core::{Lint, origin::OriginPattern};

use super::{
    Finding, Gainer, Manifest, gain_by_cors, has_ambient, is_same_site, quoted, same_site, shared,
};
use crate::{
    ExamplePaths,
    algebra::OriginRegion,
    facets::{Auth, ManifestRoute, RouteCors, RouteKind, RouteOrigins},
    severity::{Authority, Effect, Gain},
};

pub(super) fn look(manifest: &Manifest, paths: &ExamplePaths, found: &mut Vec<Finding>) {
    let has_ambient = has_ambient(manifest);
    for (route, cors) in shared(manifest) {
        found.extend(exposed_secrets(manifest, route, cors));
        if route.kind == RouteKind::Handler {
            found.extend(unneeded_credentials(has_ambient, route, cors));
            found.extend(withheld_cookie(manifest, route, cors));
            found.extend(unserved_methods(manifest, paths, route, cors));
            found.extend(own_method(paths, route, cors));
        }
    }
}

fn unneeded_credentials(
    has_ambient: bool,
    route: &ManifestRoute,
    cors: &RouteCors,
) -> Option<Finding> {
    let may_use = route.is_ambient() || (route.auth == Auth::Public && has_ambient);
    if !cors.credentials || may_use {
        return None;
    }
    let (who, what, authority) = (Gainer::NamedSites, Effect::Read, Authority::Nobody);
    let finding = Finding::for_route(Lint::CredentialsUnneeded, route, "cors");
    Some(finding.gain(Gain { who, what, authority }))
}

/// The entries of a run-time list are not known here.
fn withheld_cookie(
    manifest: &Manifest,
    route: &ManifestRoute,
    cors: &RouteCors,
) -> Option<Finding> {
    let same_site = same_site(manifest).filter(|same_site| *same_site != "none")?;
    let required = route.auth.requirement().map(|requirement| requirement.session);
    let takes_session = required.unwrap_or(route.takes_session);
    let RouteOrigins::Listed(listed) = &cors.origins else { return None };
    if !cors.credentials || !takes_session {
        return None;
    }
    let is_foreign =
        |pattern: &OriginPattern<'_>| !is_same_site(manifest, pattern) && !pattern.is_development();
    let parsed = listed.iter().filter_map(|text| Some((text, OriginPattern::parse(text).ok()?)));
    let (texts, foreign): (Vec<_>, Vec<_>) =
        parsed.filter(|(_, pattern)| is_foreign(pattern)).unzip();
    let witness = foreign.into_iter().collect::<OriginRegion>().witness()?;
    let about = format!("{}, and `SameSite` is `{same_site}`", quoted(texts));
    Some(
        Finding::for_route(Lint::CookieWithheld, route, "cors").about(about).witness(Some(witness)),
    )
}

/// The methods that a policy lists, if it does not allow every method.
fn listed_methods(cors: &RouteCors) -> Option<&[String]> {
    cors.methods.as_deref().filter(|methods| methods.iter().all(|method| method != "*"))
}

fn unserved_methods(
    manifest: &Manifest,
    paths: &ExamplePaths,
    route: &ManifestRoute,
    cors: &RouteCors,
) -> Option<Finding> {
    // A manifest in its normal form has its routes in the order of their paths.
    let first = manifest.routes.partition_point(|other| other.path < route.path);
    let of_path = manifest.routes.iter().skip(first).take_while(|other| other.path == route.path);
    let is_served = |method: &str| {
        // The server itself responds to OPTIONS.
        method == "OPTIONS" || of_path.clone().any(|other| other.serves(method))
    };
    let unserved: Vec<_> =
        listed_methods(cors)?.iter().filter(|method| !is_served(method)).collect();
    let first = unserved.first()?;
    let witness = paths.request(first, route);
    let finding = Finding::for_route(Lint::MethodNotServed, route, "cors");
    Some(finding.about(quoted(unserved)).witness(witness))
}

fn own_method(paths: &ExamplePaths, route: &ManifestRoute, cors: &RouteCors) -> Option<Finding> {
    let listed = listed_methods(cors)?;
    // The others need no preflight (Fetch, CORS-safelisted method).
    let needs = |method: &&String| !["GET", "HEAD", "POST"].contains(&method.as_str());
    let left_out: Vec<_> =
        route.methods.iter().filter(needs).filter(|method| !listed.contains(method)).collect();
    let first = left_out.first()?;
    let witness = paths.request(first, route);
    let finding = Finding::for_route(Lint::OwnMethodMissing, route, "cors");
    Some(finding.about(quoted(left_out)).witness(witness))
}

/// Response headers that usually carry a credential.
const SECRETS: [&str; 5] =
    ["authorization", "x-access-token", "x-api-key", "x-auth-token", "x-refresh-token"];

fn exposed_secrets(
    manifest: &Manifest,
    route: &ManifestRoute,
    cors: &RouteCors,
) -> Option<Finding> {
    let exposed: Vec<_> =
        cors.expose.iter().filter(|name| SECRETS.contains(&name.as_str())).collect();
    if exposed.is_empty() {
        return None;
    }
    let region = cors.region();
    let who = if region.is_cofinite() { Gainer::AnySite } else { Gainer::NamedSites };
    let origins = cors.patterns().iter().filter_map(|text| OriginPattern::parse(text).ok());
    let origins: Vec<_> = origins.collect();
    let gain = gain_by_cors(manifest, who, (route, cors), &origins);
    let gain = Gain { what: Effect::Read, ..gain };
    let finding = Finding::for_route(Lint::ExposedSecret, route, "cors").about(quoted(exposed));
    Some(finding.gain(gain).witness(region.witness()))
}
