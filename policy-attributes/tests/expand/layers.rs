#[any("/orders/{id}")]
#[auth(public)]
#[layer(CompressionLayer::new(), LIMIT.layer())]
async fn order(id: u64) -> String {
    id.to_string()
}
