//! The console message of a failed load, and below it what browsers do not show: what the server
//! sent, and what it would have to send.

use std::fmt;

use crate::{Blocked, PageOrigin, Reason, redirect::is_redirect};

/// The console message, and the reason.
impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.console(f)?;
        f.write_str("\n  ")?;
        self.explain(f)
    }
}

impl std::error::Error for Blocked {}

impl Blocked {
    fn console(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, origin, in_preflight, reason } = self;
        if self.is_of_cors() {
            write!(
                f,
                "Access to fetch at '{url}' from origin '{origin}' has been blocked by CORS \
                 policy: "
            )?;
        }
        let is_check = !matches!(
            reason,
            Reason::PreflightSyntax(_) | Reason::AllowMethods(_) | Reason::AllowHeaders(_)
        );
        if self.is_of_cors() && *in_preflight && is_check {
            f.write_str("Response to preflight request doesn't pass access control check: ")?;
        }
        match reason {
            Reason::Address => write!(
                f,
                "Failed to parse URL from '{url}', or it includes \
                credentials."
            ),
            Reason::Method => write!(f, "Failed to fetch '{url}': the HTTP method is unsupported."),
            Reason::Header(field) => {
                write!(f, "Failed to fetch '{url}': invalid header '{}'.", field.escape_debug())
            }
            Reason::Content => {
                write!(f, "Failed to fetch '{url}': Request with GET/HEAD method cannot have body.")
            }
            Reason::Mode => write!(
                f,
                "Fetch API cannot load {url}. Its origin is not the same as the request origin \
                 '{origin}', and the mode does not allow that."
            ),
            Reason::Scheme => {
                write!(f, "Fetch API cannot load {url}. URL scheme is not supported.")
            }
            Reason::MixedContent => write!(
                f,
                "Mixed Content: The page of '{origin}' was loaded over HTTPS, but requested an \
                 insecure resource '{url}'. This request has been blocked; the content must be \
                 served over HTTPS."
            ),
            Reason::Unreachable => write!(f, "Failed to load '{url}': net::ERR_CONNECTION_FAILED"),
            Reason::NoAllowOrigin => f.write_str(
                "No 'Access-Control-Allow-Origin' header is present on the requested resource.",
            ),
            Reason::AllowOrigin(value) if value.contains(',') => write!(
                f,
                "The 'Access-Control-Allow-Origin' header contains multiple values '{value}', but \
                 only one is allowed."
            ),
            Reason::AllowOrigin(value) => write!(
                f,
                "The 'Access-Control-Allow-Origin' header has a value '{value}' that is not equal \
                 to the supplied origin."
            ),
            Reason::AnyOriginWithCredentials => f.write_str(
                "The value of the 'Access-Control-Allow-Origin' header in the response must not \
                 be the wildcard '*' when the request's credentials mode is 'include'.",
            ),
            Reason::AllowCredentials(value) => write!(
                f,
                "The value of the 'Access-Control-Allow-Credentials' header in the response is \
                 '{}' which must be 'true' when the request's credentials mode is 'include'.",
                value.as_deref().unwrap_or_default()
            ),
            Reason::PreflightStatus(status) if is_redirect(*status) => {
                f.write_str("Redirect is not allowed for a preflight request.")
            }
            Reason::PreflightStatus(_) => f.write_str("It does not have HTTP ok status."),
            Reason::PreflightSyntax(field) => {
                write!(f, "Cannot parse {field} response header field in preflight response.")
            }
            Reason::AllowMethods(method) => write!(
                f,
                "Method {method} is not allowed by Access-Control-Allow-Methods in preflight \
                 response."
            ),
            Reason::AllowHeaders(name) => write!(
                f,
                "Request header field {name} is not allowed by Access-Control-Allow-Headers in \
                 preflight response."
            ),
            Reason::ProxyStatus => {
                write!(f, "Failed to load '{url}': net::ERR_UNEXPECTED_PROXY_AUTH")
            }
            Reason::LocalNetwork(space) => write!(
                f,
                "Permission was denied for this request to access the `{space}` address space."
            ),
            Reason::InsecureLocalNetwork(space) => write!(
                f,
                "The request client is not a secure context and the resource is in more-private \
                 address space `{space}`."
            ),
            Reason::Redirect => write!(
                f,
                "Failed to fetch '{url}': redirect mode is set to \
                error."
            ),
            Reason::TooManyRedirects => {
                write!(f, "Failed to load '{url}': net::ERR_TOO_MANY_REDIRECTS")
            }
            Reason::RedirectTarget(_) => {
                write!(f, "Failed to load '{url}': net::ERR_UNSAFE_REDIRECT")
            }
            Reason::RedirectedStream => {
                write!(f, "Failed to fetch '{url}': a stream cannot be sent again for a redirect.")
            }
            Reason::ResourcePolicy(_) => {
                write!(f, "Failed to load '{url}': net::ERR_BLOCKED_BY_RESPONSE.NotSameOrigin")
            }
            Reason::Framing(value) => {
                write!(f, "Refused to display '{url}' in a frame because it set '{value}'.")
            }
            Reason::ScriptType(mime) => write!(
                f,
                "Refused to execute script from '{url}' because its MIME type ('{mime}') is not \
                 executable, and strict MIME type checking is enabled."
            ),
            Reason::NoUpgrade(status) => write!(
                f,
                "WebSocket connection to '{url}' failed: Error during WebSocket handshake: \
                 Unexpected response code: {status}"
            ),
        }
    }

    /// What the server sent, and what it would have to send.
    fn explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let response =
            if self.in_preflight { "the response to the preflight" } else { "the response" };
        match &self.reason {
            Reason::Address => f.write_str(
                "nothing was sent: pages may only fetch addresses without \
                user and password",
            ),
            Reason::Method => f.write_str(
                "nothing was sent: a method is a token other than \
                CONNECT, TRACE and TRACK; without CORS it is GET, HEAD or POST",
            ),
            Reason::Header(_) => f.write_str(
                "nothing was sent: the name of a field is a token, \
                and its value one line of bytes",
            ),
            Reason::Content => f.write_str(
                "nothing was sent: send the content with another \
                method",
            ),
            Reason::Mode => f.write_str(
                "nothing was sent there: use mode `cors` for other origins; \
                mode `no-cors` only follows redirects",
            ),
            Reason::Scheme => f.write_str(
                "nothing was sent: the model knows `http` and `https` \
                only",
            ),
            Reason::MixedContent => f.write_str("nothing was sent: serve it over `https`"),
            Reason::Unreachable => f.write_str("no server responded, or its response was not HTTP"),
            Reason::NoAllowOrigin => {
                write!(f, "{response} has no `Access-Control-Allow-Origin`; ")?;
                self.grant(f)
            }
            Reason::AllowOrigin(value) => {
                write!(f, "{response} says `Access-Control-Allow-Origin: {value}`; ")?;
                self.grant(f)
            }
            Reason::AnyOriginWithCredentials => {
                write!(
                    f,
                    "{response} says `Access-Control-Allow-Origin: *`, which grants nothing \
                    with credentials; "
                )?;
                self.grant(f)?;
                f.write_str(", with `Access-Control-Allow-Credentials: true`")
            }
            Reason::AllowCredentials(value) => {
                match value {
                    None => write!(f, "{response} has no `Access-Control-Allow-Credentials`")?,
                    Some(value) => write!(
                        f,
                        "{response} says `Access-Control-Allow-Credentials: \
                        {value}`"
                    )?,
                }
                f.write_str(
                    "; it would have to say `Access-Control-Allow-Credentials: true`, in \
                    lower case",
                )
            }
            Reason::PreflightStatus(status) => write!(
                f,
                "{response} has the status {status}; it would have to have one of 200 to 299, \
                 without login and without redirect"
            ),
            Reason::PreflightSyntax(field) => {
                write!(f, "`{field}` is not a comma-separated list of tokens")
            }
            Reason::AllowMethods(method) => write!(
                f,
                "{response} would have to say `Access-Control-Allow-Methods: {method}`, in \
                 exactly this case; with credentials, `*` is an ordinary method name"
            ),
            Reason::AllowHeaders(name) => write!(
                f,
                "{response} would have to say `Access-Control-Allow-Headers: {name}`; with \
                 credentials, `*` is an ordinary name, and it never covers `authorization`"
            ),
            Reason::ProxyStatus => {
                f.write_str("a server that is no proxy would have to respond with 401")
            }
            Reason::LocalNetwork(_) => f.write_str(
                "nothing was sent, and no header helps: only the user can allow pages to reach \
                 this computer or its network (Local Network Access), and until then the load \
                 waits for a prompt or fails; in a test, \
                 `Profile::local_network(LocalNetwork::Granted)` is that permission; a page of \
                 `http://localhost` needs none",
            ),
            Reason::InsecureLocalNetwork(_) => f.write_str(
                "nothing was sent, and no header helps: only pages of `https` or \
                 `http://localhost` can have the permission for this computer or its network \
                 (Local Network Access)",
            ),
            Reason::Redirect => {
                f.write_str("the server redirects, and this fetch forbids redirects")
            }
            Reason::TooManyRedirects => f.write_str("twenty redirects are followed"),
            Reason::RedirectTarget(target) => write!(
                f,
                "the server redirects to `{target}`; it would have to name one address of `http` \
                 or `https`, without user and password"
            ),
            Reason::RedirectedStream => f.write_str(
                "the server redirects; with 303 the \
                content would be dropped",
            ),
            Reason::ResourcePolicy(value) => write!(
                f,
                "{response} says `Cross-Origin-Resource-Policy: {value}`; for this page it would \
                 have to say `cross-origin`, or be requested with CORS"
            ),
            Reason::Framing(_) => write!(
                f,
                "for this page it would have to say `Content-Security-Policy: frame-ancestors {}`",
                self.origin
            ),
            Reason::ScriptType(_) => {
                write!(f, "{response} would have to say `Content-Type: text/javascript`")
            }
            Reason::NoUpgrade(_) => f.write_str("only 101 opens a WebSocket"),
        }
    }

    /// Fields that would grant the request.
    fn grant(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it would have to say `Access-Control-Allow-Origin: {}`", self.origin)?;
        if self.origin == PageOrigin::Opaque {
            f.write_str(
                ", the origin of every sandboxed page, and of every request that was redirected \
                from one origin to another: let the page request the last address directly",
            )?;
        }
        Ok(())
    }

    fn is_of_cors(&self) -> bool {
        matches!(
            self.reason,
            Reason::NoAllowOrigin
                | Reason::AllowOrigin(_)
                | Reason::AnyOriginWithCredentials
                | Reason::AllowCredentials(_)
                | Reason::PreflightStatus(_)
                | Reason::PreflightSyntax(_)
                | Reason::AllowMethods(_)
                | Reason::AllowHeaders(_)
                | Reason::LocalNetwork(_)
                | Reason::InsecureLocalNetwork(_)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AddressSpace;

    fn message(origin: PageOrigin, in_preflight: bool, reason: Reason) -> String {
        let url = "https://api.shop.example/me".to_owned();
        Blocked { url, origin, in_preflight, reason }.to_string()
    }

    fn app() -> PageOrigin {
        PageOrigin::Tuple("https://app.shop.example".to_owned())
    }

    #[test]
    fn it_reads_like_a_console_and_names_the_missing_header() {
        assert_eq!(
            message(app(), true, Reason::NoAllowOrigin),
            "Access to fetch at 'https://api.shop.example/me' from origin \
             'https://app.shop.example' has been blocked by CORS policy: Response to preflight \
             request doesn't pass access control check: No 'Access-Control-Allow-Origin' header is \
             present on the requested resource.\n  \
             the response to the preflight has no `Access-Control-Allow-Origin`; it would have to \
             say `Access-Control-Allow-Origin: https://app.shop.example`"
        );
    }

    #[test]
    fn shows_the_fields_of_the_response() {
        let text = message(app(), false, Reason::AllowOrigin("https://shop.example".to_owned()));
        assert!(text.contains("has a value 'https://shop.example' that is not equal"), "{text}");
        assert!(text.contains("the response says `Access-Control-Allow-Origin: https://shop.ex"));
    }

    #[test]
    fn a_refused_permission_reads_as_cors_and_says_that_no_header_helps() {
        let text = message(app(), false, Reason::LocalNetwork(AddressSpace::Loopback));
        assert!(
            text.starts_with(
                "Access to fetch at 'https://api.shop.example/me' from origin \
                 'https://app.shop.example' has been blocked by CORS policy: Permission was denied \
                 for this request to access the `loopback` address space.\n  \
                 nothing was sent, and no header helps"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_header_that_is_not_allowed_is_not_reported_as_a_failed_check() {
        let text = message(app(), true, Reason::AllowHeaders("x-a".to_owned()));
        assert!(text.contains("blocked by CORS policy: Request header field x-a is"), "{text}");
    }

    #[test]
    fn advice_to_grant_null_explains_null() {
        let text = message(PageOrigin::Opaque, false, Reason::NoAllowOrigin);
        assert!(
            text.contains(
                "`Access-Control-Allow-Origin: null`, the origin of every sandboxed page"
            ),
            "{text}"
        );
    }

    #[test]
    fn an_unreachable_server_is_not_reported_as_a_cors_error() {
        let text = message(app(), false, Reason::Unreachable);
        assert!(!text.contains("CORS"), "{text}");
    }
}
