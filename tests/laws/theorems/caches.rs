//! What caches do with responses.

use http::Method;
use policy_browser::{Fetch, Outcome, Page, SentRequest, ServerResponse, State, run};
use policy_server::CachePolicy;
use proptest::{option, prelude::*, sample::select};

use super::{ASKED_METHOD, SHARING, is_ours, lines, met_if, reads::START, vary};
use crate::{
    exchange::Request,
    fetch::is_token,
    generate,
    law::holds,
    scenario::{Group, ROUTE, Scenario, Site},
    shared_cache::may_store,
};

/// A shared cache in front of the server that stores as much as it may, each response with its
/// request.
#[derive(Debug, Default)]
struct SharedCache(Vec<(SentRequest, ServerResponse)>);

impl SharedCache {
    fn store(&mut self, sent: &SentRequest, response: &ServerResponse) {
        let ServerResponse { status, headers, .. } = response;
        if may_store(&sent.method, &sent.headers, *status, headers, "cache-control") {
            self.0.push((sent.clone(), response.clone()));
        }
    }

    /// The response that it serves from its store (RFC 9111 4.1). It stores responses to GET only.
    fn response(&self, sent: &SentRequest) -> Option<&ServerResponse> {
        let matches = |(stored, response): &&(SentRequest, ServerResponse)| {
            stored.url == sent.url
                && stored.method == Method::GET
                && sent.method == Method::GET
                && vary(&response.headers).iter().all(|name| {
                    name != "*" && lines(&stored.headers, name) == lines(&sent.headers, name)
                })
        };
        self.0.iter().find(matches).map(|(_, response)| response)
    }
}

/// What a page sees of a load: whether it may read it, and what. CORS fields are left out, since
/// the browser has used them by then: a 304 for a page that sends no `Origin` keeps those of an
/// earlier page.
fn view(outcome: &Outcome) -> (bool, Option<u16>, Vec<String>, Vec<u8>) {
    let response = outcome.response();
    let names = response.iter().flat_map(|response| response.headers.keys());
    let names = names.map(ToString::to_string);
    let mut names: Vec<String> = names.filter(|name| !SHARING.contains(&&**name)).collect();
    names.sort();
    let body = response.map(|response| response.body.clone()).unwrap_or_default();
    (outcome.is_readable(), response.map(|response| response.status), names, body)
}

/// T7, unification by caches. No cache changes what a page may read. Where a shared cache may serve
/// a page a response to another client, or the browser's own cache one to another page, the page
/// sees what the server itself would have sent it.
#[test]
fn t07_caches_change_nothing_that_a_page_may_read() {
    let caches = [
        CachePolicy::public().max_age(600).build(),
        CachePolicy::private().max_age(600).build(),
        CachePolicy::public().no_cache().build(),
    ];
    let policies = (generate::scenario(), option::weighted(0.8, select(caches.to_vec())));
    let cases = (policies, generate::visitor(), generate::visitor());
    holds("T7", 4, cases, |((mut scenario, cache), first, second)| {
        cacheable(&mut scenario, cache);
        let site = Site::new(&scenario);
        let plain = |mut fetch: Fetch| {
            (fetch.method, fetch.body) = ("GET".into(), None);
            fetch
        };
        let (one, two) = (plain(first.fetch.clone()), plain(second.fetch.clone()));
        let (page, other) = (first.page(&scenario), second.page(&scenario));
        let mut shared = SharedCache::default();
        let new = || State::new(second.profile, START);
        let (state, _) = run(new(), Some(&page), one, |sent| {
            let response = site.serve(sent);
            shared.store(sent, &response);
            response
        });
        let load = |state: State, page: &Page, through: Option<&SharedCache>| {
            let mut was_served = false;
            let (_, outcome) = run(state, Some(page), two.clone(), |sent| {
                let stored = through.and_then(|cache| cache.response(sent)).cloned();
                was_served |= stored.is_some() && is_ours(sent);
                stored.unwrap_or_else(|| site.serve(sent))
            });
            (view(&outcome), was_served)
        };
        let (due, _) = load(new(), &other, None);
        let (through, was_served) = load(new(), &other, Some(&shared));
        prop_assert_eq!(&through, &due, "{:?} through {:?}", other.origin, shared);
        let (own, _) = load(state, &other, None);
        prop_assert_eq!(&own, &due, "{:?} after {:?}", other.origin, page.origin);
        met_if(was_served)
    });
}

/// Adds a cache policy to GET.
fn cacheable(scenario: &mut Scenario, cache: Option<CachePolicy>) {
    let policy = scenario.serving("GET").map_or_else(
        || scenario.groups.first().and_then(|group| group.policy.clone()),
        |group| group.policy.clone(),
    );
    for group in &mut scenario.groups {
        group.methods.retain(|method| *method != "GET");
    }
    scenario.groups.retain(|group| !group.methods.is_empty());
    scenario.groups.push(Group { methods: vec!["GET"], policy, cache, ..Group::default() });
}

/// Fields that `Vary` does not name do not change what is shared: two requests that agree in every
/// field it names get the same CORS fields. OPTIONS is not cached (RFC 9110 9.3.7), so that valid
/// preflights are only compared with each other, and so are other OPTIONS requests.
#[test]
fn fields_that_vary_omits_do_not_change_sharing() {
    holds("Vary of CORS", 32, generate::exchange_twice(), |(scenario, request, altered)| {
        let site = Site::new(&scenario);
        let (one, two) = (site.ask(&request), site.ask(&altered));
        let agree = |name: &str| lines(&request.headers, name) == lines(&altered.headers, name);
        let compared = vary(&one.headers).iter().all(|name| name != "*" && agree(name))
            && (request.method != Method::OPTIONS || asks_alike(&request, &altered));
        if compared {
            for name in SHARING {
                let both = (lines(&one.headers, name), lines(&two.headers, name));
                prop_assert_eq!(both.0, both.1, "{}: {:?} and {:?}", name, one, two);
            }
        }
        met_if(compared && request.headers != altered.headers && request.path == ROUTE)
    });
}

/// Whether two OPTIONS requests are of one kind, as above.
fn asks_alike(one: &Request, two: &Request) -> bool {
    let methods = |request: &Request| lines(&request.headers, ASKED_METHOD);
    let asks_well = |request: &Request| match &*methods(request) {
        [method] => is_token(&String::from_utf8_lossy(method)),
        _ => false,
    };
    // Each method has the policy of its route.
    methods(one) == methods(two)
        && one.is_preflight() == two.is_preflight()
        && (!one.is_preflight() || (asks_well(one) && asks_well(two)))
}
