//! Validation errors: all errors of a well-formed value.

use std::{borrow::Cow, error::Error, fmt};

use axum_core::response::{IntoResponse, Response};
use policy_core::Refusal;
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::Problem;
use crate::base::escape::printable;

/// The maximum number of errors that are listed.
const MOST: usize = 32;
/// The maximum number of characters of a location, and of a detail.
const LONGEST: usize = 400;

/// The validation errors of a value that a client sent, each with its location. As a response it is
/// a problem with status 422 and code `request.invalid` that lists them as `errors` (RFC 9457 3).
///
/// ```
/// use policy_server::prelude::*;
///
/// #[post("/lamps/{id}/price")]
/// #[auth(public)]
/// async fn price(id: u64, Json(cents): Json<u64>) -> Result<StatusCode, Problem> {
///     Invalid::new()
///         .check(cents > 0, "", "must be at least 1")
///         .check(cents % 5 == 0, "", "must be a multiple of 5")
///         .result()?;
///     Ok(StatusCode::NO_CONTENT)
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(()).routes(routes![price]).test();
/// let response = client.post("/lamps/1/price").json(&7).send().await;
/// assert_eq!(response.status(), 422);
/// assert!(response.text().contains(r#""detail":"must be a multiple of 5""#));
/// # });
/// ```
///
/// A type with such rules implements [`Validate`](crate::handler::extract::Validate), and
/// [`Valid`](crate::handler::extract::Valid) checks it before a handler runs.
///
/// # Locations
///
/// A location is a JSON pointer (RFC 6901): `""` for the whole value, `/items/0/price` for a part.
/// The notation `items[0].price` is accepted too, so errors of other libraries convert in a line or
/// two. With [garde](https://docs.rs/garde):
///
/// ```
/// # mod garde {
/// #     pub struct Error;
/// #     impl Error { pub fn message(&self) -> &str { "lower than 1" } }
/// #     pub struct Report(pub Vec<(String, Error)>);
/// #     impl Report {
/// #         pub fn iter(&self) -> impl Iterator<Item = &(String, Error)> { self.0.iter() }
/// #     }
/// # }
/// use policy_server::Invalid;
///
/// fn invalid(report: &garde::Report) -> Invalid {
///     report.iter().map(|(path, error)| (path.to_string(), error.message().to_owned())).collect()
/// }
/// # let report = garde::Report(vec![("items[0].price".to_owned(), garde::Error)]);
/// # assert_eq!(invalid(&report).to_string(), "`/items/0/price` lower than 1");
/// ```
///
/// With [validator](https://docs.rs/validator):
///
/// ```
/// # mod validator {
/// #     use std::{borrow::Cow, collections::HashMap};
/// #     pub struct ValidationError {
/// #         pub code: Cow<'static, str>,
/// #         pub message: Option<Cow<'static, str>>,
/// #     }
/// #     pub struct ValidationErrors(pub HashMap<Cow<'static, str>, Vec<ValidationError>>);
/// #     impl ValidationErrors {
/// #         pub fn field_errors(&self) -> HashMap<Cow<'static, str>, &Vec<ValidationError>> {
/// #             self.0.iter().map(|(field, errors)| (field.clone(), errors)).collect()
/// #         }
/// #     }
/// # }
/// use policy_server::Invalid;
///
/// fn invalid(errors: &validator::ValidationErrors) -> Invalid {
///     let faults = errors.field_errors().into_iter().flat_map(|(field, errors)| {
///         errors.iter().map(move |error| {
///             (field.clone(), error.message.clone().unwrap_or_else(|| error.code.clone()))
///         })
///     });
///     faults.collect()
/// }
/// # let error = validator::ValidationError { code: "range".into(), message: None };
/// # let errors = validator::ValidationErrors([("price".into(), vec![error])].into());
/// # assert_eq!(invalid(&errors).to_string(), "`/price` range");
/// ```
///
/// # Bounds
///
/// A response lists 32 errors and counts the others. Locations and details are cut after 400
/// characters, so they may quote the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invalid {
    faults: Vec<Fault>,
    unlisted: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    place: Place,
    detail: Cow<'static, str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// A location in a JSON document (RFC 6901).
    Pointer(Cow<'static, str>),
    /// The name of a field of a form or query.
    Field(String),
}

impl Invalid {
    /// Creates a list without errors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an error unless the condition holds. The detail states the rule, such as `must be at
    /// least 1`.
    #[must_use]
    pub fn check(
        self,
        is_kept: bool,
        place: impl Into<Cow<'static, str>>,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        if is_kept { self } else { self.fault(place, detail) }
    }

    /// Adds an error.
    #[must_use]
    pub fn fault(
        mut self,
        place: impl Into<Cow<'static, str>>,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.push(pointer(place.into()), detail.into());
        self
    }

    /// Adds the errors of a part that is validated separately, such as an item of a list.
    ///
    /// ```
    /// use policy_server::Invalid;
    ///
    /// let item = Invalid::new().fault("/price", "must be at least 1").result();
    /// let order = Invalid::new().within("/items/0", item);
    /// assert_eq!(order.to_string(), "`/items/0/price` must be at least 1");
    /// ```
    #[must_use]
    pub fn within(
        mut self,
        place: impl Into<Cow<'static, str>>,
        part: Result<(), Invalid>,
    ) -> Self {
        if let Err(part) = part {
            let outer = pointer(place.into());
            self.unlisted += part.unlisted;
            for Fault { place, detail } in part.faults {
                self.push(format!("{outer}{place}").into(), detail);
            }
        }
        self
    }

    /// Whether there are no errors.
    pub fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// Returns the errors, if there are any.
    ///
    /// # Errors
    ///
    /// The errors.
    pub fn result(self) -> Result<(), Self> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }

    /// The same errors for a form or a query, whose parts have names.
    pub(crate) fn in_fields(mut self) -> Self {
        for fault in &mut self.faults {
            if let Place::Pointer(pointer) = &fault.place {
                let name = pointer.strip_prefix('/').unwrap_or_default();
                fault.place = Place::Field(name.replace("~1", "/").replace("~0", "~"));
            }
        }
        self
    }

    /// Adds the errors to a problem, whose title says what they have in common.
    pub(crate) fn list_in(&self, problem: Problem) -> Problem {
        let problem = problem.with("errors", &self.faults);
        match self.unlisted {
            0 => problem,
            more => problem.detail(format!("{more} more are not listed")),
        }
    }

    fn push(&mut self, pointer: Cow<'static, str>, detail: Cow<'static, str>) {
        if self.faults.len() == MOST {
            self.unlisted += 1;
        } else {
            self.faults.push(Fault { place: Place::Pointer(cut(pointer)), detail: cut(detail) });
        }
    }
}

/// The location as a JSON pointer, from a pointer or from `items[0].price`.
fn pointer(place: Cow<'static, str>) -> Cow<'static, str> {
    if place.is_empty() || place.starts_with('/') {
        return place;
    }
    let steps = place.split(['.', '[', ']']).filter(|step| !step.is_empty());
    steps.fold(String::new(), |pointer, step| pointer + "/" + &escaped(step)).into()
}

/// A reference token of a JSON pointer, escaped (RFC 6901 3).
pub(crate) fn escaped(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}

fn cut(text: Cow<'static, str>) -> Cow<'static, str> {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}..", text.get(..end).unwrap_or_default()).into(),
        None => text,
    }
}

/// Pairs of a location and a detail.
impl<P, D> FromIterator<(P, D)> for Invalid
where
    P: Into<Cow<'static, str>>,
    D: Into<Cow<'static, str>>,
{
    fn from_iter<I: IntoIterator<Item = (P, D)>>(faults: I) -> Self {
        faults
            .into_iter()
            .fold(Self::new(), |invalid, (place, detail)| invalid.fault(place, detail))
    }
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Self {
        invalid.list_in(Self::from(Refusal::RequestInvalid))
    }
}

impl IntoResponse for Invalid {
    fn into_response(self) -> Response {
        Problem::from(self).into_response()
    }
}

impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        match &self.place {
            Place::Pointer(pointer) => object.serialize_entry("pointer", pointer)?,
            // An error that concerns the whole form.
            Place::Field(name) if name.is_empty() => {}
            Place::Field(name) => object.serialize_entry("field", name)?,
        }
        object.serialize_entry("detail", &self.detail)?;
        object.end()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pointer(pointer) => pointer,
            Self::Field(name) => name,
        })
    }
}

/// For logs: on one line, with everything quoted escaped.
impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Fault { place, detail }) in self.faults.iter().enumerate() {
            let separator = if number == 0 { "" } else { "; " };
            write!(f, "{separator}`{}` {}", printable(&place.to_string()), printable(detail))?;
        }
        match self.unlisted {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl Error for Invalid {}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use serde_json::{Value, json};

    use super::*;

    async fn render(invalid: Invalid) -> Value {
        let body = invalid.into_response().into_body().collect().await.unwrap().to_bytes();
        serde_json::from_slice(&body).unwrap()
    }

    #[tokio::test]
    async fn all_faults_are_listed_with_their_places() {
        let invalid = Invalid::new()
            .check(true, "/kept", "is fine")
            .check(false, "/price", "must be at least 1")
            .fault("items[1].name", "must not be empty");
        assert_eq!(
            render(invalid.clone()).await,
            json!({
                "type": "about:blank", "title": "The request breaks a rule", "status": 422,
                "code": "request.invalid",
                "errors": [
                    {"pointer": "/price", "detail": "must be at least 1"},
                    {"pointer": "/items/1/name", "detail": "must not be empty"},
                ],
            })
        );
        assert_eq!(
            render(invalid.in_fields()).await["errors"],
            json!([
                {"field": "price", "detail": "must be at least 1"},
                {"field": "items/1/name", "detail": "must not be empty"},
            ])
        );
    }

    #[test]
    fn valid_values_have_no_errors() {
        assert_eq!(Invalid::new().check(true, "/price", "must be at least 1").result(), Ok(()));
        assert_eq!(Invalid::new().within("/items/0", Ok(())).result(), Ok(()));
    }

    #[test]
    fn places_become_pointers() {
        for (place, wanted) in [
            ("", ""),
            ("/a~1b/0", "/a~1b/0"),
            ("price", "/price"),
            ("items[1].price", "/items/1/price"),
            ("[0][1]", "/0/1"),
            ("a/b.c~d", "/a~1b/c~0d"),
        ] {
            assert_eq!(pointer(place.into()), wanted, "{place}");
        }
    }

    #[tokio::test]
    async fn a_response_is_bounded() {
        let long = "ü".repeat(100_000);
        let faults = |count| (0..count).map(|_| (long.clone(), long.clone()));
        let body = render(faults(40).collect()).await;
        assert_eq!(body["errors"].as_array().unwrap().len(), 32);
        assert_eq!(body["detail"], "8 more are not listed");
        assert!(body.to_string().len() < 60_000);
        let nested = Invalid::new()
            .within("/a", faults(40).collect::<Invalid>().result())
            .within("/b", faults(2).collect::<Invalid>().result());
        assert_eq!(nested.unlisted, 10);
    }

    #[test]
    fn no_line_of_a_log_can_be_forged() {
        let text = Invalid::new().fault("/a\r\nb", "c\u{1b}").to_string();
        assert_eq!(text, "`/a\\r\\nb` c\\u{1b}");
    }
}
