//! The requests to one route that two apps decide differently.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    rc::Rc,
};

use policy_core::{Refusal, method};

use super::{
    access::{Access, Gains},
    callers,
    finding::Axis,
    probe::{self, Cookie, Credentials, HeaderOrigin, Sender},
    senders::{Atoms, Senders},
    side::Side,
};
use crate::{
    FindingSeverity, RouteKind,
    engine::{AmbientCredential, CallerFacts, Decision, Inspection, Outcome, SenderFacts},
    facets,
    severity::{Authority, Effect, Gainer},
};

/// The facts that decide about a request on a route: those of its sender and its caller, before and
/// after.
pub(super) type Key = ((Option<SenderFacts>, Option<SenderFacts>), CallerKey);

/// The caller before and after, each with what a browser may have added.
type CallerKey =
    (Option<(CallerFacts, AmbientCredential)>, Option<(CallerFacts, AmbientCredential)>);

/// Requests that one of two apps allows more than the other, all in the same way.
#[derive(Clone, Debug)]
pub(super) struct Sketch {
    pub(super) axis: Axis,
    pub(super) gains: Gains,
    pub(super) senders: Senders,
    pub(super) callers: Vec<String>,
    pub(super) severity: FindingSeverity,
    /// The facets that decide about the witness.
    pub(super) facets: BTreeSet<&'static str>,
    pub(super) sender: Sender,
    pub(super) credentials: Credentials,
    pub(super) is_preflight: bool,
    /// The keys of the requests; for preflights, `senders` has them.
    pub(super) keys: Rc<HashSet<Key>>,
    /// Whether requests with a malformed origin are included.
    pub(super) has_malformed: bool,
}

/// The key of a request that both apps decided.
pub(super) fn key_of(old: &Inspection, new: &Inspection) -> Key {
    let caller =
        |of: &Inspection| of.caller.filter(|_| of.is_taken).map(|caller| (caller, of.ambient));
    ((old.sender, new.sender), (caller(old), caller(new)))
}

/// One method of a path, and the routes that serve it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathMethods<'a> {
    pub(super) method: &'a str,
    /// Empty for tunnels.
    pub(super) path: &'a str,
    pub(super) class: &'a str,
    pub(super) routes: (Option<usize>, Option<usize>),
}

/// A row of the table of senders and callers.
struct Row {
    key: (Option<SenderFacts>, Option<SenderFacts>),
    senders: Vec<Sender>,
}

/// A column of the table.
struct Column {
    key: CallerKey,
    credentials: Vec<Credentials>,
}

impl Column {
    /// The caller as the app identifies it that allows more.
    fn caller(&self, axis: Axis) -> Option<CallerFacts> {
        let caller = match axis {
            Axis::Widened => self.key.1,
            Axis::Narrowed => self.key.0,
        };
        caller.map(|(caller, _)| caller)
    }

    /// Whether a header that only programs and scripts add has the credential.
    fn needs_header(&self, axis: Axis) -> bool {
        let caller = self.caller(axis);
        matches!(caller, Some(CallerFacts::Token | CallerFacts::Scheme { is_ambient: false, .. }))
    }
}

struct Cell {
    gained: Gains,
    lost: Gains,
}

/// The requests to a place, without preflights, that are decided differently.
pub(super) fn requests(
    sides: (&Side, &Side),
    place: PathMethods<'_>,
    atoms: &Atoms,
) -> Vec<Sketch> {
    let (old, new) = sides;
    let inspect = |sender: &Sender, credentials: &Credentials| {
        let caller = credentials.caller();
        let target = (place.method, place.path);
        let request = probe::request(target, sender, credentials, &old.identity);
        let before = old.engine.inspect(&request, &caller);
        let after = match old.identity == new.identity {
            true => new.engine.inspect(&request, &caller),
            false => {
                let request = probe::request(target, sender, credentials, &new.identity);
                new.engine.inspect(&request, &caller)
            }
        };
        key_of(&before, &after)
    };
    let mut rows: Vec<Row> = Vec::new();
    for sender in senders(sides, place, atoms) {
        let (key, _) = inspect(&sender, &Credentials::default());
        match rows.iter_mut().find(|row| row.key == key) {
            Some(row) => row.senders.push(sender),
            None if key == (None, None) => (),
            None => rows.push(Row { key, senders: vec![sender] }),
        }
    }
    let routes = [(old, old.route(place.routes.0)), (new, new.route(place.routes.1))];
    let mut columns: Vec<Column> = Vec::new();
    for credentials in callers::candidates(routes, place.class) {
        let (_, key) = inspect(&Sender::default(), &credentials);
        match columns.iter_mut().find(|column| column.key == key) {
            Some(column) => column.credentials.push(credentials),
            None if key == (None, None) => (),
            None => columns.push(Column { key, credentials: vec![credentials] }),
        }
    }
    let table: Vec<Vec<Cell>> = rows
        .iter()
        .map(|row| columns.iter().map(|column| cell(sides, place, row, column)).collect())
        .collect();
    let mut sketches = Vec::new();
    for axis in Axis::ALL {
        let gains = |cell: &Cell| match axis {
            Axis::Widened => cell.gained.clone(),
            Axis::Narrowed => cell.lost.clone(),
        };
        let table = table.iter().map(|row| row.iter().map(gains).collect()).collect();
        let mut of_axis = Vec::new();
        for (chosen, of_columns, gains) in boxes(table) {
            let rows: Vec<&Row> = chosen.iter().filter_map(|index| rows.get(*index)).collect();
            let columns: Vec<&Column> =
                of_columns.iter().filter_map(|index| columns.get(*index)).collect();
            of_axis.extend(sketch(sides, place, atoms, (axis, gains), &rows, &columns));
        }
        sketches.extend(without_minor(of_axis));
    }
    sketches
}

/// All senders that the two routes may distinguish. Only probes respond under another host name.
fn senders((old, new): (&Side, &Side), place: PathMethods<'_>, atoms: &Atoms) -> Vec<Sender> {
    let mut senders = atoms.senders();
    let routes = [old.route(place.routes.0), new.route(place.routes.1)];
    if routes.into_iter().flatten().any(|route| route.kind == RouteKind::Probe) {
        let misdirected =
            senders.iter().map(|sender| Sender { is_misdirected: true, ..sender.clone() });
        let misdirected: Vec<_> = misdirected.collect();
        senders.extend(misdirected);
    }
    senders
}

/// Merges requests over WebSockets, with other host names, or that no client sends, into those of
/// other senders with the same gains, if there are any.
fn without_minor(sketches: Vec<Sketch>) -> Vec<Sketch> {
    let is_minor = |sketch: &Sketch| {
        let senders = &sketch.senders;
        senders.web_socket || senders.other_host || senders.odd
    };
    let (minor, mut usual): (Vec<_>, Vec<_>) = sketches.into_iter().partition(is_minor);
    for sketch in minor {
        match usual.iter_mut().find(|known| known.gains == sketch.gains) {
            Some(known) => Rc::make_mut(&mut known.keys).extend(sketch.keys.iter()),
            None => usual.push(sketch),
        }
    }
    usual
}

/// The access that one sender with some credentials has in one app and not in the other.
fn cell(sides: (&Side, &Side), place: PathMethods<'_>, row: &Row, column: &Column) -> Cell {
    let none = || Cell { gained: Gains::default(), lost: Gains::default() };
    let is_possible = (row.key.0.is_some() && column.key.0.is_some())
        || (row.key.1.is_some() && column.key.1.is_some());
    let (Some(sender), Some(credentials), true) =
        (row.senders.first(), column.credentials.first(), is_possible)
    else {
        return none();
    };
    let (before, after) = decisions(sides, place, sender, credentials);
    let is_other = |facts: Option<SenderFacts>| facts.is_some_and(|facts| facts.is_other_page);
    let before = Access::for_request(&before, is_other(row.key.0));
    let after = Access::for_request(&after, is_other(row.key.1));
    Cell { gained: after.beyond(&before), lost: before.beyond(&after) }
}

/// How both apps decide about a request.
pub(super) fn decisions(
    (old, new): (&Side, &Side),
    place: PathMethods<'_>,
    sender: &Sender,
    credentials: &Credentials,
) -> (Decision, Decision) {
    let target = (place.method, place.path);
    let [before, after] = [old, new].map(|side| {
        let request = probe::request(target, sender, credentials, &side.identity);
        side.engine.decide(&request, &credentials.caller())
    });
    (before, after)
}

/// The cells that gain the same, as products of rows and columns that share no cell.
fn boxes(table: Vec<Vec<Gains>>) -> Vec<(Vec<usize>, Vec<usize>, Gains)> {
    let mut alike: BTreeMap<Vec<Gains>, Vec<usize>> = BTreeMap::new();
    for (index, row) in table.into_iter().enumerate() {
        alike.entry(row).or_default().push(index);
    }
    let mut found: BTreeMap<(Gains, Vec<usize>), Vec<usize>> = BTreeMap::new();
    for (row, indices) in alike {
        let mut columns: BTreeMap<Gains, Vec<usize>> = BTreeMap::new();
        for (index, gains) in row.into_iter().enumerate() {
            columns.entry(gains).or_default().push(index);
        }
        for (gains, columns) in columns {
            if !gains.is_empty() {
                found.entry((gains, columns)).or_default().extend(&indices);
            }
        }
    }
    found
        .into_iter()
        .map(|((gains, columns), mut rows)| {
            rows.sort_unstable();
            (rows, columns, gains)
        })
        .collect()
}

fn sketch(
    sides: (&Side, &Side),
    place: PathMethods<'_>,
    atoms: &Atoms,
    (axis, gains): (Axis, Gains),
    rows: &[&Row],
    columns: &[&Column],
) -> Option<Sketch> {
    // The worst case is the witness; among equals, the first.
    let mut worst: Option<((bool, FindingSeverity), &Sender, &Credentials)> = None;
    let is_odd = |sender: &Sender, column: &Column| {
        let is_without_header = sender.is_without_script() && column.needs_header(axis);
        sender.is_odd(place.method) || is_without_header
    };
    for row in rows {
        for sender in &row.senders {
            for column in columns {
                let caller = column.caller(axis);
                let severity = severity(atoms.gainer(sender), &gains, place.method, caller);
                let credentials = column.credentials.first()?;
                let is_odd = is_odd(sender, column);
                // A request without the broken credentials reaches the same gate.
                let is_nothing = is_odd || credentials.are_broken();
                let severity = if is_nothing { FindingSeverity::Info } else { severity };
                let rank = (!is_odd, severity);
                if worst.is_none_or(|(known, ..)| rank > known) {
                    worst = Some((rank, sender, credentials));
                }
            }
        }
    }
    let ((is_usual, severity), sender, credentials) = worst?;
    let (before, after) = decisions(sides, place, sender, credentials);
    let (decided, admitting) = match axis {
        Axis::Widened => (&before, sides.1),
        Axis::Narrowed => (&after, sides.0),
    };
    let severity = match is_usual && is_for_every_user(decided, admitting, columns) {
        true => severity.max(FindingSeverity::Medium),
        false => severity,
    };
    let keys = rows.iter().flat_map(|row| columns.iter().map(|column| (row.key, column.key)));
    Some(Sketch {
        axis,
        senders: atoms.describe(rows.iter().flat_map(|row| &row.senders), |sender| {
            columns.iter().all(|column| is_odd(sender, column))
        }),
        callers: callers::words(columns.iter().filter_map(|column| column.credentials.first())),
        severity,
        facets: BTreeSet::from([facet(decided)]),
        sender: sender.clone(),
        credentials: credentials.clone(),
        is_preflight: false,
        keys: Rc::new(keys.collect()),
        gains,
        has_malformed: false,
    })
}

/// Whether a caller without any right needed one that is now gone, and anybody may be such a
/// caller. No manifest states who may sign up: anybody may, unless no route of the app starts a
/// session for a stranger.
fn is_for_every_user(refused: &Decision, admitting: &Side, columns: &[&Column]) -> bool {
    let is_by_right = refused.outcome == Outcome::Refused(Refusal::RightsMissing);
    let is_of_anybody = |credentials: &Credentials| {
        let may_log_in = admitting.may_log_in || !matches!(credentials.cookie, Cookie::Session(_));
        may_log_in && credentials.have_no_rights()
    };
    let mut credentials = columns.iter().filter_map(|column| column.credentials.first());
    is_by_right && credentials.any(is_of_anybody)
}

/// The facet that restricts the access of a request.
fn facet(decision: &Decision) -> &'static str {
    match (&decision.outcome, decision.steps.last()) {
        (Outcome::Refused(_), Some(step)) => facets::enforced_by(step.gate).unwrap_or("route"),
        (Outcome::Automatic, _) => "route",
        _ => "cors",
    }
}

/// The preflights for a method of a path that the apps answer differently.
pub(super) fn preflights(
    sides: (&Side, &Side),
    place: PathMethods<'_>,
    atoms: &Atoms,
) -> Vec<Sketch> {
    let (old, new) = sides;
    let mut groups: BTreeMap<(Axis, Gains), Vec<Sender>> = BTreeMap::new();
    for origin in atoms.origin_values() {
        if matches!(origin, HeaderOrigin::Absent | HeaderOrigin::Own) {
            continue;
        }
        let (before, after) = answers(sides, place, &origin);
        if is_same_answer(&before, &after) {
            // The request that a granted preflight announces is compared separately.
            continue;
        }
        let [before, after] = [(old, place.routes.0, before), (new, place.routes.1, after)].map(
            |(side, route, decision)| match side.route(route) {
                Some(_) => Access::for_preflight(&decision, place.method),
                None => Access::default(),
            },
        );
        for (axis, gains) in
            [(Axis::Widened, after.beyond(&before)), (Axis::Narrowed, before.beyond(&after))]
        {
            if !gains.is_empty() {
                let sender = Sender { origin: origin.clone(), ..Sender::default() };
                groups.entry((axis, gains)).or_default().push(sender);
            }
        }
    }
    let groups = groups.into_iter().filter_map(|((axis, gains), senders)| {
        let severity_of =
            |sender: &Sender| severity(atoms.gainer(sender), &gains, place.method, None);
        let valid = senders.iter().filter(|sender| !sender.is_odd(place.method));
        let mut worst: Option<&Sender> = None;
        for sender in valid.chain(&senders) {
            if worst.is_none_or(|known| severity_of(sender) > severity_of(known)) {
                worst = Some(sender);
            }
        }
        let sender = worst?.clone();
        let (before, after) = answers(sides, place, &sender.origin);
        let decided = match axis {
            Axis::Widened => &before,
            Axis::Narrowed => &after,
        };
        let is_refused = matches!(decided.outcome, Outcome::Refused(_));
        let facet = if is_refused { facet(decided) } else { "cors" };
        Some(Sketch {
            axis,
            senders: atoms.describe(&senders, |sender| sender.is_odd(place.method)),
            callers: Vec::new(),
            severity: severity_of(&sender),
            facets: BTreeSet::from([facet]),
            sender,
            credentials: Credentials::default(),
            is_preflight: true,
            keys: Rc::default(),
            gains,
            has_malformed: senders.iter().any(|sender| sender.origin == HeaderOrigin::Malformed),
        })
    });
    groups.collect()
}

/// Whether both apps answer a preflight alike.
pub(super) fn is_same_answer(before: &Decision, after: &Decision) -> bool {
    before.outcome == after.outcome && before.cors == after.cors
}

/// How both apps answer the preflight of a page.
pub(super) fn answers(
    (old, new): (&Side, &Side),
    place: PathMethods<'_>,
    origin: &HeaderOrigin,
) -> (Decision, Decision) {
    let [before, after] = [old, new].map(|side| {
        let request = probe::preflight((place.method, place.path), origin, &side.identity);
        side.engine.decide(&request, &Credentials::default().caller())
    });
    (before, after)
}

/// The severity of this gain. `caller` is the caller as the app identifies it.
fn severity(
    who: Gainer,
    gains: &Gains,
    method: &str,
    caller: Option<CallerFacts>,
) -> FindingSeverity {
    let authority = match caller {
        Some(CallerFacts::Nobody { handler: Some(Some(_)) }) => Authority::Ambient,
        None | Some(CallerFacts::Nobody { .. }) => Authority::Nobody,
        Some(CallerFacts::Token | CallerFacts::Ticket) => Authority::Held,
        Some(CallerFacts::Session { .. }) => Authority::Ambient,
        Some(CallerFacts::Scheme { is_ambient, .. }) => match is_ambient {
            true => Authority::Ambient,
            false => Authority::Held,
        },
    };
    let is_safe = method::is_safe(method);
    let reads = gains.reads.is_some() || matches!(who, Gainer::Anybody | Gainer::OwnPages);
    match (gains.reaches || gains.sends, is_safe) {
        (true, false) => {
            let authority = match gains.sends_credentials {
                true => Authority::Ambient,
                false => authority,
            };
            FindingSeverity::for_gain(who, Effect::Write, authority)
        }
        // A page that embeds a response without reading it learns little.
        (true, true) if !reads => FindingSeverity::for_gain(who, Effect::Read, Authority::Nobody),
        _ if gains.reads == Some(super::access::PageRead::WithoutCredentials)
            && authority == Authority::Ambient =>
        {
            FindingSeverity::for_gain(who, Effect::Read, Authority::Nobody)
        }
        _ => FindingSeverity::for_gain(who, Effect::Read, authority),
    }
}
