//! Every form of `#[headers]` and `#[isolation]`.
#![deny(warnings)]

use policy_server::{
    policy::{
        Frame,
        csp::{Directive, Name, Source},
    },
    prelude::*,
};

const SHOP: HeadersPolicy = HeadersPolicy::builder()
    .csp(&[
        Directive(Name::DefaultSrc, &[Source::SelfOrigin]),
        Directive(Name::ScriptSrc, &[Source::Nonce, Source::StrictDynamic]),
        Directive(Name::UpgradeInsecureRequests, &[]),
    ])
    .frame(Frame::Listed(&["https://*.shop.example"]))
    .hsts(63_072_000)
    .include_subdomains()
    .preload()
    .corp("cross-origin")
    .build();

macro_rules! route {
    ($name:ident, $path:literal, $($headers:tt)*) => {
        #[get($path)]
        #[auth(public)]
        #[headers($($headers)*)]
        async fn $name() {}
    };
}

route!(a, "/a", csp = "default-src 'self'; script-src 'self' 'nonce'");
route!(b, "/b", frame = none, referrer = "no-referrer");
route!(c, "/c", frame = same_origin, permissions = ["camera=()", "geolocation=(self)"]);
route!(d, "/d", frame = ["https://app.example", "https://*.shop.example"],);
route!(e, "/e", frame = any, coop = "same-origin", coep = "require-corp", corp = "same-site");
route!(f, "/f", hsts = 63072000, include_subdomains, preload, every_response);
route!(subdomains, "/subdomains", include_subdomains);
route!(g, "/g", csp = "frame-ancestors 'none'; sandbox; trusted-types a");
route!(h, "/h", none);
route!(i, "/i", SHOP);
route!(j, "/j", self::SHOP);
route!(k, "/k", HeadersPolicy::API);

#[get("/l")]
#[auth(public)]
#[cors(origins = ["*"])]
#[headers(SHOP)]
#[isolation(same_origin)]
async fn l() {}

#[get("/m")]
#[auth(public)]
#[cors(none)]
#[headers(corp = "same-origin")]
#[isolation(same_site)]
async fn m() {}

#[get("/n")]
#[auth(public)]
#[isolation(none)]
async fn n() {}

pub(crate) fn app() {
    // A policy need not be a constant.
    let policy = HeadersPolicy::builder()
        .csp(&[Directive(Name::ImgSrc, &[Source::Host("https://cdn.example")])])
        .try_build();
    assert!(policy.is_ok());
    let _ = App::new(()).routes(routes![a, b, c, d, e, f, subdomains, g, h, i, j, k, l, m, n]);
}
