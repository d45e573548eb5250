// The examples in `../bad`, corrected.

mod not_an_enum {
    use policy_server::prelude::*;

    #[derive(Problems)]
    enum OrderError {
        #[problem(409, code = "orders.sold-out")]
        SoldOut {
            #[problem(member)]
            lamp: u64,
        },
    }
}

mod status_missing {
    use policy_server::prelude::*;

    #[derive(Problems)]
    enum OrderError {
        #[problem(404)]
        Missing,
    }
}

mod status_invalid {
    use policy_server::prelude::*;

    #[derive(Problems)]
    enum OrderError {
        #[problem(404)]
        Missing,
    }
}

mod code_invalid {
    use policy_server::prelude::*;

    #[derive(Problems)]
    enum OrderError {
        #[problem(409, code = "orders.sold-out")]
        SoldOut,
    }
}

mod code_taken {
    use policy_server::prelude::*;

    #[derive(Problems)]
    enum OrderError {
        #[problem(404, code = "orders.unknown")]
        Missing,
    }
}

mod code_repeated {
    use policy_server::prelude::*;

    #[derive(Problems)]
    enum OrderError {
        #[problem(409, code = "orders.closed")]
        Closed,
        #[problem(410, code = "orders.cancelled")]
        Cancelled,
    }
}

mod field_expected {
    use policy_server::prelude::*;

    #[derive(Problems)]
    enum OrderError {
        #[problem(internal)]
        Storage(std::io::Error),
    }
}

mod decided {
    use policy_server::prelude::*;

    #[derive(Problems)]
    enum OrderError {
        #[problem(500, code = "orders.storage")]
        Storage(std::io::Error),
    }
}

mod member_name {
    use policy_server::prelude::*;

    #[derive(Problems)]
    enum OrderError {
        #[problem(409, code = "orders.closed")]
        Closed(#[problem(member = "order")] u64),
    }
}

mod undeclared {
    use policy_server::prelude::*;

    #[derive(Problems)]
    enum StorageError {
        #[problem(internal)]
        Disk(std::io::Error),
    }

    #[derive(Problems)]
    enum OrderError {
        #[problem(transparent)]
        Storage(StorageError),
    }
}
