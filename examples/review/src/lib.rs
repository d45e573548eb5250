//! The API of a shop, as it is before, in and after a pull request.

use policy_server::prelude::*;

#[get("/products")]
#[auth(public)]
async fn products() -> &'static str {
    "7: lamp"
}

/// What everybody may buy.
#[derive(Object)]
#[rule(View = anyone)]
struct Product {
    #[object(key)]
    number: u64,
}

impl Load for Product {
    type Source = ();

    async fn load(number: &u64, _: &(), _: &()) -> Result<Option<Self>, Problem> {
        Ok((*number == 7).then_some(Self { number: 7 }))
    }
}

#[put("/{product}")]
#[auth(session)]
async fn put_in_cart(product: Allowed<Product>) -> String {
    format!("1 of {}", product.number)
}

/// What one customer bought.
#[derive(Object)]
#[rule(View = owner | role("staff"))]
#[rule(Edit = role("staff"))]
struct Order {
    #[object(key)]
    number: u64,
    #[object(owner)]
    customer: String,
}

impl Load for Order {
    type Source = ();

    async fn load(number: &u64, _: &(), _: &()) -> Result<Option<Self>, Problem> {
        Ok((*number == 7).then(|| Self { number: 7, customer: "ada".to_owned() }))
    }
}

#[post("/orders/{order}/refund")]
#[auth(session)]
async fn refund(order: Allowed<Order, Edit>) -> String {
    format!("{} is refunded", order.number)
}

/// The app, with the policies of the cart: which pages may fill the cart of their visitor.
fn shop(cart: Policies) -> App<()> {
    App::new(())
        .public_origin("https://api.shop.example")
        .sessions(Sessions::memory())
        .routes(routes![products, refund])
        .group("/cart", Group::new().policies(cart).routes(routes![put_in_cart]))
}

/// On the main branch: the pages of the shop may fill it.
pub fn on_main() -> App<()> {
    const PAGES: &[&str] = &["https://www.shop.example"];
    shop(Policies::new().cors(CorsPolicy::origins(PAGES).credentials().build()))
}

/// In the pull request, whose author wants to admit the pages of a sale, too.
pub fn in_pull_request() -> App<()> {
    const PAGES: &[&str] = &["https://*.shop.example"];
    shop(Policies::new().cors(CorsPolicy::origins(PAGES).credentials().build()))
}

/// After the review.
pub fn after_review() -> App<()> {
    const PAGES: &[&str] = &["https://www.shop.example", "https://sale.shop.example"];
    shop(Policies::new().cors(CorsPolicy::origins(PAGES).credentials().build()))
}
