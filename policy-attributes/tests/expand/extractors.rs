/// Documented.
#[get("/orders/{id}/items/{item}")]
#[cors(origins = ["https://app.shop.example"], credentials, expose = ["etag"], max_age = 600)]
#[auth(public)]
#[tracing::instrument]
pub async fn order(
    State(db): State<Db>,
    item: u32,
    id: u64,
    Json(patch): Json<Patch>,
) -> Result<Json<Order>, Problem> {
    db.order(id, item, patch).await
}
