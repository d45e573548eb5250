//! Every form of `#[auth]` and `#[csrf]`, and what goes together.
#![deny(warnings)]

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
    pub(super) struct ApiKeys<T>(pub T);
    impl<T: Send + Sync + 'static> policy_server::Scheme for ApiKeys<T> {
        const AMBIENT: bool = false;

        async fn authenticate(
            &self,
            _request: &mut policy_server::SchemeRequest<'_>,
        ) -> Result<Option<policy_server::Identity>, policy_server::AuthError> {
            Ok(None)
        }
    }
}

const PARTNERS: CorsPolicy = CorsPolicy::origins(&["https://app.example"]).credentials().build();
const OPEN: CorsPolicy = CorsPolicy::origins(&["*"]).build();
const READ: &str = "orders:read";
const ROLES: &[&str] = &["admin", "clerk"];

macro_rules! route {
    ($name:ident, $path:literal, $($attribute:tt)*) => {
        #[post($path)]
        $($attribute)*
        async fn $name() {}
    };
}

#[get("/c")]
#[auth(ticket | session | token,)]
async fn c() {}

route!(a, "/a", #[auth(session)]);
route!(b, "/b", #[auth(token)]);
route!(d, "/d", #[auth(optional, token)]);
route!(e, "/e", #[auth(session | token, optional, scopes = ["a", "b"], roles = ["x"], fresh = "10m")]);
route!(f, "/f", #[auth(token, scopes = [READ, concat!("orders", ":write")], roles = ROLES)]);
route!(g, "/g", #[auth(scheme = Basic, scopes = ["a"])]);
route!(h, "/h", #[auth(scheme = keys::ApiKeys<u8>, optional, roles = ["x"])]);
route!(i, "/i", #[auth(session, fresh = "365d")] #[csrf(token)]);
route!(j, "/j", #[csrf(origin)] #[auth(session, fresh = "1s")]);
route!(j2, "/j2", #[auth(session)] #[csrf(origin_else_token)]);
route!(k, "/k", #[auth(session | token)] #[csrf(exempt = "signed by the caller")]);
route!(l, "/l", #[auth(scheme = Basic)] #[csrf(origin)] #[cors(PARTNERS)]);
route!(m, "/m", #[auth(session)] #[cors(PARTNERS)]);
route!(n, "/n", #[auth(session)] #[cors(origins = ["https://app.example"], credentials)]);
route!(o, "/o", #[auth(token)] #[cors(origins = ["*"])]);
route!(p, "/p", #[auth(scheme = keys::ApiKeys<u8>)] #[cors(OPEN)]);
route!(q, "/q", #[auth(session | token)] #[cors(OPEN)]);
route!(r, "/r", #[auth(session)] #[cors(none)]);

#[post("/callback")]
#[auth(public)]
#[csrf(exempt = "state checked")]
async fn callback(_sessions: Sessions) {}

#[post("/logout")]
#[csrf(origin)]
#[auth(token)]
async fn logout(_sessions: Sessions) {}

const PARTNERS_TOO: &[&str] = &["own", "https://partner.example/realms/a"];

#[get("/s")]
#[auth(token | ticket, issuers = ["https://partner.example", "http://localhost:8080/realms/a"])]
async fn s(_caller: Caller) {}

#[get("/t")]
#[auth(session | token, issuers = PARTNERS_TOO, optional)]
async fn t(_caller: Option<Caller>) {}

#[get("/u")]
#[auth(token, issuers = ["own"], scopes = ["a"])]
async fn u(_me: Principal) {}

#[allow(deprecated)]
#[get("/odd")]
#[auth(session | token, scopes = ["a", "a"])]
async fn odd() {}

pub(crate) fn app() {
    let _ = App::new(()).routes(routes![
        a, b, c, d, e, f, g, h, i, j, j2, k, l, m, n, o, p, q, r, s, t, u, callback, logout, odd
    ]);
}
