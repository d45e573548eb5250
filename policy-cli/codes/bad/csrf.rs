//! What the compiler refuses, one mistake a module, named by its code: the pages of `cargo policy
//! code` and the guide show them.
#![deny(deprecated)]
#![allow(dead_code, unused_imports, unused_variables)]

mod exempt_without_reason {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(session)]
    #[csrf(exempt = "")]
    async fn orders() {}
}

mod nothing_to_forge {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(token)]
    #[csrf(token)]
    async fn orders() {}
}

mod without_session {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[csrf(origin)]
    async fn orders() {}
}

fn main() {}
