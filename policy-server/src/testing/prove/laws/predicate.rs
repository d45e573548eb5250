//! What the predicate of a list selects, without a database: it is read as SQL defines it, without the code
//! that writes it. How a database reads a column or an expression is not known here.

use policy_core::object::{Field, FieldKind, Relation};

use crate::handler::object::{Predicate, PredicateValue, samples::sample_name};

/// The row of a sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) fields: &'static [Field],
    /// The column of the key.
    pub(super) key: &'static str,
    /// Bit `n` says whether field `n` names the caller or their tenant, or is set.
    pub(super) values: u32,
    pub(super) caller: u64,
    /// Whether fields that are not set are NULL.
    pub(super) has_nulls: bool,
}

/// A value of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    True,
    False,
    Null,
}

/// A text that is no predicate about the fields of a row.
#[derive(Debug)]
struct Unreadable;

impl Row {
    /// Whether a predicate for a table with this name, and with placeholders from this number on, selects the
    /// row; `None` if it cannot be read.
    pub(super) fn is_selected(
        &self,
        predicate: &Predicate,
        table: &str,
        first: usize,
    ) -> Option<bool> {
        let rest = predicate.sql.as_str();
        let mut reader = Reader { row: self, table, next: first, values: &predicate.values, rest };
        let value = reader.one().ok()?;
        let is_whole = reader.rest.is_empty() && reader.values.is_empty();
        is_whole.then_some(value == Value::True)
    }
}

struct Reader<'a> {
    row: &'a Row,
    table: &'a str,
    /// The number of the next placeholder.
    next: usize,
    /// The values of the placeholders from there on.
    values: &'a [PredicateValue],
    rest: &'a str,
}

impl Reader<'_> {
    fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, text: &str) -> Result<(), Unreadable> {
        if self.eat(text) { Ok(()) } else { Err(Unreadable) }
    }

    fn any(&mut self) -> Result<Value, Unreadable> {
        let mut values = vec![self.all()?];
        while self.eat(" OR ") {
            values.push(self.all()?);
        }
        Ok(combine(&values, [Value::True, Value::False]))
    }

    fn all(&mut self) -> Result<Value, Unreadable> {
        let mut values = vec![self.one()?];
        while self.eat(" AND ") {
            values.push(self.one()?);
        }
        Ok(combine(&values, [Value::False, Value::True]))
    }

    fn one(&mut self) -> Result<Value, Unreadable> {
        // First, since the expression of a field may look like a group.
        for (position, field) in self.row.fields.iter().enumerate() {
            let is_set = self.row.values >> position & 1 == 1;
            if let Some(value) = self.about(field, is_set)? {
                return Ok(value);
            }
        }
        for (text, value) in [("1 = 1", Value::True), ("1 = 0", Value::False)] {
            if self.eat(text) {
                return Ok(value);
            }
        }
        let is_negated = self.eat("NOT (");
        let is_coalesced = !is_negated && self.eat("COALESCE(");
        if !is_negated && !is_coalesced {
            self.expect("(")?;
        }
        let value = self.any()?;
        self.expect(if is_coalesced { ", 1 = 0)" } else { ")" })?;
        Ok(match value {
            Value::Null if is_coalesced => Value::False,
            Value::True if is_negated => Value::False,
            Value::False if is_negated => Value::True,
            value => value,
        })
    }

    /// A statement about this field, if there is one next.
    fn about(&mut self, field: &Field, is_set: bool) -> Result<Option<Value>, Unreadable> {
        let is_null = self.row.has_nulls && !is_set;
        let columns = columns(self.table, field.column);
        if field.kind == FieldKind::Flag {
            let is_here = columns.iter().any(|column| self.eat_whole(column));
            return Ok(is_here.then_some(match (is_null, is_set) {
                (true, _) => Value::Null,
                (false, true) => Value::True,
                (false, false) => Value::False,
            }));
        }
        let name =
            sample_name(field.kind == FieldKind::Tenant, is_set, self.row.caller).to_string();
        if let Some(relation) = field.relation {
            if !self.eat_relation(relation) {
                return Ok(None);
            }
            // Its table has no NULL, only other users.
            let value = self.equal(field, Some(&name))?;
            self.expect(")")?;
            return Ok(Some(value));
        }
        if !columns.iter().any(|column| self.eat(&format!("{column} = "))) {
            return Ok(None);
        }
        self.equal(field, Some(&*name).filter(|_| !is_null)).map(Some)
    }

    /// Reads a column that is a whole value, and not the beginning of another one.
    fn eat_whole(&mut self, column: &str) -> bool {
        let rest = self.rest.strip_prefix(column);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ')', ',']))
            && self.eat(column)
    }

    /// Reads the query of a relation, up to its placeholder.
    fn eat_relation(&mut self, Relation { table, object, user }: Relation) -> bool {
        let keys = columns(self.table, self.row.key);
        let [objects, users] = [object, user].map(|column| columns(table, column));
        let (object, user) = (objects.concat(), users.concat());
        let query = format!(" IN (SELECT {object} FROM {table} WHERE {user} = ");
        keys.iter().any(|key| self.eat(&format!("{key}{query}")))
    }

    /// Compares a column with the next placeholder, whose value is of the type of the column.
    fn equal(&mut self, field: &Field, name: Option<&str>) -> Result<Value, Unreadable> {
        self.expect(&format!("${}", self.next))?;
        let (value, rest) = self.values.split_first().ok_or(Unreadable)?;
        (self.next, self.values) = (self.next.saturating_add(1), rest);
        let value = match (value, field.is_number) {
            (PredicateValue::Text(text), false) => text.clone(),
            (PredicateValue::Number(number), true) => number.to_string(),
            _ => return Err(Unreadable),
        };
        Ok(match name {
            None => Value::Null,
            Some(name) if name == value => Value::True,
            Some(_) => Value::False,
        })
    }
}

/// Combines the values of several parts: one that is `decisive` decides.
fn combine(parts: &[Value], [decisive, other]: [Value; 2]) -> Value {
    match parts {
        _ if parts.contains(&decisive) => decisive,
        _ if parts.contains(&Value::Null) => Value::Null,
        _ => other,
    }
}

/// The spellings of a column of a table, or of an expression as one operand.
fn columns(table: &str, column: &str) -> Vec<String> {
    let is_name = column.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match (is_name, table) {
        (false, _) => vec![format!("({column})")],
        (true, "") => vec![column.to_owned(), format!("\"{}\"", column.to_ascii_lowercase())],
        (true, table) => vec![format!("{table}.{column}")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn field(name: &'static str, kind: FieldKind, column: &'static str) -> Field {
        Field { name, kind, column, is_number: false, is_optional: false, relation: None }
    }

    const FIELDS: &[Field] = &[
        field("customer", FieldKind::Owner, "user"),
        Field { is_number: true, ..field("editor", FieldKind::Owner, "customer_id") },
        field("company", FieldKind::Tenant, "company"),
        field("published", FieldKind::Flag, "state = 'a' OR state = ')'"),
        field("draft", FieldKind::Flag, "draft"),
        Field {
            relation: Some(Relation { table: "readers", object: "order_id", user: "person" }),
            ..field("readers", FieldKind::Members, "readers")
        },
    ];

    /// A row whose fields at these positions are set; `None` for NULL where they are not.
    fn selected(
        sql: &str,
        values: &[PredicateValue],
        set: &[usize],
        has_nulls: bool,
    ) -> Option<bool> {
        let bits = set.iter().map(|position| 1_u32 << position).sum();
        let row = Row { fields: FIELDS, key: "id", values: bits, caller: 7, has_nulls };
        let predicate = Predicate { sql: sql.to_owned(), values: values.to_vec() };
        let table = if sql.contains("t.") { "t" } else { "" };
        row.is_selected(&predicate, table, 3)
    }

    fn text(value: &str) -> PredicateValue {
        PredicateValue::Text(value.to_owned())
    }

    #[test]
    fn predicates_are_read_as_sql_defines_them() {
        let seven = [text("7")];
        let relation = "(id IN (SELECT readers.order_id FROM readers WHERE readers.person = $3))";
        for (sql, values, set, expected) in [
            ("(1 = 1)", &[][..], &[][..], true),
            ("(1 = 0)", &[], &[], false),
            ("(\"user\" = $3)", &seven, &[0], true),
            ("(\"user\" = $3)", &seven, &[1, 2, 3, 4, 5], false),
            ("(t.user = $3)", &seven, &[0], true),
            ("(user = $3)", &[text("8")], &[0], false),
            ("(customer_id = $3)", &[PredicateValue::Number(7)], &[1], true),
            ("(company = $3)", &[text("70")], &[2], true),
            ("(company = $3)", &[text("70")], &[], false),
            ("(draft)", &[], &[4], true),
            ("((state = 'a' OR state = ')') AND draft)", &[], &[3, 4], true),
            ("((state = 'a' OR state = ')') AND draft)", &[], &[4], false),
            ("(draft OR user = $3 AND company = $4)", &[text("7"), text("70")], &[0], false),
            ("(draft OR user = $3 AND company = $4)", &[text("7"), text("70")], &[4], true),
            ("((draft OR user = $3) AND company = $4)", &[text("7"), text("70")], &[4], false),
            ("(NOT (COALESCE(draft, 1 = 0)))", &[], &[], true),
            ("(NOT (COALESCE(draft, 1 = 0)))", &[], &[4], false),
            (relation, &seven, &[5], true),
            (relation, &seven, &[0], false),
        ] {
            assert_eq!(selected(sql, values, set, false), Some(expected), "{sql} {set:?}");
            assert_eq!(selected(sql, values, set, true), Some(expected), "{sql} {set:?} NULL");
        }
    }

    #[test]
    fn null_selects_no_row_unless_it_is_replaced() {
        for (sql, of_false, of_null) in [
            ("(NOT (draft))", true, false),
            ("(NOT (COALESCE(draft, 1 = 0)))", true, true),
            ("(NOT (draft AND 1 = 0))", true, true),
            ("(NOT (draft OR 1 = 0))", true, false),
            ("(draft OR 1 = 1)", true, true),
        ] {
            assert_eq!(selected(sql, &[], &[], false), Some(of_false), "{sql}");
            assert_eq!(selected(sql, &[], &[], true), Some(of_null), "{sql} NULL");
        }
    }

    #[test]
    fn what_a_database_would_refuse_is_not_read() {
        for (sql, values) in [
            ("", &[][..]),
            ("(", &[]),
            ("(1 = 1", &[]),
            ("(1 = 1))", &[]),
            ("(1 = 1 OR )", &[]),
            ("(drafts)", &[]),
            ("(other = $3)", &[text("7")]),
            ("(user = $4)", &[text("7")]),
            ("(user = $3)", &[]),
            ("(user = $3)", &[text("7"), text("7")]),
            ("(user = $3)", &[PredicateValue::Number(7)]),
            ("(customer_id = $3)", &[text("7")]),
        ] {
            assert_eq!(selected(sql, values, &[], false), None, "{sql} {values:?}");
        }
    }
}
