//! `#[derive(Problems)]`: everything that it refuses, on its token.
use policy_server::prelude::*;

#[derive(Problems)]
struct Structure;

#[derive(Problems)]
enum Generic<T> {
    #[problem(404)]
    Missing(T),
}

#[derive(Problems)]
#[problem(404, crate = policy_server, crate = policy_server)]
enum Statuses {
    NoAttribute,
    #[problem]
    NoParentheses,
    #[problem()]
    Empty,
    #[problem(code = "orders.closed")]
    NoStatus,
    #[problem(200)]
    Success,
    #[problem(70000)]
    TooLarge,
    #[problem(-404)]
    Negative,
    #[problem("404")]
    Text,
    #[problem(404, 410)]
    Two,
    #[problem(404 410)]
    NoComma,
}

#[derive(Problems)]
enum Codes {
    #[problem(404, code = "missing")]
    NoArea,
    #[problem(404, code = "orders.Missing")]
    UpperCase,
    #[problem(404, code = "route.not-found")]
    Taken,
    #[problem(404, code = 7)]
    Number,
    #[problem(404, code)]
    NoValue,
    #[problem(404, code = "orders.a", code = "orders.b")]
    Twice,
    #[problem(404, colour = "red", interna)]
    Unknown,
    #[problem(409, code = "orders.closed")]
    Closed,
    #[problem(409, code = "orders.closed")]
    AlsoClosed,
    #[problem(410, code = "orders.closed")]
    OtherStatus,
    #[problem(409, code = "orders.closed", title = "Closed")]
    OtherTitle,
}

#[derive(Problems)]
enum Decided {
    #[problem(internal)]
    NoField,
    #[problem(internal, from)]
    TwoFields(std::io::Error, u8),
    #[problem(404, from)]
    FromNothing,
    #[problem(internal = true)]
    Assigned(std::io::Error),
    #[problem(500, internal, code = "orders.storage", title = "Storage")]
    Both(std::io::Error),
    #[problem(internal, transparent)]
    TwoWords(Invalid),
    #[problem(transparent)]
    Member(#[problem(member = "why")] Invalid),
}

#[derive(Problems)]
enum Members {
    #[problem(409)]
    Unnamed(#[problem(member)] u64),
    #[problem(409)]
    Reserved {
        #[problem(member)]
        r#type: u64,
        #[problem(member = "detail")]
        why: String,
    },
    #[problem(409)]
    Same {
        #[problem(member)]
        order: u64,
        #[problem(member = "order")]
        other: u64,
    },
    #[problem(409)]
    Unknown {
        #[problem(membre)]
        order: u64,
    },
}

#[get("/orders")]
#[auth(public)]
async fn orders() -> Result<(), Codes> {
    Ok(std::fs::read_to_string("orders").map(drop).map_err(|_| Codes::Closed)?)
}

fn main() {
    let _ = App::new(()).routes(routes![orders]);
}
