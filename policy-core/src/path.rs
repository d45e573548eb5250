//! Paths of routes: fixed segments and parameters.

use crate::{catalogue::Rule, grammar::eq};

/// How to treat a path that differs from a route only in the trailing slash, such as `/users/` for
/// a route `/users`.
///
/// ```
/// use policy_core::path::TrailingSlash;
///
/// assert_ne!(TrailingSlash::Strict.key("/users/"), TrailingSlash::Strict.key("/users"));
/// assert_eq!(TrailingSlash::Same.key("/users/"), TrailingSlash::Same.key("/users"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum TrailingSlash {
    /// A different path, which needs a separate route.
    #[default]
    Strict,
    /// A redirect to the route's spelling of the path, for safe methods: 308 (RFC 9110 15.4.9).
    /// Other methods get 404.
    Redirect,
    /// The same resource.
    Same,
}

impl TrailingSlash {
    /// The text by which a path is looked up. Both spellings have the same key, except with
    /// [`Strict`](Self::Strict).
    pub fn key(self, path: &str) -> &str {
        let key = match self {
            Self::Strict => None,
            Self::Redirect | Self::Same => path.strip_suffix('/').filter(|key| !key.is_empty()),
        };
        key.unwrap_or(path)
    }

    /// The `Location` of a redirect from a path to its other spelling: a relative reference (RFC
    /// 3986 4.2) that begins with a dot segment, so that it cannot name another host, for any path.
    /// It is also correct behind a proxy that strips a prefix.
    ///
    /// ```
    /// use policy_core::path::TrailingSlash;
    ///
    /// assert_eq!(TrailingSlash::target("/users/7/", Some("page=2")), "../7?page=2");
    /// assert_eq!(TrailingSlash::target("/users/7", None), "./7/");
    /// ```
    pub fn target(path: &str, query: Option<&str>) -> String {
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let mut target = match path.strip_suffix('/') {
            Some(path) => format!("../{}", last(path)),
            None => format!("./{}/", last(path)),
        };
        if let Some(query) = query {
            target.push('?');
            target.push_str(query);
        }
        target
    }
}

/// One segment of a route's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// Text that a request sends, percent-encoded or not.
    Fixed(&'a str),
    /// `{name}`: matches any one segment.
    Parameter(Parameter<'a>),
    /// `{*name}`: the rest of the path, at least one byte.
    Rest(Parameter<'a>),
}

/// A parameter of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether its value may contain `%2F` or `%5C`: `{name:slashes}`. Other parameters refuse
    /// them, because code that decodes them would see a different path than the router.
    pub takes_slashes: bool,
}

impl<'a> Segment<'a> {
    /// The name of a parameter.
    pub const fn name(self) -> Option<&'a str> {
        match self.parameter() {
            Some(parameter) => Some(parameter.name),
            None => None,
        }
    }

    /// The parameter, if it is one.
    pub const fn parameter(self) -> Option<Parameter<'a>> {
        match self {
            Self::Fixed(_) => None,
            Self::Parameter(parameter) | Self::Rest(parameter) => Some(parameter),
        }
    }
}

/// The path of a route, such as `/users/{id}` or `/files/{*path}`.
///
/// A request matches segment by segment, in the [normal form](crate::head::NormalPath) of its path.
/// The value of a parameter is decoded once, afterwards. A value with an encoded slash (`%2F`,
/// `%5C`) is refused unless the parameter takes it: `/projects/{name:slashes}`.
///
/// ```
/// use policy_core::{Rule, path::{PathTemplate, Segment}};
///
/// let path = PathTemplate::parse("/users/{id}").unwrap();
/// let names: Vec<_> = path.segments().map(Segment::name).collect();
/// assert_eq!(names, [None, Some("id")]);
/// assert_eq!(PathTemplate::parse("/users/:id?x"), Err(Rule::PathByte));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathTemplate<'a>(&'a str);

impl<'a> PathTemplate<'a> {
    /// Checks a path.
    ///
    /// # Errors
    ///
    /// The rule that it breaks.
    pub fn parse(text: &'a str) -> Result<Self, Rule> {
        let path = Self(text);
        let Some(inner) = text.strip_prefix('/') else { return Err(Rule::PathStart) };
        let mut names = Vec::new();
        let count = inner.split('/').count();
        for (index, segment) in inner.split('/').enumerate() {
            let last = index + 1 == count;
            // `/` alone and a path with a trailing slash are distinct paths.
            if segment.is_empty() && last {
                continue;
            }
            match parse_segment(segment)? {
                Segment::Rest(_) if !last => return Err(Rule::PathRest),
                Segment::Parameter(Parameter { name, .. })
                | Segment::Rest(Parameter { name, .. })
                    if names.contains(&name) =>
                {
                    return Err(Rule::PathParameterRepeated);
                }
                segment => names.extend(segment.name()),
            }
        }
        Ok(path)
    }

    /// The path with these texts in place of its parameters.
    ///
    /// ```
    /// use policy_core::path::{PathTemplate, Segment};
    ///
    /// let path = PathTemplate::parse("/files/{name:slashes}/{*rest}").unwrap();
    /// let filled = path.filled(|segment| match segment {
    ///     Segment::Rest(_) => "a/b".to_owned(),
    ///     other => other.name().unwrap_or_default().to_owned(),
    /// });
    /// assert_eq!(filled, "/files/name/a/b");
    /// ```
    pub fn filled(self, text: impl Fn(Segment<'a>) -> String) -> String {
        let mut path = String::new();
        for segment in self.segments() {
            path.push('/');
            match segment {
                Segment::Fixed(fixed) => path += fixed,
                parameter => path += &text(parameter),
            }
        }
        if path.is_empty() || self.0.ends_with('/') {
            path.push('/');
        }
        path
    }

    /// Checks a prefix of paths: fixed segments, no `/` at the end.
    ///
    /// # Errors
    ///
    /// The rule that it breaks.
    pub fn parse_prefix(text: &'a str) -> Result<Self, Rule> {
        let path = Self::parse(text).map_err(|rule| match text {
            "" => Rule::PathPrefix,
            _ => rule,
        })?;
        let fixed = path.segments().all(|segment| segment.name().is_none());
        if fixed && !text.ends_with('/') { Ok(path) } else { Err(Rule::PathPrefix) }
    }

    /// The path as it was written.
    pub const fn as_str(&self) -> &'a str {
        self.0
    }

    /// Its segments, without an empty one at the end.
    pub fn segments(&self) -> impl Iterator<Item = Segment<'a>> + use<'a> {
        self.0
            .split('/')
            .filter(|segment| !segment.is_empty())
            .filter_map(|segment| parse_segment(segment).ok())
    }

    /// The path as `matchit` writes it, with its parameters named by their position: equal for paths
    /// that match the same requests.
    ///
    /// ```
    /// use policy_core::path::PathTemplate;
    ///
    /// let form = PathTemplate::parse("/orders/{id}/{*rest}").map(|path| path.form());
    /// assert_eq!(form.as_deref(), Ok("/orders/{p1}/{*p2}"));
    /// ```
    pub fn form(&self) -> String {
        let mut form = String::with_capacity(self.0.len());
        for (index, segment) in self.segments().enumerate() {
            form.push('/');
            match segment {
                Segment::Fixed(text) => form.push_str(text),
                Segment::Parameter(_) => form.push_str(&format!("{{p{index}}}")),
                Segment::Rest(_) => form.push_str(&format!("{{*p{index}}}")),
            }
        }
        if self.0.ends_with('/') {
            form.push('/');
        }
        form
    }

    /// The names of its parameters, in order.
    pub fn parameters(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.segments().filter_map(Segment::name)
    }
}

fn parse_segment(text: &str) -> Result<Segment<'_>, Rule> {
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    match inner.map(|inner| (inner.strip_prefix('*').map(parameter), parameter(inner))) {
        Some((Some(Some(rest)), _)) => Ok(Segment::Rest(rest)),
        Some((None, Some(parameter))) => Ok(Segment::Parameter(parameter)),
        _ if text.bytes().any(|byte| matches!(byte, b'{' | b'}')) => Err(Rule::PathParameter),
        _ if text.is_empty() || eq(text.as_bytes(), b".") || eq(text.as_bytes(), b"..") => {
            Err(Rule::PathSegment)
        }
        _ if text.bytes().all(is_path_byte) => Ok(Segment::Fixed(text)),
        _ => Err(Rule::PathByte),
    }
}

/// `name` or `name:slashes`.
fn parameter(text: &str) -> Option<Parameter<'_>> {
    let (name, takes_slashes) = match text.strip_suffix(":slashes") {
        Some(name) => (name, true),
        None => (text, false),
    };
    is_name(name).then_some(Parameter { name, takes_slashes })
}

/// A Rust identifier, since it names an argument.
fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|char| char.is_ascii_alphanumeric() || char == '_')
}

/// `pchar` without percent codes (RFC 3986 3.3): bytes that clients need not encode.
pub(crate) const fn is_path_byte(byte: u8) -> bool {
    matches!(byte,
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&'
        | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'@')
}

/// The value of a parameter in a path that the template matches, as it is encoded in the path;
/// `None` if the template does not have the parameter.
#[cfg(feature = "engine")]
pub fn value_of<'a>(template: &str, name: &str, path: &'a str) -> Option<&'a str> {
    let is_named = |segment: &str| {
        segment
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
            .is_some_and(|it| it == name)
    };
    let at = template.split('/').position(is_named)?;
    path.split('/').nth(at).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_the_error() {
        for (text, rule) in [
            ("", Rule::PathStart),
            ("users", Rule::PathStart),
            ("/users?x", Rule::PathByte),
            ("/users/%41", Rule::PathByte),
            ("/a b", Rule::PathByte),
            ("/ä", Rule::PathByte),
            ("//a", Rule::PathSegment),
            ("/a//b", Rule::PathSegment),
            ("/a/../b", Rule::PathSegment),
            ("/{}", Rule::PathParameter),
            ("/{id", Rule::PathParameter),
            ("/{id}.png", Rule::PathParameter),
            ("/{id:slash}", Rule::PathParameter),
            ("/{:slashes}", Rule::PathParameter),
            ("/{1d}", Rule::PathParameter),
            ("/{*rest}/x", Rule::PathRest),
            ("/{*rest}/", Rule::PathRest),
            ("/{a}/{a}", Rule::PathParameterRepeated),
        ] {
            assert_eq!(PathTemplate::parse(text), Err(rule), "{text}");
        }
        for text in ["/", "/a", "/a/", "/{id}", "/{id}/", "/a/{*rest}", "/a/:id", "/@a~b"] {
            assert!(PathTemplate::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_parameter_opts_in_to_encoded_slashes() {
        let path = PathTemplate::parse("/{id}/{name:slashes}/{*rest:slashes}").unwrap();
        let takes: Vec<_> = path
            .segments()
            .filter_map(Segment::parameter)
            .map(|parameter| (parameter.name, parameter.takes_slashes))
            .collect();
        assert_eq!(takes, [("id", false), ("name", true), ("rest", true)]);
    }

    #[test]
    fn prefixes_are_fixed() {
        assert!(PathTemplate::parse_prefix("/api/v1").is_ok());
        for text in ["/api/", "/", "/{tenant}"] {
            assert_eq!(PathTemplate::parse_prefix(text), Err(Rule::PathPrefix), "{text}");
        }
        assert_eq!(PathTemplate::parse_prefix("api"), Err(Rule::PathStart));
    }
}
