//! Callers: every state of every credential.

use policy_manifest::engine::{CredentialState, CsrfTokenState, Login, RequestCredentials};
use proptest::{option, prelude::*, sample::select};

use super::apps::{FOREIGN, ROLES, SCOPES, some_of};

pub(crate) fn caller() -> impl Strategy<Value = RequestCredentials> + Clone {
    let csrf = prop_oneof![
        1 => Just(CsrfTokenState::Absent),
        2 => Just(CsrfTokenState::Valid),
        1 => Just(CsrfTokenState::Invalid),
    ];
    (state(false), state(true), state(true), state(false), csrf).prop_map(
        |(session, token, ticket, scheme, csrf)| RequestCredentials {
            session,
            token,
            ticket,
            scheme,
            csrf,
        },
    )
}

fn state(has_issuer: bool) -> impl Strategy<Value = CredentialState> + Clone {
    prop_oneof![
        1 => Just(CredentialState::Absent),
        7 => login(has_issuer).prop_map(CredentialState::Valid),
        1 => Just(CredentialState::Invalid),
        1 => Just(CredentialState::Expired),
        1 => Just(CredentialState::Unchecked),
    ]
}

fn login(has_issuer: bool) -> impl Strategy<Value = Login> + Clone {
    let issuer = option::weighted(0.4, select(&FOREIGN[..]))
        .prop_map(move |issuer| issuer.filter(|_| has_issuer).map(str::to_owned));
    (
        some_of(&SCOPES),
        some_of(&ROLES),
        option::weighted(0.9, select(&[0, 59, 60, 61, 3600][..])),
        issuer,
    )
        .prop_map(|(scopes, roles, age, issuer)| Login { scopes, roles, age, issuer })
}
