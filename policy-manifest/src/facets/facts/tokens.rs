//! The tokens of an app.

use std::collections::BTreeMap;

use super::{FactChange, Facts as _, facts, order};
use crate::facets::sets;

facts! {
    /// The tokens of an app.
    TokenFacts {
        /// The issuer of its own tokens, if it signs any.
        issuer: Option<String> => order::unordered,
        /// The audience of its own tokens.
        audience: Option<String> => order::unordered,
        /// The other issuers that it accepts.
        accepts: Vec<IssuerFacts> => issuers,
        /// Whether tokens are also taken from `Sec-WebSocket-Protocol`.
        websocket_protocol: bool => order::opening,
        /// After how many seconds a token that it signs ends.
        lifetime_s: Option<u64> => order::longer_s,
        /// After how many seconds a token ends, whatever it says itself.
        max_lifetime_s: Option<u64> => order::longer_s,
        /// By how many seconds clocks may differ.
        leeway_s: Option<u64> => order::longer_s,
        /// After how many seconds a refresh token ends, from the login on.
        refresh_lifetime_s: Option<u64> => order::longer_s,
        /// For how many seconds a used refresh token gets the same response again.
        refresh_grace_s: Option<u64> => order::longer_s,
        /// For how many seconds known revocations are enough.
        max_staleness_s: Option<u64> => order::longer_s,
        /// Whether tokens are accepted while revocations cannot be checked.
        accepts_stale: bool => order::opening,
        /// Whether refresh tokens and revocations have a store of their own.
        own_store: bool => order::shifting,
    }
}

facts! {
    /// Another issuer that an app accepts.
    IssuerFacts {
        /// Its name, `iss`.
        issuer: String => order::unordered,
        /// The audience of its tokens, if it is not the app's.
        audience: Option<String> => order::unordered,
        /// The address of its keys; none if the code has them.
        jwks: Option<String> => order::unordered,
        /// The digest of the certificate authority that the address is checked by, if it is not one of
        /// the public web.
        authority: Option<String> => order::unordered,
        /// The type of its tokens, `typ`; none for `at+jwt`, and `*` for any.
        typ: Option<String> => order::unordered,
        /// By how many seconds clocks may differ.
        leeway_s: Option<u64> => order::longer_s,
        /// After how many seconds a token ends, whatever it says itself.
        max_lifetime_s: Option<u64> => order::longer_s,
        /// The maximum number of bytes of a token.
        max_len: Option<u64> => order::more,
        /// The claims that name audience, subject, roles and scopes.
        claims: Vec<String> => order::unordered_list,
        /// The claim that names the tenants of its users; none leaves them without one.
        tenant_claim: Option<String> => order::granting,
        /// The claims that a token has to have, each with its value.
        required: Vec<String> => order::requirements,
        /// The roles that it may grant, each with its name in the app.
        roles: Vec<String> => order::members,
        /// The scopes that it may grant, each with its name in the app.
        scopes: Vec<String> => order::members,
        /// Whether it may grant every right.
        trusted_in_full: bool => order::opening,
    }
}

impl IssuerFacts {
    /// The facts of an issuer with this name.
    pub fn new(issuer: &str) -> Self {
        Self { issuer: issuer.to_owned(), ..Self::default() }
    }
}

fn issuers(old: &[IssuerFacts], new: &[IssuerFacts]) -> FactChange {
    let by_name = |list: &[IssuerFacts]| -> BTreeMap<String, IssuerFacts> {
        list.iter().map(|facts| (facts.issuer.clone(), facts.clone())).collect()
    };
    let [old, new] = [by_name(old), by_name(new)];
    let names = |of: &BTreeMap<String, _>| of.keys().cloned().collect();
    let of_names = sets(&names(&old), &names(&new));
    let changed = old.iter().filter_map(|(name, old)| {
        let (direction, words) = old.change(new.get(name)?)?;
        Some((direction, format!("`{name}` {words}")))
    });
    order::join(of_names.into_iter().chain(changed))
}
