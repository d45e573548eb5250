#[get("/users/<id>")]
#[cors(origins = ["*"], credentials)]
#[cfg(unix)]
fn first<T>(&self2: T) -> String {
    String::new()
}

#[post("/x")]
#[auth(session)]
async fn method(&self) {}

#[auth(public)]
struct NoFunction;
