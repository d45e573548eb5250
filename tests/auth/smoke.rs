use policy_server::{Clock, http::Method, prelude::*};

#[post("/login")]
#[auth(public)]
async fn login(sessions: Sessions) -> Result<&'static str, Problem> {
    sessions.login("ada").await?;
    Ok("in")
}

#[get("/me")]
#[auth(session)]
async fn me(me: Principal) -> String {
    me.subject().to_owned()
}

#[get("/csrf")]
#[auth(public)]
async fn csrf(token: CsrfToken) -> CsrfToken {
    token
}

#[post("/change")]
#[auth(session)]
async fn change(me: Principal, session: Session) -> Result<String, Problem> {
    session.set("a", 1)?;
    Ok(me.subject().to_owned())
}

#[tokio::test]
async fn smoke() {
    let _ = Method::GET;
    let app = App::new(())
        .public_origin("https://api.example")
        .clock(Clock::at(1_800_000_000))
        .sessions(Sessions::memory())
        .routes(routes![login, me, csrf, change]);
    let client = app.test();
    let response = client.post("/login").origin("https://api.example").send().await;
    println!("{response:?}");
    let cookie = response.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let response = client.get("/me").header("cookie", &cookie).send().await;
    println!("{response:?} {}", response.text());
    assert_eq!(response.text(), "ada");
    let response = client.get("/csrf").header("cookie", &cookie).send().await;
    println!("{response:?} {}", response.text());
    let token = response.text()[10..74].to_owned();
    let change = || client.post("/change").header("cookie", &cookie);
    let response = change().send().await;
    println!("{response:?} {}", response.text());
    let response = change().origin("https://api.example").send().await;
    println!("{response:?} {}", response.text());
    let response =
        change().origin("https://api.example").header("x-csrf-token", &token).send().await;
    println!("{response:?} {}", response.text());
}
