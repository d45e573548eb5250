//! The error that `main` returns.

use std::{error::Error, fmt};

use super::error::causes;

/// The error of a `main` that starts an app, formatted for people.
///
/// Rust prints the error that `main` returns in its `Debug` form, which for [`Error`](crate::Error)
/// shows fields and variants. The `Debug` form of a report is the text of the error, with its help
/// and its causes. `?` converts any error into a report.
///
/// ```no_run
/// use policy_server::prelude::*;
///
/// #[tokio::main]
/// async fn main() -> Result<(), Report> {
///     App::new(()).serve("127.0.0.1:8080").await?;
///     Ok(())
/// }
/// ```
pub struct Report(Box<dyn Error + Send + Sync>);

/// A report does not implement [`Error`] itself, so that it can be made from every error.
impl<E: Error + Send + Sync + 'static> From<E> for Report {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)?;
        causes(&*self.0).skip(1).try_for_each(|error| write!(f, "\ncaused by: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use policy_core::Rule;

    use super::Report;
    use crate::{
        base::error::{Error, StartProblem},
        store::StoreError,
    };

    #[test]
    fn a_report_is_the_text_of_its_error() {
        let problem = StartProblem::new(Rule::RouteConflict, "orders", "GET /orders");
        let error = Error::Start(vec![problem]);
        let (text, debug) = (error.to_string(), format!("{error:?}"));
        assert_eq!(format!("{:?}", Report::from(error)), text);
        assert!(text.contains(Rule::RouteConflict.help()), "{text}");
        assert!(debug.starts_with("Start([StartProblem { rule: RouteConflict, "), "{debug}");
    }

    #[test]
    fn a_report_names_the_causes_of_its_error() {
        let report = Report::from(StoreError::new(io::Error::other("the disk is full")));
        assert_eq!(format!("{report:?}"), "the disk is full\ncaused by: the disk is full");
    }
}
