//! Entity tags (RFC 9110 8.8.3).

use http::HeaderValue;
use sha2::{Digest, Sha256};

use crate::base64url;

/// An entity tag: names one state of a resource. A strong tag is the same only for byte-for-byte
/// equal states, a weak one for equivalent states.
///
/// `==` compares the text of two tags; conditions of requests compare strongly or weakly (RFC 9110
/// 8.8.3.2).
///
/// ```
/// use policy_core::conditional::EntityTag;
///
/// assert_eq!(EntityTag::weak("v1").unwrap().value(), "W/\"v1\"");
/// assert_eq!(EntityTag::strong("v 1"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityTag(HeaderValue);

impl EntityTag {
    /// A tag for byte-for-byte equal states; `None` if `tag` contains a space, a quote or a control
    /// character.
    pub fn strong(tag: &str) -> Option<Self> {
        Self::parse(format!("\"{tag}\"").as_bytes())
    }

    /// A tag for equivalent states; `None` as in [`strong`](Self::strong).
    pub fn weak(tag: &str) -> Option<Self> {
        Self::parse(format!("W/\"{tag}\"").as_bytes())
    }

    /// A strong tag for these bytes: 128 bits of their SHA-256, so that other bytes with the same
    /// tag cannot be constructed.
    ///
    /// ```
    /// use policy_core::conditional::EntityTag;
    ///
    /// assert_eq!(EntityTag::from_content(b"").value(), "\"47DEQpj8HBSa-_TImW-5JA\"");
    /// ```
    #[expect(clippy::expect_used, reason = "base64url has letters, digits, `-` and `_` only")]
    pub fn from_content(content: &[u8]) -> Self {
        let hash: [u8; 32] = Sha256::digest(content).into();
        let (half, _) = hash.split_at(16);
        let mut text = String::with_capacity(24);
        text.push('"');
        base64url::append(half, &mut text);
        text.push('"');
        Self(HeaderValue::try_from(text).expect("a field value"))
    }

    /// Reads a field value; `None` for anything that is not a tag, such as a text without quotes.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let (tag, rest) = Tag::read(value)?;
        if !rest.is_empty() {
            return None;
        }
        HeaderValue::from_bytes(tag.0).ok().map(Self)
    }

    /// The field value.
    pub fn value(&self) -> HeaderValue {
        self.0.clone()
    }

    /// The weak form of the tag; `None` if it is weak already.
    pub(super) fn weakened(&self) -> Option<Self> {
        let weak = [b"W/", self.0.as_bytes()].concat();
        if self.tag().is_weak() { None } else { Self::parse(&weak) }
    }

    pub(super) fn tag(&self) -> Tag<'_> {
        Tag(self.0.as_bytes())
    }
}

/// A tag as written in a field. INVARIANT: it was read by `Tag::read`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag<'a>(&'a [u8]);

impl<'a> Tag<'a> {
    /// The tag at the beginning of `text`, and the rest.
    pub(super) fn read(text: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let quoted = text.strip_prefix(b"W/").unwrap_or(text).strip_prefix(b"\"")?;
        let is_inside = |byte: &u8| matches!(byte, 0x21 | 0x23..=0x7e | 0x80..);
        let len = quoted.iter().position(|byte| !is_inside(byte))?;
        let (_, behind) = quoted.split_at_checked(len)?;
        let rest = behind.strip_prefix(b"\"")?;
        let (tag, _) = text.split_at_checked(text.len() - rest.len())?;
        Some((Self(tag), rest))
    }

    fn is_weak(self) -> bool {
        self.0.starts_with(b"W/")
    }

    /// Strong comparison (RFC 9110 8.8.3.2): both are strong and equal.
    pub(super) fn is_strongly(self, other: Self) -> bool {
        !self.is_weak() && self.0 == other.0
    }

    /// Weak comparison (RFC 9110 8.8.3.2): equal, whether weak or strong.
    pub(super) fn is_weakly(self, other: Self) -> bool {
        let quoted = |tag: Self| tag.0.strip_prefix(b"W/").unwrap_or(tag.0);
        quoted(self) == quoted(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9110 8.8.3.2, the table.
    #[test]
    fn comparisons_follow_the_standard() {
        let table = [
            ("W/\"1\"", "W/\"1\"", false, true),
            ("W/\"1\"", "W/\"2\"", false, false),
            ("W/\"1\"", "\"1\"", false, true),
            ("\"1\"", "\"1\"", true, true),
        ];
        for (first, second, strongly, weakly) in table {
            let [a, b] = [first, second].map(|text| Tag::read(text.as_bytes()).unwrap().0);
            assert_eq!((a.is_strongly(b), a.is_weakly(b)), (strongly, weakly), "{first}");
            assert_eq!((b.is_strongly(a), b.is_weakly(a)), (strongly, weakly), "{second}");
        }
    }

    #[test]
    fn a_tag_is_quoted_and_has_no_spaces() {
        for text in [&b"\"\""[..], b"W/\"\"", b"\"W/\"", b"\"a,b\\\"", b"\"\xe9\xff\""] {
            let tag = EntityTag::parse(text).unwrap();
            let is_weak = tag.tag().is_weak();
            assert_eq!((tag.value().as_bytes(), is_weak), (text, text.starts_with(b"W")));
        }
        for text in [
            "", "a", "\"", "\"a", "a\"", "w/\"a\"", "W/a", "W/", "\"a\"b", "\"a b\"", " \"a\"", "*",
        ] {
            assert_eq!(EntityTag::parse(text.as_bytes()), None, "{text}");
        }
        for byte in (0..=b' ').chain([b'"', 0x7f]) {
            let text = char::from(byte).to_string();
            assert_eq!(
                (EntityTag::strong(&text), EntityTag::weak(&text)),
                (None, None),
                "{text:?}"
            );
        }
    }

    #[test]
    fn other_content_has_another_tag() {
        let [a, again, b] = [&b"a"[..], b"a", b"b"].map(EntityTag::from_content);
        assert!(a.tag().is_strongly(again.tag()) && !a.tag().is_weakly(b.tag()));
    }
}
