//! What pages read.

use std::time::Duration;

use policy_browser::{Mode, Page, Redirect, Response, ResponseType, State};
use policy_core::testing::any_pattern;
use proptest::prelude::*;

use super::{Hop, Visit, is_ours, load, met_if};
use crate::{
    exchange::Policy,
    generate::{self, Visitor},
    law::holds,
    oracle,
    scenario::{Group, Scenario, Site},
};

pub(super) const START: Duration = Duration::from_secs(1_800_000_000);

/// The first load of a new browser.
pub(super) fn first_load(site: &Site, visitor: &Visitor, page: &Page) -> Visit {
    let state = State::new(visitor.profile, START);
    load(site, state, page, visitor.fetch.clone()).1
}

/// The response of this server that a page of another origin may read, and the request for it.
fn read(visit: &Visit) -> Option<(&Response, &Hop)> {
    let response = visit.outcome.response().filter(|_| visit.outcome.is_readable())?;
    let last = visit.hops.last().filter(|hop| is_ours(&hop.sent))?;
    (response.kind == ResponseType::Cors).then_some((response, last))
}

/// T1, read soundness. Whatever a page of another origin reads by a script, by any path and
/// whatever the handlers do, is granted by a policy: to its origin, in its credentials mode, and if
/// it needed a preflight, with its method and all headers that it set.
#[test]
fn t01_a_page_reads_only_granted_responses() {
    holds("T1", 11, generate::visit(), |(scenario, visitor)| {
        let (site, page) = (Site::new(&scenario), visitor.page(&scenario));
        let visit = first_load(&site, &visitor, &page);
        let read = read(&visit);
        if let Some((_, hop)) = read {
            prop_assert!(
                hop.is_granted(&scenario, &visitor.profile, &page, &visitor.fetch),
                "{:?} {:?}",
                page.origin,
                visit
            );
        }
        met_if(read.is_some())
    });
}

/// T2, read completeness. A granted load that is not redirected elsewhere is readable: with the
/// server's status, whatever it is, also after a panic or a time-out, and with exactly the exposed
/// and the safelisted headers.
#[test]
fn t02_granted_responses_are_readable_with_any_status() {
    holds("T2", 7, generate::visit(), |(scenario, visitor)| {
        let (site, page) = (Site::new(&scenario), visitor.page(&scenario));
        let visit = first_load(&site, &visitor, &page);
        let Some(first) = visit.hops.first() else { return met_if(false) };
        // The preflight asks for the request that follows it.
        let mut wanted = first.clone();
        if first.sent.is_preflight {
            let method = first.sent.headers["access-control-request-method"].to_str();
            wanted.sent.method = method.expect("a method").parse().expect("a method");
            for (name, value) in &visitor.fetch.headers {
                let name = http::HeaderName::from_bytes(name.as_bytes()).expect("a name");
                wanted.sent.headers.insert(name, value.parse().expect("a value"));
            }
        }
        let leads_elsewhere = visitor.fetch.redirect != Redirect::Follow
            || visit.hops.iter().any(|hop| hop.response.headers.contains_key("location"));
        let is_due = visitor.fetch.mode == Mode::Cors
            && !leads_elsewhere
            && wanted.is_granted(&scenario, &visitor.profile, &page, &visitor.fetch);
        if is_due {
            let Some((response, last)) = read(&visit) else {
                return Err(TestCaseError::fail(format!(
                    "{:?} cannot read {visit:?}",
                    page.origin
                )));
            };
            prop_assert_eq!(response.status, last.response.status, "{:?}", visit);
            let mut names: Vec<String> = response.headers.keys().map(ToString::to_string).collect();
            names.sort();
            let policy = scenario.policy(last.path(), last.sent.method.as_str());
            let due = oracle::visible(policy.expect("a policy"), &last.response.headers);
            prop_assert_eq!(names, due, "{:?}", visit);
        }
        met_if(is_due)
    });
}

/// Policies are monotone: another origin in a list takes nothing away from any page, and gives
/// something only to pages of that origin.
#[test]
fn one_more_origin_only_adds() {
    let cases = (generate::scenario(), generate::listed_policy(), any_pattern());
    let cases = (cases, generate::visitor(), any::<bool>());
    holds("monotony of lists", 4, cases, |((scenario, narrow, more), visitor, near_more)| {
        let with = |origins: Vec<String>| {
            let policy = Policy {
                origins,
                allow_insecure: true,
                allow_public_suffix: true,
                ..narrow.clone()
            };
            let methods = vec!["GET", "POST", "PUT", "PATCH"];
            let groups = vec![Group { methods, policy: Some(policy), ..Group::default() }];
            Scenario { groups, default: None, plan: scenario.plan.clone() }
        };
        let wide = with(narrow.origins.iter().cloned().chain([more.clone()]).collect());
        let page = if near_more {
            visitor.page_near(&[&more])
        } else {
            visitor.page_near(&wide.origins())
        };
        let reads = |scenario: &Scenario| {
            let visit = first_load(&Site::new(scenario), &visitor, &page);
            read(&visit).map(|(response, _)| (response.status, response.headers.clone()))
        };
        let (before, after) = (reads(&with(narrow.origins.clone())), reads(&wide));
        if before.is_some() || !oracle::matches(&more, page.origin.to_string().as_bytes()) {
            prop_assert_eq!(&before, &after);
        }
        met_if(after.is_some() && before.is_none())
    });
}
