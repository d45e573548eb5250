//! A second implementation of the verdict on a token: RFC 7515, RFC 7519, RFC 9068 and the
//! documented order of refusals, with serde_json and data-encoding.

use std::{cell::Cell, fmt};

use data_encoding::BASE64URL_NOPAD;
use hmac::{Hmac, KeyInit, Mac};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use sha2::Sha256;

/// The keys `a` and `b`.
pub(super) const SECRETS: [(&str, [u8; 32]); 2] = [("a", first()), ("b", second())];
pub(super) const NOW: u64 = 1_800_000_000;
pub(super) const ISSUER: &str = "https://id.example";
pub(super) const AUDIENCE: &str = "api";

const fn first() -> [u8; 32] {
    let mut key = [17; 32];
    key[0] = 1;
    key
}

const fn second() -> [u8; 32] {
    let mut key = [18; 32];
    key[0] = 1;
    key
}

/// The parts of JSON that tokens use.
#[derive(Debug)]
pub(super) enum Json {
    Null,
    Bool,
    /// Its value, if it is a non-negative integer of 64 bits.
    Number(Option<u64>),
    /// `-0` is an integer and `-0.0` is not, which serde_json does not distinguish.
    NegativeZero,
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// The result of a verification.
pub(super) type Verdict = Result<Says, String>;

/// The contents of an accepted token.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Says {
    pub(super) subject: String,
    pub(super) id: String,
    pub(super) session: Option<String>,
    pub(super) scopes: Vec<String>,
    pub(super) roles: Vec<String>,
    pub(super) tenant: Option<String>,
    pub(super) expires: u64,
    pub(super) payload: String,
}

thread_local! {
    static LEVEL: Cell<u8> = const { Cell::new(0) };
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

fn deeper<T, E: Error>(read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    LEVEL.set(LEVEL.get() + 1);
    let read = if LEVEL.get() > 8 { Err(E::custom("too deep")) } else { read() };
    LEVEL.set(LEVEL.get() - 1);
    read
}

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }
    fn visit_bool<E>(self, _: bool) -> Result<Json, E> {
        Ok(Json::Bool)
    }
    fn visit_i64<E>(self, _: i64) -> Result<Json, E> {
        Ok(Json::Number(None))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(Some(value)))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        let is_negative_zero = value == 0.0 && value.is_sign_negative();
        Ok(if is_negative_zero { Json::NegativeZero } else { Json::Number(None) })
    }
    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        deeper(|| {
            let mut all = Vec::new();
            while let Some(value) = seq.next_element()? {
                all.push(value);
            }
            Ok(Json::List(all))
        })
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        deeper(|| {
            let mut all: Vec<(String, Json)> = Vec::new();
            while let Some(name) = map.next_key::<String>()? {
                let value = map.next_value()?;
                if all.iter().any(|(known, _)| *known == name) || all.len() == 64 {
                    return Err(A::Error::custom("too many names"));
                }
                all.push((name, value));
            }
            Ok(Json::Object(all))
        })
    }
}

impl Json {
    /// Parses an object. `None` where serde_json cannot decide: a number that is too large for it,
    /// which JSON allows.
    pub(super) fn object(text: &[u8]) -> Option<Result<Self, String>> {
        LEVEL.set(0);
        let malformed = || Err("malformed".to_owned());
        match serde_json::from_slice::<Self>(text) {
            Ok(object @ Self::Object(_)) => Some(Ok(object)),
            Ok(_) => Some(malformed()),
            Err(error) if error.to_string().contains("out of range") => None,
            Err(_) => Some(malformed()),
        }
    }

    fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(all) = self else { return None };
        all.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// A member that is present and not null.
    fn claim(&self, name: &str) -> Option<&Self> {
        self.get(name).filter(|value| !matches!(value, Self::Null))
    }

    fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    fn texts(&self) -> Option<Vec<&str>> {
        let Self::List(all) = self else { return None };
        all.iter().map(Self::text).collect()
    }

    /// The number of values it contains.
    pub(super) fn size(&self) -> usize {
        1 + match self {
            Self::List(all) => all.iter().map(Self::size).sum(),
            Self::Object(all) => all.iter().map(|(_, value)| value.size()).sum(),
            _ => 0,
        }
    }
}

fn refuse(code: &str) -> Option<Verdict> {
    Some(Err(code.to_owned()))
}

/// The signature by a key, as text.
pub(super) fn signature(key: &[u8], message: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any length");
    mac.update(message);
    BASE64URL_NOPAD.encode(&mac.finalize().into_bytes())
}

/// The verdict on a token; `None` where serde_json cannot decide.
pub(super) fn verdict(token: &[u8]) -> Option<Verdict> {
    let is_character = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    if token.len() > 4096 {
        return refuse("too_large");
    }
    let segments: Vec<&[u8]> = token.split(|byte| *byte == b'.').collect();
    let [head, body, tag] = segments[..] else { return refuse("malformed") };
    if !token.iter().all(is_character) || segments.iter().any(|segment| segment.is_empty()) {
        return refuse("malformed");
    }
    let Ok(header) = BASE64URL_NOPAD.decode(head) else { return refuse("malformed") };
    let header = match Json::object(&header)? {
        Ok(header) => header,
        Err(code) => return Some(Err(code)),
    };
    let Some(alg) = header.get("alg").and_then(Json::text) else { return refuse("malformed") };
    let typ = match header.get("typ").map(Json::text) {
        Some(None) => return refuse("malformed"),
        Some(typ) => typ,
        None => None,
    };
    if header.get("crit").is_some() || header.get("b64").is_some() {
        return refuse("unsupported_critical");
    }
    if alg != "HS256" {
        return refuse("alg_not_allowed");
    }
    let typ = typ.map(str::to_ascii_lowercase);
    if !matches!(typ.as_deref(), Some("at+jwt" | "application/at+jwt")) {
        return refuse("wrong_type");
    }
    let id = header.get("kid").and_then(Json::text);
    let Some((_, key)) = SECRETS.iter().find(|(known, _)| Some(*known) == id) else {
        return refuse("unknown_key");
    };
    if BASE64URL_NOPAD.decode(tag).is_err() {
        return refuse("malformed");
    }
    let message = [head, b".", body].concat();
    if signature(key, &message).as_bytes() != tag {
        return refuse("bad_signature");
    }
    let Ok(payload) = BASE64URL_NOPAD.decode(body) else { return refuse("malformed") };
    let claims = match Json::object(&payload)? {
        Ok(claims) => claims,
        Err(code) => return Some(Err(code)),
    };
    read_claims(&claims, str::from_utf8(&payload).expect("JSON is UTF-8"))
}

fn read_claims(claims: &Json, payload: &str) -> Option<Verdict> {
    for name in ["iss", "aud", "sub", "iat", "exp", "jti"] {
        if claims.claim(name).is_none() {
            return refuse(&format!("claim_missing:{name}"));
        }
    }
    let text = |name: &str| claims.claim(name).and_then(Json::text);
    let date = |name: &str| match claims.claim(name) {
        Some(Json::Number(Some(value))) if *value <= 1 << 53 => Some(*value),
        _ => None,
    };
    let audiences = claims.claim("aud").and_then(|it| {
        it.text().map(|one| vec![one]).or_else(|| it.texts().filter(|all| !all.is_empty()))
    });
    let roles = claims.claim("roles").map(Json::texts);
    // A text of such a length, or absent.
    let is_text = |name: &str, least: usize, most: usize| {
        claims.claim(name).is_none()
            || text(name).is_some_and(|it| (least..=most).contains(&it.len()))
    };
    let is_date = |name: &str| claims.claim(name).is_none() || date(name).is_some();
    for name in ["iat", "exp", "nbf", "auth_time"] {
        if let Some(Json::NegativeZero) = claims.claim(name) {
            return None;
        }
    }
    for (name, is_right) in [
        ("iss", is_text("iss", 1, usize::MAX)),
        ("aud", audiences.is_some()),
        ("sub", is_text("sub", 1, usize::MAX)),
        ("iat", is_date("iat")),
        ("exp", is_date("exp")),
        ("jti", is_text("jti", 1, 64)),
        ("nbf", is_date("nbf")),
        ("scope", is_text("scope", 0, usize::MAX)),
        ("sid", is_text("sid", 1, usize::MAX)),
        ("auth_time", is_date("auth_time")),
        ("roles", roles.as_ref().is_none_or(Option::is_some)),
        ("tenant", is_text("tenant", 1, 200)),
    ] {
        if !is_right {
            return refuse(&format!("claim_type:{name}"));
        }
    }
    let (iat, exp) = (date("iat")?, date("exp")?);
    let latest = NOW + 30;
    if NOW - 30 >= exp {
        return refuse("expired");
    }
    if date("nbf").is_some_and(|nbf| nbf > latest) {
        return refuse("not_yet_valid");
    }
    if iat > latest {
        return refuse("issued_in_future");
    }
    if date("auth_time").is_some_and(|login| login > latest) {
        return refuse("login_in_future");
    }
    if exp.saturating_sub(iat) > 3600 {
        return refuse("lifetime_too_long");
    }
    if text("iss") != Some(ISSUER) {
        return refuse("bad_issuer");
    }
    if !audiences?.contains(&AUDIENCE) {
        return refuse("bad_audience");
    }
    let scopes = text("scope").unwrap_or_default().split(' ').filter(|scope| !scope.is_empty());
    let roles = roles.flatten().unwrap_or_default();
    Some(Ok(Says {
        subject: text("sub")?.to_owned(),
        id: text("jti")?.to_owned(),
        session: text("sid").map(str::to_owned),
        scopes: scopes.map(str::to_owned).collect(),
        roles: roles.into_iter().map(str::to_owned).collect(),
        tenant: text("tenant").map(str::to_owned),
        expires: exp,
        payload: payload.trim_end_matches([' ', '\t', '\n', '\r']).to_owned(),
    }))
}
