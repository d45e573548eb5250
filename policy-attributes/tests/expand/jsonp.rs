#[get("/prices")]
#[jsonp(callback = "callback")]
#[auth(public)]
async fn prices() {}

#[get("/widgets")]
#[jsonp(callback = "cb", dotted)]
#[auth(public)]
async fn widgets() {}

#[get("/partners")]
#[jsonp(PARTNERS)]
#[auth(public)]
async fn partners() {}
