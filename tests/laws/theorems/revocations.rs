//! Lists of origins that change while the app runs.

use std::{cell::Cell, collections::BTreeMap, time::Duration};

use policy_browser::{CacheMode, Event, Fetch, Page, Redirect, State, Url, step};
use policy_server::{App, CorsPolicy, SharedOrigins};
use proptest::{collection::vec, prelude::*, sample::select, sample::subsequence};

use super::{is_ours, load, met_if, preflights::asking_fetch, reads::START};
use crate::{
    generate,
    law::{assert_usual, holds},
    oracle,
    scenario::{Group, OWN, Scenario, Site},
};

const BOUND: &[&str] = &["https://*.a.test", "https://a.test:*"];

/// The same policy, with its preflights cached by default, not at all, for a while, and for very
/// long.
const POLICIES: [(CorsPolicy, u64); 4] = {
    const fn policy() -> policy_core::cors::CorsPolicyBuilder {
        CorsPolicy::origins_at_run_time("list").within(BOUND).credentials().headers(&["x-a"])
    }
    [
        (policy().build(), 5),
        (policy().max_age(0).build(), 0),
        (policy().max_age(600).build(), 600),
        (policy().max_age(86_400).build(), 86_400),
    ]
};

const PAGES: [&str; 4] =
    ["https://a.test", "https://b.a.test", "https://c.b.a.test", "https://a.test:8443"];
const ENTRIES: &[&str] =
    &["https://a.test", "https://*.a.test", "https://b.a.test", "https://a.test:*"];

#[derive(Clone, Debug)]
enum Deed {
    Load(usize, Fetch),
    Replace(Vec<&'static str>),
    Wait(u64),
}

/// T13, bound of a revocation. From the moment that a list of origins is replaced, every response
/// follows the new list: whatever a page reads, the new list grants. A request whose preflight is
/// not granted any more may still be sent while the browser keeps the old preflight, which is as
/// long as the policy says and no longer than the limit of the engine. After that it reaches no
/// handler. (A browser also shows a stored response to the page that it was granted to until it is
/// stale, and while a 304 confirms it, which leaves its other fields as they are.)
#[test]
fn t13_a_revoked_origin_is_gone_at_once_and_its_preflights_in_time() {
    let page = 0..PAGES.len();
    let replace = || subsequence(ENTRIES, 0..3).prop_map(Deed::Replace);
    let wait = || select(&[1, 4, 5, 599, 600, 3600, 86_400][..]).prop_map(Deed::Wait);
    let deed = prop_oneof![
        2 => (page.clone(), asking_fetch()).prop_map(|(page, fetch)| Deed::Load(page, fetch)),
        1 => replace(),
        1 => wait(),
    ];
    // The same load twice, with the list replaced in between.
    let twice = (page, asking_fetch(), replace(), wait());
    let cases = (twice, generate::profile(), generate::plan(), vec(deed, 0..8));
    let (kept_on, tried) = (Cell::new(0_u64), Cell::new(0_u64));
    let cases = (0..POLICIES.len(), cases);
    holds("T13", 66, cases, |(policy, ((page, fetch, replace, wait), profile, plan, more))| {
        tried.set(tried.get() + 1);
        let again = || Deed::Load(page, fetch.clone());
        let deeds = [again(), replace, wait, again()].into_iter().chain(more);
        let (policy, max_age) = POLICIES[policy];
        let methods = vec!["GET", "POST", "PUT", "DELETE", "PATCH"];
        let group = Group { methods, at_run_time: Some(policy), ..Group::default() };
        let scenario = Scenario { groups: vec![group], default: None, plan };
        let shared = SharedOrigins::new();
        shared.replace(&ENTRIES[..2]).expect("a good list");
        let app = App::new(()).public_origin(OWN).origins("list", &shared);
        let site = Site::with(&scenario, app);
        let kept = Duration::from_secs(max_age).min(profile.preflight_cap);
        let mut state = State::new(profile, START);
        let mut list = ENTRIES[..2].to_vec();
        // When each page was last granted something.
        let mut last_granted: BTreeMap<&str, Duration> = BTreeMap::new();
        let mut was_revoked = false;
        for deed in deeds {
            let grants =
                |page: &str| list.iter().any(|entry| oracle::matches(entry, page.as_bytes()));
            for page in PAGES.iter().filter(|page| grants(page)) {
                last_granted.insert(page, state.now());
            }
            let (page, fetch) = match deed {
                Deed::Load(page, fetch) => (PAGES[page], fetch),
                Deed::Replace(next) => {
                    shared.replace(&next).expect("a good list");
                    list = next;
                    continue;
                }
                Deed::Wait(seconds) => {
                    state = step(state, Event::Elapse(Duration::from_secs(seconds))).0;
                    continue;
                }
            };
            let is_granted = grants(page);
            let tab = Page::at(Url::parse(page).expect("an address"));
            let fetch = fetch.redirect(Redirect::Manual).cache(CacheMode::NoStore);
            let (next, visit) = load(&site, state, &tab, fetch.clone());
            state = next;
            prop_assert!(is_granted || !visit.outcome.is_readable(), "{page} reads: {visit:?}");
            for hop in visit.hops.iter().filter(|hop| is_ours(&hop.sent)) {
                let names = hop.response.headers.contains_key("access-control-allow-origin");
                prop_assert_eq!(names, is_granted, "{} of {:?}: {:?}", page, list, hop);
                if hop.calls > 0 && hop.needs_preflight(&profile, &fetch) && !is_granted {
                    let last = last_granted.get(page).copied().unwrap_or_default();
                    prop_assert!(state.now() < last + kept, "{page} after {kept:?}: {hop:?}");
                    kept_on.set(kept_on.get() + 1);
                }
            }
            was_revoked |= !is_granted && last_granted.contains_key(page);
        }
        met_if(was_revoked)
    });
    assert_usual("T13: a preflight from before is still kept", kept_on.get(), tried.get(), 3);
}
