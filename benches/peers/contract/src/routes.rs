/// A hundred routes, by the number of their parameters.
#[derive(Debug)]
pub struct Routes {
    pub without: Vec<String>,
    pub with_one: Vec<String>,
    pub with_two: Vec<String>,
}

/// Collections and the sub-collection of their items: `/users/{id}/posts/{item}`.
const COLLECTIONS: [(&str, &str); 33] = [
    ("users", "posts"),
    ("accounts", "entries"),
    ("addresses", "changes"),
    ("articles", "comments"),
    ("assets", "versions"),
    ("baskets", "items"),
    ("books", "chapters"),
    ("branches", "commits"),
    ("campaigns", "mails"),
    ("carts", "lines"),
    ("categories", "products"),
    ("channels", "messages"),
    ("courses", "lessons"),
    ("customers", "notes"),
    ("devices", "readings"),
    ("documents", "pages"),
    ("events", "guests"),
    ("groups", "members"),
    ("invoices", "payments"),
    ("issues", "labels"),
    ("jobs", "runs"),
    ("kits", "parts"),
    ("leads", "calls"),
    ("machines", "logs"),
    ("networks", "hosts"),
    ("orders", "refunds"),
    ("plans", "prices"),
    ("projects", "tasks"),
    ("queues", "tickets"),
    ("reports", "charts"),
    ("sites", "visits"),
    ("teams", "roles"),
    ("uploads", "chunks"),
];

/// The hundred routes; `parameter` formats a parameter as the framework's router expects it.
pub fn routes(parameter: impl Fn(&str) -> String) -> Routes {
    let (id, item) = (&parameter("id"), &parameter("item"));
    let each = |path: fn((&str, &str), &str, &str) -> String| {
        COLLECTIONS.iter().map(move |names| path(*names, id, item))
    };
    let without = each(|(all, _), _, _| format!("/{all}"));
    Routes {
        without: without.chain(["/health".to_owned()]).collect(),
        with_one: each(|(all, _), id, _| format!("/{all}/{id}")).collect(),
        with_two: each(|(all, of), id, item| format!("/{all}/{id}/{of}/{item}")).collect(),
    }
}
