#[post("/orders")]
#[cors(origins = config("partners", within = BOUND), headers = ["x-a", X_B], methods = METHODS, max_age = AGE)]
#[auth(public)]
async fn create() -> StatusCode {
    StatusCode::CREATED
}
