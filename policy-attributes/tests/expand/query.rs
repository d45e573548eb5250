#[query("/orders")]
#[auth(public)]
async fn find(State(db): State<Db>, Json(filter): Json<Filter>) -> Json<Vec<Order>> {
    db.find(filter).await
}
