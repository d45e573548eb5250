//! Callers: handlers run only for admitted callers, and refusals reveal nothing.

use http::{HeaderMap, HeaderName, header};
use policy_manifest::Auth;

use super::{Fault, Law, LawSpec, Verdict};
use crate::{
    observe::request_id,
    testing::prove::{
        caller::{CallerAdmission, CredentialState, Defect},
        exchange::Exchange,
        explorer::PathExplorer,
        probe::HandlerBehavior,
        tally::Tallies,
    },
};

pub(super) const BEFORE_HANDLER: LawSpec = LawSpec {
    text: "a handler runs only for callers that `#[auth]` admits",
    help: "state who may call in `#[auth]`, and nowhere else",
    silence: |app| {
        app.without(
            |route| route.requirement().is_some(),
            "every handler and mounted service is public",
        )
    },
    judge_exchange: before_handler,
    ..LawSpec::NONE
};

pub(super) const UNIFORM_REFUSAL: LawSpec = LawSpec {
    text: "refusals of missing, wrong and expired credentials differ only in their code",
    help: "leave refusals as the app writes them",
    silence: |app| {
        app.without(
            |route| route.requirement().is_some_and(|requirement| !requirement.optional),
            "no handler or mounted service refuses anybody",
        )
    },
    judge_path: uniform,
    ..LawSpec::NONE
};

/// A handler runs only for an admitted caller, with the user of the credential as the principal.
fn before_handler(exchange: &Exchange<'_>) -> Verdict {
    let Some(requirement) = exchange.route().and_then(|route| route.requirement()) else {
        return Verdict::Silent;
    };
    if !exchange.handler_ran() {
        return Verdict::Silent;
    }
    let (method, is_carried) = (exchange.method(), exchange.is_carried());
    let admitted = exchange.caller.admission(requirement, method, is_carried);
    let is_right = admitted == CallerAdmission::As(exchange.principal());
    Verdict::unless(!is_right, || Fault {
        expected: match admitted {
            CallerAdmission::No => format!(
                "the handler does not run for {}: `#[auth({})]`",
                exchange.caller(),
                Auth::Required(requirement.clone())
            ),
            CallerAdmission::As(None) => "the handler runs for nobody".to_owned(),
            CallerAdmission::As(Some(who)) => format!("the handler runs for {who}"),
        },
        seen: match exchange.principal() {
            Some(who) => format!("it ran for {who}"),
            None => "it ran for nobody".to_owned(),
        },
        attribute: "auth",
    })
}

/// The headers of a refusal reveal only that the caller was refused.
fn uniform(explorer: &mut PathExplorer<'_, '_>, tallies: &mut Tallies) {
    let Some(own) = explorer.pages.iter().find(|page| page.is_own).cloned() else { return };
    let callers = explorer.callers.clone();
    let refused = |state: &CredentialState| !matches!(state, CredentialState::Known(_));
    for route in explorer.path.routes.clone() {
        if route.requirement().is_none_or(|requirement| requirement.optional) {
            continue;
        }
        // If a token was sent, cookies are not read, and `Vary` differs.
        let (mut of_cookies, mut of_tokens) = (None, None);
        for caller in callers.iter().filter(|caller| refused(&caller.state)) {
            let request = explorer.by(caller, &route.method, Some(&own.origin));
            let Some(reply) = explorer.ask(&request, HandlerBehavior::Answers) else { continue };
            let is_malformed = matches!(caller.state, CredentialState::Bad(_, Defect::Malformed))
                && caller.authorization.is_some();
            let takes_token = route.requirement().is_some_and(|requirement| requirement.token);
            let status = if is_malformed && takes_token { 400 } else { 401 };
            let fields = fields_of(&reply.headers);
            let has_token = caller.authorization.is_some();
            let first = if has_token { &mut of_tokens } else { &mut of_cookies };
            let (before, expected) = first.get_or_insert_with(|| (request.clone(), fields.clone()));
            let is_right = reply.report.is_none() && reply.status == status && fields == *expected;
            let verdict = Verdict::unless(!is_right, || Fault {
                expected: format!("status {status}, {}", join_fields(expected)),
                seen: format!("status {}, {}", reply.status, join_fields(&fields)),
                attribute: "auth",
            });
            let both = [before, &request];
            let request =
                both.into_iter().skip(usize::from(caller.is_anonymous())).collect::<Vec<_>>();
            tallies.requests(
                Law::UniformRefusal,
                explorer.path,
                route.method.as_str(),
                &request,
                verdict,
            );
        }
    }
}

/// The headers of a refusal, except those that depend on its code, and those of each response.
pub(super) fn fields_of(headers: &HeaderMap) -> Vec<String> {
    const OTHER: [HeaderName; 6] = [
        // In development it contains the code itself.
        HeaderName::from_static("server-timing"),
        header::CONTENT_LENGTH,
        header::WWW_AUTHENTICATE,
        header::SET_COOKIE,
        header::DATE,
        request_id::FIELD,
    ];
    let all = headers.iter().filter(|(name, _)| !OTHER.contains(name));
    let mut fields: Vec<_> = all
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    fields.sort_unstable();
    fields
}

fn join_fields(fields: &[String]) -> String {
    if fields.is_empty() { "no field".to_owned() } else { fields.join(", ") }
}
