//! A script is for everybody, is requested by GET, and says which parameter names its function.
use policy_server::{policy::{Grammar, JsonpPolicy}, prelude::*};

const PARTNERS: JsonpPolicy = JsonpPolicy::callback("cb").grammar(Grammar::Identifier).build();

#[get("/nothing")]
#[auth(public)]
#[jsonp]
async fn nothing() {}

#[get("/dots-only")]
#[auth(public)]
#[jsonp(dotted)]
async fn dots_only() {}

#[get("/empty")]
#[auth(public)]
#[jsonp(callback = "")]
async fn empty() {}

#[get("/name")]
#[auth(public)]
#[jsonp(callback = "call back", dotted)]
async fn name() {}

#[get("/word")]
#[auth(public)]
#[jsonp(none)]
async fn word() {}

#[get("/argument")]
#[auth(public)]
#[jsonp(param = "cb", callback)]
async fn argument() {}

#[get("/values")]
#[auth(public)]
#[jsonp(callback = 1, dotted = true)]
async fn values() {}

#[get("/twice")]
#[auth(public)]
#[jsonp(callback = "cb", dotted, dotted, callback = "cb")]
async fn twice() {}

#[get("/text")]
#[auth(public)]
#[jsonp("cb")]
async fn text() {}

#[get("/merged")]
#[auth(public)]
#[jsonp(PARTNERS, dotted)]
async fn merged() {}

#[get("/second")]
#[auth(public)]
#[jsonp(callback = "cb")]
#[jsonp(PARTNERS)]
async fn second() {}

#[get("/methods")]
#[head("/methods")]
#[post("/methods")]
#[delete("/methods")]
#[delete("/others")]
#[auth(public)]
#[jsonp(callback = "cb")]
async fn methods() {}

#[get("/session")]
#[auth(session, optional)]
#[jsonp(callback = "cb")]
async fn session() {}

#[get("/token")]
#[auth(token | session)]
#[jsonp(PARTNERS)]
async fn token(_session: Session) {}

#[get("/scheme")]
#[auth(scheme = ApiKeys)]
#[jsonp(callback = "cb")]
async fn scheme() {}

#[get("/visitor")]
#[auth(public)]
#[jsonp(callback = "cb")]
async fn visitor(_session: Session) {}

#[get("/principal")]
#[auth(public)]
#[jsonp(callback = "cb")]
async fn principal(_principal: Principal) {}

#[get("/protected")]
#[auth(public)]
#[csrf(origin)]
#[jsonp(callback = "cb")]
async fn protected(_sessions: Sessions) {}

#[get("/nobody")]
#[jsonp(callback = "cb")]
async fn nobody() {}

#[jsonp(callback = "cb")]
async fn no_route() {}

fn main() {}
