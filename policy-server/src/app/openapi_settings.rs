//! What the OpenAPI document of an app says of the app as a whole.

/// What the OpenAPI document of an app says of the app as a whole: [`App::openapi_settings`](crate::App::openapi_settings).
///
/// ```
/// use policy_server::{OpenApiSettings, prelude::*};
///
/// let app = App::new(()).openapi_settings(
///     OpenApiSettings::new("Lamps", "1.4.0").description("Everything about lamps."),
/// );
/// let document = app.openapi().unwrap();
/// assert_eq!(document.as_json()["info"]["title"], "Lamps");
/// ```
#[derive(Clone, Debug)]
#[must_use = "they are given to `App::openapi_settings`"]
pub struct OpenApiSettings {
    pub(crate) title: String,
    pub(crate) version: String,
    pub(crate) description: Option<String>,
}

impl OpenApiSettings {
    /// The title of the service, and the version of its interface.
    pub fn new(title: impl Into<String>, version: impl Into<String>) -> Self {
        Self { title: title.into(), version: version.into(), description: None }
    }

    /// A description in `CommonMark`.
    pub fn description(self, text: impl Into<String>) -> Self {
        Self { description: Some(text.into()), ..self }
    }
}

impl Default for OpenApiSettings {
    fn default() -> Self {
        Self::new("API", "0.0.0")
    }
}
