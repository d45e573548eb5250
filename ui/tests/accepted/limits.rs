//! Every form of `#[limit]`.
#![deny(warnings)]

use policy_server::{Limits, Rate, prelude::*};

const UPLOADS: Limits = Limits::NONE.body(1 << 30).concurrency(4);

mod limits {
    pub(super) struct Shared;
    impl Shared {
        pub(super) const PERSONAL: super::Limits =
            super::Limits::NONE.rate(super::Rate::per_day(1_000).by_principal());
    }
}

macro_rules! route {
    ($name:ident, $path:literal, $($limit:tt)*) => {
        #[limit($($limit)*)]
        #[post($path)]
        #[auth(session)]
        async fn $name() {}
    };
}

macro_rules! of_literals {
    ($name:ident, $body:literal, $requests:expr) => {
        #[get("/literals")]
        #[auth(public)]
        #[limit(body = $body, concurrency = $requests)]
        async fn $name() {}
    };
}

route!(a, "/a", body = "1 B");
route!(b, "/b", body = "1MiB", timeout = "500ms",);
route!(c, "/c", rate = "1/s", timeout = "1440m");
route!(d, "/d", rate = "1/d per address", concurrency = 1);
route!(
    e,
    "/e",
    body = "5 kB",
    timeout = "5s",
    rate = "100/min per principal",
    concurrency = 4_294_967_295
);
route!(h, "/h", message = "64 KiB", silence = "5m", sockets = 1_000, sockets_per_caller = 5);
route!(i, "/i", misses = "20/min");
route!(f, "/f", UPLOADS);
route!(g, "/g", limits::Shared::PERSONAL);
of_literals!(literals, "1 GB", 64);

pub(crate) fn app() {
    let _ = App::new(()).routes(routes![a, b, c, d, e, f, g, h, i, literals]);
}
