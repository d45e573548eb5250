//! Reads a document of rules.

use std::collections::BTreeMap;

use policy_core::limits::rate_of;
use toml::de::{DeTable, DeValue};

use super::{
    CallerKind, Exception, Place, PolicyRule, RulesError,
    error::plain,
    names::NameSet,
    rule::{Lifetime, Never, Require, Statement, Storers},
    selector::Selector,
    table::{Fields, Reader},
};
use crate::{
    FindingSeverity, RouteKind, RouteRate, Suppression, algebra::OriginRegion, facets::millis,
};

/// The content of a file of rules.
#[derive(Debug, Default)]
pub(super) struct Document {
    /// The paths of the documents that it extends.
    pub(super) extends: Vec<(String, Place)>,
    pub(super) rules: Vec<PolicyRule>,
    pub(super) exceptions: Vec<Exception>,
}

const KEYS: [&str; 6] = ["extends", "public", "never", "require", "lifetimes", "except"];
const OF_RULE: [&str; 4] = ["routes", "kinds", "severity", "why"];
const OF_PUBLIC: [&str; 3] = ["routes", "severity", "why"];
const OF_NEVER: [&str; 6] =
    ["callers", "roles", "without-roles", "scopes", "without-scopes", "origins"];
const OF_REQUIRE: [&str; 5] = ["csrf", "rate", "headers", "cache", "objects"];
const OF_EXCEPT: [&str; 5] = ["rule", "route", "who", "why", "until"];

/// The kinds of routes that a rule can select.
const KINDS: [(&str, RouteKind); 6] = [
    ("handler", RouteKind::Handler),
    ("mount", RouteKind::Mount),
    ("proxy", RouteKind::Proxy),
    ("probe", RouteKind::Probe),
    ("tunnel", RouteKind::Tunnel),
    ("fallback", RouteKind::Fallback),
];

impl Document {
    /// Reads a document. `is_shared` if another one extends it.
    pub(super) fn parse(file: &str, text: &str, is_shared: bool) -> Result<Self, RulesError> {
        let reader = Reader::new(file, text);
        let parsed = DeTable::parse(reader.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let help = "write TOML: tables such as `[never.NAME]` with `key = value` in them";
            reader.error(at, plain(error.message()), help)
        })?;
        let table = reader.fields(parsed.get_ref(), 0);
        let mut document = Self::default();
        if let Some((texts, at)) = table.texts("extends")? {
            let place = reader.place(at);
            document.extends.extend(texts.into_iter().map(|(text, _)| (text, place.clone())));
        }
        if let Some(fields) = table.table("public")? {
            let rule = base(&fields, "public".to_owned(), is_shared, Statement::Public)?;
            fields.finish(&OF_PUBLIC)?;
            document.rules.push(rule);
        }
        if let Some(fields) = table.table("lifetimes")? {
            document.rules.push(lifetimes(&fields, is_shared)?);
        }
        for (kind, read) in
            [("never", never as fn(&Fields<'_, '_>) -> StatementResult), ("require", require)]
        {
            let Some(named) = table.table(kind)? else { continue };
            for (name, fields) in named.tables()? {
                let id = format!("{kind}.{name}");
                check_name(&fields, name)?;
                let statement = read(&fields)?;
                let mut rule = base(&fields, id, is_shared, statement)?;
                rule.kinds = fields.choices("kinds", KINDS)?;
                let own: &[&str] = if kind == "never" { &OF_NEVER } else { &OF_REQUIRE };
                fields.finish(&[&OF_RULE, own].concat())?;
                check_routes(&fields, &rule)?;
                document.rules.push(rule);
            }
        }
        for fields in table.list_of_tables("except")? {
            document.exceptions.push(exception(&fields, is_shared)?);
            fields.finish(&OF_EXCEPT)?;
        }
        table.finish(&KEYS)?;
        document.rules.sort_by(|one, other| one.place.cmp(&other.place));
        Ok(document)
    }
}

type StatementResult = Result<Statement, RulesError>;

/// The longest lifetimes of what the app issues.
fn lifetimes(fields: &Fields<'_, '_>, is_shared: bool) -> Result<PolicyRule, RulesError> {
    let mut most = BTreeMap::new();
    for (key, lifetime) in Lifetime::ALL {
        let Some((text, at)) = fields.text(key)? else { continue };
        let seconds = seconds_of(&text).ok_or_else(|| {
            let message = format!("`{}` is no time", plain(&text));
            fields.error(at, message, "write a time such as `30 min`, `12 h` or `30 d`")
        })?;
        most.insert(lifetime, (seconds, text));
    }
    let names = Lifetime::ALL.map(|(name, _)| name);
    fields.finish(&[&names[..], &["severity", "why"]].concat())?;
    if most.is_empty() {
        let help = "write what ends, such as `session = \"12 h\"`";
        return Err(fields.error(fields.at, "it limits nothing", help));
    }
    let (severity, why) = words(fields)?;
    let (id, place, routes) = ("lifetimes".to_owned(), fields.place(), Vec::new());
    let statement = Statement::Lifetimes(most);
    Ok(PolicyRule { id, severity, why, place, is_shared, routes, kinds: None, statement })
}

/// The seconds of a time such as `12 h`.
fn seconds_of(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let unit = match unit {
        "s" => 1,
        "min" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse::<u64>().ok().filter(|number| is_plain && *number > 0)?.checked_mul(unit)
}

/// The severity of a rule and its reason.
fn words(fields: &Fields<'_, '_>) -> Result<(FindingSeverity, String), RulesError> {
    let severities = FindingSeverity::ALL.map(|severity| (severity.name(), severity));
    let severity = fields.choice("severity", severities)?.unwrap_or(FindingSeverity::High);
    Ok((severity, fields.text("why")?.map(|(text, _)| text).unwrap_or_default()))
}

/// The fields of all rules.
fn base(
    fields: &Fields<'_, '_>,
    id: String,
    is_shared: bool,
    statement: Statement,
) -> Result<PolicyRule, RulesError> {
    let help = "write the routes that it is about, such as `routes = [\"GET /orders/**\"]`";
    let (texts, _) = fields.texts("routes")?.ok_or_else(|| fields.missing("routes", help))?;
    let routes = texts.into_iter().map(|(text, at)| {
        Selector::parse(&text)
            .map_err(|(what, help)| fields.error(at, format!("`{}` {what}", plain(&text)), help))
    });
    let routes = routes.collect::<Result<Vec<_>, _>>()?;
    let (severity, why) = words(fields)?;
    let place = fields.place();
    Ok(PolicyRule { id, severity, why, place, is_shared, routes, kinds: None, statement })
}

fn never(fields: &Fields<'_, '_>) -> StatementResult {
    let callers = fields.choices("callers", CallerKind::ALL)?;
    let (roles, of_roles) = rights(fields, "roles", "without-roles")?;
    let (scopes, of_scopes) = rights(fields, "scopes", "without-scopes")?;
    let is_anonymous =
        callers.as_ref().is_some_and(|kinds| kinds.iter().eq([&CallerKind::Anonymous]));
    if is_anonymous && !(of_roles.is_empty() && of_scopes.is_empty()) {
        let message = "anonymous callers have neither roles nor scopes";
        let help = "leave out the roles and scopes, or name other callers";
        return Err(fields.error(fields.at, message, help));
    }
    let (origins, pages) = origins(fields)?;
    let kinds = match &callers {
        None => String::new(),
        Some(kinds) => {
            let names = CallerKind::ALL.iter().filter(|(_, kind)| kinds.contains(kind));
            let names: Vec<_> = names.map(|(name, _)| format!("`{name}`")).collect();
            format!(" by {}", names.join(" or "))
        }
    };
    let words = match origins {
        None if callers.is_none() && of_roles.is_empty() && of_scopes.is_empty() => {
            "somebody reaches it".to_owned()
        }
        None => format!("callers{kinds}{of_roles}{of_scopes} reach it"),
        Some(_) => format!("pages of {pages} act for visitors{kinds}{of_roles}{of_scopes}"),
    };
    Ok(Statement::Never(Never { callers, roles, scopes, origins, words }))
}

/// The roles or scopes that callers may have, and in words how they are restricted.
fn rights(
    fields: &Fields<'_, '_>,
    only: &str,
    without: &str,
) -> Result<(NameSet, String), RulesError> {
    let names = |texts: Vec<(String, usize)>| texts.into_iter().map(|(text, _)| text);
    match (fields.texts(only)?, fields.texts(without)?) {
        (None, None) => Ok((NameSet::all(), String::new())),
        (Some((texts, _)), None) => {
            let set = NameSet::only(names(texts));
            let words = format!(" with no other {only} than {}", quoted(set.names()));
            Ok((set, words))
        }
        (None, Some((texts, _))) => {
            let set = NameSet::all_but(names(texts));
            let what = if set.names().len() == 1 { only.trim_end_matches('s') } else { only };
            let words = format!(" without the {what} {}", quoted(set.names()));
            Ok((set, words))
        }
        (Some(_), Some((_, at))) => {
            let message = format!("`{only}` and `{without}` are both stated");
            let help = format!("write one: `{only}` are those of callers that have no others");
            Err(fields.error(at, message, help))
        }
    }
}

/// The origins of pages, and their words.
fn origins(fields: &Fields<'_, '_>) -> Result<(Option<OriginRegion>, String), RulesError> {
    let Some((texts, at)) = fields.texts("origins")? else { return Ok((None, String::new())) };
    let sets = texts.iter().map(|(text, at)| {
        text.parse::<OriginRegion>().map_err(|error| {
            let message = format!("`{}` is no origin: {}", plain(text), plain(&error.to_string()));
            fields.error(*at, message, "write origins such as `https://*.partner.example`")
        })
    });
    let region: OriginRegion = sets.collect::<Result<Vec<_>, _>>()?.into_iter().collect();
    if region.is_empty() {
        let message = "`origins` has no origin, so the rule always holds";
        return Err(fields.error(at, message, "name the origins that it is about"));
    }
    Ok((Some(region), quoted(texts.iter().map(|(text, _)| text))))
}

fn quoted<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    let names = names.into_iter().map(|name| format!("`{}`", plain(name)));
    names.collect::<Vec<_>>().join(", ")
}

fn require(fields: &Fields<'_, '_>) -> StatementResult {
    let mut require = Require::default();
    for (key, is_required) in [("csrf", &mut require.csrf), ("objects", &mut require.objects)] {
        if let Some((value, at)) = fields.value(key) {
            if !matches!(value, DeValue::Boolean(true)) {
                let help = format!("write `{key} = true`, or leave it out");
                return Err(fields.error(at, format!("`{key}` can only be required"), help));
            }
            *is_required = true;
        }
    }
    if let Some((text, at)) = fields.text("rate")? {
        let rate = rate_of(&text).map_err(|rule| {
            let message = format!("`{}`: {}", plain(&text), rule.message());
            fields.error(at, message, "write a rate such as `10/min` or `10/min per principal`")
        })?;
        let per_ms = millis(rate.per);
        require.rate = Some((RouteRate { count: rate.count, per_ms, by: rate.by }, text));
    }
    if let Some(headers) = fields.table("headers")? {
        for (name, text, at) in headers.all_texts()? {
            let name = name.to_ascii_lowercase();
            let is_name = http::HeaderName::from_bytes(name.as_bytes()).is_ok();
            if !is_name || http::HeaderValue::from_str(text).is_err() {
                let message = format!("`{}` is no header, or its value is none", plain(&name));
                let help = "write a name and its weakest value, such as \
                            `strict-transport-security = \"max-age=31536000\"`";
                return Err(fields.error(at, message, help));
            }
            require.headers.insert(name, text.to_owned());
        }
    }
    require.cache = fields.choice("cache", Storers::ALL.map(|most| (most.name(), most)))?;
    let Require { csrf, rate, headers, cache, objects } = &require;
    if !(*csrf || *objects) && rate.is_none() && headers.is_empty() && cache.is_none() {
        let help = "write what its routes need: `csrf`, `rate`, `headers`, `cache` or `objects`";
        return Err(fields.error(fields.at, "it requires nothing".to_owned(), help));
    }
    Ok(Statement::Require(require))
}

/// Refuses a rule that holds whatever the policies are.
fn check_routes(fields: &Fields<'_, '_>, rule: &PolicyRule) -> Result<(), RulesError> {
    let Statement::Require(require) = &rule.statement else { return Ok(()) };
    if require.csrf && rule.routes.iter().all(Selector::is_safe) {
        let message = "`csrf` is required of methods that change nothing, so it always holds";
        let help = "name methods that change something, such as `POST,PUT,PATCH,DELETE /**`";
        return Err(fields.error(fields.at, message.to_owned(), help));
    }
    Ok(())
}

/// Names are written into reports of every format.
fn check_name(fields: &Fields<'_, '_>, name: &str) -> Result<(), RulesError> {
    let is_plain = name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'));
    if is_plain && !name.is_empty() && name.len() <= 64 {
        return Ok(());
    }
    let message = format!("`{}` cannot be the name of a rule", plain(name));
    Err(fields.error(fields.at, message, "write at most 64 of `a-z`, `0-9`, `-` and `_`"))
}

fn exception(fields: &Fields<'_, '_>, is_shared: bool) -> Result<Exception, RulesError> {
    let needed = |key: &str, help: &str| -> Result<(String, usize), RulesError> {
        let found = fields.text(key)?.ok_or_else(|| fields.missing(key, help))?;
        match found.0.trim().is_empty() {
            true => Err(fields.error(found.1, format!("`{key}` is empty"), help)),
            false => Ok(found),
        }
    };
    let (lint, _) = needed("rule", "write the rule, such as `rule = \"never.partner-in-admin\"`")?;
    let (route, at) =
        needed("route", "write the route as the report has it, such as `GET /admin/status`")?;
    let (who, _) = needed("who", "write who decided this")?;
    let (why, _) = needed("why", "write the reason")?;
    let until = match fields.text("until")? {
        None => None,
        Some((text, at)) => Some(text.parse().map_err(|error: crate::ParseDateError| {
            fields.error(at, plain(&error.to_string()), "write the last day on which it holds")
        })?),
    };
    // The star of `{*path}` belongs to the name of a parameter.
    let has_wildcard = route.replace("{*", "{").contains(['*', '?']);
    if has_wildcard && route.split(' ').next_back() != Some("*") {
        let message = format!("`{}` is not one route", plain(&route));
        let help = "write an exception for each route, so that new routes are not excepted";
        return Err(fields.error(at, message, help));
    }
    let line = Suppression { lint, route: Some(route), who, why, until };
    Ok(Exception { line, place: fields.place(), is_shared })
}
