//! A service whose sessions are in a database.
//!
//! `stored PORT URL`, on one worker; `benches/run stores` measures it beside `benches/peers/stored`.

mod logins;

use std::env;

use policy_server::prelude::*;
use tokio::runtime::Builder;

use logins::login;

#[get("/session")]
#[auth(session)]
async fn session(me: Principal) -> String {
    me.subject().to_owned()
}

fn main() -> Result<(), Error> {
    let mut arguments = env::args().skip(1);
    let port = arguments.next().unwrap_or_default();
    let store = arguments.next().unwrap_or_default();
    Builder::new_multi_thread().worker_threads(1).enable_all().build()?.block_on(async {
        let app = App::new(())
            // The peers send none.
            .policies(Policies::new().no_headers())
            .sessions(Sessions::from_url(store).cookie_name("sid"))
            .routes(routes![login, session]);
        let server = app.bind(format!("127.0.0.1:{port}")).await?;
        // On a worker's own thread, like the peers.
        tokio::spawn(server.run()).await.map_err(std::io::Error::other)?
    })
}
