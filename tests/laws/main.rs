//! The laws of cross-origin sharing, on generated policies, apps, requests and pages; in `auth`
//! those of sessions, tokens, CSRF and caches, and in `http` those of HTTP itself.
//!
//! Each law is a test that is named as a statement, with the law in words above it. A law also
//! fails if too few of its cases were interesting. `PROPTEST_CASES` sets their number.
//!
//! # Theorems
//!
//! The laws with a number are about engine and browser together: over every policy that breaks no
//! rule, every page, load and engine of browsers ([`policy_core::browser`]), and handlers that do
//! against the policies what they can. The oracle is `support/oracle.rs`, which reads the text of a
//! policy once more and shares no line with the engine.
//!
//! | | says | tests |
//! |---|---|---|
//! | T1 | what a page reads was granted | `theorems::reads::t01_` |
//! | T2 | what is granted is read, whatever its status | `theorems::reads::t02_` |
//! | T3 | what was not granted in advance reaches no handler | `theorems::preflights::t03_` |
//! | T4 | no page of others writes with what browsers send by themselves | `auth::pages::t04_` |
//! | T5 | credentials are never for everybody | `theorems::origins::t05_` |
//! | T6 | the origin that is named is the one that asked | `theorems::origins::t06_` |
//! | T7 | caches change nothing that a page may read, and keep nobody's for others | `theorems::caches::t07_`, `http::personal::t07_` |
//! | T8 | `Vary` depends on the policy alone | `theorems::origins::t08_` |
//! | T9 | a preflight depends on what it asks alone, and nobody is asked | `theorems::preflights::t09_`, `auth::preflights::t09_` |
//! | T10 | a preflight says what the request will be answered | `theorems::preflights::t10_` |
//! | T11 | what is sent without asking any more was granted | `theorems::preflights::t11_` |
//! | T12 | only a preflight is answered as one; HEAD is GET without the body | `theorems::preflights::t12_`, `http::heads::t12_` |
//! | T13 | what is revoked is gone at once, and its preflights in time | `theorems::revocations::t13_`, `policies::t13_` |
//! | T16 | a handler runs for whom the access matrix lets in, and for nobody where that is not known | `auth::access_matrix::t16_` |
//! | T17 | refusals do not say what is wrong with a credential | `auth::faults_of_tokens::t17_` |
//! | T18 | cookies are kept as they are written, and in no shared cache | `auth::cookies::t18_` |
//! | T19 | isolation refuses what CORS does not grant and nothing else, before anybody is asked | `theorems::isolation::t19_`, `auth::preflights::t19_` |
//! | T20 | what a peer says of itself changes nothing | `theorems::transports::t20_` |
//! | T21 | how a request was sent changes nothing | `theorems::transports::t21_` |
//! | T28 | the response to a preflight is no longer than what policies list | `theorems::preflights::t28_` |
//! | T29 | a script calls a name with JSON, and knows nobody | `http::scripts::t29_` |
//!
//! Missing, because there is nothing yet that they would be about: the strict form of T3 (requests
//! are held against the preflight that they needed), T14 and T15 (policies that only tighten, and
//! their meet), T22 to T24 (explanations), T25 (differences of policies), T26 (manifests) and T27
//! (audits). Of T20, trusted proxies are missing, and of T21 HTTP/3.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what a test cannot do without fails it"
)]

mod auth;
mod cases;
mod generate;
mod http;
mod origins;
mod policies;
mod scenario;
mod server;
mod shared_cache;
mod theorems;

use policy_core_tests::{exchange, law};
use policy_tests::{fetch, oracle};
