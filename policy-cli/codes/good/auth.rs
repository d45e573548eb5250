// The examples in `../bad`, corrected.

mod callers_missing {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    async fn orders() {}
}

mod ticket_method {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(token)]
    async fn orders() {}
}

mod group_not_alone {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(group)]
    async fn orders() {}

    fn admin() -> Group<()> {
        Group::new().auth(AuthRequirement::session().roles(&["admin"])).routes(routes![orders])
    }
}

mod public_not_alone {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(token, scopes = ["orders:read"])]
    async fn orders() {}
}

mod not_a_scheme {
    use policy_server::prelude::*;

    struct ApiKeys;

    impl policy_server::Scheme for ApiKeys {
        const AMBIENT: bool = false;

        async fn authenticate(
            &self,
            _request: &mut policy_server::SchemeRequest<'_>,
        ) -> Result<Option<Identity>, policy_server::AuthError> {
            Ok(None)
        }
    }

    #[get("/orders")]
    #[auth(scheme = ApiKeys)]
    async fn orders() {}
}

mod scheme_not_alone {
    use policy_server::prelude::*;

    struct ApiKeys;

    impl policy_server::Scheme for ApiKeys {
        const AMBIENT: bool = false;

        async fn authenticate(
            &self,
            _request: &mut policy_server::SchemeRequest<'_>,
        ) -> Result<Option<Identity>, policy_server::AuthError> {
            Ok(None)
        }
    }

    #[get("/orders")]
    #[auth(scheme = ApiKeys)]
    async fn orders() {}
}

mod requirement_empty {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(token, scopes = ["orders:read"])]
    async fn orders() {}
}

mod issuers_without_token {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session | token, issuers = ["https://id.example"])]
    async fn orders() {}
}

mod issuer_invalid {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(token, issuers = ["https://id.example"])]
    async fn orders() {}
}

mod scope_invalid {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(token, scopes = ["orders:read", "orders:write"])]
    async fn orders() {}
}

mod role_invalid {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session, roles = ["admin"])]
    async fn orders() {}
}

mod requirement_repeated {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session, roles = ["admin"])]
    async fn orders() {}
}

mod fresh_malformed {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session, fresh = "10m")]
    async fn orders() {}
}

mod fresh_out_of_bounds {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session, fresh = "10m")]
    async fn orders() {}
}

mod cors_without_credentials {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cors(origins = ["https://app.example.com"], credentials)]
    async fn orders() {}
}

mod cors_without_session {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session | token)]
    #[cors(origins = ["https://app.example.com"], credentials)]
    async fn orders() {}
}

mod principal_of_public {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session, optional)]
    async fn orders(user: Option<Principal>) {}
}

mod principal_of_optional {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session, optional)]
    async fn orders(user: Option<Principal>) {}
}

mod principal_of_others {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(token, issuers = ["https://id.example"])]
    async fn orders(user: policy_server::Caller) {}
}
