//! The rate headers of a response.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, header::RETRY_AFTER};

use super::{Rate, RateGrant, RateRefusal};

/// The rate headers of the responses of one route, prepared once
/// (draft-ietf-httpapi-ratelimit-headers, RFC 9110 10.2.3).
///
/// ```
/// use std::time::Duration;
/// use http::HeaderMap;
/// use policy_core::limits::{Rate, RateCapacity, RateFields, RateTable};
///
/// let (rate, now) = (Rate::per_second(1), Duration::from_secs(7));
/// let table = RateTable::new(rate, RateCapacity::DEFAULT, [1, 2]);
/// let fields = RateFields::new(&rate);
/// let mut headers = HeaderMap::new();
///
/// fields.write_granted(table.take(b"ada", now).unwrap(), &mut headers);
/// assert_eq!(headers["ratelimit-policy"], "\"default\";q=1;w=1");
/// assert_eq!(headers["ratelimit"], "\"default\";r=0;t=1");
///
/// fields.write_refused(table.take(b"ada", now).unwrap_err(), &mut headers);
/// assert_eq!(headers["ratelimit"], "\"default\";r=0;t=1");
/// assert_eq!(headers["retry-after"], "1");
/// ```
#[derive(Clone, Debug)]
pub struct RateFields {
    policy: HeaderValue,
}

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

impl RateFields {
    /// The fields of this rate.
    pub fn new(rate: &Rate) -> Self {
        Self { policy: value(b";q=", u64::from(rate.count), b";w=", seconds(rate.per)) }
    }

    /// Writes the headers of a response to a granted request.
    pub fn write_granted(&self, granted: RateGrant, headers: &mut HeaderMap) {
        self.write(u64::from(granted.remaining), seconds(granted.reset), headers);
    }

    /// Writes the headers of a response to a refused request.
    pub fn write_refused(&self, refused: RateRefusal, headers: &mut HeaderMap) {
        let seconds = seconds(refused.retry_after);
        self.write(0, seconds, headers);
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }

    fn write(&self, remaining: u64, reset: u64, headers: &mut HeaderMap) {
        headers.insert(RATE_LIMIT_POLICY, self.policy.clone());
        headers.insert(RATE_LIMIT, value(b";r=", remaining, b";t=", reset));
    }
}

/// Whole seconds, rounded up, so that a client that waits for this time is not too early.
fn seconds(time: Duration) -> u64 {
    time.as_secs().saturating_add(u64::from(time.subsec_nanos() != 0))
}

/// `"default"` with two parameters (RFC 9651 3.3.1: integers have up to 15 digits). It is written
/// backwards, in the order in which digits are computed; `write!` would cost more than the decision
/// itself.
fn value(first: &[u8], one: u64, second: &[u8], two: u64) -> HeaderValue {
    let mut text = [0; 64];
    let (mut slots, mut len) = (text.iter_mut().rev(), 0);
    let mut put = |byte| {
        if let Some(slot) = slots.next() {
            (*slot, len) = (byte, len + 1);
        }
    };
    for (name, number) in [(second, two), (first, one)] {
        let mut rest = number.min(999_999_999_999_999);
        loop {
            put(b'0' + (rest % 10) as u8);
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        name.iter().rev().copied().for_each(&mut put);
    }
    b"\"default\"".iter().rev().copied().for_each(&mut put);
    let written = text.get(text.len() - len..).unwrap_or_default();
    HeaderValue::from_bytes(written).unwrap_or(HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate_headers(rate: &Rate, write: impl Fn(&RateFields, &mut HeaderMap)) -> Vec<String> {
        let mut headers = HeaderMap::new();
        write(&RateFields::new(rate), &mut headers);
        let names = ["ratelimit-policy", "ratelimit", "retry-after"];
        let values = names.iter().filter_map(|name| headers.get(*name));
        values.map(|value| value.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn seconds_are_rounded_up_and_integers_have_fifteen_digits() {
        for (millis, seconds) in [(0, 0), (1, 1), (1_000, 1), (1_001, 2), (59_999, 60)] {
            let retry_after = Duration::from_millis(millis);
            let fields = rate_headers(&Rate::per_hour(7), |fields, headers| {
                fields.write_refused(RateRefusal { retry_after }, headers);
            });
            let limit = format!("\"default\";r=0;t={seconds}");
            assert_eq!(fields, ["\"default\";q=7;w=3600", &limit, &seconds.to_string()]);
        }
        let most = Rate { per: Duration::MAX, ..Rate::per_second(u32::MAX) };
        let fields = rate_headers(&most, |fields, headers| {
            fields.write_granted(RateGrant { remaining: u32::MAX, reset: Duration::MAX }, headers);
        });
        let all = "999999999999999";
        let policy = format!("\"default\";q=4294967295;w={all}");
        assert_eq!(fields, [policy, format!("\"default\";r=4294967295;t={all}")]);
    }

    #[test]
    fn rate_fields_of_handlers_are_replaced() {
        let fields = rate_headers(&Rate::per_second(1), |fields, headers| {
            headers.append(RATE_LIMIT, HeaderValue::from_static("\"own\";r=9"));
            headers.append(RATE_LIMIT, HeaderValue::from_static("\"own\";r=8"));
            let granted = RateGrant { remaining: 0, reset: Duration::from_secs(1) };
            fields.write_granted(granted, headers);
            assert_eq!(headers.get_all(RATE_LIMIT).iter().count(), 1);
        });
        assert_eq!(fields, ["\"default\";q=1;w=1", "\"default\";r=0;t=1"]);
    }
}
