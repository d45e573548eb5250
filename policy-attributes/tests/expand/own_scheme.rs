#[get("/hooks")]
#[auth(scheme = keys::ApiKeys, optional, scopes = SCOPES)]
#[cors(PARTNERS)]
#[csrf(origin)]
async fn hooks() {}
