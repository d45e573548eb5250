#[derive(Debug, Problems)]
#[problem(crate = my::server)]
enum OrderError {
    #[problem(404)]
    Missing,
    #[problem(409, code = "orders.closed", title = "The order is closed")]
    Closed {
        #[problem(member)]
        order: u64,
        reason: String,
    },
    #[problem(409, code = "orders.held")]
    Held(u64, #[problem(member = "holder")] String),
    #[problem(internal, from)]
    Storage(std::io::Error),
    #[problem(422, from)]
    Number(ParseIntError),
    #[problem(transparent)]
    Payment { error: PaymentError },
}
