//! Handlers that `macro_rules!` makes: fragments come in invisible groups.
#![deny(warnings)]

use policy_server::prelude::*;

const LIST: [&str; 1] = ["https://b.example"];

macro_rules! handler {
    ($path:expr, $name:ident, $argument:ident, $origins:expr, $seconds:expr) => {
        #[get($path)]
        #[cors(origins = $origins, max_age = $seconds)]
        #[auth(public)]
        async fn $name($argument: String) -> String {
            $argument
        }
    };
}

handler!("/one/{x}", one, x, ["https://a.example"], 600);
handler!("/two/{y}", two, y, LIST, -1);

macro_rules! entries {
    ($method:ident, $path:literal, $origin:literal, $policy:path, $item:item) => {
        #[cors(origins = [$origin, "https://c.example"])]
        #[auth(public)]
        #[route($method, $path)]
        $item

        #[get($path)]
        #[cors($policy)]
        #[auth(public)]
        async fn shared() {}
    };
}

const SHARED: CorsPolicy = CorsPolicy::origins(&["https://a.example"]).build();
entries!(PUT, "/three", "https://a.example", self::SHARED, async fn three() {});

macro_rules! list {
    ($($handler:path),*) => { routes![$($handler),*] };
}

pub(crate) fn app() {
    let _ = App::new(()).routes(list![one, two, self::three, shared]);
}
