//! Every form of `#[cors]`.
#![deny(warnings)]

use policy_server::prelude::*;

const PARTNERS: CorsPolicy =
    CorsPolicy::origins(&["https://app.example"]).credentials().max_age(600).build();

mod lists {
    pub(super) struct Lists;
    impl Lists {
        pub(super) const ARRAY: [&'static str; 1] = ["https://a.example"];
    }
    pub(super) trait Named {
        const LIST: &'static [&'static str];
    }
    impl Named for Lists {
        const LIST: &'static [&'static str] = &["https://b.example"];
    }
    pub(super) static STATIC: [&str; 1] = ["https://c.example"];
    pub(super) const fn list() -> [&'static str; 1] {
        ["https://d.example"]
    }
}
use lists::{Lists, Named};

macro_rules! route {
    ($name:ident, $path:literal, $($cors:tt)*) => {
        #[get($path)]
        #[cors($($cors)*)]
        #[auth(public)]
        async fn $name() {}
    };
}

route!(a, "/a", origins = ["https://app.example"], credentials);
route!(b, "/b", origins = &["https://app.example"]);
route!(c, "/c", origins = ["https://*.example", "http://localhost:*"]);
route!(d, "/d", origins = Lists::ARRAY);
route!(e, "/e", origins = <Lists as Named>::LIST, credentials);
route!(f, "/f", origins = lists::STATIC);
route!(g, "/g", origins = lists::list());
route!(h, "/h", origins = [concat!("https://", "y.example"), Lists::ARRAY[0], "https://z.example"]);
route!(i, "/i", origins = config("partners"));
route!(j, "/j", origins = config("partners", within = ["https://*.shop.example"]), credentials);
route!(k, "/k", origins = config("partners", within = Lists::ARRAY), credentials,);
route!(l, "/l", origins = ["*"], headers = ["*"], expose = ["*"], methods = ["*"], max_age = 0);
route!(m, "/m", origins = ["https://a.example"], headers = Lists::LISTED, max_age = -1);
route!(n, "/n", origins = ["http://a.example"], credentials, dangerous_insecure_origins);
route!(o, "/o", origins = ["https://*.github.io"], credentials, dangerous_public_suffix);
route!(
    p,
    "/p",
    origins = ["https://a.example"],
    methods = ["GET", "PUT"],
    expose = ["etag"],
    max_age = 60 * 10
);
route!(q, "/q", PARTNERS);
route!(r, "/r", self::PARTNERS);
route!(s, "/s", CorsPolicy::origins(&["*"]).build());
route!(t, "/t", none);

impl Lists {
    const LISTED: &'static [&'static str] = &["x-request-id"];
}

pub(crate) fn app() {
    let _ =
        App::new(()).routes(routes![a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t]);
}
