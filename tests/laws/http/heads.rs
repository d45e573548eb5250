//! HEAD (RFC 9110 9.3.2).

use http::Method;
use policy_core_tests::law::{Precondition, holds};
use proptest::prelude::*;

use super::{
    generate::{conditions, plan, request, scenario},
    site::Site,
};

/// T12, HEAD. The response to HEAD is that to GET without the body: the same status, the same
/// fields in the same order, and the length of the body, whatever responds. A `Range` applies to
/// GET only (RFC 9110 14.2).
#[test]
fn t12_head_is_get_without_the_body() {
    let cases = (scenario(), plan(), request(&[Method::GET]), conditions(), any::<bool>());
    holds("T12, HEAD", 19, cases, |(scenario, plan, mut get, conditions, has_token)| {
        let site = Site::new(&scenario, &get.path);
        if has_token {
            get = get.with("authorization", site.bearer("ada"));
        }
        for (name, value) in conditions.into_iter().filter(|(name, _)| *name != "range") {
            get = get.with(name, value);
        }
        let get = site.with_cookie(get);
        let mut head = get.clone();
        head.method = Method::HEAD;
        let (mut whole, without) = (site.ask(&get, &plan), site.ask(&head, &plan));
        prop_assert!(without.body.is_empty(), "{:?}", without);
        prop_assert_eq!(whole.status, without.status);
        // What the connection adds to GET (RFC 9110 8.6), except for a length of 0, which HEAD may
        // omit: a service may have removed the body.
        if let Some(length) = whole.length.filter(|length| *length > 0)
            && !matches!(whole.status, 204 | 304)
        {
            whole.headers.entry("content-length").or_insert(length.into());
        }
        prop_assert_eq!(&whole.headers, &without.headers);
        if let Some(stated) = whole.headers.get("content-length") {
            prop_assert_eq!(stated.to_str().ok(), Some(&*whole.body.len().to_string()));
        }
        let is_content = whole.status == 200 && !whole.body.is_empty();
        Ok(Precondition::met_if(is_content || whole.status == 304))
    });
}
