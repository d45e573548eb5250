//! A counterexample to a law, in a form that a person can reproduce.

use std::fmt;

use policy_browser::{Credentials, Destination, Fetch, Mode, ReferrerPolicy};

use super::{
    declared::service_name, equivalence_classes::Path, exchange::Exchange, explorer, laws::Fault,
    probe::HandlerBehavior, server::ProbeRequest,
};

/// The placeholder of a secret.
const SECRET: &str = "policy-probe";

/// A load that breaks a law.
pub(super) fn describe_exchange(exchange: &Exchange<'_>, fault: &Fault) -> String {
    format!("{exchange}\n{}", describe_fault(fault, exchange.path, exchange.method()))
}

/// Requests that break a law.
pub(super) fn describe_requests(
    own: &str,
    path: &Path<'_>,
    method: &str,
    request: &[&ProbeRequest],
    fault: &Fault,
) -> String {
    let lines: Vec<_> = request
        .iter()
        .enumerate()
        .map(|(index, request)| {
            let label = if index == 0 { "  try       " } else { "  and then  " };
            format!("{label}{}", curl(own, request))
        })
        .collect();
    format!("{}\n{}", lines.join("\n"), describe_fault(fault, path, method))
}

/// The expected and the actual behaviour, and the attribute in question.
fn describe_fault(fault: &Fault, path: &Path<'_>, method: &str) -> String {
    let Fault { expected, seen, attribute } = fault;
    let by = by(path, method, attribute);
    format!("  expected  {expected}\n  seen      {seen}\n  by        {by}")
}

/// The attribute, with its location in the source.
fn by(path: &Path<'_>, method: &str, attribute: &str) -> String {
    let Some(route) = path.route_for(method).or(path.routes.first().copied()) else {
        return "App::policies, which hold for unknown paths".to_owned();
    };
    let Some(handler) = &route.handler else { return service_name(&route.route) };
    let own = handler.place.line;
    let at = |line: u32| format!("{} ({}:{line})", handler.name, handler.place.file);
    let said_by = route.sharing.as_ref().map(|sharing| sharing.said_by.as_str());
    match (handler.line_of(attribute), attribute, said_by) {
        (Some(line), ..) => format!("#[{attribute}] of {}", at(line)),
        (None, "cors", Some(said_by)) => {
            format!("{said_by}, which holds for {}", at(own))
        }
        _ => format!("{}, which states no #[{attribute}] of its own", at(own)),
    }
}

/// The page, its script, the caller, and the response of the app.
pub(super) fn write(exchange: &Exchange<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let page = exchange.page();
    let why = exchange.page_case.why;
    let url = exchange.url();
    match page {
        "null" => {
            writeln!(f, "  open      {why}: <iframe sandbox=\"allow-scripts\">, origin null")?;
        }
        page => {
            let is_no_referrer =
                exchange.page_case.page.referrer_policy == ReferrerPolicy::NoReferrer;
            let silent =
                if is_no_referrer { ", with <meta name=referrer content=no-referrer>" } else { "" };
            let old = if exchange.page_case.lacks_fetch_metadata {
                ", without Fetch Metadata"
            } else {
                ""
            };
            writeln!(f, "  open      {page} ({why}{silent}{old})")?;
        }
    }
    writeln!(f, "  run       {}", script(exchange.fetch(), &url))?;
    writeln!(f, "  as        {}", exchange.caller())?;
    match exchange.behavior {
        HandlerBehavior::Answers => (),
        HandlerBehavior::Fails(status) => {
            writeln!(f, "  where     the handler responds with {status}")?;
        }
        HandlerBehavior::Panics => writeln!(f, "  where     the handler panics")?,
        HandlerBehavior::LogsIn => writeln!(f, "  where     the handler logs somebody in")?,
    }
    let ran = match (exchange.handler_ran(), exchange.principal()) {
        (false, _) => "no handler ran".to_owned(),
        (true, None) => "the handler ran".to_owned(),
        (true, Some(who)) => format!("the handler ran for {who}"),
    };
    let read =
        if exchange.is_readable() { "the page reads it" } else { "the page does not read it" };
    match exchange.status() {
        Some(status) => {
            writeln!(f, "  got       status {}, {ran}, {read}", status.as_u16())?;
        }
        None => writeln!(f, "  got       no response: the request was not sent")?,
    }
    let sent = exchange.sent.as_ref().and_then(|(node, _)| node.request());
    match sent {
        Some(sent) => {
            let page = (exchange.page_case, &exchange.stand_in);
            let request = explorer::probe_request(
                sent,
                exchange.caller,
                page,
                &exchange.path.sample,
                exchange.cookie,
            );
            write!(f, "  curl      {}", curl(exchange.own, &request))
        }
        None => write!(f, "  curl      {}", preflight(exchange, &url)),
    }
}

/// The statement to run in the console of the page.
fn script(fetch: &Fetch, url: &str) -> String {
    let load = |name: &str| {
        format!(
            "document.body.append(Object.assign(document.createElement(\"{name}\"), {{ src: \"{url}\" }}))"
        )
    };
    match (fetch.mode, fetch.destination) {
        (Mode::WebSocket, _) => format!("new WebSocket(\"{}\")", url.replacen("http", "ws", 1)),
        (Mode::Navigate, Destination::Document) if fetch.method == "POST" => format!(
            "document.body.innerHTML = '<form method=post action=\"{url}\"><input name=a value=b>\
             </form>'; document.forms[0].submit()"
        ),
        (Mode::Navigate, Destination::Document) => format!("location = \"{url}\""),
        (_, Destination::Frame) => load("iframe"),
        (_, Destination::Image) => load("img"),
        (_, Destination::Script) => load("script"),
        _ => {
            let options = options(fetch);
            let options = if options.is_empty() { options } else { format!(", {{ {options} }}") };
            format!("fetch(\"{url}\"{options})")
        }
    }
}

/// The second argument of `fetch()`.
fn options(fetch: &Fetch) -> String {
    let mut options = Vec::new();
    if fetch.method != "GET" {
        options.push(format!("method: \"{}\"", fetch.method));
    }
    if fetch.mode == Mode::NoCors {
        options.push("mode: \"no-cors\"".to_owned());
    }
    match fetch.credentials {
        Credentials::Omit => options.push("credentials: \"omit\"".to_owned()),
        Credentials::SameOrigin => (),
        Credentials::Include => options.push("credentials: \"include\"".to_owned()),
    }
    if !fetch.headers.is_empty() {
        let pairs = fetch.headers.iter();
        let pairs: Vec<_> =
            pairs.map(|(name, value)| format!("\"{name}\": \"{}\"", redact(value))).collect();
        options.push(format!("headers: {{ {} }}", pairs.join(", ")));
    }
    if let Some(body) = &fetch.body {
        options.push(format!("body: \"{}\"", String::from_utf8_lossy(body)));
    }
    options.join(", ")
}

fn redact(value: &str) -> &str {
    if value == SECRET { "..." } else { value }
}

/// A request as a command, without credentials.
fn curl(own: &str, request: &ProbeRequest) -> String {
    let mut command = "curl -i".to_owned();
    match request.method.as_str() {
        "GET" => (),
        "HEAD" => command.push_str(" -I"),
        method => command.push_str(&format!(" -X {method}")),
    }
    // A ticket was used already.
    let (target, ticket) = match request.target.split_once("?ticket=") {
        Some((target, _)) => (target, "?ticket=..."),
        None => (request.target.as_str(), ""),
    };
    command.push_str(&format!(" '{own}{target}{ticket}'"));
    // Headers that no policy uses, and repeated statements, are left out.
    let is_said = |name: &str| match name {
        "accept" => false,
        "referer" => !request.headers.contains_key("origin"),
        _ => true,
    };
    for (name, value) in request.headers.iter().filter(|(name, _)| is_said(name.as_str())) {
        let name = name.as_str();
        let value = match name {
            "cookie" | "authorization" | "x-csrf-token" | super::probe::OWN_CREDENTIAL => {
                "...".into()
            }
            _ => String::from_utf8_lossy(value.as_bytes()),
        };
        command.push_str(&format!(" -H '{name}: {value}'"));
    }
    if !request.body.is_empty() {
        command.push_str(&format!(" -d '{}'", String::from_utf8_lossy(&request.body)));
    }
    command
}

/// The preflight that failed, as a command.
fn preflight(exchange: &Exchange<'_>, url: &str) -> String {
    let mut command = format!(
        "curl -i -X OPTIONS '{url}' -H 'origin: {}' -H 'access-control-request-method: {}'",
        exchange.page(),
        exchange.method()
    );
    if !exchange.request_case.unsafe_headers.is_empty() {
        let names = exchange.request_case.unsafe_headers.join(",");
        command.push_str(&format!(" -H 'access-control-request-headers: {names}'"));
    }
    command
}
