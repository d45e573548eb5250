//! A page and its service on one origin.

mod account;
mod notes;

pub use account::User;
use policy_server::{
    Files, FromRef,
    prelude::*,
    session::{self, SessionSettings},
};

/// The state of the handlers.
pub struct Service {
    user: User,
    notes: notes::Notes,
}

impl FromRef<Service> for User {
    fn from_ref(service: &Service) -> Self {
        service.user.clone()
    }
}

impl FromRef<Service> for notes::Notes {
    fn from_ref(service: &Service) -> Self {
        service.notes.clone()
    }
}

/// The app, for `main` and for tests.
pub fn app(user: User, sessions: SessionSettings) -> App<Service> {
    // The page, wherever a user navigates, but not for what is missing below `/api`.
    let page = Files::new("web").single_page().not_below(["/api"]);
    let api = Group::new()
        .policies(Policies::new().cache(CachePolicy::no_store().build()))
        .routes(routes![session::csrf, account::login, account::logout, account::me])
        .routes(routes![notes::list, notes::add]);
    App::new(Service { user, notes: notes::Notes::default() })
        // Scripts, styles and requests of this origin, and nothing else.
        .policies(Policies::new().headers(HeadersPolicy::PAGES).isolation(Isolation::SameOrigin))
        .sessions(sessions)
        .group("/api", api)
        .fallback(Fallback::files(page).public())
        .health("/healthz")
        .readiness("/readyz")
        .request_ids()
        .access_log()
}
