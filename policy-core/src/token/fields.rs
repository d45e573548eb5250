//! The positions of the claims of a token in its text, and whether they may be accepted.

use std::borrow::Cow;

use super::{
    Claim, Profile, TokenError,
    issue::CUT_OFFS,
    json::{Malformed, Scanner, Span},
};
use crate::{session::Identity, time::Timestamp};

/// The largest date: 2^53, up to which all JSON parsers read integers exactly.
const MAX_DATE: u64 = 1 << 53;

/// The positions of the claims in their text, and which of them are wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fields {
    present: u16,
    wrong: u16,
    /// The dates that were rounded down, as a bit set.
    rounded: u16,
    is_own_issuer: bool,
    is_own_audience: bool,
    /// Where the JSON ends. The unescaped texts of claims with escapes follow it.
    pub(super) json_end: u16,
    pub(super) iss: Span,
    pub(super) sub: Span,
    pub(super) jti: Span,
    pub(super) scope: Span,
    pub(super) sid: Span,
    pub(super) roles: Span,
    pub(super) tenant: Span,
    pub(super) iat: u64,
    pub(super) exp: u64,
    pub(super) nbf: u64,
    pub(super) auth_time: u64,
    pub(super) cut_offs: Option<u64>,
}

impl Fields {
    /// Reads the claims of `payload`, and appends to it the texts that are escaped in it.
    pub(super) fn read(payload: &mut String, profile: &Profile) -> Result<Self, Malformed> {
        let mut fields = Self::default();
        let mut tail = String::new();
        let mut scanner = Scanner::new(payload);
        scanner.document(|scanner, name| fields.member(scanner, name, profile, &mut tail))?;
        fields.json_end = scanner.position();
        if !tail.is_empty() {
            payload.push_str(&tail);
        }
        Ok(fields)
    }

    #[inline]
    fn member(
        &mut self,
        scanner: &mut Scanner<'_>,
        name: &[u8],
        profile: &Profile,
        tail: &mut String,
    ) -> Result<(), Malformed> {
        let claim = match name {
            b"iss" => Claim::Iss,
            b"aud" => Claim::Aud,
            b"sub" => Claim::Sub,
            b"iat" => Claim::Iat,
            b"exp" => Claim::Exp,
            b"jti" => Claim::Jti,
            b"nbf" => Claim::Nbf,
            b"scope" => Claim::Scope,
            b"sid" => Claim::Sid,
            b"auth_time" => Claim::AuthTime,
            b"roles" => Claim::Roles,
            b"tenant" => Claim::Tenant,
            name if name == CUT_OFFS.as_bytes() => return self.number(scanner),
            _ => return scanner.skip(),
        };
        if scanner.is_next(b'n') {
            // Treated as if it were absent.
            return scanner.skip();
        }
        self.present |= bit(claim);
        let is_right = match claim {
            Claim::Iss => {
                let issuer = spanned(scanner, tail, &mut self.iss)?;
                self.is_own_issuer = issuer.as_deref() == Some(profile.issuer.as_bytes());
                issuer.is_some_and(|issuer| !issuer.is_empty())
            }
            Claim::Aud => self.audience(scanner, &profile.audience)?,
            Claim::Sub => {
                spanned(scanner, tail, &mut self.sub)?.is_some_and(|text| !text.is_empty())
            }
            Claim::Jti => {
                let longest = if profile.has_mapped_claims { 255 } else { 64 };
                spanned(scanner, tail, &mut self.jti)?
                    .is_some_and(|text| (1..=longest).contains(&text.len()))
            }
            Claim::Scope => spanned(scanner, tail, &mut self.scope)?.is_some(),
            Claim::Sid => {
                spanned(scanner, tail, &mut self.sid)?.is_some_and(|text| !text.is_empty())
            }
            Claim::Iat => self.date(scanner, profile, claim, |fields| &mut fields.iat)?,
            Claim::Exp => self.date(scanner, profile, claim, |fields| &mut fields.exp)?,
            Claim::Nbf => self.date(scanner, profile, claim, |fields| &mut fields.nbf)?,
            Claim::AuthTime => {
                self.date(scanner, profile, claim, |fields| &mut fields.auth_time)?
            }
            Claim::Roles => self.roles(scanner)?,
            Claim::Tenant => {
                let tenant = spanned(scanner, tail, &mut self.tenant)?;
                tenant.is_some_and(|name| (1..=Identity::MAX_TENANT).contains(&name.len()))
            }
        };
        let is_mapped = profile.has_mapped_claims && MAPPED & bit(claim) != 0;
        if !is_right && !is_mapped {
            self.wrong |= bit(claim);
        }
        Ok(())
    }

    /// Reads the next value into a field. Returns whether it is a date.
    ///
    /// A fraction counts against the holder: `exp` is rounded down and `nbf` up. `iat` and
    /// `auth_time` are rounded up to check that they are not in the future, and down to compare
    /// them with cut-offs and with the age of a login.
    #[inline]
    fn date(
        &mut self,
        scanner: &mut Scanner<'_>,
        profile: &Profile,
        claim: Claim,
        field: impl FnOnce(&mut Self) -> &mut u64,
    ) -> Result<bool, Malformed> {
        if !scanner.is_number_next() {
            scanner.skip()?;
            return Ok(false);
        }
        let number = scanner.number()?;
        let value = match number.integer {
            Some(integer) => Some(integer),
            None if profile.has_fractional_dates => {
                whole_seconds(number.raw).map(|(value, rounded)| {
                    self.rounded |= if rounded { bit(claim) } else { 0 };
                    value
                })
            }
            None => None,
        };
        *field(self) = value.unwrap_or(0);
        Ok(value.is_some_and(|value| value <= MAX_DATE))
    }

    /// The number of the newest cut-off. Another issuer may use this name differently, so other
    /// values are not an error.
    fn number(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Malformed> {
        if !scanner.is_number_next() {
            return scanner.skip();
        }
        self.cut_offs = scanner.number()?.integer;
        Ok(())
    }

    /// A string, or an array of strings that is not empty.
    fn audience(&mut self, scanner: &mut Scanner<'_>, own: &str) -> Result<bool, Malformed> {
        if !scanner.is_next(b'[') {
            let audience = string(scanner)?;
            self.is_own_audience = audience.as_deref() == Some(own.as_bytes());
            return Ok(audience.is_some());
        }
        let (mut are_strings, mut count) = (true, 0);
        scanner.array(|scanner| {
            let audience = string(scanner)?;
            count += 1;
            are_strings &= audience.is_some();
            self.is_own_audience |= audience.as_deref() == Some(own.as_bytes());
            Ok(())
        })?;
        Ok(are_strings && count > 0)
    }

    /// An array of strings.
    fn roles(&mut self, scanner: &mut Scanner<'_>) -> Result<bool, Malformed> {
        let start = scanner.position();
        if !scanner.is_next(b'[') {
            scanner.skip()?;
            return Ok(false);
        }
        let mut are_strings = true;
        scanner.array(|scanner| {
            are_strings &= string(scanner)?.is_some();
            Ok(())
        })?;
        if are_strings {
            self.roles = Span { start, end: scanner.position() };
        }
        Ok(are_strings)
    }

    /// Checks required claims, their types, times, issuer, and the audience unless claims are mapped.
    #[inline]
    pub(super) fn check(&self, profile: &Profile, now: Timestamp) -> Result<(), TokenError> {
        let required = if profile.has_mapped_claims { DATED } else { REQUIRED };
        let missing = required & !self.present;
        if let Some(claim) = first(missing) {
            return Err(TokenError::ClaimMissing(claim));
        }
        if let Some(claim) = first(self.wrong) {
            return Err(TokenError::ClaimType(claim));
        }
        let now = now.seconds();
        let latest = now.saturating_add(profile.leeway);
        if now.saturating_sub(profile.leeway) >= self.exp {
            Err(TokenError::Expired)
        } else if self.rounded_up(Claim::Nbf, self.nbf) > latest {
            Err(TokenError::NotYetValid)
        } else if self.rounded_up(Claim::Iat, self.iat) > latest {
            Err(TokenError::IssuedInFuture)
        } else if self.rounded_up(Claim::AuthTime, self.auth_time) > latest {
            Err(TokenError::LoginInFuture)
        } else if self.exp.saturating_sub(self.iat) > profile.max_lifetime {
            Err(TokenError::LifetimeTooLong)
        } else if !self.is_own_issuer {
            Err(TokenError::BadIssuer)
        } else if !self.is_own_audience && !profile.has_mapped_claims {
            Err(TokenError::BadAudience)
        } else {
            Ok(())
        }
    }

    /// A date, rounded up to seconds.
    #[inline]
    pub(super) fn rounded_up(&self, claim: Claim, date: u64) -> u64 {
        date + u64::from(self.rounded & bit(claim) != 0)
    }

    /// Whether the payload names the issuer of the profile.
    #[cfg(feature = "asym")]
    pub(super) fn is_own_issuer(&self) -> bool {
        self.is_own_issuer
    }

    pub(super) fn has(&self, claim: Claim) -> bool {
        self.present & bit(claim) != 0
    }
}

/// The claims that every token has.
const REQUIRED: u16 = (1 << 6) - 1;

/// The required claims that state who issued the token, and when.
const DATED: u16 = bit(Claim::Iss) | bit(Claim::Iat) | bit(Claim::Exp);

/// The claims that another issuer may keep under other names.
const MAPPED: u16 =
    bit(Claim::Aud) | bit(Claim::Sub) | bit(Claim::Scope) | bit(Claim::Roles) | bit(Claim::Tenant);

const fn bit(claim: Claim) -> u16 {
    1 << claim as u16
}

/// The claim of the lowest bit: the first in the order of reports.
fn first(claims: u16) -> Option<Claim> {
    if claims == 0 { None } else { Claim::ALL.get(claims.trailing_zeros() as usize).copied() }
}

/// The next value, if it is a string.
#[inline]
fn string<'t>(scanner: &mut Scanner<'t>) -> Result<Option<Cow<'t, [u8]>>, Malformed> {
    if scanner.is_next(b'"') {
        scanner.literal()?.text().map(Some)
    } else {
        scanner.skip()?;
        Ok(None)
    }
}

/// The next value, if it is a string. Records its span, which lies after the JSON for a string with
/// escapes.
#[inline]
fn spanned<'t>(
    scanner: &mut Scanner<'t>,
    tail: &mut String,
    span: &mut Span,
) -> Result<Option<Cow<'t, [u8]>>, Malformed> {
    if !scanner.is_next(b'"') {
        scanner.skip()?;
        return Ok(None);
    }
    let literal = scanner.literal()?;
    let text = literal.text()?;
    *span = if literal.has_escapes { behind(scanner, tail, &text)? } else { literal.span };
    Ok(Some(text))
}

#[cold]
fn behind(scanner: &Scanner<'_>, tail: &mut String, text: &[u8]) -> Result<Span, Malformed> {
    let start = scanner.len() + tail.len();
    tail.push_str(str::from_utf8(text).map_err(|_utf8| Malformed)?);
    let offset = |at: usize| u16::try_from(at).map_err(|_long| Malformed);
    Ok(Span { start: offset(start)?, end: offset(start + text.len())? })
}

/// The seconds of a date with a fraction or an exponent, rounded down, and whether that changed it.
#[cold]
fn whole_seconds(number: &[u8]) -> Option<(u64, bool)> {
    let value: f64 = str::from_utf8(number).ok()?.parse().ok()?;
    // 2^53 is exact, and every smaller value has an exact integer part.
    (0.0..=MAX_DATE as f64).contains(&value).then_some((value as u64, value.fract() > 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7519 2, NumericDate. A token that is valid from 1000.5 to 1300.5; each date is tested at
    /// the second in which rounding the other way would favour the holder.
    #[test]
    fn a_fraction_of_a_date_counts_against_the_holder() {
        let profile = Profile::new("https://id.example", "api").unwrap();
        let profile = profile.leeway(std::time::Duration::ZERO).unwrap();
        let payload = |dates: &str| {
            let rest = r#""sub":"ada","aud":"api","jti":"AAAAAAAAAAAAAAAAAAAAAA""#;
            format!(r#"{{"iss":"https://id.example",{dates},{rest}}}"#)
        };
        let check = |dates: &str, profile: &Profile, now| {
            let fields = Fields::read(&mut payload(dates), profile).unwrap();
            fields.check(profile, Timestamp::from_seconds(now))
        };
        let dates = r#""iat":1000.5,"exp":1300.5,"nbf":1002.5,"auth_time":1001.5"#;
        let fractional = profile.clone().fractional_dates();
        for (now, due) in [
            (1000, Err(TokenError::NotYetValid)),
            (1002, Err(TokenError::NotYetValid)),
            (1003, Ok(())),
            (1299, Ok(())),
            (1300, Err(TokenError::Expired)),
        ] {
            assert_eq!(check(dates, &fractional, now), due, "{now}");
        }
        for (dates, due) in [
            (r#""iat":1000.5,"exp":1300"#, TokenError::IssuedInFuture),
            (r#""iat":900,"exp":1300,"auth_time":1000.001"#, TokenError::LoginInFuture),
            (r#""iat":900,"exp":1300,"nbf":1.0000005e3"#, TokenError::NotYetValid),
            (r#""iat":900,"exp":1000.999"#, TokenError::Expired),
        ] {
            assert_eq!(check(dates, &fractional, 1000), Err(due), "{dates}");
        }
        let whole = r#""iat":1000.0,"exp":1.3e3,"nbf":1000.00,"auth_time":1000.0"#;
        assert_eq!(check(whole, &fractional, 1000), Ok(()), "no fraction is lost");
        let hour = r#""iat":1000.5,"exp":4600.5"#;
        assert_eq!(check(hour, &fractional, 1001), Ok(()), "an hour, which is the longest");
        assert_eq!(check(dates, &profile, 1100), Err(TokenError::ClaimType(Claim::Iat)));
        let fields = Fields::read(&mut payload(dates), &fractional).unwrap();
        assert_eq!((fields.iat, fields.auth_time), (1000, 1001), "for cut-offs and fresh logins");
    }

    /// A tenant is read like any other text, and refused if it names no tenant: otherwise an object
    /// without one would be of the caller's tenant.
    #[test]
    fn a_tenant_is_a_text_of_1_to_200_bytes() {
        let profile = Profile::new("https://id.example", "api").unwrap();
        let mut mapped = profile.clone();
        mapped.has_mapped_claims = true;
        let long = |bytes| format!("\"{}\"", "a".repeat(bytes));
        for (tenant, is_right, read) in [
            ("\"acme\"", true, "acme"),
            (r#""a\u0063me""#, true, "acme"),
            ("null", true, ""),
            (&long(200), true, &*"a".repeat(200)),
            (&long(201), false, &*"a".repeat(201)),
            ("\"\"", false, ""),
            ("7", false, ""),
            ("[\"acme\"]", false, ""),
        ] {
            let rest = r#""sub":"ada","iat":1000,"exp":1300,"jti":"AAAAAAAAAAAAAAAAAAAAAA""#;
            let payload =
                format!(r#"{{"iss":"https://id.example","aud":"api",{rest},"tenant":{tenant}}}"#);
            for (profile, is_right) in [(&profile, is_right), (&mapped, true)] {
                let mut payload = payload.clone();
                let fields = Fields::read(&mut payload, profile).unwrap();
                assert_eq!(fields.tenant.slice(&payload), read, "{tenant}");
                let due = if is_right { Ok(()) } else { Err(TokenError::ClaimType(Claim::Tenant)) };
                let now = Timestamp::from_seconds(1000);
                assert_eq!(fields.check(profile, now), due, "{tenant}");
            }
        }
    }

    #[test]
    fn every_place_of_an_audience_counts() {
        let profile = Profile::new("https://id.example", "api").unwrap();
        for (audience, is_own) in [
            (r#""api""#, true),
            (r#"["api"]"#, true),
            (r#"["api","b","c"]"#, true),
            (r#"["a","api","c"]"#, true),
            (r#"["a","b","api"]"#, true),
            (r#"["a","b","c"]"#, false),
            (r#"["ap","apis","API"]"#, false),
        ] {
            let rest = r#""sub":"ada","iat":1000,"exp":1300,"jti":"AAAAAAAAAAAAAAAAAAAAAA""#;
            let mut payload = format!(r#"{{"iss":"https://id.example","aud":{audience},{rest}}}"#);
            let fields = Fields::read(&mut payload, &profile).unwrap();
            let checked = fields.check(&profile, Timestamp::from_seconds(1000));
            let due = if is_own { Ok(()) } else { Err(TokenError::BadAudience) };
            assert_eq!(checked, due, "{audience}");
        }
    }
}
