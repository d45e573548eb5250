//! The conditions of a request, and their evaluation.

use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, RANGE},
};

use super::{EntityTag, ModificationDate, Range, Validators, coded, etag::Tag, range, single};

/// The conditions of one request.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// GET or HEAD.
    reads: bool,
    /// The lines of `If-Match`; empty if it is absent.
    if_match: Vec<HeaderValue>,
    /// The lines of `If-None-Match`.
    if_none_match: Vec<HeaderValue>,
    if_unmodified_since: Option<ModificationDate>,
    /// Of GET and HEAD only.
    if_modified_since: Option<ModificationDate>,
    /// `Range`, of GET only.
    range: Option<HeaderValue>,
    /// The lines of `If-Range`.
    if_range: Vec<HeaderValue>,
}

/// The result of evaluating the conditions of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PreconditionVerdict {
    /// Process the request as if it had no conditions.
    Proceed,
    /// 304: the client already has the response.
    NotModified,
    /// 412: the precondition failed, and the request is not processed.
    Failed,
}

impl Conditions {
    /// Reads the conditions of a request; `None` if it has none, or if its method does not select a
    /// representation (RFC 9110 13.2.1).
    ///
    /// Malformed or repeated dates are ignored, and so is a `Range` that is repeated or not for
    /// GET.
    ///
    /// ```
    /// use http::{HeaderMap, Method, header::IF_NONE_MATCH};
    /// use policy_core::conditional::{Conditions, EntityTag, Validators, PreconditionVerdict};
    ///
    /// let mut headers = HeaderMap::new();
    /// assert!(Conditions::read(&Method::GET, &headers).is_none());
    ///
    /// headers.insert(IF_NONE_MATCH, "\"v1\", \"v2\"".parse().unwrap());
    /// let conditions = Conditions::read(&Method::GET, &headers).unwrap();
    /// let now = Validators { etag: EntityTag::weak("v2"), last_modified: None };
    /// assert_eq!(conditions.evaluate(Some(&now)), PreconditionVerdict::NotModified);
    /// ```
    pub fn read(method: &Method, headers: &HeaderMap) -> Option<Box<Self>> {
        let is_condition = |name: &HeaderName| {
            let name = name.as_str();
            name.starts_with("if-") || name == "range"
        };
        let is_without_state = matches!(*method, Method::OPTIONS | Method::TRACE | Method::CONNECT);
        if is_without_state || !headers.keys().any(is_condition) {
            return None;
        }
        let reads = matches!(*method, Method::GET | Method::HEAD);
        let lines = |name| headers.get_all(name).iter().cloned().collect();
        let date = |name| single(headers, name).and_then(ModificationDate::parse);
        let range = headers.get(RANGE).filter(|_| single(headers, &RANGE).is_some());
        Some(Box::new(Self {
            reads,
            if_match: lines(IF_MATCH),
            if_none_match: lines(IF_NONE_MATCH),
            if_unmodified_since: date(&IF_UNMODIFIED_SINCE),
            if_modified_since: date(&IF_MODIFIED_SINCE).filter(|_| reads),
            range: range.filter(|_| *method == Method::GET).cloned(),
            if_range: lines(IF_RANGE),
        }))
    }

    /// Evaluates the conditions against the current representation, if any (RFC 9110 13.2.2, 1 to
    /// 4).
    ///
    /// A malformed list of tags matches nothing. If that would let a request change something,
    /// which is the case for `If-None-Match`, the request fails: it is unknown which state the
    /// client wanted to keep.
    pub fn evaluate(&self, current: Option<&Validators>) -> PreconditionVerdict {
        let etag = current.and_then(|current| current.etag.as_ref());
        let modified = current.and_then(|current| current.last_modified);
        let holds = if self.if_match.is_empty() {
            // Where there is no date, the field is ignored.
            let is_before = |date| modified.is_none_or(|modified| modified <= date);
            self.if_unmodified_since.is_none_or(is_before)
        } else {
            find(&self.if_match, current.is_some(), etag, Tag::is_strongly) == TagMatch::Match
        };
        if !holds {
            return PreconditionVerdict::Failed;
        }
        if self.if_none_match.is_empty() {
            let is_before = |date| modified.is_some_and(|modified| modified <= date);
            let has_it = self.if_modified_since.is_some_and(is_before);
            return if has_it {
                PreconditionVerdict::NotModified
            } else {
                PreconditionVerdict::Proceed
            };
        }
        match find(&self.if_none_match, current.is_some(), etag, Tag::is_weakly) {
            TagMatch::Match if self.reads => PreconditionVerdict::NotModified,
            TagMatch::Malformed if self.reads => PreconditionVerdict::Proceed,
            TagMatch::Match | TagMatch::Malformed => PreconditionVerdict::Failed,
            TagMatch::Nothing => PreconditionVerdict::Proceed,
        }
    }

    /// Makes the `ETag` of a 304 weak if the client sent only its weak form: the response that it
    /// stored was encoded on its way. With the strong tag, a cache would give its encoded bytes the
    /// tag of the unencoded ones (RFC 9110 15.4.5, RFC 9111 4.3.4).
    pub fn weaken_known(&self, headers: &mut HeaderMap) {
        let etag = Validators::read(headers).etag;
        let has = |is_same| find(&self.if_none_match, true, etag.as_ref(), is_same);
        if has(Tag::is_weakly) == TagMatch::Match && has(Tag::is_strongly) != TagMatch::Match {
            coded::weaken(headers);
        }
    }

    /// The part of a successful response that is requested (RFC 9110 13.2.2, 5), for content of
    /// `length` bytes. Call it only if the other conditions let the request proceed.
    ///
    /// `If-Range` matches the same strong tag, or exactly the same date. A date counts as strong
    /// here: a resource that may change twice within a second must also have an `ETag`.
    ///
    /// ```
    /// use http::{HeaderMap, Method, header::{IF_RANGE, RANGE}};
    /// use policy_core::conditional::{Conditions, EntityTag, Range, Validators};
    ///
    /// let mut headers = HeaderMap::new();
    /// headers.insert(RANGE, "bytes=900-".parse().unwrap());
    /// headers.insert(IF_RANGE, "\"v1\"".parse().unwrap());
    /// let conditions = Conditions::read(&Method::GET, &headers).unwrap();
    /// let of = |tag| Validators { etag: EntityTag::strong(tag), last_modified: None };
    /// assert_eq!(conditions.range(&of("v1"), 1000), Range::Part { first: 900, last: 999 });
    /// assert_eq!(conditions.range(&of("v2"), 1000), Range::Whole);
    /// ```
    pub fn range(&self, current: &Validators, length: u64) -> Range {
        let holds = match self.if_range.as_slice() {
            [] => true,
            [line] => is_current(line.as_bytes(), current),
            _ => false,
        };
        match &self.range {
            Some(range) if holds => range::select(range.as_bytes(), length),
            _ => Range::Whole,
        }
    }
}

/// Whether a validator of `If-Range` is the current one.
fn is_current(value: &[u8], current: &Validators) -> bool {
    match EntityTag::parse(value) {
        Some(etag) => {
            current.etag.as_ref().is_some_and(|current| current.tag().is_strongly(etag.tag()))
        }
        None => {
            let date = ModificationDate::parse(value);
            date.is_some() && date == current.last_modified
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TagMatch {
    Match,
    Nothing,
    Malformed,
}

/// Looks for a tag in a list over several lines (RFC 9110 5.6.1, 13.1.1): `*`, or any number of
/// tags with commas between.
fn find<'a>(
    lines: &'a [HeaderValue],
    exists: bool,
    etag: Option<&'a EntityTag>,
    is_same: fn(Tag<'a>, Tag<'a>) -> bool,
) -> TagMatch {
    if let [line] = lines
        && line.as_bytes() == b"*"
    {
        return if exists { TagMatch::Match } else { TagMatch::Nothing };
    }
    let mut found = TagMatch::Nothing;
    for line in lines {
        let mut rest = line.as_bytes();
        loop {
            while let [b' ' | b'\t' | b',', tail @ ..] = rest {
                rest = tail;
            }
            if rest.is_empty() {
                break;
            }
            let Some((tag, behind)) = Tag::read(rest) else { return TagMatch::Malformed };
            if !matches!(behind.trim_ascii_start(), [] | [b',', ..]) {
                return TagMatch::Malformed;
            }
            if etag.is_some_and(|etag| is_same(etag.tag(), tag)) {
                found = TagMatch::Match;
            }
            rest = behind;
        }
    }
    found
}
