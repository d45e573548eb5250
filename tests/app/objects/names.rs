//! Names of objects in one app.

use super::*;

mod elsewhere {
    use super::*;

    #[derive(Debug, Object)]
    #[rule(View = anyone)]
    pub(super) struct Order {
        #[object(key)]
        pub(super) id: u64,
    }

    impl Load for Order {
        type Source = Orders;

        async fn load(_: &u64, _: &(), _: &Orders) -> Result<Option<Self>, Problem> {
            Ok(None)
        }
    }
}

#[get("/others/{id}")]
#[auth(scheme = CallerScheme)]
async fn other(order: Allowed<elsewhere::Order>) -> String {
    order.id.to_string()
}

#[put("/others/{id}")]
#[auth(scheme = CallerScheme)]
async fn change_other(order: Allowed<elsewhere::Order>) -> String {
    order.id.to_string()
}

/// The problem is reported once, together with all others, wherever handlers take the two types.
#[test]
fn two_types_of_one_name_do_not_start() {
    let orders = Orders::sample();
    let apart = App::new(orders.clone()).scheme(CallerScheme).routes(routes![other, change_other]);
    assert!(apart.check().is_ok());
    let error = app(&orders)
        .group("/group", Group::new().routes(routes![other, change_other]))
        .public_origin("nonsense")
        .check()
        .expect_err("two types");
    let Error::Start(problems) = &error else { panic!("{error}") };
    let twice: Vec<_> =
        problems.iter().filter(|problem| problem.code() == "object.name-repeated").collect();
    let [twice] = twice[..] else { panic!("{error}") };
    assert!(twice.to_string().contains("`Order`"), "{twice}");
    assert!(problems.len() > 1, "{error}");
}
