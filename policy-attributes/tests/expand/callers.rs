#[post("/transfer")]
#[auth(token | session, roles = ["clerk", "admin"], fresh = "10m")]
async fn transfer(me: Principal, session: Session) {}

#[post("/callback")]
#[auth(public)]
#[csrf(exempt = "state checked")]
async fn callback(sessions: Sessions) {}
