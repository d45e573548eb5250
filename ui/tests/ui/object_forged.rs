//! Nobody but the framework makes an object that is allowed.
use policy_server::{object::View, prelude::*};

struct Order;

fn forged(order: Order) -> Allowed<Order, View> {
    Allowed { object: order, action: std::marker::PhantomData }
}

fn converted(order: Order) -> Allowed<Order> {
    order.into()
}

fn another_action(order: Allowed<Order, View>) -> Allowed<Order, Edit> {
    order
}

fn main() {}
