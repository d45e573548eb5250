//! What the compiler refuses, one mistake a module, named by its code: the pages of `cargo policy
//! code` and the guide show them.
#![deny(deprecated)]
#![allow(dead_code, unused_imports, unused_variables)]

mod not_an_enum {
    use policy_server::prelude::*;

    #[derive(Problems)]
    struct SoldOut {
        lamp: u64,
    }
}

mod status_missing {
    use policy_server::prelude::*;

    #[derive(Problems)]
    enum OrderError {
        Missing,
    }
}

mod status_invalid {
    use policy_server::prelude::*;

    #[derive(Problems)]
    enum OrderError {
        #[problem(200)]
        Missing,
    }
}

mod code_invalid {
    use policy_server::prelude::*;

    #[derive(Problems)]
    enum OrderError {
        #[problem(409, code = "SoldOut")]
        SoldOut,
    }
}

mod code_taken {
    use policy_server::prelude::*;

    #[derive(Problems)]
    enum OrderError {
        #[problem(404, code = "route.not-found")]
        Missing,
    }
}

mod code_repeated {
    use policy_server::prelude::*;

    #[derive(Problems)]
    enum OrderError {
        #[problem(409, code = "orders.closed")]
        Closed,
        #[problem(410, code = "orders.closed")]
        Cancelled,
    }
}

mod field_expected {
    use policy_server::prelude::*;

    #[derive(Problems)]
    enum OrderError {
        #[problem(internal)]
        Storage,
    }
}

mod decided {
    use policy_server::prelude::*;

    #[derive(Problems)]
    enum OrderError {
        #[problem(internal, code = "orders.storage")]
        Storage(std::io::Error),
    }
}

mod member_name {
    use policy_server::prelude::*;

    #[derive(Problems)]
    enum OrderError {
        #[problem(409, code = "orders.closed")]
        Closed(#[problem(member)] u64),
    }
}

mod undeclared {
    use policy_server::prelude::*;

    struct StorageError;

    impl From<StorageError> for Problem {
        fn from(_: StorageError) -> Self {
            Self::internal("disk 3 is gone")
        }
    }

    #[derive(Problems)]
    enum OrderError {
        #[problem(transparent)]
        Storage(StorageError),
    }
}

fn main() {}
