//! A user with some sessions and tokens, who records what the server acknowledged.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use policy_tests::random::Random;

use super::connection::{Connection, Lost, RawResponse};

/// The maximum number of sessions of a user.
const MAX_SESSIONS: usize = 4;

/// The maximum number of ended sessions and tokens that are checked again.
const MAX_ENDED: usize = 12;

/// What is known about a session or a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It must be valid.
    Good,
    /// It must be invalid.
    Ended,
    /// Unknown, since the response did not arrive.
    Open,
}

#[derive(Debug)]
struct Session {
    cookie: String,
    /// The login that began it. A login of the same user continues the session under a new cookie.
    login: u64,
    state: State,
    /// The acknowledged value; `sent` is the value that was sent after it.
    value: u64,
    sent: Option<u64>,
}

#[derive(Debug)]
struct Token {
    field: String,
    /// The login of the session that it was issued in, and ends with.
    login: u64,
    state: State,
}

/// How often each kind of operation was acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Acknowledged {
    pub(super) logins: u64,
    pub(super) logouts: u64,
    pub(super) writes: u64,
    pub(super) revocations: u64,
    /// What a full disk refused; it is unknown how much of it was written.
    pub(super) refused: u64,
}

impl Acknowledged {
    pub(super) fn add(&mut self, other: Self) {
        self.logins += other.logins;
        self.logouts += other.logouts;
        self.writes += other.writes;
        self.revocations += other.revocations;
        self.refused += other.refused;
    }
}

/// How many operations of a round ended, and how many of them the server refused.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) done: AtomicU64,
    pub(super) refused: AtomicU64,
}

pub(super) struct Client {
    name: String,
    random: Random,
    sessions: Vec<Session>,
    tokens: Vec<Token>,
    logins: u64,
    /// A revocation of all other sessions was refused, and is written when the disk is free.
    is_cut_off_delayed: bool,
    pub(super) acknowledged: Acknowledged,
}

fn cookie_field(cookie: &str) -> String {
    format!("cookie: {cookie}\r\n")
}

impl Client {
    /// Whether the operation succeeded. Otherwise the disk is full, or the server asks to repeat
    /// the request: it could not distinguish a cut-off that a full disk delayed from one after the
    /// request began.
    fn is_done(&mut self, response: &RawResponse) -> bool {
        let RawResponse { status, body, .. } = response;
        let is_expected =
            matches!(status, 200 | 503) || (*status == 409 && self.is_cut_off_delayed);
        assert!(is_expected, "{status} {body}");
        self.acknowledged.refused += u64::from(*status == 503);
        *status == 200
    }

    pub(super) fn new(name: String, seed: u64) -> Self {
        let random = Random(seed);
        let acknowledged = Acknowledged::default();
        Self {
            name,
            random,
            sessions: Vec::new(),
            tokens: Vec::new(),
            logins: 0,
            is_cut_off_delayed: false,
            acknowledged,
        }
    }

    /// Performs operations until the connection is lost, and counts them.
    pub(super) async fn work(&mut self, connection: &mut Connection, progress: &Progress) {
        loop {
            let refused = self.acknowledged.refused;
            if self.step(connection).await.is_err() {
                return;
            }
            progress.done.fetch_add(1, Relaxed);
            progress.refused.fetch_add(self.acknowledged.refused - refused, Relaxed);
        }
    }

    async fn step(&mut self, connection: &mut Connection) -> Result<(), Lost> {
        let good: Vec<usize> =
            (0..self.sessions.len()).filter(|at| self.sessions[*at].state == State::Good).collect();
        if good.is_empty() {
            return self.login(connection, None).await;
        }
        let at = *self.random.choose(&good);
        match self.random.below(10) {
            0 | 1
                if self.sessions.len() < MAX_SESSIONS + MAX_ENDED && good.len() < MAX_SESSIONS =>
            {
                self.login(connection, None).await
            }
            0..=2 => self.login(connection, Some(at)).await,
            3 | 4 => self.logout(connection, at).await,
            5 => self.revoke_others(connection, at).await,
            6 => self.revoke_token(connection, at).await,
            _ => self.write(connection, at).await,
        }
    }

    /// Logs in, with a session that ends by it, or without one.
    async fn login(&mut self, to: &mut Connection, within: Option<usize>) -> Result<(), Lost> {
        let mut field = String::new();
        if let Some(at) = within {
            self.sessions[at].state = State::Open;
            field = cookie_field(&self.sessions[at].cookie);
        }
        let response = to.ask(&format!("POST /login/{}", self.name), &field).await?;
        if !self.is_done(&response) {
            return Ok(());
        }
        self.acknowledged.logins += 1;
        let (value, login) = match within {
            // A login of the same user keeps the values of the session, and its tokens.
            Some(at) => {
                self.sessions[at].state = State::Ended;
                (self.sessions[at].value, self.sessions[at].login)
            }
            None => {
                self.logins += 1;
                (0, self.logins)
            }
        };
        let cookie = response.cookie.expect("a session");
        self.sessions.push(Session { cookie, login, state: State::Good, value, sent: None });
        Ok(())
    }

    /// Notes the end of all tokens, or of those of one login: what has ended stays so.
    fn end_tokens(&mut self, of: Option<u64>, state: State) {
        for token in &mut self.tokens {
            if token.state != State::Ended && of.is_none_or(|login| token.login == login) {
                token.state = state;
            }
        }
    }

    async fn logout(&mut self, to: &mut Connection, at: usize) -> Result<(), Lost> {
        self.sessions[at].state = State::Open;
        let login = self.sessions[at].login;
        self.end_tokens(Some(login), State::Open);
        let field = cookie_field(&self.sessions[at].cookie);
        let response = to.ask("POST /logout", &field).await?;
        if self.is_done(&response) {
            self.sessions[at].state = State::Ended;
            self.end_tokens(Some(login), State::Ended);
            self.acknowledged.logouts += 1;
        } else {
            // If the handler ran, the logout holds in this process.
            let was_asked = response.body.contains("session.store-unavailable");
            let status = to.ask("GET /read", &field).await?.status;
            let is_over = status == 401 || status == 503;
            assert!(is_over || !was_asked, "a refused logout: {status}");
        }
        Ok(())
    }

    async fn write(&mut self, to: &mut Connection, at: usize) -> Result<(), Lost> {
        let session = &mut self.sessions[at];
        let value = self.random.draw() >> 16;
        session.sent = Some(value);
        let field = cookie_field(&session.cookie);
        let response = to.ask(&format!("POST /write/{value}"), &field).await?;
        if self.is_done(&response) {
            let session = &mut self.sessions[at];
            session.value = value;
            session.sent = None;
            self.acknowledged.writes += 1;
        }
        Ok(())
    }

    async fn revoke_others(&mut self, to: &mut Connection, at: usize) -> Result<(), Lost> {
        let cookie = cookie_field(&self.sessions[at].cookie);
        let mut others: Vec<&mut Session> = self.sessions.iter_mut().collect();
        others.remove(at);
        others.retain(|other| other.state != State::Ended);
        others.iter_mut().for_each(|other| other.state = State::Open);
        let others: Vec<String> = others.iter().map(|other| other.cookie.clone()).collect();
        self.end_tokens(None, State::Open);
        let response = to.ask("POST /revoke/others", &cookie).await?;
        let is_done = self.is_done(&response);
        if is_done {
            for other in self.sessions.iter_mut().filter(|one| others.contains(&one.cookie)) {
                other.state = State::Ended;
            }
            self.end_tokens(None, State::Ended);
            self.acknowledged.revocations += 1;
        }
        self.is_cut_off_delayed = !is_done;
        Ok(())
    }

    /// Gets a token, which is stored nowhere, and revokes it.
    async fn revoke_token(&mut self, to: &mut Connection, at: usize) -> Result<(), Lost> {
        let response = to.ask("POST /token", &cookie_field(&self.sessions[at].cookie)).await?;
        if !self.is_done(&response) {
            return Ok(());
        }
        let field = format!("authorization: Bearer {}\r\n", response.body);
        let login = self.sessions[at].login;
        // A token is signed without the disk, and a cut-off that is written later ends it.
        let state = if self.is_cut_off_delayed { State::Open } else { State::Good };
        self.tokens.push(Token { field: field.clone(), login, state });
        if self.random.below(4) == 0 {
            // This token stays valid.
            return Ok(());
        }
        let last = self.tokens.len() - 1;
        self.tokens[last].state = State::Open;
        let response = to.ask("POST /token/revoke", &field).await?;
        if response.status == 401 && self.is_cut_off_delayed {
            // The revocation holds in this process; whether it is written is unknown.
            return Ok(());
        }
        if self.is_done(&response) {
            self.tokens[last].state = State::Ended;
            self.acknowledged.revocations += 1;
        }
        Ok(())
    }

    /// Checks everything that was acknowledged, and returns the number of sessions and tokens that
    /// were checked, and the errors. An unknown state is known from then on.
    pub(super) async fn check(
        &mut self,
        to: &mut Connection,
    ) -> Result<(usize, Vec<String>), Lost> {
        // A server that starts reads the newest cut-off first.
        self.is_cut_off_delayed = false;
        let mut wrong = Vec::new();
        for session in &mut self.sessions {
            let response = to.ask("GET /read", &cookie_field(&session.cookie)).await?;
            let is_good = response.status == 200;
            assert!(is_good || response.status == 401, "{}: {}", response.status, response.body);
            let read = response.body.strip_prefix(&format!("{} ", self.name));
            let read = read.and_then(|value| value.parse().ok());
            let is_known = read == Some(session.value) || (read.is_some() && read == session.sent);
            match session.state {
                State::Good if !is_good => wrong.push(format!("a login is gone: {session:?}")),
                State::Ended if is_good => wrong.push(format!("an end is undone: {session:?}")),
                _ if is_good && !is_known => {
                    wrong.push(format!("{} instead of the value of {session:?}", response.body));
                }
                _ => (),
            }
            session.state = if is_good { State::Good } else { State::Ended };
            session.value = read.unwrap_or_default();
            session.sent = None;
        }
        for token in &mut self.tokens {
            let response = to.ask("GET /token/use", &token.field).await?;
            let is_good = response.status == 200;
            assert!(is_good || response.status == 401, "{}: {}", response.status, response.body);
            match token.state {
                State::Good if !is_good => wrong.push(format!("a token is gone: {token:?}")),
                State::Ended if is_good => wrong.push(format!("a revocation is undone: {token:?}")),
                _ => (),
            }
            token.state = if is_good { State::Good } else { State::Ended };
        }
        let count = self.sessions.len() + self.tokens.len();
        self.forget();
        Ok((count, wrong))
    }

    /// Keeps only the latest ended ones.
    fn forget(&mut self) {
        let surplus = |ended: usize| ended.saturating_sub(MAX_ENDED);
        let ended = |state: &State| *state == State::Ended;
        let mut drop = surplus(self.sessions.iter().filter(|it| ended(&it.state)).count());
        self.sessions.retain(|it| {
            let stays = !ended(&it.state) || drop == 0;
            drop -= usize::from(!stays);
            stays
        });
        let mut drop = surplus(self.tokens.len());
        self.tokens.retain(|_| {
            let stays = drop == 0;
            drop -= usize::from(!stays);
            stays
        });
    }
}
