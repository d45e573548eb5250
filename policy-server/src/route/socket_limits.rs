//! The limits of WebSockets.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use policy_core::{
    Refusal,
    limits::{Limits, address_key},
};

use super::limits::{Concurrency, Permit, key_of};
use crate::{auth::principal::Principal, base::locks::lock};

/// The limits of the WebSockets of a route.
#[derive(Clone, Debug)]
pub(crate) struct SocketLimits {
    /// The maximum size of a message in bytes.
    pub(crate) message: u64,
    /// The longest silence of a client.
    pub(crate) silence: Duration,
    /// The limit of all open sockets.
    pub(crate) in_all: Arc<Concurrency>,
    pub(crate) per_caller: Arc<CallerSockets>,
}

impl SocketLimits {
    /// Compiles these limits. A limit that is not stated does not apply.
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            message: limits.message.unwrap_or(u64::MAX),
            silence: limits.silence.unwrap_or(Duration::MAX),
            in_all: Concurrency::new(limits.sockets.unwrap_or(u32::MAX)),
            per_caller: CallerSockets::new(limits.sockets_per_caller.unwrap_or(u32::MAX)),
        }
    }

    /// Counts a socket of this principal, or else of this client address.
    ///
    /// # Errors
    ///
    /// Too many are open already.
    pub(crate) fn enter(
        &self,
        principal: Option<&Principal>,
        client: Option<IpAddr>,
    ) -> Result<SocketPermit, Refusal> {
        let key = match principal {
            Some(principal) => key_of(principal),
            None => client.map_or([0; 9], address_key).into(),
        };
        let of_caller = self.per_caller.enter(key.into()).ok_or(Refusal::CallerSocketsExceeded)?;
        let in_all = self.in_all.enter().ok_or(Refusal::SocketsExceeded)?;
        Ok(SocketPermit { _of_caller: of_caller, _in_all: in_all })
    }
}

impl Default for SocketLimits {
    fn default() -> Self {
        Self::new(Limits::OF_SOCKETS)
    }
}

/// Permission for an open socket; dropping it makes room for another one.
#[derive(Debug)]
pub(crate) struct SocketPermit {
    _of_caller: CallerPermit,
    _in_all: Permit,
}

/// The number of open sockets per caller, counted at the level that set the limit.
#[derive(Debug)]
pub(crate) struct CallerSockets {
    most: u32,
    /// Contains only callers with an open socket, so it has at most one entry per socket.
    open: Mutex<HashMap<Box<[u8]>, u32>>,
}

impl CallerSockets {
    pub(crate) fn new(most: u32) -> Arc<Self> {
        Arc::new(Self { most, open: Mutex::default() })
    }

    fn enter(self: &Arc<Self>, caller: Box<[u8]>) -> Option<CallerPermit> {
        let mut open = lock(&self.open);
        let count = open.get(&caller).copied().unwrap_or_default();
        if count >= self.most {
            return None;
        }
        open.insert(caller.clone(), count + 1);
        drop(open);
        Some(CallerPermit { sockets: Arc::clone(self), caller })
    }
}

#[derive(Debug)]
struct CallerPermit {
    sockets: Arc<CallerSockets>,
    caller: Box<[u8]>,
}

impl Drop for CallerPermit {
    fn drop(&mut self) {
        let mut open = lock(&self.sockets.open);
        if let Some(count) = open.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::principal::Principal;
    use policy_core::session::Identity;

    #[test]
    fn sockets_are_counted_by_caller_and_in_all_and_forgotten_when_they_end() {
        let limits = SocketLimits::new(Limits::NONE.sockets(3).sockets_per_caller(2));
        let ada = Principal::from_scheme("keys", Identity::new("ada"));
        let address = |text: &str| Some(text.parse().unwrap());
        let enter = |who, from: &str| limits.enter(who, address(from));
        let one = enter(Some(&ada), "192.0.2.1").unwrap();
        let _two = enter(Some(&ada), "192.0.2.2").unwrap();
        let refused = enter(Some(&ada), "192.0.2.3").unwrap_err();
        assert_eq!(refused, Refusal::CallerSocketsExceeded);
        let _three = enter(None, "192.0.2.1").unwrap();
        assert_eq!(enter(None, "192.0.2.1").unwrap_err(), Refusal::SocketsExceeded);
        drop(one);
        assert_eq!(lock(&limits.per_caller.open).len(), 2);
        drop(enter(Some(&ada), "192.0.2.1").unwrap());
        drop((_two, _three));
        assert!(lock(&limits.per_caller.open).is_empty());
    }
}
