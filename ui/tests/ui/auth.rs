//! A route states its callers once, in words that the attribute knows.
use policy_server::prelude::*;

#[get("/missing")]
async fn missing() {}

#[get("/empty")]
#[auth()]
async fn empty() {}

#[auth]
#[get("/nothing")]
async fn nothing() {}

#[get("/equals")]
#[auth = "public"]
async fn equals() {}

#[get("/unknown")]
#[auth(cookie)]
async fn unknown() {}

#[get("/from")]
#[auth(token, from = "query", JWT)]
async fn from() {}

#[get("/twice")]
#[auth(public, public)]
async fn twice() {}

#[get("/parts-twice")]
#[auth(token | token, optional, optional, fresh = "1s", fresh = "2s", scopes = ["a"], scopes = ["b"])]
async fn parts_twice() {}

#[get("/schemes-twice")]
#[auth(scheme = Keys, scheme = Keys)]
async fn schemes_twice() {}

#[get("/second")]
#[auth(public)]
#[auth(public)]
async fn second() {}

#[get("/text")]
#[auth("public")]
async fn text() {}

#[get("/comma")]
#[auth(session, token)]
async fn comma() {}

#[get("/and")]
#[auth(session & token)]
async fn and() {}

#[get("/values")]
#[auth(session = true, optional = false)]
async fn values() {}

#[get("/without-values")]
#[auth(session, scopes, roles =, fresh, scheme)]
async fn without_values() {}

#[get("/wrong-values")]
#[auth(session, scopes = "a", roles = "b", fresh = 600)]
async fn wrong_values() {}

fn main() {
    let _ = App::new(()).routes(routes![
        missing,
        empty,
        nothing,
        equals,
        unknown,
        from,
        twice,
        parts_twice,
        schemes_twice,
        second,
        text,
        comma,
        and,
        values,
        without_values,
        wrong_values,
    ]);
}
