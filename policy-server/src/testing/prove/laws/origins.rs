//! The origin in a response: the page's own, byte for byte, or none.

use http::{HeaderValue, Method, header};

use super::{Fault, Law, LawSpec, Verdict, preflights::preflight, reading::cors_fields};
use crate::testing::prove::{
    exchange::Exchange,
    explorer::PathExplorer,
    probe::HandlerBehavior,
    server::{ProbeRequest, Reply},
    sharing::Sharing,
    tally::Tallies,
};

pub(super) const LAW: LawSpec = LawSpec {
    text: "no response names an origin that is not granted, or all origins with credentials",
    help: "let nothing but the policy write `Access-Control-*`: name the origin in \
                 `#[cors(origins = [..])]`, or remove what writes it",
    silence: |app| app.routes.is_empty().then_some("there is no handler or mounted service"),
    judge_exchange,
    judge_path,
    ..LawSpec::NONE
};

/// `Access-Control-Allow-Origin` is never `*` with credentials, and never names an origin that is
/// not granted.
fn judge_exchange(exchange: &Exchange<'_>) -> Verdict {
    let sharing = exchange.path.sharing(exchange.method());
    let replies = exchange.preflight.as_deref().into_iter().chain(exchange.reply());
    let mut verdict = Verdict::Silent;
    for reply in replies {
        let Some(named) = reply.field("access-control-allow-origin") else { continue };
        let has_credentials = reply.headers.contains_key("access-control-allow-credentials");
        let is_right = match named {
            "*" => !has_credentials && sharing.is_some_and(Sharing::is_for_all),
            named => {
                named == exchange.page() && sharing.is_some_and(|sharing| sharing.names(named))
            }
        };
        verdict = Verdict::unless(!is_right, || Fault {
            expected: "no `Access-Control-Allow-Origin` but that of a granted page".to_owned(),
            seen: cors_fields(exchange.headers()),
            attribute: "cors",
        });
        if !is_right {
            break;
        }
    }
    verdict
}

/// Tries odd origins with one method for each CORS policy of a path.
fn judge_path(explorer: &mut PathExplorer<'_, '_>, tallies: &mut Tallies) {
    let mut tried: Vec<Option<&Sharing>> = Vec::new();
    for method in explorer.path.methods() {
        let sharing = explorer.path.sharing(method);
        if tried.contains(&sharing) {
            continue;
        }
        tried.push(sharing);
        if let Ok(method) = Method::from_bytes(method.as_bytes()) {
            odd(explorer, &method, tallies);
        }
    }
}

/// An origin that only resembles a granted one is not accepted, and no field except `Origin` counts.
fn odd(explorer: &mut PathExplorer<'_, '_>, method: &Method, tallies: &mut Tallies) {
    let sharing = explorer.path.sharing(method.as_str());
    let is_for_all = sharing.is_some_and(Sharing::is_for_all);
    let is_granted = |origin: &str| sharing.is_some_and(|all| all.names(origin));
    let granted = explorer.pages.iter().find(|page| !page.is_own && is_granted(&page.origin));
    let origin = granted.map_or("https://app.example", |page| &page.origin).to_owned();
    let upper = origin.to_ascii_uppercase();
    let odd: Vec<(Vec<String>, &str)> = vec![
        (vec![format!("{origin}/")], ""),
        (vec![upper], ""),
        (vec![format!("{origin}.")], ""),
        (vec![format!("{origin}, https://stranger.example")], ""),
        (vec![format!("https://stranger.example, {origin}")], ""),
        (vec![origin.clone(), "https://stranger.example".to_owned()], ""),
        (vec![String::new()], ""),
        (vec!["stranger".to_owned()], ""),
        (vec!["https://stranger.example".to_owned()], "x-forwarded-origin"),
        (vec!["https://stranger.example".to_owned()], "referer"),
    ];
    for (values, other) in odd {
        for is_preflight in [false, true] {
            let mut request = match is_preflight {
                true => preflight(explorer, "", method.as_str()),
                false => plain(explorer, method),
            };
            request.headers.remove(header::ORIGIN);
            for value in &values {
                if let Ok(value) = HeaderValue::from_str(value) {
                    request.headers.append(header::ORIGIN, value);
                }
            }
            if let (Ok(name), Ok(value)) = (other.parse::<header::HeaderName>(), origin.parse()) {
                request.headers.insert(name, value);
            }
            let Some(reply) = explorer.ask(&request, HandlerBehavior::Answers) else { continue };
            let allowed = reply.headers.get_all(header::ACCESS_CONTROL_ALLOW_ORIGIN).iter().count();
            let is_any = is_for_all && reply.field("access-control-allow-origin") == Some("*");
            let verdict = Verdict::unless(allowed > 0 && !is_any, || Fault {
                expected: match sharing.is_some() {
                    true => "no `Access-Control-Allow-Origin`: this is no origin of the policy",
                    false => "no `Access-Control-Allow-Origin`: the route is shared with nobody",
                }
                .to_owned(),
                seen: describe(&reply),
                attribute: "cors",
            });
            tallies.requests(Law::OriginEcho, explorer.path, method.as_str(), &[&request], verdict);
        }
    }
}

fn plain(explorer: &PathExplorer<'_, '_>, method: &Method) -> ProbeRequest {
    let mut request = preflight(explorer, "", "GET");
    request.headers.clear();
    ProbeRequest { method: method.clone(), ..request }
}

fn describe(reply: &Reply) -> String {
    let named = reply.field("access-control-allow-origin").unwrap_or_default();
    format!("status {}, access-control-allow-origin: {named}", reply.status)
}
