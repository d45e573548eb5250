//! Generated scenarios, pages and requests: mostly valid, often close to a boundary.

use http::{HeaderName, HeaderValue, Method, header::ORIGIN};
use policy_browser::{Fetch, Page, PageOrigin, Profile, ThirdParty, Url};
use policy_core::testing::{NearOrigin, any_near_origin, any_policy, origins_near};
use policy_server::testing::strategies::any_fetch;
use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::{select, subsequence},
};

use crate::{
    exchange::{Policy, Request},
    oracle::{FORBIDDEN_HEADERS, NORMALIZED_METHODS, is_serialized_origin, normalized},
    scenario::{END, Ending, Group, OWN, Plan, ROUTE, Scenario},
};

/// A valid policy.
pub(crate) fn policy() -> impl Strategy<Value = Policy> + Clone {
    any_policy().prop_map(Policy::from)
}

/// A policy with lists of origins, not `*`.
pub(crate) fn listed_policy() -> impl Strategy<Value = Policy> + Clone {
    policy().prop_filter("origins by name", |policy| policy.origins.iter().all(|one| one != "*"))
}

const METHODS: [&str; 8] = ["GET", "POST", "PUT", "DELETE", "PATCH", "QUERY", "PURGE", "OPTIONS"];

/// Headers that handlers write: those that policies control, and others.
const WRITTEN: &[(&str, &str)] = &[
    ("vary", "accept-encoding"),
    ("vary", "accept-language, Cookie"),
    ("vary", "origin"),
    ("vary", "*"),
    ("access-control-allow-origin", "*"),
    ("access-control-allow-origin", "https://evil.test"),
    ("access-control-allow-origin", "null"),
    ("access-control-allow-credentials", "true"),
    ("access-control-allow-methods", "*"),
    ("access-control-allow-headers", "*, authorization"),
    ("access-control-expose-headers", "*"),
    ("access-control-max-age", "86400"),
    ("set-cookie", "c=1"),
    ("x-total", "7"),
    ("etag", "\"1\""),
    ("cache-control", "max-age=60"),
    ("cache-control", "public"),
];

const STATUSES: &[u16] =
    &[204, 206, 301, 304, 400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 500, 503];

/// The behaviour of handlers. Some redirect, within the server or to another one that redirects
/// back.
pub(crate) fn plan() -> impl Strategy<Value = Plan> + Clone {
    let status = prop_oneof![4 => Just(200), 3 => select(STATUSES)];
    let written = subsequence(WRITTEN, 0..6);
    let ending = prop_oneof![
        8 => Just(Ending::Whole),
        1 => Just(Ending::Stream),
        1 => Just(Ending::Panic),
    ];
    let targets = &["/r/end", "/nowhere", "https://evil.test/", "https://api.shop.example/r/end"];
    let redirect =
        option::weighted(0.15, (select(&[302, 303, 307, 308][..]), select(&targets[..])));
    // Each of these cases takes a millisecond.
    let never = prop::bool::weighted(0.02);
    (status, written, ending, redirect, never).prop_map(
        |(status, mut headers, ending, redirect, never)| {
            let status = redirect.map_or(status, |(status, _)| status);
            headers.extend(redirect.map(|(_, target)| ("location", target)));
            let ending = if never { Ending::Never } else { ending };
            Plan { status, headers, ending }
        },
    )
}

/// A scenario with up to three groups of methods, whose policies have much or nothing in common.
pub(crate) fn scenario() -> impl Strategy<Value = Scenario> + Clone {
    let group =
        prop_oneof![3 => Just(Some(0)), 2 => Just(None), 1 => Just(Some(1)), 2 => Just(Some(2))];
    let policies = (option::weighted(0.85, policy()), option::weighted(0.5, policy()), any::<u8>());
    (vec(group, METHODS.len()), policies, option::weighted(0.5, policy()), plan()).prop_map(
        |(places, (one, two, alike), default, plan)| {
            let mut groups = vec![
                Group { policy: one.clone(), ..Group::default() },
                Group { policy: two.clone(), ..Group::default() },
                Group { policy: related(one.or(two), alike), ..Group::default() },
            ];
            for (method, place) in METHODS.into_iter().zip(places) {
                if let Some(group) = place.and_then(|place: usize| groups.get_mut(place)) {
                    group.methods.push(method);
                }
            }
            groups.retain(|group| !group.methods.is_empty());
            if groups.is_empty() {
                groups.push(Group { methods: vec!["GET"], ..Group::default() });
            }
            Scenario { groups, default, plan }
        },
    )
}

/// A copy of a policy, unchanged or with one difference.
fn related(policy: Option<Policy>, number: u8) -> Option<Policy> {
    let mut policy = policy?;
    match number % 6 {
        0 | 1 => {
            let listed = vec!["PUT".to_owned(), "DELETE".to_owned()];
            policy.methods = if policy.methods.is_some() { None } else { Some(listed) };
        }
        2 => policy.headers.clear(),
        3 => policy.credentials = false,
        4 => policy.origins.truncate(1),
        _ => (),
    }
    Some(policy)
}

/// The profile of an engine, as it is or with another setting for third-party cookies.
pub(crate) fn profile() -> impl Strategy<Value = Profile> + Clone {
    let settings = [ThirdParty::Sent, ThirdParty::Partitioned, ThirdParty::Blocked];
    let engines = [Profile::STANDARD, Profile::CHROMIUM, Profile::FIREFOX, Profile::WEBKIT];
    (select(engines.to_vec()), option::of(select(settings.to_vec())))
        .prop_map(|(engine, setting)| setting.map_or(engine, |setting| engine.third_party(setting)))
}

/// A page that loads something from a scenario; its origin is chosen later.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    near: NearOrigin,
    /// Whether its origin is one that the policy of the loaded route names.
    is_expected: bool,
    pub(crate) profile: Profile,
    pub(crate) fetch: Fetch,
}

pub(crate) fn visitor() -> impl Strategy<Value = Visitor> + Clone {
    let names: Vec<&str> = FORBIDDEN_HEADERS.split_whitespace().collect();
    let forbidden = option::weighted(0.1, select(names));
    let parts = (any_near_origin(), any::<bool>(), profile(), any_fetch(OWN), path(), forbidden);
    parts.prop_map(|(near, is_expected, profile, mut fetch, path, forbidden)| {
        fetch.url = format!("{OWN}{path}");
        // No script can set this header: the browser must neither send it nor name it in a
        // preflight.
        fetch = forbidden.into_iter().fold(fetch, |fetch, name| fetch.header(name, "1"));
        Visitor { near, is_expected, profile, fetch }
    })
}

impl Visitor {
    /// The page, with an origin that relates to the policies of a scenario.
    pub(crate) fn page(&self, scenario: &Scenario) -> Page {
        let method = normalized(&self.fetch.method);
        match scenario.policy(ROUTE, &method).and_then(|policy| policy.origins.first()) {
            Some(pattern) if self.is_expected && pattern != "*" => {
                page_of(origins_near(pattern).next().unwrap_or_default())
            }
            _ => self.page_near(&scenario.origins()),
        }
    }

    /// The page, with an origin close to one of these patterns.
    pub(crate) fn page_near<T: AsRef<str>>(&self, patterns: &[T]) -> Page {
        page_of(self.near.value_for(patterns))
    }
}

/// A page of this origin. Browsers send origins in one form only, or `null`.
fn page_of(origin: Vec<u8>) -> Page {
    let origin = String::from_utf8(origin).ok().filter(|text| is_serialized_origin(text));
    let url = origin.as_ref().and_then(|origin| Url::parse(origin).ok());
    let url = url.unwrap_or_else(|| Url::parse("https://page.test").expect("an address"));
    let origin = origin.map_or(PageOrigin::Opaque, PageOrigin::Tuple);
    let mut page = Page::at(url);
    page.origin = origin;
    page
}

/// A scenario and a page that loads from it, often from an origin that a policy grants.
pub(crate) fn visit() -> impl Strategy<Value = (Scenario, Visitor)> + Clone {
    (scenario(), visitor())
}

/// A scenario and a request, which need not come from a browser.
pub(crate) fn exchange() -> impl Strategy<Value = (Scenario, Request)> + Clone {
    (scenario(), request_seed()).prop_map(|(scenario, seed)| {
        let request = seed.request(&scenario);
        (scenario, request)
    })
}

/// A scenario and two requests that differ in the lines of one field only.
pub(crate) fn exchange_twice() -> impl Strategy<Value = (Scenario, Request, Request)> + Clone {
    let field =
        select(&["origin", "access-control-request-method", "access-control-request-headers"][..]);
    (scenario(), request_seed(), request_seed(), field).prop_map(|(scenario, one, two, field)| {
        let request = one.request(&scenario);
        let mut altered = request.clone();
        altered.headers.remove(field);
        for line in two.request(&scenario).headers.get_all(field) {
            altered.headers.append(HeaderName::from_static(field), line.clone());
        }
        (scenario, request, altered)
    })
}

/// A request whose `Origin` lines are chosen for a scenario.
#[derive(Clone, Debug)]
pub(crate) struct RequestSeed {
    method: Method,
    path: &'static str,
    origins: Vec<NearOrigin>,
    others: Vec<(&'static str, &'static str)>,
}

pub(crate) fn request_seed() -> impl Strategy<Value = RequestSeed> + Clone {
    let method = prop_oneof![
        Just(Method::OPTIONS),
        select(&["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "QUERY", "PURGE"][..])
            .prop_map(|name| name.parse().unwrap_or_default()),
    ];
    let origins = prop_oneof![
        1 => Just(vec![]),
        8 => vec(any_near_origin(), 1),
        1 => vec(any_near_origin(), 2),
        1 => any_near_origin().prop_map(|near| vec![near.clone(), near]),
    ];
    let methods = prop_oneof![
        2 => Just(vec![]),
        3 => select(&["PATCH", "patch", "QUERY", "query", "PURGE"][..]).prop_map(|name| vec![name]),
        3 => select(&NORMALIZED_METHODS[..]).prop_map(|name| vec![name]),
        1 => select(&["", "PU T", "\"", "*"][..]).prop_map(|name| vec![name]),
        1 => Just(vec!["GET", "PUT"]),
    ];
    let names = prop_oneof![
        Just(vec![]),
        select(&["x-a", "content-type,x-a", "authorization", ",,x-a , x-b\t", "x y", "*"][..])
            .prop_map(|list| vec![list]),
        Just(vec!["x-a", "x-b"]),
    ];
    (method, path(), origins, methods, names).prop_map(|(method, path, origins, methods, names)| {
        let methods = methods.into_iter().map(|line| ("access-control-request-method", line));
        let names = names.into_iter().map(|line| ("access-control-request-headers", line));
        RequestSeed { method, path, origins, others: methods.chain(names).collect() }
    })
}

impl RequestSeed {
    pub(crate) fn request(&self, scenario: &Scenario) -> Request {
        let mut request = Request::new(self.method.clone(), self.path);
        for near in &self.origins {
            let value = HeaderValue::from_bytes(&near.value_for(&scenario.origins()));
            request.headers.append(ORIGIN, value.expect("a header value"));
        }
        for (name, value) in &self.others {
            let value = HeaderValue::from_static(value);
            request.headers.append(HeaderName::from_static(name), value);
        }
        request
    }
}

pub(crate) fn path() -> impl Strategy<Value = &'static str> + Clone {
    prop_oneof![14 => Just(ROUTE), 1 => Just(END), 1 => Just("/missing")]
}
