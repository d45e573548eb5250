//! The laws of cross-origin sharing, on generated policies, apps, requests and pages. `auth` has
//! the laws of sessions, tokens, CSRF and caches, `http` those of HTTP itself.
//!
//! Each law is a test whose name states it, with the full law above it. A law also fails if too few
//! of its cases met its precondition. `PROPTEST_CASES` sets the number of cases.
//!
//! # Theorems
//!
//! The numbered laws are about the engine together with a browser: all valid policies, pages, loads
//! and browser engines ([`policy_browser`]), and handlers that work against the policies in every
//! way they can. The oracle is `support/oracle.rs`, which interprets a policy independently and
//! shares no code with the engine.
//!
//! | | law | tests |
//! |---|---|---|
//! | T1 | what a page reads was granted | `theorems::reads::t01_` |
//! | T2 | what is granted is read, whatever its status | `theorems::reads::t02_` |
//! | T3 | what a preflight did not grant reaches no handler | `theorems::preflights::t03_` |
//! | T4 | no foreign page writes with credentials that browsers send automatically | `auth::pages::t04_` |
//! | T5 | credentials are never for everybody | `theorems::origins::t05_` |
//! | T6 | the origin that a response names is that of the request | `theorems::origins::t06_` |
//! | T7 | caches change nothing that a page may read, and share no personal response | `theorems::caches::t07_`, `http::personal::t07_` |
//! | T8 | `Vary` depends on the policy alone | `theorems::origins::t08_` |
//! | T9 | a preflight depends only on what it asks, and asks no store or scheme | `theorems::preflights::t09_`, `auth::preflights::t09_` |
//! | T10 | a preflight agrees with the response to its request | `theorems::preflights::t10_` |
//! | T11 | what is sent without another preflight was granted | `theorems::preflights::t11_` |
//! | T12 | only a preflight is answered as one; HEAD is GET without the body | `theorems::preflights::t12_`, `http::heads::t12_` |
//! | T13 | a revocation takes effect at once, and for cached preflights in time | `theorems::revocations::t13_`, `policies::t13_` |
//! | T16 | a handler runs exactly for those whom the access matrix admits | `auth::access_matrix::t16_` |
//! | T17 | refusals do not reveal what is wrong with a credential | `auth::faults_of_tokens::t17_` |
//! | T18 | browsers keep cookies as they are written, and shared caches none | `auth::cookies::t18_` |
//! | T19 | isolation refuses exactly what CORS does not grant, before authentication | `theorems::isolation::t19_`, `auth::preflights::t19_` |
//! | T20 | what a peer claims about itself changes nothing | `theorems::transports::t20_` |
//! | T21 | how a request was sent changes nothing | `theorems::transports::t21_` |
//! | T22 | what an explanation names decides, and what was not reached can be anything | `manifest::explain::t22_` |
//! | T23 | the nearest request and the edit come true, and what else the edit opens is listed | `manifest::explain::t23_` |
//! | T24 | what changes no decision changes no explanation | `manifest::explain::t24_` |
//! | T25 | what changes from one app to another is what a comparison finds, and nothing else | `manifest::diff::t25_` |
//! | T26 | three ways to decide from a manifest agree | `manifest::t26_` |
//! | T28 | the length of a preflight response is bounded by the lists of its policy | `theorems::preflights::t28_` |
//! | T29 | a script response calls a name with JSON, and is not personal | `http::scripts::t29_` |
//! | T30 | a candidate changes no response, and by the policy in force nothing differs | `manifest::report_only::t30_` |
//!
//! Not covered, because the features do not exist: the strict form of T3 (requests compared with
//! the preflight that they needed), T14 and T15 (policies that only tighten, and their meet). T20
//! omits trusted proxies, and T21 omits HTTP/3. T22 to T26 use the interpreter `manifest/naive`; a
//! law of `policy_tests!` is that an app decides as its manifest says. T27 (a network that changes
//! nothing has no findings) needs proxies and is in `policy-cli/tests/audit/honest.rs`.
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
mod local;
mod manifest;
mod origins;
mod policies;
mod scenario;
mod server;
mod shared_cache;
mod theorems;

use policy_core_tests::{exchange, law};
use policy_tests::{fetch, oracle};
