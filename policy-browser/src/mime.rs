//! MIME types, to the extent that loads depend on them (MIME Sniffing).

use http::HeaderMap;

use crate::grammar::{is_token, trim};

/// The essence of a MIME type: lower case, without parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mime(String);

/// JavaScript MIME type essences.
const SCRIPTS: [&str; 16] = [
    "application/ecmascript",
    "application/javascript",
    "application/x-ecmascript",
    "application/x-javascript",
    "text/ecmascript",
    "text/javascript",
    "text/javascript1.0",
    "text/javascript1.1",
    "text/javascript1.2",
    "text/javascript1.3",
    "text/javascript1.4",
    "text/javascript1.5",
    "text/jscript",
    "text/livescript",
    "text/x-ecmascript",
    "text/x-javascript",
];

impl Mime {
    /// Parse a MIME type (MIME Sniffing, 4.4).
    pub(crate) fn parse(value: &[u8]) -> Option<Self> {
        let essence = trim(value).split(|byte| *byte == b';').next()?;
        // Parameters can have any bytes (Fetch decodes them as ISO 8859-1).
        let (kind, subtype) = str::from_utf8(essence).ok()?.split_once('/')?;
        let subtype = subtype.trim_end_matches(['\t', '\n', '\r', ' ']);
        let is_valid = is_token(kind) && is_token(subtype);
        is_valid.then(|| Self(format!("{kind}/{subtype}").to_ascii_lowercase()))
    }

    /// Extract a MIME type (Fetch, 2.2.2): the last valid one.
    pub(crate) fn extract(headers: &HeaderMap) -> Option<Self> {
        let lines = headers.get_all("content-type").iter();
        let values = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
        values.filter_map(Self::parse).rfind(|mime| mime.0 != "*/*")
    }

    /// The types that forms send, which need no preflight.
    pub(crate) fn is_form(&self) -> bool {
        matches!(
            &*self.0,
            "application/x-www-form-urlencoded" | "multipart/form-data" | "text/plain"
        )
    }

    pub(crate) fn is_script(&self) -> bool {
        SCRIPTS.contains(&&*self.0)
    }

    /// The types that are never scripts, even without `nosniff` (Fetch, 2.11).
    pub(crate) fn is_never_script(&self) -> bool {
        let starts = |kind| self.0.starts_with(kind);
        starts("audio/") || starts("image/") || starts("video/") || self.0 == "text/csv"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_essence_has_lower_case_and_no_parameters() {
        assert_eq!(Mime::parse(b" Text/HTML ;charset=x").unwrap().0, "text/html");
        assert_eq!(Mime::parse(b"text/plain;x=\xe9").unwrap().0, "text/plain");
        assert_eq!(Mime::parse(b"text/pl\xe9in"), None);
        assert_eq!(Mime::parse(b"text"), None);
        assert_eq!(Mime::parse(b"text /plain"), None);
    }

    #[test]
    fn the_last_type_of_several_counts() {
        let mut headers = HeaderMap::new();
        headers.append("content-type", "text/plain, image/png".parse().unwrap());
        headers.append("content-type", "*/*".parse().unwrap());
        assert!(Mime::extract(&headers).unwrap().is_never_script());
    }
}
