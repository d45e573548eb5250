//! The permissions and additions of each step of a builder.

use std::time::Duration;

use policy_core::{
    Rule,
    cors::{Cors, CorsPolicy, CorsPolicyBuilder, OriginLists},
    limits::{Rate, RateKey},
};

/// Each step of a builder permits one risk and no other.
#[test]
fn a_risk_is_taken_by_its_own_word_alone() {
    type Step = fn(CorsPolicyBuilder) -> CorsPolicyBuilder;
    let steps: [Step; 3] = [
        CorsPolicyBuilder::dangerous_insecure_origins,
        CorsPolicyBuilder::dangerous_public_suffix,
        CorsPolicyBuilder::dangerous_configured_bound,
    ];
    let risks = [
        (CorsPolicy::origins(&["http://shop.example"]), Rule::InsecureOriginWithCredentials),
        (CorsPolicy::origins(&["https://*.github.io"]), Rule::PublicSuffixWithCredentials),
        (CorsPolicy::origins_at_run_time("partners"), Rule::BoundMissing),
    ];
    for (risk, (builder, rule)) in risks.into_iter().enumerate() {
        // Some rules are checked where the policy is built, others when its list is set.
        let is_refused = |builder: CorsPolicyBuilder| match builder.try_build() {
            Err(found) => found.rule == rule,
            Ok(policy) => Cors::new("a test", &policy, &OriginLists::new())
                .err()
                .is_some_and(|errors| errors.errors().iter().any(|error| error.rule() == rule)),
        };
        let builder = builder.credentials();
        assert!(is_refused(builder), "{rule:?}");
        for (number, step) in steps.iter().enumerate() {
            assert_eq!(is_refused(step(builder)), number != risk, "{rule:?}, {number}");
        }
    }
}

#[test]
fn the_last_key_of_a_rate_counts() {
    for by in [RateKey::Address, RateKey::Principal] {
        let rate = Rate::per_hour(9).by_principal().counted_by(by);
        assert_eq!((rate.by, rate.count, rate.per), (by, 9, Duration::from_secs(3600)));
    }
}
