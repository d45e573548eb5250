//! What a shared cache may store of personal responses (RFC 9111 3).

use http::{HeaderMap, Method};
use proptest::prelude::*;

use super::{
    generate::{conditions, plan, request, scenario},
    site::Site,
};
use crate::{
    law::{Precondition, holds},
    shared_cache::stored_by,
};

/// Paths whose responses depend on the caller.
const PERSONAL: [&str; 6] =
    ["/my/session", "/my/held", "/token", "/maybe", "/in/maybe", "/my/session"];

/// T7, owners. For a user who is logged in by a session or a token: a response that differs from
/// that to an anonymous client or to another user may not be stored by a shared cache, whatever the
/// app declares, the handler writes and the request contains.
#[test]
fn t07_personal_responses_are_stored_only_for_their_principal() {
    let methods = &[Method::GET, Method::GET, Method::HEAD, Method::POST];
    let cases = (scenario(), plan(), request(methods), conditions(), 0..4, 0..PERSONAL.len() + 1);
    holds(
        "T7, owners",
        28,
        cases,
        |(scenario, plan, mut request, conditions, credential, path)| {
            if let Some(path) = PERSONAL.get(path) {
                request.path = (*path).to_owned();
            }
            let site = Site::new(&scenario, &request.path);
            request.headers.remove("cookie");
            for (name, value) in conditions {
                request = request.with(name, value);
            }
            let of = |subject| match credential {
                0 => request.clone().with("authorization", site.bearer(subject)),
                _ => request.clone().with("cookie", site.cookie(subject)),
            };
            let (ada, bob) = (of("ada"), of("bob"));
            let reply = site.ask(&ada, &plan);
            let is_personal =
                [&bob, &request].into_iter().any(|other| site.ask(other, &plan) != reply);
            if !is_personal {
                return Ok(Precondition::Unmet);
            }
            let by =
                |headers: &HeaderMap| stored_by(&ada.method, &ada.headers, reply.status, headers);
            prop_assert_eq!(by(&reply.headers), None, "a cache keeps {:?}", reply);
            // The precondition: the handler tried to have it shared.
            let mut tried = HeaderMap::new();
            for (name, value) in &plan.fields {
                tried.append(*name, value.parse().expect("a value"));
            }
            Ok(Precondition::met_if(by(&tried).is_some()))
        },
    );
}
