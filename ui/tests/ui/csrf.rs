//! A protection says what it is, why there is none, and protects something.
use policy_server::prelude::*;

#[post("/nothing")]
#[auth(session)]
#[csrf]
async fn nothing() {}

#[post("/unknown")]
#[auth(session)]
#[csrf(off)]
async fn unknown() {}

#[post("/text")]
#[auth(session)]
#[csrf("token")]
async fn text() {}

#[post("/both")]
#[auth(session)]
#[csrf(origin_else_token, origin)]
async fn both() {}

#[post("/value")]
#[auth(session)]
#[csrf(origin = "https://app.example")]
async fn value() {}

#[post("/second")]
#[auth(session)]
#[csrf(origin)]
#[csrf(token)]
async fn second() {}

#[post("/no-reason")]
#[auth(session)]
#[csrf(exempt)]
async fn no_reason() {}

#[post("/blank-reason")]
#[auth(session)]
#[csrf(exempt = "  ")]
async fn blank_reason() {}

#[post("/named-reason")]
#[auth(session)]
#[csrf(exempt = REASON)]
async fn named_reason() {}

#[post("/token")]
#[auth(token)]
#[csrf(token)]
async fn token() {}

#[get("/ticket")]
#[auth(token | ticket)]
#[csrf(exempt = "tokens only")]
async fn ticket() {}

#[csrf(token)]
async fn no_route() {}

fn main() {
    let _ = App::new(()).routes(routes![
        nothing,
        unknown,
        text,
        both,
        value,
        second,
        no_reason,
        blank_reason,
        named_reason,
        token,
        ticket,
    ]);
}
