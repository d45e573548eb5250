//! The words of a path, from which lints guess what a route is for.

/// The segments of a path in lower case, with `-` between the words of one. Parameters keep their
/// braces.
pub(super) fn segments(path: &str) -> Vec<String> {
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    let normal = |segment: &str| match is_parameter(segment) {
        true => segment.to_ascii_lowercase(),
        false => segment.to_ascii_lowercase().replace('_', "-").trim_matches('-').to_owned(),
    };
    segments.map(normal).collect()
}

/// Words with white space between them.
struct Words(&'static str);

impl Words {
    fn has(&self, word: &str) -> bool {
        self.0.split_ascii_whitespace().any(|known| known == word)
    }
}

pub(super) fn is_parameter(segment: &str) -> bool {
    segment.starts_with('{')
}

/// The segments after those that many APIs begin with, such as `/api/v1`.
pub(super) fn after_version(segments: &[String]) -> &[String] {
    let is_version = |segment: &str| {
        let number = segment.strip_prefix('v').unwrap_or_default();
        segment == "api" || (!number.is_empty() && number.bytes().all(|it| it.is_ascii_digit()))
    };
    let first = segments.iter().position(|segment| !is_version(segment));
    segments.split_at(first.unwrap_or(segments.len())).1
}

/// Last segments of paths at which a visitor proves who they are.
const LOGINS: Words = Words(
    "2fa authenticate forgot forgot-password forgotten-password log-in log-on login logon
     lost-password magic-link mfa one-time-code otp passcode password-reset passwordless recover
     recover-account recover-password register request-password-reset reset-password send-code
     sign-in sign-on sign-up signin signup sso-login token totp verify-code",
);

/// The same for the last two segments.
const LOGIN_PAIRS: [(&str, &str); 8] = [
    ("account", "recovery"),
    ("auth", "verify"),
    ("code", "verify"),
    ("login", "verify"),
    ("otp", "verify"),
    ("password", "forgot"),
    ("password", "recovery"),
    ("password", "reset"),
];

/// Whether a visitor of this path proves who they are, by a password or a code, or asks for one.
pub(super) fn is_login(segments: &[String]) -> bool {
    let [.., last] = segments else { return false };
    let pair = |first: &str| LOGIN_PAIRS.contains(&(first, last.as_str()));
    let is_pair = matches!(segments, [.., first, _] if pair(first));
    LOGINS.has(last) || is_pair
}

/// Segments of paths below an area for staff that its login page needs.
const ENTRANCES: Words = Words(
    "account assets auth callback css fonts images img js log-out logout me oauth password profile
     session sessions sign-out signout static webhook webhooks",
);

/// Last segments of paths that tell whether a service works.
const HEALTH: Words = Words(
    "alive health healthz info live liveness livez ping readiness ready readyz startup status
     version",
);

/// Whether strangers need the path before, or without, proving who they are: logins and their pages,
/// files, the state of the service.
pub(super) fn is_entrance(segments: &[String]) -> bool {
    let last = segments.last().map(String::as_str).unwrap_or_default();
    let is_file = last.starts_with("{*") || (!is_parameter(last) && last.contains('.'));
    let has_entrance = segments.iter().any(|segment| ENTRANCES.has(segment));
    is_file || has_entrance || is_login(segments) || is_health(segments)
}

/// Whether a path tells strangers no more than whether the service works.
pub(super) fn is_health(segments: &[String]) -> bool {
    segments.last().is_some_and(|last| HEALTH.has(last))
}

/// First segments of paths for operators.
const INTERNALS: Words = Words("debug env internal internals metrics prometheus");

/// Segments of paths for operators, wherever they stand.
const INTERNALS_ANYWHERE: Words = Words(
    ".aws .env .git .hg .svn actuator heapdump jolokia phpinfo pprof server-status threaddump",
);

/// The segment that says that a path is for operators.
pub(super) fn internal(segments: &[String]) -> Option<&str> {
    let is_one = |segment: &&String| INTERNALS_ANYWHERE.has(segment);
    let first = after_version(segments).first();
    let first = first.filter(|segment| INTERNALS.has(segment));
    first.or_else(|| segments.iter().find(is_one)).map(String::as_str)
}

/// Segments below which everything is for staff.
const AREAS: Words = Words(
    "admin administration administrator back-office backoffice internal manage management
     moderation ops superadmin superuser",
);

/// The segments of the area for staff that a path is in.
pub(super) fn area(segments: &[String]) -> Option<&[String]> {
    let index = segments.iter().position(|segment| AREAS.has(segment))?;
    segments.get(..=index)
}

/// Segments before a parameter of a link that is sent to one person and works once.
const LINKS: Words = Words(
    "accept-invitation accept-invite activate activation confirm confirm-email confirmation
     invitation invitations invite invites login magic magic-link password-reset recover recovery
     reset reset-password verification verify verify-email",
);

/// Names of parameters that are a credential.
const SECRETS: Words = Words("code hash key nonce otp secret signature ticket token");

/// Whether a path is that of a link that works once, such as `/reset/{token}`.
pub(super) fn is_one_time_link(segments: &[String]) -> bool {
    let is_secret = |parameter: &str| {
        let name = parameter.trim_matches(['{', '}', '*']);
        is_parameter(parameter) && name.split('_').any(|word| SECRETS.has(word))
    };
    let mut pairs = segments.windows(2);
    pairs.any(|pair| matches!(pair, [word, parameter] if LINKS.has(word) && is_secret(parameter)))
}

/// Words of scopes for reading.
const READING: Words = Words("read reader readonly reads view viewer");

/// Words of scopes that are for more than reading.
const WRITING: Words = Words(
    "admin create delete edit execute full manage modify publish readwrite send submit update
     upload write writer",
);

/// Whether the name of a scope says that it is for reading, such as `orders:read` or `Mail.Read`.
pub(super) fn says_reading(scope: &str) -> bool {
    let mut words = vec![String::new()];
    for character in scope.chars() {
        if character.is_uppercase() || !character.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| character.is_alphanumeric()) {
            word.extend(character.to_lowercase());
        }
    }
    let has = |names: &Words| words.iter().any(|word| names.has(word));
    has(&READING) && !has(&WRITING)
}

/// Words in the last segment of a path at which POST reads.
const QUERIES: Words = Words(
    "aggregate batch-get calculate check compare count download estimate export facets filter find
     graphql list lookup match preview query quote read render report reports search seen validate
     verify",
);

/// Whether requests to this path are questions or marks of what was read, whatever their method.
pub(super) fn is_query(segments: &[String]) -> bool {
    let mut words = segments.last().into_iter().flat_map(|last| last.split([':', '-', '.']));
    let whole = segments.last().is_some_and(|last| QUERIES.has(last));
    whole || words.any(|word| QUERIES.has(word))
}
