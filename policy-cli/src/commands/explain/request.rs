//! The request that is explained.

use std::path::PathBuf;

use clap::Args;
use http::{HeaderName, HeaderValue, Method, Request, Uri, Version, header};
use policy_manifest::{Manifest, engine::Protocol};

use super::{curl, har, record};
use crate::{failure::Failure, input::read_text, output::Output};

/// The request, as method and URL, as a curl line, or as an entry of a HAR file.
#[derive(Debug, Args)]
pub(crate) struct RequestArguments {
    /// The method and the URL, or only the URL of a GET. A path is enough.
    #[arg(value_name = "METHOD URL", num_args = 1..=2, required_unless_present_any = ["curl", "har", "log"], conflicts_with_all = ["curl", "har", "log"])]
    target: Vec<String>,
    /// A header, as `name: value`. May be given several times.
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    headers: Vec<String>,
    /// The `:protocol` of an extended CONNECT, such as `websocket`: a WebSocket over HTTP/2 or 3.
    #[arg(long, value_name = "NAME")]
    protocol: Option<String>,
    /// A line with a curl command, as browsers copy it.
    #[arg(long, value_name = "LINE", conflicts_with = "har")]
    curl: Option<String>,
    /// A decision record of the app's log, as JSON or as text.
    #[arg(long, value_name = "LINE", conflicts_with_all = ["curl", "har"])]
    log: Option<String>,
    /// A HAR file, as browsers save it.
    #[arg(long, value_name = "FILE")]
    har: Option<PathBuf>,
    /// The number of the entry in the HAR file, from 1.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "har")]
    entry: usize,
}

/// A request as the arguments, a curl line, a HAR file or a log state it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ParsedRequest {
    /// The method.
    pub method: String,
    /// The URL, or a path.
    pub url: String,
    /// Names and values of headers.
    pub headers: Vec<(String, String)>,
    /// The body, if the source has all of it.
    pub body: Option<String>,
}

impl RequestArguments {
    /// Whether a browser sends the request, if it states a page. A program runs a curl line, and a
    /// recorded request was already sent.
    pub(super) fn is_of_page(&self) -> bool {
        self.curl.is_none() && self.log.is_none()
    }

    pub(super) fn read(
        &self,
        manifest: &Manifest,
        output: &Output,
    ) -> Result<Request<()>, Failure> {
        let mut written = match (&self.curl, &self.har) {
            (None, None) if self.log.is_some() => self.record(manifest, output)?,
            (Some(line), _) => curl::parse(line)?,
            (None, Some(file)) => {
                har::parse(&read_text(file, "name a HAR file that you may read")?, self.entry)?
            }
            (None, None) => self.target()?,
        };
        for header in &self.headers {
            written.headers.push(header_of(header)?);
        }
        let request = written.request(manifest)?;
        match &self.protocol {
            Some(protocol) => extended_connect(request, protocol, manifest),
            None => Ok(request),
        }
    }

    /// The request of a decision record. A policy other than the one that decided may decide
    /// differently.
    fn record(&self, manifest: &Manifest, output: &Output) -> Result<ParsedRequest, Failure> {
        let record = record::parse(self.log.as_deref().unwrap_or_default())?;
        if record.policy.is_some_and(|policy| policy != manifest.digest()) {
            output.note(
                "another policy decided than the one that is asked here; name that of the release \
                 with `--from`",
            );
        }
        Ok(record.request)
    }

    fn target(&self) -> Result<ParsedRequest, Failure> {
        let (method, url) = match self.target.as_slice() {
            [method, url] => (method.as_str(), url),
            [url] => ("GET", url),
            _ => return Err(Failure::new("no request is named").help("name a method and a URL")),
        };
        Ok(ParsedRequest {
            method: method.to_owned(),
            url: url.clone(),
            ..ParsedRequest::default()
        })
    }
}

/// An extended CONNECT (RFC 8441 4), whose target has scheme and host, too.
fn extended_connect(
    mut request: Request<()>,
    protocol: &str,
    manifest: &Manifest,
) -> Result<Request<()>, Failure> {
    if *request.method() != Method::CONNECT {
        return Err(Failure::new("only CONNECT has a `:protocol`")
            .help("write `CONNECT URL --protocol NAME`"));
    }
    let own = manifest.app.public_origin.as_deref().and_then(|own| own.split_once("://"));
    let scheme = own.map_or("http", |(scheme, _)| scheme);
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let url = format!("{scheme}://{}{}", host.unwrap_or_default(), request.uri());
    *request.uri_mut() = url.parse().map_err(|_error| {
        Failure::new(format!("`{url}` is not a URL")).help("name a host that a URL can have")
    })?;
    *request.version_mut() = Version::HTTP_2;
    request.extensions_mut().insert(Protocol::new(protocol));
    Ok(request)
}

/// The name and the value of `name: value`.
pub(super) fn header_of(text: &str) -> Result<(String, String), Failure> {
    let (name, value) = text.split_once(':').ok_or_else(|| {
        Failure::new(format!("`{text}` is not a header")).help("write `name: value`")
    })?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

impl ParsedRequest {
    /// The request. A URL without a host is one of the app itself.
    pub(crate) fn request(&self, manifest: &Manifest) -> Result<Request<()>, Failure> {
        let (host, target) = match self.url.split_once("://") {
            Some((_, rest)) => {
                let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
                let (host, target) = rest.split_at(end);
                (Some(host.rsplit('@').next().unwrap_or(host).to_owned()), target)
            }
            None => (None, self.url.as_str()),
        };
        let target = target.split('#').next().unwrap_or_default();
        let target = match target.starts_with('/') {
            true => target.to_owned(),
            false => format!("/{target}"),
        };
        let own = manifest.app.public_origin.as_deref().and_then(|own| own.split_once("://"));
        let host = host.unwrap_or_else(|| own.map_or("localhost", |(_, host)| host).to_owned());
        let wrong = |what: &str, text: &str, help: &str| {
            Failure::new(format!("`{text}` is not a {what}")).help(help.to_owned())
        };
        let mut request = Request::new(());
        *request.method_mut() = Method::from_bytes(self.method.as_bytes())
            .map_err(|_error| wrong("method", &self.method, "write one such as `GET`"))?;
        *request.uri_mut() = target
            .parse::<Uri>()
            .map_err(|_error| wrong("URL", &self.url, "percent-encode what a URL cannot have"))?;
        let headers = request.headers_mut();
        for (name, value) in &self.headers {
            let parsed = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_error| wrong("header name", name, "write `name: value`"))?;
            let value = HeaderValue::from_str(value).or_else(|_error| {
                HeaderValue::from_bytes(value.as_bytes())
                    .map_err(|_error| wrong("header value", value, "leave out control characters"))
            })?;
            headers.append(parsed, value);
        }
        if !headers.contains_key(header::HOST) {
            let value = HeaderValue::from_str(&host)
                .map_err(|_error| wrong("host", &host, "write a host name"))?;
            headers.insert(header::HOST, value);
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, url: &str) -> Result<Request<()>, Failure> {
        let written = ParsedRequest {
            method: method.to_owned(),
            url: url.to_owned(),
            ..ParsedRequest::default()
        };
        let mut manifest = Manifest::new();
        manifest.app.public_origin = Some("https://api.example".to_owned());
        written.request(&manifest)
    }

    #[test]
    fn a_path_is_one_of_the_app() {
        for (url, host, target) in [
            ("/orders?page=2", "api.example", "/orders?page=2"),
            ("orders", "api.example", "/orders"),
            ("https://user@other.example:8443/a#b", "other.example:8443", "/a"),
            ("https://other.example", "other.example", "/"),
            ("https://other.example?x", "other.example", "/?x"),
        ] {
            let request = request("PUT", url).unwrap();
            assert_eq!(request.uri().to_string(), target, "{url}");
            assert_eq!(request.headers()["host"], host, "{url}");
        }
    }

    #[test]
    fn reports_malformed_requests() {
        for (method, url, words) in [
            ("NOT A METHOD", "/", "`NOT A METHOD` is not a method"),
            ("GET", "/a b", "`/a b` is not a URL"),
        ] {
            assert_eq!(request(method, url).unwrap_err().message, words);
        }
        assert_eq!(header_of("origin").unwrap_err().message, "`origin` is not a header");
    }
}
