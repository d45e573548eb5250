//! Path parameters as handler arguments.

use std::{fmt::Display, str::FromStr};

use policy_core::{Refusal, head::decode_parameter, route::MAX_PARAMETERS, router::Values};

use crate::base::problem::Problem;

/// A type that can be parsed from a path parameter: everything that implements [`FromStr`].
///
/// ```
/// use policy_server::prelude::*;
///
/// #[get("/orders/{id}/{*file}")]
/// #[auth(public)]
/// async fn order(id: u64, file: String) -> String {
///     format!("{id}: {file}")
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(()).routes(routes![order]).test();
/// assert_eq!(client.get("/orders/7/a%20b/c").send().await.text(), "7: a b/c");
/// assert_eq!(client.get("/orders/seven/x").send().await.status(), 400);
/// # });
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}`: this cannot be parsed from a path segment (handler.parameter-type)",
    label = "this argument is named in the route's path",
    note = "use a type that implements `FromStr`, or implement `policy_server::FromParam`"
)]
pub trait FromParam: Sized + Send {
    /// Parses the decoded text of the parameter.
    ///
    /// # Errors
    ///
    /// The error in the text, for the client.
    fn from_param(text: &str) -> Result<Self, String>;
}

#[diagnostic::do_not_recommend]
impl<T: FromStr<Err: Display> + Send> FromParam for T {
    fn from_param(text: &str) -> Result<Self, String> {
        text.parse().map_err(|error: T::Err| error.to_string())
    }
}

/// A parameter that its type could not parse.
#[derive(Debug)]
pub struct InvalidParameter {
    pub(crate) index: usize,
    reason: String,
}

impl InvalidParameter {
    pub(crate) fn into_problem(self, name: Option<&str>) -> Problem {
        let name = name.unwrap_or("parameter");
        Problem::from(Refusal::ParameterInvalid).detail(format!("`{name}`: {}", self.reason))
    }
}

/// The parameters of a path, in its order.
pub trait Parameters: Sized + Send + 'static {
    /// Decodes and parses them.
    fn parse(values: &Values, path: &str) -> Result<Self, InvalidParameter>;
}

impl Parameters for () {
    fn parse(_values: &Values, _path: &str) -> Result<Self, InvalidParameter> {
        Ok(())
    }
}

fn parse_one<T: FromParam>(
    values: &Values,
    path: &str,
    index: usize,
) -> Result<T, InvalidParameter> {
    let invalid = |reason: String| InvalidParameter { index, reason };
    let text = values.get(index, path).ok_or_else(|| invalid("missing".to_owned()))?;
    let text = decode_parameter(text).ok_or_else(|| invalid("not UTF-8".to_owned()))?;
    T::from_param(&text).map_err(invalid)
}

macro_rules! parameters {
    ($($name:ident $index:literal)*) => {
        const _: () = assert!([$($index),*].len() <= MAX_PARAMETERS);

        impl<$($name: FromParam + 'static,)*> Parameters for ($($name,)*) {
            fn parse(values: &Values, path: &str) -> Result<Self, InvalidParameter> {
                Ok(($(parse_one::<$name>(values, path, $index)?,)*))
            }
        }
    };
}

parameters!(A 0);
parameters!(A 0 B 1);
parameters!(A 0 B 1 C 2);
parameters!(A 0 B 1 C 2 D 3);
parameters!(A 0 B 1 C 2 D 3 E 4);
parameters!(A 0 B 1 C 2 D 3 E 4 F 5);
parameters!(A 0 B 1 C 2 D 3 E 4 F 5 G 6);
parameters!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7);
