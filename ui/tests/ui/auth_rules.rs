//! The rules about who may call, on literals.
use policy_server::prelude::*;

struct Keys;

#[get("/not-alone")]
#[auth(public, optional)]
async fn not_alone() {}

#[get("/or")]
#[auth(session | public)]
async fn or() {}

#[get("/public-scopes")]
#[auth(public, scopes = ["a"], roles = ["b"], fresh = "1m")]
async fn public_scopes() {}

#[get("/nobody")]
#[auth(optional, scopes = ["a"])]
async fn nobody() {}

#[get("/scheme")]
#[auth(scheme = Keys | token)]
async fn scheme() {}

#[get("/empty")]
#[auth(session, scopes = [], roles = [])]
async fn empty() {}

#[get("/scopes")]
#[auth(token, scopes = ["orders:read", "", "a b", "quote\"", "back\\slash", "\u{e9}"])]
async fn scopes() {}

#[get("/roles")]
#[auth(token, roles = ["admin", "", "line\n", "next\u{85}"])]
async fn roles() {}

#[get("/weeks")]
#[auth(session, fresh = "2w")]
async fn weeks() {}

#[get("/no-unit")]
#[auth(session, fresh = "10")]
async fn no_unit() {}

#[get("/no-number")]
#[auth(session, fresh = "m")]
async fn no_number() {}

#[get("/blank")]
#[auth(session, fresh = "10 m")]
async fn blank() {}

#[get("/zero")]
#[auth(session, fresh = "0s")]
async fn zero() {}

#[get("/year")]
#[auth(session, fresh = "366d")]
async fn year() {}

#[get("/ages")]
#[auth(session, fresh = "99999999999999999999h")]
async fn ages() {}

#[get("/cors")]
#[cors(origins = ["https://app.example"])]
#[auth(session)]
async fn cors() {}

#[get("/cors-any")]
#[cors(origins = ["*"])]
#[auth(session, roles = ["admin"])]
async fn cors_any() {}

#[get("/cors-list")]
#[cors(origins = config("partners"), max_age = 600)]
#[auth(session)]
async fn cors_list() {}

#[post("/ticket")]
#[auth(session | ticket)]
async fn ticket() {}

#[get("/tickets")]
#[post("/tickets")]
#[auth(ticket, roles = ["admin"])]
async fn tickets() {}

#[head("/ticket-head")]
#[auth(token | ticket, optional)]
async fn ticket_head() {}

fn main() {
    let _ = App::new(()).routes(routes![
        not_alone,
        or,
        public_scopes,
        nobody,
        scheme,
        empty,
        scopes,
        roles,
        weeks,
        no_unit,
        no_number,
        blank,
        zero,
        year,
        ages,
        cors,
        cors_any,
        cors_list,
        ticket,
        tickets,
        ticket_head,
    ]);
}
