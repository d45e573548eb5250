//! One resource, one path: which policy decides about a request does not depend on the spelling of
//! its path.
//!
//! Covers parameters, wildcards, fixed paths next to parameters, mounts and services that decode
//! slashes, guarded routes below both, and the fallback.

use std::sync::LazyLock;

use axum::response::IntoResponse;
use policy_core_tests::law::{Precondition, holds};
use policy_server::{
    Request,
    prelude::*,
    testing::{TestClient, TestResponse},
};
use policy_tests::paths::{nginx, rfc3986, router, serve_dir};
use proptest::{collection::vec, prelude::*, sample::select};
use tokio::runtime::Runtime;
use tower::service_fn;

#[get("/reports/salaries")]
#[auth(session)]
async fn salaries() {}

#[get("/reports/{name}")]
#[auth(public)]
async fn report(name: String) -> String {
    format!("report {name}")
}

#[get("/projects/{name:slashes}/plan")]
#[auth(public)]
async fn plan(name: String) -> String {
    format!("plan {name}")
}

#[get("/files/payroll.csv")]
#[auth(session)]
async fn payroll() {}

#[get("/files/a+b/c@d")]
#[auth(session)]
async fn signs() {}

#[get("/admin/users")]
#[auth(session)]
async fn users() {}

#[get("/trees/{*path:slashes}")]
#[auth(public)]
async fn tree(path: String) -> String {
    format!("tree {path}")
}

#[get("/trees/secret/branch")]
#[auth(session)]
async fn branch() {}

/// Paths with a policy of their own, in their plain form.
const PLAIN: [&str; 9] = [
    "/reports/salaries",
    "/files/payroll.csv",
    "/files/a+b/c@d",
    "/admin/users",
    "/trees/secret/branch",
    "/reports/may",
    "/files/x/y.z",
    "/projects/p/plan",
    "/nowhere/at-all",
];

struct Site {
    runtime: Runtime,
    client: TestClient,
}

static SITE: LazyLock<Site> = LazyLock::new(|| {
    let named = |name: &'static str| {
        service_fn(async move |_: Request| Ok::<_, std::convert::Infallible>(name.into_response()))
    };
    let app = App::new(())
        .sessions(Sessions::memory())
        .routes(routes![salaries, report, plan, payroll, signs, users, tree, branch])
        .mount("/files", Mount::new(named("files")).public())
        .mount("/admin", Mount::new(named("admin")).public().encoded_slashes())
        .fallback(Fallback::handler(async |_| "fallback").public());
    let runtime = Runtime::new().expect("a runtime");
    let client = app.test();
    Site { runtime, client }
});

/// What decided about a request: its refusal, or the name that the handler or service returned.
fn decided(path: &str) -> Option<String> {
    let Site { runtime, client } = &*SITE;
    let uri: http::Uri = path.parse().ok()?;
    if uri.path() != path {
        return None;
    }
    let response: TestResponse = runtime.block_on(client.get(path).send());
    let text = response.text();
    Some(match response.status().as_u16() {
        200 => text.split(' ').next().unwrap_or_default().to_owned(),
        status => status.to_string(),
    })
}

/// One change of a spelling.
#[derive(Clone, Copy, Debug)]
enum Trick {
    /// Percent-encodes the byte at this index, with hex digits of this case.
    Code(usize, bool),
    /// Inserts this text before this slash.
    AtSlash(usize, &'static str),
    /// Replaces the slash by this.
    Slash(usize, &'static str),
}

fn trick() -> impl Strategy<Value = Trick> {
    let index = || 0..32_usize;
    prop_oneof![
        6 => (index(), any::<bool>()).prop_map(|(at, upper)| Trick::Code(at, upper)),
        1 => (index(), select(&["/", "/.", "/x/..", "/%2e", "/%2E%2e", "%2f"][..]))
            .prop_map(|(at, text)| Trick::AtSlash(at, text)),
        1 => (index(), select(&["%2f", "%2F", "%2f%2F", "/%2f", "%2F/"][..]))
            .prop_map(|(at, text)| Trick::Slash(at, text)),
    ]
}

fn spelt(plain: &str, tricks: &[Trick]) -> String {
    let mut letters: Vec<String> = plain.chars().map(String::from).collect();
    for trick in tricks {
        let slashes: Vec<usize> = (0..letters.len()).filter(|at| letters[*at] == "/").collect();
        match *trick {
            Trick::Code(at, is_upper) => {
                // The first slash stays.
                let at = 1 + at % (letters.len() - 1);
                if let [byte] = letters[at].as_bytes()
                    && *byte != b'/'
                {
                    letters[at] = match is_upper {
                        true => format!("%{byte:02X}"),
                        false => format!("%{byte:02x}"),
                    };
                }
            }
            Trick::AtSlash(at, text) => {
                if let Some(at) = slashes.get(at % slashes.len().max(1)) {
                    letters[*at] = format!("{text}/");
                }
            }
            Trick::Slash(at, text) => {
                if let Some(at) = slashes.get(1 + at % slashes.len().max(1)) {
                    letters[*at] = text.to_owned();
                }
            }
        }
    }
    letters.concat()
}

/// Whether a standard or a server takes two paths for one resource.
fn are_one(one: &str, other: &str) -> bool {
    fn same<T: PartialEq>(of: impl Fn(&str) -> Option<T>, one: &str, other: &str) -> bool {
        of(one).is_some_and(|resource| of(other) == Some(resource))
    }
    same(rfc3986, one, other)
        || same(router, one, other)
        || same(serve_dir, one, other)
        || same(nginx, one, other)
}

/// Two spellings that RFC 3986, a router, `ServeDir` or nginx take for one resource are decided by
/// the same policy, or the unusual one is refused with 400.
#[test]
fn spellings_of_one_resource_have_one_policy() {
    let cases = (select(&PLAIN[..]), vec(trick(), 1..6));
    holds("one resource, one policy", 50, cases, |(plain, tricks)| {
        let other = spelt(plain, &tricks);
        let Some(found) = decided(&other) else { return Ok(Precondition::Unmet) };
        if other == plain || !are_one(plain, &other) {
            return Ok(Precondition::Unmet);
        }
        let expected = decided(plain);
        prop_assert!(
            found == "400" || Some(&found) == expected.as_ref(),
            "{plain} is decided by {expected:?}, {other} by {found}"
        );
        Ok(Precondition::met_if(found != "400"))
    });
}
