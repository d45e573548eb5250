//! How often a client is served.

use std::{collections::HashMap, time::Duration};

use http::Method;
use policy_server::{Limits, policy::RateKey};
use proptest::{collection::vec, option, prelude::*};

use super::{
    generate::{PAGE, rate, scenario},
    handlers::Plan,
    site::Site,
};
use crate::{
    exchange::Request,
    law::{Precondition, holds},
};

/// However requests arrive, no one is granted more than the rate within any period, wherever it
/// begins; after a period without grants the next request is granted; preflights are neither
/// counted nor refused; and a refusal says when to try again.
#[test]
fn no_client_exceeds_the_rate_within_any_period() {
    let steps = vec((0_u64..1_000, 0_u8..4, any::<u8>()), 1..18);
    let cases = (scenario(), rate(), option::of(rate()), steps);
    holds("rates", 40, cases, |(mut scenario, app, group, steps)| {
        scenario.app.limits = Some(Limits::NONE.rate(app));
        scenario.group.limits = group.map(|rate| Limits::NONE.rate(rate));
        let rate = group.unwrap_or(app);
        let site = Site::new(&scenario, "/in/maybe");
        // The app counts these clients where the group has no rate of its own.
        let [ada, bob] = ["ada", "bob"].map(|subject| {
            let bearer = site.bearer(subject);
            site.clock.advance(app.per);
            bearer
        });
        let mut granted: HashMap<u8, Vec<Duration>> = HashMap::new();
        let (mut now, mut refusals) = (Duration::ZERO, 0);
        for (pause, who, times) in steps {
            // Mostly at once, sometimes much later.
            let pause =
                Duration::from_millis(if times < 100 { 0 } else { pause }) * u32::from(times / 64);
            site.clock.advance(pause);
            now += pause;
            if who == 3 {
                let preflight = Request::new(Method::OPTIONS, "/in/maybe")
                    .with("origin", PAGE)
                    .with("access-control-request-method", "GET");
                let reply = site.ask(&preflight, &Plan::default());
                prop_assert_ne!(reply.status, 429);
                continue;
            }
            let request = Request::new(Method::GET, "/in/maybe");
            let request = match who {
                0 => request,
                1 => request.with("authorization", &ada),
                _ => request.with("authorization", &bob),
            };
            let reply = site.ask(&request, &Plan::default());
            // All requests come from one address.
            let key = if rate.by == RateKey::Principal { who } else { 0 };
            let before = granted.entry(key).or_default();
            let since = |then: &&Duration| now - **then < rate.per;
            let recent = before.iter().filter(since).count();
            if reply.status == 429 {
                refusals += 1;
                prop_assert!(recent > 0, "refused after {:?}", before);
                let wait = reply.headers.get("retry-after").and_then(|wait| wait.to_str().ok());
                let wait = wait.and_then(|wait| wait.parse::<u64>().ok());
                prop_assert!(wait.is_some_and(|wait| wait > 0), "{:?}", reply);
            } else {
                prop_assert_eq!(reply.status, 200);
                prop_assert!(recent < rate.count as usize, "{} at {:?}: {:?}", recent, now, before);
                before.push(now);
            }
        }
        Ok(Precondition::met_if(refusals > 0))
    });
}
