#[derive(Object)]
#[object(name = "orders", parent = Team, crate = my::server)]
#[rule(View = owner | member(readers) & draft)]
#[rule(my::Close = with(Order::is_closed_by) & role("lead"))]
#[rule(Edit = engine | owner)]
struct Order {
    #[object(key, column = "order_id")]
    id: u64,
    #[object(owner)]
    user: Option<i64>,
    #[object(members, table = "readers", object = "order_id", user = "person")]
    readers: Vec<String>,
    #[object(flag)]
    draft: bool,
    #[object(version)]
    version: u64,
    note: String,
}

#[put("/teams/{team}/{year}/orders/{order}")]
#[auth(session, optional)]
#[object(none = "years are the same for everyone", recheck = "10s")]
async fn change(
    year: u16,
    team: Allowed<Team>,
    order: Locked<Order, Edit>,
    Json(note): Json<String>,
) -> StatusCode {
    StatusCode::OK
}
