use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// The response of `GET /order`.
pub static ORDER: LazyLock<Order> = LazyLock::new(Order::sample);

/// The body of `POST /order`: about 1 KiB as JSON.
#[derive(Debug, Deserialize, Serialize)]
pub struct Order {
    id: u64,
    customer: Customer,
    lines: Vec<Line>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Customer {
    name: String,
    email: String,
    city: String,
}

#[derive(Debug, Deserialize, Serialize)]
struct Line {
    sku: String,
    name: String,
    quantity: u64,
    price: u64,
}

impl Order {
    /// `benches/rig/rows.py` builds the same.
    fn sample() -> Self {
        let customer = Customer {
            name: "Ada Lovelace".to_owned(),
            email: "ada@example.com".to_owned(),
            city: "London".to_owned(),
        };
        let line = |number| Line {
            sku: format!("SKU-{number:05}"),
            name: format!("A useful thing, model {number:02}"),
            quantity: number,
            price: 1999,
        };
        Self { id: 1001, customer, lines: (1..12).map(line).collect() }
    }

    /// The total of a valid order, as the response.
    pub fn total(&self) -> Option<String> {
        let is_valid = !self.customer.name.is_empty()
            && self.customer.email.contains('@')
            && (1..=100).contains(&self.lines.len())
            && self
                .lines
                .iter()
                .all(|line| !line.sku.is_empty() && (1..=1000).contains(&line.quantity));
        let total: u64 = self.lines.iter().map(|line| line.quantity * line.price).sum();
        is_valid.then(|| total.to_string())
    }
}
