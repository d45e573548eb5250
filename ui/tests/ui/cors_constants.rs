//! The same rules, behind names: checked while the compiler evaluates constants.
use policy_server::prelude::*;

const ANY: &[&str] = &["https://ok.example", "*"];
const PATH: [&str; 1] = ["https://a.example/path"];
const NULL: &str = "null";
const AGE: i64 = 86_401;

mod lists {
    pub struct Lists;
    pub trait Named {
        const LIST: &'static [&'static str];
    }
    impl Named for Lists {
        const LIST: &'static [&'static str] = &["https://app.example:443"];
    }
    pub static STATIC: [&str; 2] = ["x-a", "cookie"];
    pub const fn list() -> [&'static str; 2] {
        ["PUT", "TRACE"]
    }
}
use lists::Named;

#[get("/1")]
#[cors(origins = ANY, credentials)]
#[auth(public)]
async fn any() {}

#[get("/2")]
#[cors(origins = PATH)]
#[auth(public)]
async fn path() {}

#[get("/3")]
#[cors(origins = ["https://ok.example", NULL, "https://also-ok.example"])]
#[auth(public)]
async fn mixed() {}

#[get("/4")]
#[cors(origins = <lists::Lists as Named>::LIST)]
#[auth(public)]
async fn associated() {}

#[get("/5")]
#[cors(origins = ["https://ok.example"], headers = lists::STATIC)]
#[auth(public)]
async fn headers() {}

#[get("/6")]
#[cors(origins = ["https://ok.example"], methods = lists::list())]
#[auth(public)]
async fn methods() {}

#[get("/7")]
#[cors(origins = ["https://ok.example"], expose = ["etag", concat!("set", "-cookie")])]
#[auth(public)]
async fn expose() {}

#[get("/8")]
#[cors(origins = ["https://ok.example"], max_age = AGE)]
#[auth(public)]
async fn max_age() {}

#[get("/9")]
#[cors(origins = ["https://ok.example"], max_age = 60 * 60 * 25)]
#[auth(public)]
async fn product() {}

#[get("/10")]
#[cors(origins = config("partners", within = PATH))]
#[auth(public)]
async fn within() {}

const EMPTY: &[&str] = &[];
#[get("/11")]
#[cors(origins = EMPTY)]
#[auth(public)]
async fn empty() {}

const PLAIN: [&str; 1] = ["http://a.example"];
#[get("/12")]
#[cors(origins = PLAIN, credentials)]
#[auth(public)]
async fn r#plain() {}

macro_rules! handler {
    ($origins:expr) => {
        #[get("/13")]
        #[cors(origins = $origins)]
        #[auth(public)]
        async fn fragment() {}
    };
}
handler!(PATH);

const SHARED: CorsPolicy = CorsPolicy::origins(&["https://a.example", "*"]).build();
#[get("/14")]
#[cors(SHARED)]
#[auth(public)]
async fn shared() {}

const NAMES: &[&str] = &["x-a", "x b"];
#[get("/15")]
#[cors(extend, headers = NAMES)]
#[auth(public)]
async fn names() {}

fn main() {}
