#[get("/shared")]
#[cors(PARTNERS)]
#[auth(public)]
async fn shared() {}

#[get("/nobody")]
#[cors(none)]
#[auth(public)]
async fn nobody() {}
