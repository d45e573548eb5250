//! What servers allow: preflights and the CORS check.

use policy_browser::Fetch;

use super::{add, cookie::cookie};
use crate::diff::{
    case::{Body, Canned, Case},
    random::Random,
};

pub(super) fn preflight(random: &mut Random, case: &Case) -> Canned {
    let mut headers = Vec::new();
    grant(random, case, &mut headers);
    let loads: Vec<&Fetch> = case.loads().collect();
    let methods: Vec<&str> = loads.iter().map(|fetch| &*fetch.method).collect();
    let right = methods.join(", ");
    match random.below(10) {
        0..5 => add(&mut headers, "access-control-allow-methods", right.to_uppercase()),
        5 => add(&mut headers, "access-control-allow-methods", right),
        6 => add(&mut headers, "access-control-allow-methods", "*".into()),
        7 => {
            let odd = *random.choose(&[
                "",
                "GET",
                "put",
                "PUT,",
                ", DELETE , PATCH",
                "PUT DELETE",
                "\"PUT\"",
                "PATCH, *",
                "P@T",
                "GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS",
            ]);
            add(&mut headers, "access-control-allow-methods", odd.into());
        }
        8 => {
            add(&mut headers, "access-control-allow-methods", "PATCH".into());
            add(&mut headers, "access-control-allow-methods", "PUT,DELETE".into());
        }
        _ => {}
    }
    let names: Vec<&str> = loads
        .iter()
        .flat_map(|fetch| fetch.headers.iter().map(|(name, _)| &**name))
        .filter(|name| {
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-*".contains(&byte))
        })
        .collect();
    let right = names.join(",");
    match random.below(10) {
        0..4 => add(&mut headers, "access-control-allow-headers", right),
        4 => add(&mut headers, "access-control-allow-headers", right.to_uppercase()),
        5 => add(&mut headers, "access-control-allow-headers", "*".into()),
        6 => add(&mut headers, "access-control-allow-headers", "*, Authorization".into()),
        7 => {
            let odd = *random.choose(&[
                "",
                "x-a",
                "x-a x-b",
                "content-type;",
                "x-a,,x-b",
                " content-type , x-a ",
                "X-B, \u{e4}",
                "authorization",
                "content-type, accept, range, x-a",
            ]);
            add(&mut headers, "access-control-allow-headers", odd.into());
        }
        8 => {
            add(&mut headers, "access-control-allow-headers", "x-a".into());
            add(&mut headers, "access-control-allow-headers", "content-type, X-B".into());
        }
        _ => {}
    }
    if random.below(2) == 0 {
        let age = *random.choose(&[
            "600",
            "600",
            "86400",
            "0",
            "-1",
            "abc",
            "",
            "600 ",
            "+600",
            "600, 600",
            "\"600\"",
            "600.5",
            "99999999999999999999",
            "00600",
            "-0",
        ]);
        add(&mut headers, "access-control-max-age", age.into());
        if random.below(20) == 0 {
            add(&mut headers, "access-control-max-age", "0".into());
        }
    }
    if random.below(10) == 0 {
        add(&mut headers, "set-cookie", cookie(random));
    }
    if random.below(20) == 0 {
        add(&mut headers, "location", "/{ID}/b".into());
    }
    let status = match random.below(10) {
        0..5 => 204,
        5..9 => 200,
        _ => *random.choose(&[201, 299, 301, 302, 307, 400, 401, 403, 404, 405, 500]),
    };
    Canned { status, headers, body: Body::Script }
}

/// The response to the CORS check.
pub(super) fn grant(random: &mut Random, case: &Case, headers: &mut Vec<(&'static str, String)>) {
    const ORIGIN: &str = "access-control-allow-origin";
    const CREDENTIALS: &str = "access-control-allow-credentials";
    let page = case.place.origins.last().expect("a page").clone();
    let own = if case.place.is_sandboxed() { "null".into() } else { page.clone() };
    match random.below(20) {
        0..10 => add(headers, ORIGIN, own.clone()),
        10..13 => add(headers, ORIGIN, "{O}".into()),
        13..15 => add(headers, ORIGIN, "*".into()),
        15 => add(headers, ORIGIN, "null".into()),
        16 => {}
        17 => {
            add(headers, ORIGIN, own.clone());
            add(headers, ORIGIN, random.choose(&[own.clone(), "*".into(), String::new()]).clone());
        }
        _ => {
            let wrong = [
                page.to_uppercase(),
                format!("{page}/"),
                format!(" {own} "),
                format!("{own}, {own}"),
                format!("{own} *"),
                "*, *".into(),
                "*.shop.test".into(),
                "true".into(),
                String::new(),
                "https://api.shop.test:{P}".into(),
                page.replace("https:", "http:"),
                page.replace(":{P}", ""),
                page.replace("https://", ""),
                "Null".into(),
                format!("{page}\u{e4}"),
                "\"*\"".into(),
            ];
            add(headers, ORIGIN, random.choose(&wrong).clone());
        }
    }
    match random.below(10) {
        0..6 => add(headers, CREDENTIALS, "true".into()),
        6 => {
            let wrong = *random.choose(&[
                "True",
                "TRUE",
                "false",
                "1",
                "true, true",
                " true ",
                "\"true\"",
                "",
                "true;",
                "*",
            ]);
            add(headers, CREDENTIALS, wrong.into());
        }
        7 if random.below(5) == 0 => {
            add(headers, CREDENTIALS, "true".into());
            add(headers, CREDENTIALS, "true".into());
        }
        _ => {}
    }
}
