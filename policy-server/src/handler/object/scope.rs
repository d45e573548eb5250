//! Lists: all objects with which a caller may do something.

use std::{fmt::Write as _, marker::PhantomData};

use axum_core::extract::FromRequestParts;
use http::request::Parts;
use policy_core::object::{Atom, Condition, Field, Relation};

#[cfg(feature = "testing")]
use super::samples::{ALIAS, FIRST, ListAnswers, ListTrial, sample};
use super::{
    Action, Permits, PermitsByData, View,
    rule::{KeyOrigin, ObjectDescription, decide_by_caller, required_name, undecided},
};
use crate::{
    auth::principal::Principal,
    handler::{
        describe::{Signature, Takes},
        extract::{ContextRejection, user},
    },
};

/// The objects that the caller may view, and with which they may do `A`: a predicate for the query of a
/// list, and a filter in memory by the same rule.
///
/// ```
/// # use policy_server::prelude::*;
/// # #[derive(Object)]
/// # #[rule(View = owner | same(tenant))]
/// # struct Order { #[object(key)] id: u64, #[object(owner)] user: String, #[object(tenant)] team: String }
/// #[get("/orders")]
/// #[auth(session)]
/// async fn list(orders: Scope<Order>) -> String {
///     let predicate = orders.sql(1);
///     format!("SELECT * FROM orders WHERE {} ORDER BY id", predicate.sql)
/// }
/// # #[post("/login/{name}")]
/// # #[auth(public)]
/// # async fn login(name: String, sessions: Sessions) -> Result<(), CredentialError> {
/// #     sessions.login(name).await
/// # }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// # let client = App::new(()).sessions(Sessions::memory()).routes(routes![list, login]).test();
/// # let response = client.post("/login/eve").origin("http://localhost").send().await;
/// # let (cookie, _) = response.header("set-cookie").unwrap().split_once(';').unwrap();
/// // For a caller without a tenant:
/// let query = "SELECT * FROM orders WHERE (\"user\" = $1) ORDER BY id";
/// assert_eq!(client.get("/orders").header("cookie", cookie).send().await.text(), query);
/// # });
/// ```
pub struct Scope<T, A = View> {
    caller: Option<Principal>,
    of: PhantomData<fn() -> (T, A)>,
}

/// A predicate of SQL for SQLite and PostgreSQL, with the values of its placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Predicate {
    /// The predicate, in parentheses.
    pub sql: String,
    /// The values, in the order of their placeholders.
    pub values: Vec<PredicateValue>,
}

/// The value of a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PredicateValue {
    /// For a column of text.
    Text(String),
    /// For a column of numbers.
    Number(i64),
}

impl<T, A> std::fmt::Debug for Scope<T, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scope").field("caller", &self.caller).finish_non_exhaustive()
    }
}

/// The bounds are on the methods, so that the compiler reports a rule that cannot filter lists
/// where the handler uses it.
impl<T, A: Action> Scope<T, A> {
    /// Whether the object is in the list.
    pub fn contains(&self, object: &T) -> bool
    where
        T: PermitsByData<View> + PermitsByData<A>,
    {
        self.admits(object)
    }

    /// The predicate, whose first placeholder has this number: `$1`, `$2` and so on.
    pub fn sql(&self, first: usize) -> Predicate
    where
        T: PermitsByData<View> + PermitsByData<A>,
    {
        self.sql_of("", first)
    }

    /// The predicate for the columns of a table with this name or alias. Expressions that an object states
    /// by `column = ".."` are used as they are.
    pub fn sql_of(&self, table: &str, first: usize) -> Predicate
    where
        T: PermitsByData<View> + PermitsByData<A>,
    {
        self.predicate(table, first)
    }
}

/// The calling methods require [`PermitsByData`]; in a proof, its law has checked it.
impl<T, A> Scope<T, A>
where
    T: Permits<View> + Permits<A>,
    A: Action,
{
    fn from_parts(parts: &Parts) -> Result<Self, ContextRejection> {
        Ok(Self { caller: user(parts)?, of: PhantomData })
    }

    fn admits(&self, object: &T) -> bool {
        let caller = self.caller.as_ref();
        // Rules by data do not ask an engine.
        undecided::<T, View>(caller, object) == Err(true)
            && undecided::<T, A>(caller, object) == Err(true)
    }

    fn predicate(&self, table: &str, first: usize) -> Predicate {
        let conditions = [<T as Permits<View>>::condition(), <T as Permits<A>>::condition()]
            .map(Condition::clone);
        let mut writer = Writer {
            caller: self.caller.as_ref(),
            fields: T::FIELDS,
            key: qualified(table, T::KEY),
            table,
            first,
            predicate: Predicate { sql: "(".to_owned(), values: Vec::new() },
        };
        let is_same = conditions[0] == conditions[1];
        let [view, action] = conditions;
        let both = if is_same { view } else { Condition::All(vec![view, action]) };
        match both.reduced(&mut |atom| writer.decide(atom)) {
            Ok(left) => writer.write(&left, false),
            Err(true) => writer.predicate.sql += "1 = 1",
            Err(false) => writer.predicate.sql += "1 = 0",
        }
        writer.predicate.sql.push(')');
        writer.predicate
    }

    /// Returns the samples that the list contains, and its predicates.
    #[cfg(feature = "testing")]
    fn list_samples(parts: &Parts, trial: ListTrial) -> Result<ListAnswers, ContextRejection> {
        let list = Self::from_parts(parts)?;
        let samples = (0..trial.samples).map_while(|values| sample::<T>(values, trial.caller));
        Ok(ListAnswers {
            contained: samples.map(|sample| list.admits(&sample)).collect(),
            predicate: list.predicate("", 1),
            of_alias: list.predicate(ALIAS, FIRST),
        })
    }
}

/// Names that PostgreSQL reads as values, and as columns only if they are quoted or qualified.
const VALUES: [&str; 12] = [
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "localtime",
    "localtimestamp",
    "session_user",
    "system_user",
    "user",
];

/// A column of a table, or an expression, which is in parentheses and so always one operand. Without
/// quotes, databases read a name in any case, and PostgreSQL as small letters.
fn qualified(table: &str, column: &str) -> String {
    let is_plain = column.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match (is_plain, table) {
        (false, _) => format!("({column})"),
        (true, "") if VALUES.iter().any(|value| value.eq_ignore_ascii_case(column)) => {
            format!("\"{}\"", column.to_ascii_lowercase())
        }
        (true, "") => column.to_owned(),
        (true, table) => format!("{table}.{column}"),
    }
}

struct Writer<'a> {
    caller: Option<&'a Principal>,
    fields: &'static [Field],
    key: String,
    table: &'a str,
    first: usize,
    predicate: Predicate,
}

impl Writer<'_> {
    /// The value of a statement, if it is the same for all objects.
    fn decide(&self, atom: &Atom) -> Option<bool> {
        decide_by_caller(atom, self.caller).or_else(|| {
            let is_flag = matches!(atom, Atom::Flag(_));
            (!is_flag && self.value(atom).is_none()).then_some(false)
        })
    }

    /// The value that a statement compares the column of its field with; `None` if no object can have it.
    fn value(&self, atom: &Atom) -> Option<(&'static Field, PredicateValue)> {
        let (field, name) = required_name(atom, self.caller?)?;
        let field = self.fields.iter().find(|known| known.name == field)?;
        let value = match field.is_number {
            // In memory a number is equal to its canonical text only.
            true => name
                .parse()
                .ok()
                .filter(|it: &i64| it.to_string() == name)
                .map(PredicateValue::Number)?,
            false => PredicateValue::Text(name.to_owned()),
        };
        Some((field, value))
    }

    /// Writes a condition. A comparison with NULL is neither true nor false, which matters only in a
    /// negation: there it counts as false, as in memory.
    fn write(&mut self, condition: &Condition, is_negated: bool) {
        match condition {
            Condition::Atom(atom) => self.atom(atom, is_negated),
            Condition::Not(inner) => {
                self.predicate.sql += "NOT (";
                self.write(inner, !is_negated);
                self.predicate.sql.push(')');
            }
            Condition::All(parts) => self.join(parts, " AND ", is_negated),
            Condition::Any(parts) => self.join(parts, " OR ", is_negated),
        }
    }

    fn join(&mut self, parts: &[Condition], between: &str, is_negated: bool) {
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                self.predicate.sql += between;
            }
            let is_group = matches!(part, Condition::Any(_) | Condition::All(_));
            self.predicate.sql += if is_group { "(" } else { "" };
            self.write(part, is_negated);
            self.predicate.sql += if is_group { ")" } else { "" };
        }
    }

    fn atom(&mut self, atom: &Atom, is_negated: bool) {
        let text = match (atom, self.value(atom)) {
            (Atom::Flag(name), _) => {
                let field = self.fields.iter().find(|field| field.name == name);
                field.map_or_else(|| "1 = 0".to_owned(), |it| qualified(self.table, it.column))
            }
            (_, Some((field, value))) => {
                let place = self.first.saturating_add(self.predicate.values.len());
                self.predicate.values.push(value);
                match field.relation {
                    // The key is outside the subquery, where its name could be another column.
                    Some(Relation { table, object, user }) => format!(
                        "{} IN (SELECT {} FROM {table} WHERE {} = ${place})",
                        self.key,
                        qualified(table, object),
                        qualified(table, user)
                    ),
                    None => format!("{} = ${place}", qualified(self.table, field.column)),
                }
            }
            // Statements with a known value were removed before.
            (_, None) => "1 = 0".to_owned(),
        };
        // Writing to a `String` does not fail.
        let _ = match is_negated {
            true => write!(self.predicate.sql, "COALESCE({text}, 1 = 0)"),
            false => write!(self.predicate.sql, "{text}"),
        };
    }
}

impl<S, T, A> FromRequestParts<S> for Scope<T, A>
where
    S: Send + Sync,
    T: Permits<View> + Permits<A>,
    A: Action,
{
    type Rejection = ContextRejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ContextRejection> {
        Self::from_parts(parts)
    }
}

impl<T: Permits<View> + Permits<A>, A: Action> Takes for Scope<T, A> {
    fn describe(signature: &mut Signature) {
        let list = ObjectDescription::new::<T, A>(KeyOrigin::List);
        #[cfg(feature = "testing")]
        let list = ObjectDescription { list: Some(Self::list_samples), ..list };
        signature.objects.push(list);
    }
}

#[cfg(feature = "openapi")]
impl<T: Permits<View> + Permits<A>, A: Action> crate::handler::describe::TypedTakes
    for Scope<T, A>
{
    fn describe(_: &mut Signature) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_not_read_as_a_value_in_any_case() {
        for (table, column, written) in [
            ("", "owner", "owner"),
            ("", "user", "\"user\""),
            ("", "USER", "\"user\""),
            ("", "Current_Role", "\"current_role\""),
            ("t", "USER", "t.USER"),
            ("", "user = 'a'", "(user = 'a')"),
        ] {
            assert_eq!(qualified(table, column), written);
        }
    }
}
