//! The services that `cargo policy new` writes pass their own tests. `build.rs` takes them from the
//! templates; `cargo xtask long tutorial` builds them alone, as a user does.

#![expect(
    unreachable_pub,
    clippy::unwrap_used,
    reason = "they are libraries, and tests, of their own"
)]

mod api {
    include!(concat!(env!("OUT_DIR"), "/api/lib.rs"));

    mod program {
        include!(concat!(env!("OUT_DIR"), "/api/main.rs"));

        const _: fn() -> Result<(), Report> = main;
    }

    mod policies {
        include!(concat!(env!("OUT_DIR"), "/api/policies.rs"));
    }
}

mod spa {
    include!(concat!(env!("OUT_DIR"), "/spa/lib.rs"));

    mod program {
        include!(concat!(env!("OUT_DIR"), "/spa/main.rs"));

        const _: fn() -> Result<(), Report> = main;
    }

    mod policies {
        include!(concat!(env!("OUT_DIR"), "/spa/policies.rs"));
    }
}
