//! The products, in memory.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use policy_server::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Product {
    id: u64,
    name: String,
    /// In cents.
    price: u32,
    /// Incremented by each change.
    version: u64,
}

impl Product {
    /// The tag of this state of the product.
    pub(crate) fn tag(&self) -> ETag {
        ETag::version(self.version)
    }

    pub(crate) fn is_named(&self, words: &str) -> bool {
        self.name.to_lowercase().contains(&words.to_lowercase())
    }
}

/// The fields that can be changed.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Change {
    name: String,
    price: u32,
}

impl Validate for Change {
    fn validate(&self) -> Result<(), Invalid> {
        let length = self.name.chars().count();
        Invalid::new()
            .check((1..=80).contains(&length), "/name", "must have 1 to 80 characters")
            .check(self.price > 0, "/price", "must be at least 1")
            .result()
    }
}

/// All products.
#[derive(Clone)]
pub(crate) struct Products(Arc<Mutex<BTreeMap<u64, Product>>>);

impl Products {
    pub(crate) fn all(&self) -> Vec<Product> {
        self.lock().values().cloned().collect()
    }

    pub(crate) fn find(&self, id: u64) -> Result<Product, Problem> {
        self.lock().get(&id).cloned().ok_or_else(|| missing(id))
    }

    /// Changes a product if `check` accepts its tag. Both happen under one lock, so no other change
    /// can come in between.
    pub(crate) fn change(
        &self,
        id: u64,
        Change { name, price }: Change,
        check: impl FnOnce(&ETag) -> Result<(), Problem>,
    ) -> Result<Product, Problem> {
        let mut products = self.lock();
        let product = products.get_mut(&id).ok_or_else(|| missing(id))?;
        check(&product.tag())?;
        *product = Product { id, name, price, version: product.version + 1 };
        Ok(product.clone())
    }

    pub(crate) fn remove(&self, id: u64) -> Result<(), Problem> {
        self.lock().remove(&id).map(drop).ok_or_else(|| missing(id))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Product>> {
        // Every change is a single assignment, so a panic elsewhere leaves no partial change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Products {
    fn default() -> Self {
        let names = [
            ("Desk lamp", 4900),
            ("Floor lamp", 12_900),
            ("Reading lamp with a long arm", 7900),
            ("Lantern <outdoor>", 3500),
            ("Bulb, warm white", 450),
            ("Bulb, \"daylight\"", 550),
        ];
        let products = (1..).zip(names).map(|(id, (name, price))| {
            (id, Product { id, name: name.to_owned(), price, version: 1 })
        });
        Self(Arc::new(Mutex::new(products.collect())))
    }
}

fn missing(id: u64) -> Problem {
    Problem::not_found().detail(format!("there is no product {id}"))
}

/// The list as a page. Names are user input, so they are escaped.
pub(crate) fn as_html(products: &[Product]) -> String {
    let mut html = String::from(
        "<!doctype html><html lang=\"en\"><title>Products</title><h1>Products</h1><ul>",
    );
    for Product { name, price, .. } in products {
        let name = name.replace('&', "&amp;").replace('<', "&lt;");
        html += &format!("<li>{name}: {}</li>", euros(*price));
    }
    html + "</ul></html>"
}

/// The list as a file (RFC 4180).
pub(crate) fn as_csv(products: &[Product]) -> String {
    let mut csv = String::from("id,name,price\r\n");
    for Product { id, name, price, .. } in products {
        csv += &format!("{id},\"{}\",{}\r\n", name.replace('"', "\"\""), euros(*price));
    }
    csv
}

fn euros(cents: u32) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}
