//! An API for programs, which identify themselves by a key, and for pages of one origin.

mod keys;
mod notes;

pub use keys::ApiKeys;
use policy_server::prelude::*;

/// The pages that may read what is public. Write the origins of yours.
pub const PAGES: &[&str] = &["https://app.example.com"];

/// Of responses without a route, such as 404, so that pages can read these too.
const DEFAULT: CorsPolicy = CorsPolicy::origins(PAGES).build();

/// The app, for `main` and for tests.
pub fn app(keys: ApiKeys) -> App<notes::Notes> {
    App::new(notes::Notes::default())
        .policies(Policies::new().cors(DEFAULT).headers(HeadersPolicy::API))
        .scheme(keys)
        .routes(routes![notes::list, notes::read, notes::add, notes::change])
        .health("/healthz")
        .readiness("/readyz")
        .request_ids()
        .access_log()
}
