//! Why an app does not start.

use std::{fmt, io};

use policy_core::{Rule, cors::PolicyError, token::KeyError};

/// Why an app does not start, or stopped.
///
/// Its `Debug` form is its `Display` form, so that `fn main() -> Result<(), Error>` prints what a
/// person needs.
#[non_exhaustive]
pub enum Error {
    /// The app has these problems.
    Start(Vec<StartProblem>),
    /// Something else of the operating system failed.
    Io(io::Error),
}

/// One problem of an app.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartProblem {
    /// A CORS policy or a run-time list of origins breaks a rule.
    Policy(PolicyError),
    /// A path, a method or an own origin breaks a rule.
    Rule {
        /// The handler, or the part of the app.
        place: String,
        /// The rule.
        rule: Rule,
        /// What breaks it.
        value: String,
    },
    /// Two routes take the same requests.
    Conflict {
        /// The handler, or the part of the app.
        place: String,
        /// Its method and path.
        route: String,
        /// The route that was there before.
        other: String,
    },
    /// A configuration file cannot be read.
    File {
        /// The path of the file.
        path: String,
        /// Why, and where in the file.
        reason: String,
    },
    /// An environment variable is not set, or is no text.
    Variable {
        /// The name of the variable.
        name: String,
    },
    /// A setting, such as one of sessions or tokens, cannot be.
    Setting {
        /// The handler, or the part of the app.
        place: String,
        /// What is wrong, and what to write instead.
        reason: String,
    },
    /// A store cannot be opened.
    Store {
        /// The part of the app.
        place: &'static str,
        /// Why.
        reason: String,
    },
    /// An address cannot be listened on.
    Listen {
        /// The address as it was given.
        address: String,
        /// Why, for programs.
        kind: io::ErrorKind,
        /// Why, for people.
        reason: String,
    },
    /// The app has sessions or tokens, and whoever is between it and its clients can read them.
    PlainCredentials {
        /// The address.
        address: String,
    },
    /// The app listens where everybody can reach it, and says nowhere who it is.
    NotLoopback {
        /// The address.
        address: String,
    },
}

impl StartProblem {
    pub(crate) fn setting(place: &str, reason: String) -> Self {
        Self::Setting { place: place.to_owned(), reason }
    }

    /// A store has to be waited for where nothing waits.
    pub(crate) fn waits() -> Self {
        let reason = "the store of the application's own has to be waited for: use `App::open`";
        Self::Store { place: "App::build", reason: reason.to_owned() }
    }

    pub(crate) fn store(place: &'static str, error: &dyn fmt::Display) -> Self {
        Self::Store { place, reason: error.to_string() }
    }

    /// The stable code of the problem.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Policy(error) => error.rule().code(),
            Self::Rule { rule, .. } => rule.code(),
            Self::Conflict { .. } => Rule::RouteConflict.code(),
            Self::File { .. } | Self::Variable { .. } => "app.source-unreadable",
            Self::Setting { .. } => "app.setting",
            Self::Store { .. } => "app.store",
            Self::Listen { .. } => "app.listen",
            Self::PlainCredentials { .. } => "app.plain-credentials",
            Self::NotLoopback { .. } => "app.public-origin-missing",
        }
    }
}

impl fmt::Display for StartProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code();
        match self {
            Self::Policy(error) => error.fmt(f),
            Self::Rule { place, rule, value } => {
                let value = value.escape_debug();
                write!(
                    f,
                    "{place}: `{value}`: {} ({code})\n  help: {}",
                    rule.message(),
                    rule.help()
                )
            }
            Self::Conflict { place, route, other } => write!(
                f,
                "{place}: `{route}` takes the same requests as {other} ({code})\n  help: {}",
                Rule::RouteConflict.help()
            ),
            Self::File { path, reason } => write!(
                f,
                "file `{}`: {reason} ({code})\n  help: correct the file, or remove `App::config_file`",
                path.escape_debug()
            ),
            Self::Variable { name } => write!(
                f,
                "the environment variable `{}` is not set to a text ({code})\n  help: set it, or remove `App::origins_from_env`",
                name.escape_debug()
            ),
            Self::Setting { place, reason } => write!(f, "{place}: {reason} ({code})"),
            Self::Store { place, reason } => {
                write!(
                    f,
                    "{place}: {reason} ({code})\n  help: the store is opened when the app starts, and by one process at a time if it is a file"
                )
            }
            Self::Listen { address, reason, .. } => write!(
                f,
                "cannot listen on `{}`: {reason} ({code})\n  \
                 help: write an address of this machine that is free, such as `127.0.0.1:8080`",
                address.escape_debug()
            ),
            Self::PlainCredentials { address } => write!(
                f,
                "`{address}` can be reached from other machines without TLS, and sessions and tokens are secrets ({code})\n  \
                 help: give the app a certificate with `App::tls(Tls::files(\"cert.pem\", \"key.pem\"))`, \
                 or name the proxy in front that speaks TLS with `App::behind(Proxies::new([\"10.0.0.0/8\"]).forwarded())`, \
                 or listen on 127.0.0.1"
            ),
            Self::NotLoopback { address } => write!(
                f,
                "`{address}` can be reached from other machines, and the app has no public origin ({code})\n  \
                 help: say who the app is with `App::public_origin(\"https://..\")`, or listen on 127.0.0.1 while developing"
            ),
        }
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

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Start(_) => None,
            Self::Io(source) => Some(source),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// So that `main` can write `Tokens::hs256(keys)?`.
///
/// ```
/// use policy_server::{Error, policy_core::token::Key, tokens::Tokens};
///
/// fn no_keys() -> Result<(), Error> {
///     Tokens::hs256(Vec::<Key>::new())?;
///     Ok(())
/// }
/// assert!(no_keys().unwrap_err().to_string().contains("tokens: "));
/// ```
impl From<KeyError> for Error {
    fn from(error: KeyError) -> Self {
        Self::Start(vec![StartProblem::setting("tokens", error.to_string())])
    }
}
