//! Policies of Cedar decide about objects: over sockets, at the start, in the lock file, and beside the
//! statements of rules.
#![expect(clippy::expect_used, clippy::panic, reason = "what a test cannot do without fails it")]

mod agreement;
mod policies;
mod service;

use policy_cedar::Cedar;
use policy_server::prelude::*;
use policy_tests::caller_scheme::CallerScheme;

#[derive(Clone, Debug, Object)]
#[rule(View = engine)]
#[rule(Edit = owner(customer) | engine)]
struct Order {
    #[object(key)]
    id: u64,
    #[object(owner)]
    customer: String,
    #[object(owner)]
    clerk: Option<String>,
    #[object(tenant)]
    company: Option<String>,
    #[object(members)]
    readers: Vec<String>,
    #[object(flag)]
    is_closed: bool,
}

impl Load for Order {
    type Source = ();

    /// Orders with an even number are closed.
    async fn load(id: &u64, _: &(), _: &()) -> Result<Option<Self>, Problem> {
        let text = str::to_owned;
        let order = Self {
            id: *id,
            customer: text("ada"),
            clerk: None,
            company: Some(text("acme")),
            readers: vec![text("rita"), text("say \"sam\"")],
            is_closed: id.is_multiple_of(2),
        };
        Ok((*id < 100).then_some(order))
    }
}

#[get("/orders/{id}")]
#[auth(scheme = CallerScheme, optional)]
async fn show(order: Allowed<Order>) -> String {
    order.id.to_string()
}

#[put("/orders/{id}")]
#[auth(scheme = CallerScheme)]
async fn change(order: Allowed<Order, Edit>) -> String {
    order.id.to_string()
}

/// Owners, readers and colleagues view; leads of the company and callers with the scope `edit` edit what is
/// not closed.
const POLICIES: &str = r#"
permit (principal, action == Action::"view", resource is Order) when {
    principal == resource.customer
        || resource.readers.contains(principal)
        || principal has tenant && resource has company && principal.tenant == resource.company
};

permit (principal, action, resource is Order) when {
    principal.roles.contains("lead") && principal has tenant && resource has company
        && principal.tenant == resource.company
        || principal.scopes.contains("orders:all")
};

forbid (principal, action == Action::"edit", resource is Order) when { resource.is_closed };
"#;

fn app(policies: &str) -> App<()> {
    App::new(()).scheme(CallerScheme).engine(Cedar::new(policies)).routes(routes![show, change])
}
