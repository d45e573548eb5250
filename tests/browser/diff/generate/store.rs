//! What caches may store.

use policy_browser::{Fetch, Mode};

use super::add;
use crate::diff::{
    case::{Case, Step},
    random::Random,
};

/// Fields for caches.
pub(super) fn store(
    random: &mut Random,
    case: &Case,
    status: u16,
    headers: &mut Vec<(&'static str, String)>,
) {
    const CONTROL: &str = "cache-control";
    let has_range = |fetch: &Fetch| fetch.headers.iter().any(|(name, _)| name == "Range");
    let opens = case.loads().any(|fetch| fetch.mode == Mode::Navigate);
    let is_opaque = |fetch: &Fetch| fetch.mode == Mode::NoCors;
    let is_blocked = opens && case.loads().any(is_opaque);
    let is_keepalive = case.steps.iter().any(|step| matches!(step, Step::Keepalive(_)));
    if status != 200 || case.loads().any(has_range) || is_blocked || is_keepalive {
        return add(headers, CONTROL, "no-store".into());
    }
    match random.below(12) {
        0..6 => return add(headers, CONTROL, "no-store".into()),
        6..8 => add(headers, CONTROL, "max-age=600".into()),
        8..10 => {
            let control = *random.choose(&[
                "no-cache",
                "max-age=0",
                "private, max-age=600",
                "max-age=600, must-revalidate",
                "public",
                "max-age=x",
                "MAX-AGE=600",
                "max-age=\"600\"",
                "no-cache, max-age=600",
                "max-age=600, no-store",
                "immutable, max-age=600",
                "max-age=0, max-age=600",
            ]);
            add(headers, CONTROL, control.into());
        }
        10 => {
            let expires = *random.choose(&["{T600}", "{T-600}", "0", "soon"]);
            add(headers, "expires", expires.into());
        }
        _ => {}
    }
    if random.below(2) == 0 {
        add(headers, "etag", (*random.choose(&["\"1\"", "W/\"1\"", "\"2\""])).into());
    }
    if random.below(3) == 0 {
        add(headers, "last-modified", (*random.choose(&["{T-86400}", "{T-86400}", "x"])).into());
    }
    if random.below(3) == 0 {
        add(headers, "date", (*random.choose(&["{T0}", "{T0}", "{T-3600}"])).into());
    }
    if random.below(4) == 0 {
        let vary =
            *random.choose(&["origin", "*", "x-a", "Cookie", "accept, Origin", "authorization"]);
        add(headers, "vary", vary.into());
    }
    if random.below(12) == 0 {
        add(headers, "age", (*random.choose(&["0", "300", "6000", "x"])).into());
    }
}
