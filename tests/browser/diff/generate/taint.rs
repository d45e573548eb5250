//! Redirects through other origins that every server allows: the only way to a response whose
//! request had `Origin: null` on its way.

use super::{PATHS, add};
use crate::diff::{case::Case, random::Random};

/// Changes the responses of a case: each server allows the origin that asks, and some lead away.
pub(super) fn lead_away(random: &mut Random, case: &mut Case) {
    for canned in case.all_responses() {
        canned.headers.retain(|(name, _)| {
            !matches!(*name, "access-control-allow-origin" | "access-control-allow-credentials")
        });
        add(&mut canned.headers, "access-control-allow-origin", "{O}".into());
        add(&mut canned.headers, "access-control-allow-credentials", "true".into());
    }
    for route in &mut case.routes {
        let Some(canned) = route.responses.first_mut() else { continue };
        if random.below(2) == 0 || canned.status == 101 {
            continue;
        }
        canned.status = *random.choose(&[301, 302, 303, 307, 307, 308]);
        canned
            .headers
            .retain(|(name, _)| !matches!(*name, "location" | "cache-control" | "x-frame-options"));
        let host = random.choose(&["app.shop.test", "api.shop.test", "evil.test", "shop.co.uk"]);
        let to = random.choose(PATHS);
        add(&mut canned.headers, "location", format!("https://{host}:{{P}}/{{ID}}/{to}"));
        add(&mut canned.headers, "cache-control", "no-store".into());
    }
}
