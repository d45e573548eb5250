//! Origins that no browser sends, and lists that contradict themselves.
use policy_server::prelude::*;

#[get("/one")]
#[auth(public)]
#[cors(origins = [
    "null",
    "file://",
    "app.example.com",
    "https://app.example.com/",
    "https://app.example.com/path",
    "https://user:secret@app.example.com",
    " https://app.example.com",
    "https://App.example.com",
    "https://bücher.example",
    "https://a..example.com",
    "https://xn--.example",
    "https://127.0.0.01",
    "https://*",
    "https://app.*.com",
    "https://app.example.com:99999",
    "https://app.example.com:443",
    "https://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
])]
async fn one() {}

#[get("/any")]
#[cors(origins = ["https://ok.example", "*"])]
#[auth(public)]
async fn any() {}

#[get("/empty")]
#[cors(origins = [])]
#[auth(public)]
async fn empty() {}

#[get("/missing")]
#[cors(max_age = 600)]
#[auth(public)]
async fn missing() {}

#[cors]
#[get("/nothing")]
#[auth(public)]
async fn nothing() {}

#[get("/bound")]
#[cors(origins = config("partners", within = ["https://Partner.example", "null"]))]
#[auth(public)]
async fn bound() {}

#[get("/empty-bound")]
#[cors(origins = config("partners", within = []))]
#[auth(public)]
async fn empty_bound() {}

#[get("/mapped")]
#[cors(origins = ["http://[::ffff:7f7f:7f7f]:90"])]
#[auth(public)]
async fn mapped() {}

fn main() {
    let _ = App::new(()).routes(routes![
        one, any, empty, missing, nothing, bound, empty_bound, mapped
    ]);
}
