//! The list of a user's sessions.

use policy_core::session::Data;
use serde::de::DeserializeOwned;

use crate::auth::CredentialError;
use crate::store::Summary;

impl Summary {
    /// The value of a key in this session; [`Session::get`](crate::Session::get) reads from the
    /// current session.
    ///
    /// # Errors
    ///
    /// The value has another type.
    ///
    /// ```
    /// use policy_server::prelude::*;
    ///
    /// #[get("/devices")]
    /// #[auth(session)]
    /// async fn devices(sessions: Sessions) -> Result<Json<Vec<String>>, Problem> {
    ///     let mut devices = Vec::new();
    ///     for session in sessions.list().await? {
    ///         devices.push(session.get("device")?.unwrap_or_default());
    ///     }
    ///     Ok(Json(devices))
    /// }
    /// # #[post("/login")]
    /// # #[auth(public)]
    /// # async fn login(sessions: Sessions, session: Session) -> Result<(), Problem> {
    /// #     sessions.login("ada").await?;
    /// #     Ok(session.set("device", "phone")?)
    /// # }
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// # let app = App::new(()).sessions(Sessions::memory()).routes(routes![login, devices]);
    /// # let client = app.test();
    /// # let response = client.post("/login").header("sec-fetch-site", "same-origin").send().await;
    /// # let (cookie, _) = response.header("set-cookie").unwrap().split_once(';').unwrap();
    /// # let response = client.get("/devices").header("cookie", cookie).send().await;
    /// # assert_eq!(response.text(), r#"["phone"]"#);
    /// # });
    /// ```
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, CredentialError> {
        match Data::read(&self.data)?.value(key) {
            Some(value) => Ok(Some(serde_json::from_value(value.clone())?)),
            None => Ok(None),
        }
    }
}
