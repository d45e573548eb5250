//! Only the framework sets the session cookie.

use http::{
    HeaderMap, HeaderValue,
    header::{Entry, SET_COOKIE},
};

use super::AuthService;
use crate::base::event::log;

impl AuthService {
    /// Removes a session cookie that a handler sets: handlers know no valid id, so the cookie would
    /// inject a session or log the user out.
    pub(crate) fn keep_cookie(&self, headers: &mut HeaderMap) {
        // Most responses have few headers and no cookie: comparing each costs less than a hash.
        if let Some(sessions) = &self.sessions
            && headers.keys().any(|name| name == SET_COOKIE)
        {
            remove(headers, sessions.cookie_name());
        }
    }
}

fn remove(headers: &mut HeaderMap, name: &str) {
    let is_of_session = |line: &HeaderValue| {
        let pair = line.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
        // A cookie without a name is sent back as its value alone, which may read as another pair.
        let is_blank = |byte: &u8| *byte == b'=' || byte.is_ascii_whitespace();
        let start = pair.iter().position(|byte| !is_blank(byte)).unwrap_or(pair.len());
        let pair = pair.get(start..).unwrap_or_default();
        let own = pair.split(|byte| *byte == b'=').next().unwrap_or_default();
        own.trim_ascii() == name.as_bytes()
    };
    let Entry::Occupied(lines) = headers.entry(SET_COOKIE) else { return };
    if !lines.iter().any(is_of_session) {
        return;
    }
    log!(SessionCookieOfHandler, cookie = name);
    let (name, lines) = lines.remove_entry_mult();
    let others: Vec<_> = lines.filter(|line| !is_of_session(line)).collect();
    for line in others {
        headers.append(name.clone(), line);
    }
}
