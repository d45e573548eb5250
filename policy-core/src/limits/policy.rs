//! The limits of a route, and how levels compose.

use core::time::Duration;

use super::{
    Rate,
    spec::{LimitPart, LimitSpec},
};

/// The limits of a route. Each one is inherited separately, from the nearest level that states it.
///
/// ```
/// use std::time::Duration;
/// use policy_core::limits::{Limits, Rate};
///
/// const APP: Limits = Limits::NONE.body(64 << 10).timeout(Duration::from_secs(5));
/// const UPLOADS: Limits = Limits::NONE.body(1 << 30).rate(Rate::per_minute(10).by_principal());
/// const _: () = assert!(UPLOADS.first_error().is_none());
///
/// let route = UPLOADS.or(APP);
/// assert_eq!((route.body, route.timeout), (Some(1 << 30), Some(Duration::from_secs(5))));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum size of a request's body in bytes.
    pub body: Option<u64>,
    /// The maximum time until a response is ready.
    pub timeout: Option<Duration>,
    /// How often a client may call.
    pub rate: Option<Rate>,
    /// The maximum number of concurrent requests.
    pub concurrency: Option<u32>,
    /// The maximum size in bytes of a WebSocket message of a client.
    pub message: Option<u64>,
    /// How long a WebSocket client may be silent.
    pub silence: Option<Duration>,
    /// The maximum number of open WebSockets.
    pub sockets: Option<u32>,
    /// The maximum number of open WebSockets per caller.
    pub sockets_per_caller: Option<u32>,
    /// How often a caller may ask for objects that are not there.
    pub misses: Option<Rate>,
}

impl Limits {
    /// No limits.
    pub const NONE: Self = Self {
        body: None,
        timeout: None,
        rate: None,
        concurrency: None,
        message: None,
        silence: None,
        sockets: None,
        sockets_per_caller: None,
        misses: None,
    };

    /// The default limits of WebSockets, for those that no level states: messages of 256 KiB, a
    /// minute of silence, 4,096 sockets in all, and 100 per caller.
    pub const OF_SOCKETS: Self = Self::NONE
        .message(256 << 10)
        .silence(Duration::from_secs(60))
        .sockets(4_096)
        .sockets_per_caller(100);

    /// Limits request bodies to this many bytes.
    #[must_use]
    pub const fn body(mut self, bytes: u64) -> Self {
        self.body = Some(bytes);
        self
    }

    /// Limits the time until a response is ready.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Limits how often a client may call.
    #[must_use]
    pub const fn rate(mut self, rate: Rate) -> Self {
        self.rate = Some(rate);
        self
    }

    /// Limits the number of concurrent requests.
    #[must_use]
    pub const fn concurrency(mut self, requests: u32) -> Self {
        self.concurrency = Some(requests);
        self
    }

    /// Limits WebSocket messages of clients to this many bytes. All fragments of a message count
    /// together (RFC 6455 5.4). A longer one closes the WebSocket with 1009.
    #[must_use]
    pub const fn message(mut self, bytes: u64) -> Self {
        self.message = Some(bytes);
        self
    }

    /// Limits how long a client of a WebSocket may be silent, or read nothing of the data that
    /// waits for it. A ping is sent to it after half of the time.
    #[must_use]
    pub const fn silence(mut self, time: Duration) -> Self {
        self.silence = Some(time);
        self
    }

    /// Limits the number of WebSockets that are open at once. Another one gets 503.
    #[must_use]
    pub const fn sockets(mut self, sockets: u32) -> Self {
        self.sockets = Some(sockets);
        self
    }

    /// Limits the number of WebSockets that are open at once per caller: a principal, or else a
    /// client address. Another one gets 429.
    #[must_use]
    pub const fn sockets_per_caller(mut self, sockets: u32) -> Self {
        self.sockets_per_caller = Some(sockets);
        self
    }

    /// Limits how often a caller, a principal or else a client address, may get 404
    /// `object.not-found`. Over it, they get 429 for every object. [`Rate::by`](Rate) is ignored.
    #[must_use]
    pub const fn misses(mut self, rate: Rate) -> Self {
        self.misses = Some(rate.by_principal());
        self
    }

    /// These limits, with those of an outer level for every limit that is not set here.
    #[must_use]
    pub const fn or(self, outer: Self) -> Self {
        macro_rules! nearest {
            ($($limit:ident),*) => {
                Self { $($limit: if self.$limit.is_some() { self.$limit } else { outer.$limit },)* }
            };
        }
        nearest!(
            body,
            timeout,
            rate,
            concurrency,
            message,
            silence,
            sockets,
            sockets_per_caller,
            misses
        )
    }

    /// Every violation of the rules about limits, in the order of the parts.
    pub fn violations(self) -> impl Iterator<Item = crate::Violation<'static, LimitPart>> {
        LimitSpec::new(self).violations()
    }

    /// The first error, for use in constants.
    pub const fn first_error(self) -> Option<crate::Violation<'static, LimitPart>> {
        LimitSpec::new(self).first_error()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every limit, by a number.
    fn limits(number: u32) -> Limits {
        Limits {
            body: Some(number.into()),
            timeout: Some(Duration::from_secs(number.into())),
            rate: Some(Rate::per_second(number)),
            concurrency: Some(number),
            message: Some(number.into()),
            silence: Some(Duration::from_secs(number.into())),
            sockets: Some(number),
            sockets_per_caller: Some(number),
            misses: Some(Rate::per_second(number).by_principal()),
        }
    }

    /// The limits of `one` that have a flag, and the others of `other`.
    fn chosen(flags: u16, one: Limits, other: Limits) -> Limits {
        let has = |flag: u16| flags & (1 << flag) != 0;
        Limits {
            body: if has(0) { one.body } else { other.body },
            timeout: if has(1) { one.timeout } else { other.timeout },
            rate: if has(2) { one.rate } else { other.rate },
            concurrency: if has(3) { one.concurrency } else { other.concurrency },
            message: if has(4) { one.message } else { other.message },
            silence: if has(5) { one.silence } else { other.silence },
            sockets: if has(6) { one.sockets } else { other.sockets },
            sockets_per_caller: if has(7) {
                one.sockets_per_caller
            } else {
                other.sockets_per_caller
            },
            misses: if has(8) { one.misses } else { other.misses },
        }
    }

    #[test]
    fn the_nearest_level_decides_each_limit_by_itself() {
        let (inner, outer) = (limits(1), limits(2));
        for flags in 0..1_u16 << 9 {
            let stated = chosen(flags, inner, Limits::NONE);
            assert_eq!(stated.or(outer), chosen(flags, inner, outer), "{flags:b}");
            assert_eq!(stated.or(Limits::NONE), stated);
        }
    }
}
