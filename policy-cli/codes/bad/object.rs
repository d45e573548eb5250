//! What the compiler refuses, one mistake a module, named by its code: the pages of `cargo policy
//! code` and the guide show them.
#![deny(deprecated)]
#![allow(dead_code, unused_imports, unused_variables)]

mod unchecked {
    use policy_server::prelude::*;

    #[get("/orders/{id}")]
    #[auth(session)]
    async fn order(id: u64) {}
}

mod reason_missing {
    use policy_server::prelude::*;

    #[get("/boards/{id}")]
    #[auth(session)]
    #[object(none = "")]
    async fn board(id: u64) {}
}

mod reason_unused {
    use policy_server::prelude::*;

    #[get("/boards/{id}")]
    #[auth(public)]
    #[object(none = "every member of the company may read every board")]
    async fn board(id: u64) {}
}

mod recheck_malformed {
    use policy_server::prelude::*;

    #[derive(Object)]
    #[rule(View = owner)]
    struct Order {
        #[object(key)]
        id: u64,
        #[object(owner)]
        customer: String,
    }

    impl Load for Order {
        type Source = ();

        async fn load(_: &u64, _: &(), _: &()) -> Result<Option<Self>, Problem> {
            Ok(None)
        }
    }

    #[get("/orders/{id}/events")]
    #[auth(session)]
    #[object(recheck = "10")]
    async fn events(order: Allowed<Order>) {}
}

mod recheck_out_of_bounds {
    use policy_server::prelude::*;

    #[derive(Object)]
    #[rule(View = owner)]
    struct Order {
        #[object(key)]
        id: u64,
        #[object(owner)]
        customer: String,
    }

    impl Load for Order {
        type Source = ();

        async fn load(_: &u64, _: &(), _: &()) -> Result<Option<Self>, Problem> {
            Ok(None)
        }
    }

    #[get("/orders/{id}/events")]
    #[auth(session)]
    #[object(recheck = "0s")]
    async fn events(order: Allowed<Order>) {}
}

mod recheck_unused {
    use policy_server::prelude::*;

    #[derive(Object)]
    #[rule(View = owner)]
    struct Order {
        #[object(key)]
        id: u64,
        #[object(owner)]
        customer: String,
    }

    impl Load for Order {
        type Source = ();

        async fn load(_: &u64, _: &(), _: &()) -> Result<Option<Self>, Problem> {
            Ok(None)
        }
    }

    #[get("/orders/events")]
    #[auth(session)]
    #[object(recheck = "10s")]
    async fn events(order: Scope<Order>) {}
}

mod without_parameter {
    use policy_server::prelude::*;

    #[derive(Object)]
    #[rule(View = owner)]
    struct Order {
        #[object(key)]
        id: u64,
        #[object(owner)]
        customer: String,
    }

    impl Load for Order {
        type Source = ();

        async fn load(_: &u64, _: &(), _: &()) -> Result<Option<Self>, Problem> {
            Ok(None)
        }
    }

    #[get("/order")]
    #[auth(session)]
    async fn order(order: Allowed<Order>) {}
}

mod parent_missing {
    use policy_server::prelude::*;

    #[derive(Object)]
    #[rule(View = owner)]
    struct Team {
        #[object(key)]
        id: u64,
        #[object(owner)]
        lead: String,
    }

    #[derive(Object)]
    #[rule(View = authenticated)]
    #[object(parent = Team)]
    struct Task {
        #[object(key)]
        id: u64,
    }

    impl Load for Team {
        type Source = ();

        async fn load(_: &u64, _: &(), _: &()) -> Result<Option<Self>, Problem> {
            Ok(None)
        }
    }

    impl Load for Task {
        type Source = ();

        async fn load(_: &u64, _: &Team, _: &()) -> Result<Option<Self>, Problem> {
            Ok(None)
        }
    }

    #[get("/tasks/{id}")]
    #[auth(session)]
    async fn task(task: Allowed<Task>) {}
}

mod rule_missing {
    use policy_server::prelude::*;

    #[derive(Object)]
    #[rule(View = owner)]
    struct Order {
        #[object(key)]
        id: u64,
        #[object(owner)]
        customer: String,
    }

    impl Load for Order {
        type Source = ();

        async fn load(_: &u64, _: &(), _: &()) -> Result<Option<Self>, Problem> {
            Ok(None)
        }
    }

    #[put("/orders/{id}")]
    #[auth(session)]
    async fn change(order: Allowed<Order, Edit>) {}
}

mod list_opaque {
    use policy_server::prelude::*;

    #[derive(Object)]
    #[rule(View = owner | engine)]
    struct Order {
        #[object(key)]
        id: u64,
        #[object(owner)]
        customer: String,
    }

    #[get("/orders")]
    #[auth(session)]
    async fn list(orders: Scope<Order>) -> String {
        orders.sql(1).sql
    }
}

mod not_a_struct {
    use policy_server::prelude::*;

    #[derive(Object)]
    #[rule(View = authenticated)]
    enum Order {
        Open { id: u64 },
    }
}

mod key {
    use policy_server::prelude::*;

    #[derive(Object)]
    #[rule(View = authenticated)]
    struct Order {
        id: u64,
    }
}

mod view_missing {
    use policy_server::prelude::*;

    #[derive(Object)]
    #[rule(Edit = owner)]
    struct Order {
        #[object(key)]
        id: u64,
        #[object(owner)]
        customer: String,
    }
}

mod rule_repeated {
    use policy_server::prelude::*;

    #[derive(Object)]
    #[rule(View = owner)]
    #[rule(View = role("clerk"))]
    struct Order {
        #[object(key)]
        id: u64,
        #[object(owner)]
        customer: String,
    }
}

mod field {
    use policy_server::prelude::*;

    #[derive(Object)]
    #[rule(View = authenticated)]
    struct Order {
        #[object(key)]
        id: u64,
        #[object(author)]
        customer: String,
    }
}

mod condition_malformed {
    use policy_server::prelude::*;

    #[derive(Object)]
    #[rule(View = owner or role("clerk"))]
    struct Order {
        #[object(key)]
        id: u64,
        #[object(owner)]
        customer: String,
    }
}

mod condition_unknown {
    use policy_server::prelude::*;

    #[derive(Object)]
    #[rule(View = owner | group("clerk"))]
    struct Order {
        #[object(key)]
        id: u64,
        #[object(owner)]
        customer: String,
    }
}

mod condition_field {
    use policy_server::prelude::*;

    #[derive(Object)]
    #[rule(View = owner | same(tenant))]
    struct Order {
        #[object(key)]
        id: u64,
        #[object(owner)]
        customer: String,
    }
}

mod condition_too_large {
    use policy_server::prelude::*;

    #[derive(Object)]
    #[rule(View = !!!!!!!!!!!!!!!!owner)]
    struct Order {
        #[object(key)]
        id: u64,
        #[object(owner)]
        customer: String,
    }
}

fn main() {}
