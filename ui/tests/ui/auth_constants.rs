//! The same rules, behind names: checked while the compiler evaluates constants.
use policy_server::{AuthError, Scheme, SchemeRequest, prelude::*};

struct Basic;
impl Scheme for Basic {
    const AMBIENT: bool = true;

    async fn authenticate(
        &self,
        _request: &mut SchemeRequest<'_>,
    ) -> Result<Option<Identity>, AuthError> {
        Ok(None)
    }
}

mod keys {
    pub struct ApiKeys;
    impl policy_server::Scheme for ApiKeys {
        const AMBIENT: bool = false;

        async fn authenticate(
            &self,
            _request: &mut policy_server::SchemeRequest<'_>,
        ) -> Result<Option<policy_server::Identity>, policy_server::AuthError> {
            Ok(None)
        }
    }
    pub struct NoScheme;
}

const SCOPES: [&str; 2] = ["orders:read", "orders write"];
const EMPTY: &[&str] = &[];
const NAMELESS: &str = "";
const PARTNERS: CorsPolicy = CorsPolicy::origins(&["https://app.example"]).build();

#[get("/1")]
#[auth(session, scopes = SCOPES)]
async fn scopes() {}

#[get("/2")]
#[auth(session, roles = EMPTY)]
async fn roles() {}

#[get("/3")]
#[auth(session, roles = ["admin", NAMELESS])]
async fn one_role() {}

#[get("/4")]
#[cors(PARTNERS)]
#[auth(session)]
async fn shared() {}

#[get("/5")]
#[cors(PARTNERS)]
#[auth(scheme = Basic)]
async fn ambient() {}

#[get("/6")]
#[cors(origins = ["*"])]
#[auth(scheme = Basic, scopes = ["a"])]
async fn ambient_for_everybody() {}

#[post("/7")]
#[auth(scheme = keys::ApiKeys)]
#[csrf(token)]
async fn forged() {}

#[get("/8")]
#[auth(scheme = keys::NoScheme)]
async fn no_scheme() {}

#[get("/9")]
#[auth(token, scopes = 5 + 5)]
async fn number() {}

const ISSUERS: [&str; 2] = ["https://id.example", "id.example"];
const PARTNER: &[&str] = &["https://partner.example"];

#[get("/10")]
#[auth(token, issuers = ISSUERS)]
async fn issuers() {}

#[get("/11")]
#[auth(token, issuers = PARTNER)]
async fn user(_me: Principal) {}

fn main() {}
