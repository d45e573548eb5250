//! Which fields of a request a response depends on (RFC 9110 12.5.5, RFC 9111 4.1).

use http::{HeaderValue, Method};
use proptest::prelude::*;

use super::{
    generate::{ASKED, plan, request, scenario},
    site::{Reply, Site},
};
use crate::{
    exchange::elements,
    law::{Precondition, holds},
};

/// If another value of one field, or its absence, changes the response, both responses name the
/// field in `Vary`: otherwise a cache would serve one for the other. Exempt are responses that no
/// cache stores, and `Authorization`, which shared caches treat specially (RFC 9111 3.5).
#[test]
fn vary_names_the_fields_that_changed_the_response() {
    // A number beyond the values stands for an absent field.
    let change = (0..ASKED.len() * 3, 0_usize..7, 0_usize..7);
    let cases = (scenario(), plan(), request(&[Method::GET, Method::HEAD]), change, 0..5);
    holds("Vary", 12, cases, |(scenario, plan, mut request, (field, one, other), has_token)| {
        let site = Site::new(&scenario, &request.path);
        if has_token == 0 {
            request = request.with("authorization", site.bearer("ada"));
        }
        let (name, values) = ASKED[if field < ASKED.len() { field } else { field % 4 }];
        let response_for = |value: usize| {
            let mut request = request.clone();
            request.headers.remove(name);
            if let Some(value) = values.get(value) {
                let value = HeaderValue::from_static(value);
                request.headers.insert(name, value);
            }
            site.ask(&site.with_cookie(request), &plan)
        };
        let responses = (response_for(one), response_for(other));
        if responses.0 == responses.1 {
            return Ok(Precondition::Unmet);
        }
        for response in [&responses.0, &responses.1] {
            prop_assert!(
                is_named(name, response) || is_kept_nowhere(response),
                "{name}: {:#?}",
                responses
            );
        }
        Ok(Precondition::Met)
    });
}

fn is_named(name: &str, response: &Reply) -> bool {
    let tokens = elements(&response.headers, "vary");
    tokens.iter().any(|token| token == "*" || token.eq_ignore_ascii_case(name))
}

fn is_kept_nowhere(response: &Reply) -> bool {
    elements(&response.headers, "cache-control").iter().any(|directive| directive == "no-store")
}
