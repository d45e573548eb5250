//! The statements that an app makes at its own risk: cases that the laws leave out, or check only in
//! part.

use policy_manifest::Csrf;

use super::{
    browsing::is_of_other_site,
    declared::{Declaration, Declared, Handler},
    equivalence_classes::example,
    laws::Law,
    sharing::Sharing,
};

/// The statements that a law respects, one per line: route, source, and reason or consequence.
pub(super) fn lines(declared: &Declared, law: Law) -> Vec<String> {
    let mut lines = Vec::new();
    for route in &declared.routes {
        match law {
            Law::NoAmbientWrite => lines.extend(exempt(route)),
            Law::ReadSoundness => {
                let sharing = route.sharing.as_deref();
                lines.extend(sharing.into_iter().flat_map(|all| shared(declared, route, all)));
            }
            Law::Isolation => lines.extend(open(route)),
            _ => (),
        }
    }
    lines
}

fn exempt(route: &Declaration) -> Option<String> {
    match route.csrf() {
        Csrf::Exempt(reason) => Some(format!("outside of it: {}, exempt: {reason}", at(route))),
        _ => None,
    }
}

fn open(route: &Declaration) -> Option<String> {
    (route.is_open && route.is_ambient()).then(|| {
        format!(
            "stated: no isolation on {}: pages of every site may load it with the session of \
             their user",
            at(route)
        )
    })
}

fn shared(declared: &Declared, route: &Declaration, sharing: &Sharing) -> Vec<String> {
    let mut lines: Vec<String> =
        sharing.dangers().map(|danger| format!("stated: {danger} on {}", at(route))).collect();
    if !sharing.has_credentials() || !route.is_ambient() {
        return lines;
    }
    let said_by = &sharing.said_by;
    for origin in &sharing.origins {
        if origin.contains("://*.") {
            lines.push(format!(
                "stated: credentials for {origin} by {said_by} on {}: whoever gets a host below \
                 this name reads it with the session of its user",
                at(route)
            ));
        }
        if is_of_other_site(&example(origin), &declared.own) {
            lines.push(format!(
                "stated: credentials for {origin} by {said_by} on {}: another site reads it with \
                 the session of its user",
                at(route)
            ));
        }
    }
    lines
}

/// A route, and its place in the source.
fn at(route: &Declaration) -> String {
    let (method, path) = (&route.method, route.path());
    match &route.handler {
        Some(Handler { name, place, .. }) => {
            format!("{method} {path} of {name} ({}:{})", place.file, place.line)
        }
        None => format!("{method} {path} of what is mounted at {path}"),
    }
}
