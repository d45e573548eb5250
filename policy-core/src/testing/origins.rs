//! Origins: of lists, of pages, and other values of an `Origin` field.

use http::HeaderValue;
use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::{Index, select},
};

use super::near::{VARIATIONS, near};
use crate::{cors::CorsConfig, origin::Origin};

/// An entry of a list of origins: one origin, or a pattern with `*.` for names, `*-` in a label or
/// `:*` for ports. There are few labels, so that hosts often share a suffix.
///
/// ```
/// use policy_core::{origin::OriginPattern, testing::any_pattern};
/// use proptest::prelude::*;
///
/// proptest!(|(pattern in any_pattern())| {
///     prop_assert!(OriginPattern::parse(&pattern).is_ok());
/// });
/// ```
pub fn any_pattern() -> impl Strategy<Value = String> + Clone {
    let label = select(&["a", "b", "ab", "evil", "x-1", "_", "xn--xample-9ua"][..]);
    let top = prop_oneof![9 => select(&["test", "b", "localhost"][..]), 1 => Just("test.")];
    let name = (vec(label, 0..3), top)
        .prop_map(|(labels, top)| labels.into_iter().chain([top]).collect::<Vec<_>>().join("."));
    let front = prop_oneof![
        6 => Just(""),
        4 => Just("*."),
        1 => select(&["*-a.", "*-b-a.", "a*-a.", "a-*-a.", "a-x*-a.", "ab-*-b."][..]),
    ];
    let family = (front, name).prop_map(|(front, name)| format!("{front}{name}"));
    let address = select(&["127.0.0.1", "10.0.0.1", "[::1]", "[2001:db8::1]"][..]);
    let host = prop_oneof![8 => family, 1 => address.prop_map(str::to_owned)];
    let scheme = prop_oneof![6 => Just("https"), 3 => Just("http"), 1 => Just("tauri")];
    let port = prop_oneof![6 => Just(""), 2 => Just(":8443"), 1 => Just(":1"), 2 => Just(":*")];
    (scheme, host, port).prop_map(|(scheme, host, port)| format!("{scheme}://{host}{port}"))
}

/// The origin of a page, as browsers write it: `https://a.test`, or `null` where it is opaque.
pub fn any_origin() -> impl Strategy<Value = String> + Clone {
    let tuple = any_pattern().prop_map(|pattern| page_origin(near(&pattern, 0)));
    prop_oneof![15 => tuple, 1 => Just("null".to_owned())]
}

/// The origin of a page, chosen for a policy: one that the policy grants, one that nearly matches,
/// or an unrelated one; as browsers write them.
///
/// ```
/// use policy_core::{cors::CorsConfig, testing::any_origin_for};
/// use proptest::prelude::*;
///
/// let policy = CorsConfig::new(["https://*.shop.example"]);
/// proptest!(|(origin in any_origin_for(&policy))| {
///     prop_assert!(origin == "null" || origin.contains("://"));
/// });
/// ```
pub fn any_origin_for(policy: &CorsConfig) -> impl Strategy<Value = String> + Clone + use<> {
    let origins = policy.origins.clone();
    any_near_origin().prop_map(move |near| page_origin(near.value_for(&origins)))
}

/// A value of `Origin` for a policy, from a client that need not be a browser: also malformed, in
/// another case, or not ASCII.
pub fn any_origin_value_for(
    policy: &CorsConfig,
) -> impl Strategy<Value = HeaderValue> + Clone + use<> {
    let origins = policy.origins.clone();
    any_near_origin().prop_filter_map("a header value", move |near| {
        HeaderValue::try_from(near.value_for(&origins)).ok()
    })
}

/// The origin as a browser writes it; for other values, the opaque origin `null`.
fn page_origin(value: Vec<u8>) -> String {
    let is_written = Origin::parse(&value).is_some();
    let text = String::from_utf8(value).ok().filter(|_| is_written);
    text.unwrap_or_else(|| "null".to_owned())
}

/// An origin near one of some patterns that are not known yet, as [`sample::Index`](Index) is a
/// place in a list that is not known yet. It shrinks better than [`any_origin_for`] with
/// `prop_flat_map`.
#[derive(Clone, Debug)]
pub struct NearOrigin {
    entry: Index,
    variation: usize,
    /// A pattern to be near instead, which need not be in a policy.
    stranger: Option<String>,
}

impl NearOrigin {
    /// The value of the `Origin` field, near one of these patterns; near `https://a.test` where
    /// there are none, or `*` alone.
    pub fn value_for<T: AsRef<str>>(&self, patterns: &[T]) -> Vec<u8> {
        let known = patterns.iter().map(AsRef::as_ref).filter(|pattern| *pattern != "*");
        let known: Vec<&str> = known.collect();
        let chosen = known.get(self.entry.index(known.len().max(1))).copied();
        let chosen = self.stranger.as_deref().or(chosen).unwrap_or("https://a.test");
        near(chosen, self.variation)
    }
}

/// An origin near patterns that are not known yet: every second one matches a pattern, and every
/// fifth is near a pattern that need not be among them.
///
/// ```
/// use policy_core::testing::{any_near_origin, any_policy};
/// use proptest::prelude::*;
///
/// proptest!(|(policy in any_policy(), near in any_near_origin())| {
///     let origin = near.value_for(&policy.origins);
///     prop_assert!(http::HeaderValue::try_from(origin).is_ok());
/// });
/// ```
pub fn any_near_origin() -> impl Strategy<Value = NearOrigin> + Clone {
    let variation = prop_oneof![Just(0), 0..VARIATIONS.len()];
    (any::<Index>(), variation, option::weighted(0.2, any_pattern()))
        .prop_map(|(entry, variation, stranger)| NearOrigin { entry, variation, stranger })
}
