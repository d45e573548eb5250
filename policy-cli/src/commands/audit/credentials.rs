//! The credentials of the user of the command. They are sent, and never shown.

use std::{env, path::Path};

use http::{HeaderName, HeaderValue, header};
use policy_manifest::Manifest;

use super::plan::Credential;
use crate::{failure::Failure, input::read_text};

/// The headers with the credentials of the user of the command.
#[derive(Default)]
pub(super) struct Credentials {
    pub(super) session: Option<HeaderValue>,
    token: Option<HeaderValue>,
}

impl Credentials {
    /// Reads the credentials from the sources `env:NAME` or `file:PATH`.
    pub(super) fn read(
        manifest: &Manifest,
        session: Option<&str>,
        token: Option<&str>,
    ) -> Result<Self, Failure> {
        let mut credentials = Self::default();
        if let Some(source) = session {
            let Some(facts) = &manifest.app.sessions else {
                return Err(Failure::new("the app has no sessions").help("leave out `--session`"));
            };
            let text = secret(source)?;
            let prefix = format!("{}=", facts.cookie);
            let value = text.strip_prefix(&prefix).unwrap_or(&text);
            credentials.session = Some(value_of(&format!("{prefix}{value}"), source)?);
        }
        if let Some(source) = token {
            let text = secret(source)?;
            let token = text.strip_prefix("Bearer ").unwrap_or(&text);
            credentials.token = Some(value_of(&format!("Bearer {token}"), source)?);
        }
        Ok(credentials)
    }

    pub(super) fn has(&self, credential: Credential) -> bool {
        self.header(credential).is_some()
    }

    /// The header that has a credential.
    pub(super) fn header(&self, credential: Credential) -> Option<(HeaderName, HeaderValue)> {
        let (name, value) = match credential {
            Credential::Session => (header::COOKIE, &self.session),
            Credential::Token => (header::AUTHORIZATION, &self.token),
        };
        value.clone().map(|value| (name, value))
    }
}

fn secret(source: &str) -> Result<String, Failure> {
    let text = match source.split_once(':') {
        Some(("env", name)) => env::var(name).map_err(|error| {
            Failure::new(format!("the environment variable `{name}`: {error}"))
                .help("set it to the credential")
        })?,
        Some(("file", path)) => {
            read_text(Path::new(path), "name a file that contains only the credential")?
        }
        _ => {
            // The text may be the credential itself, so it is not repeated.
            return Err(Failure::new("a credential cannot be an argument")
                .help("write `env:NAME` or `file:PATH`"));
        }
    };
    Ok(text.trim().to_owned())
}

fn value_of(text: &str, source: &str) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::from_str(text).map_err(|error| {
        Failure::new(format!("the credential in `{source}` is not a header value: {error}"))
            .help("store only the credential, in one line")
    })?;
    value.set_sensitive(true);
    Ok(value)
}
