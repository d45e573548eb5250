//! Start errors, the causes of errors, and the error that `main` returns.

use std::{error::Error as StdError, fmt, io, iter, sync::Arc};

use axum_core::BoxError;
use policy_core::{Rule, cors::PolicyError, token::KeyError};

/// An error and its causes.
pub(crate) fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    iter::successors(Some(error), |&error| error.source())
}

/// Whether something took too long.
pub(crate) fn is_timeout(error: &(dyn StdError + 'static)) -> bool {
    let mut errors = causes(error).filter_map(|error| error.downcast_ref::<io::Error>());
    errors.any(|error| error.kind() == io::ErrorKind::TimedOut)
}

/// The text of an error with its causes.
pub(crate) struct Causes<'a>(pub(crate) &'a (dyn StdError + 'static));

impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        causes(self.0).skip(1).try_for_each(|error| write!(f, ": {error}"))
    }
}

/// Why an app does not start, or stopped.
///
/// Its text lists every problem with help. `main` can return it as a [`Report`](crate::Report),
/// which prints that text.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The app has these problems.
    Start(Vec<StartProblem>),
    /// An operation of the operating system failed.
    Io(io::Error),
}

/// One problem of an app: a rule, where it is broken, and the offending value.
///
/// A notice about something permitted but unusual has the same form, with a rule that only
/// [warns](policy_core::Severity::Warning). It is printed or logged when the app starts.
///
/// ```
/// use std::io;
/// use policy_server::{Error, prelude::*};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
/// let address = taken.local_addr().unwrap().to_string();
/// let Err(Error::Start(problems)) = App::new(()).bind(&address).await else { panic!() };
/// assert_eq!((problems[0].code(), problems[0].value()), ("app.listen", Some(&*address)));
/// let cause = std::error::Error::source(&problems[0]).unwrap().downcast_ref::<io::Error>();
/// assert_eq!(cause.unwrap().kind(), io::ErrorKind::AddrInUse);
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct StartProblem {
    rule: Rule,
    location: String,
    part: Option<&'static str>,
    value: Option<String>,
    cause: Option<Arc<dyn StdError + Send + Sync>>,
}

impl StartProblem {
    pub(crate) fn new(rule: Rule, location: impl Into<String>, value: impl Into<String>) -> Self {
        Self { value: Some(value.into()), ..Self::without_value(rule, location) }
    }

    /// A problem without a value: something is missing, or has no text.
    pub(crate) fn without_value(rule: Rule, location: impl Into<String>) -> Self {
        Self { rule, location: location.into(), part: None, value: None, cause: None }
    }

    /// Names the part of the policy or settings.
    pub(crate) fn with_part(self, part: &'static str) -> Self {
        Self { part: Some(part), ..self }
    }

    /// Adds the location, which the code that found the problem does not know, and the value.
    #[cfg(any(feature = "asym", feature = "gateway"))]
    pub(crate) fn at(self, location: &str, value: impl Into<String>) -> Self {
        Self { location: location.to_owned(), value: Some(value.into()), ..self }
    }

    pub(crate) fn caused_by(self, cause: impl Into<BoxError>) -> Self {
        Self { cause: Some(Arc::from(cause.into())), ..self }
    }

    /// The rule that is broken.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// The stable code of the rule.
    pub fn code(&self) -> &'static str {
        self.rule.code()
    }

    /// The location: a handler, a part of the app such as `App::tls`, or a file.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// The offending value; `None` where something is missing.
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }
}

impl From<PolicyError> for StartProblem {
    fn from(error: PolicyError) -> Self {
        let value = Some(error.value()).filter(|value| !value.is_empty()).map(str::to_owned);
        let part = Some(error.part().name());
        Self { value, part, ..Self::without_value(error.rule(), error.location()) }
    }
}

impl fmt::Display for StartProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, location, part, value, cause } = self;
        f.write_str(location)?;
        if let Some(part) = part {
            write!(f, ": {part}")?;
        }
        if let Some(value) = value {
            let separator = if part.is_some() { " " } else { ": " };
            // Values may come from files and the environment, and must not be able to forge log
            // lines.
            write!(f, "{separator}`{}`", value.escape_debug())?;
        }
        write!(f, ": {}", rule.message())?;
        if let Some(cause) = cause {
            write!(f, ": {cause}")?;
        }
        write!(f, " ({})\n  help: {}\n  see: {}", rule.code(), rule.help(), rule.page())
    }
}

impl StdError for StartProblem {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(problems) => {
                let plural = if problems.len() == 1 { "problem" } else { "problems" };
                write!(f, "the app does not start: {} {plural}", problems.len())?;
                problems.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
            }
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Start(_) => None,
            // The error's text already is the system's.
            Self::Io(error) => error.source(),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Lets `main` use `Tokens::hs256(keys)?`.
///
/// ```
/// use policy_server::{Error, Tokens, tokens::Key};
///
/// fn no_keys() -> Result<(), Error> {
///     Tokens::hs256(Vec::<Key>::new())?;
///     Ok(())
/// }
/// assert!(no_keys().unwrap_err().to_string().contains("(token.keys-missing)"));
/// ```
impl From<KeyError> for Error {
    fn from(error: KeyError) -> Self {
        Self::Start(vec![StartProblem::without_value(error.rule(), "tokens")])
    }
}

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
pub struct Report(Box<dyn StdError + Send + Sync>);

/// A report does not implement [`Error`](StdError) itself, so that it can be made from every error.
impl<E: StdError + Send + Sync + 'static> From<E> for Report {
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
    use super::*;
    use crate::store::StoreError;

    #[test]
    fn a_problem_names_each_of_its_parts() {
        let start_of = |problem: &StartProblem| {
            let text = problem.to_string();
            text.split_once(": browsers").map(|(before, _)| before.to_owned()).unwrap()
        };
        let named = StartProblem::new(Rule::FileOrigin, "app", "a\nb");
        assert_eq!(start_of(&named), "app: `a\\nb`");
        assert_eq!(start_of(&named.clone().with_part("origins")), "app: origins `a\\nb`");
        let unnamed = StartProblem::without_value(Rule::FileOrigin, "app").with_part("origins");
        assert_eq!(start_of(&unnamed), "app: origins");
        let text = named.caused_by("nobody knows").to_string();
        assert!(
            text.contains("never a `file:` origin: nobody knows (cors.file-origin)\n"),
            "{text}"
        );
    }

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
