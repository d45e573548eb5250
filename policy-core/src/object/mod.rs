//! Rights on objects: which callers may do what with one order, task or file, by its fields.
//!
//! A [`Condition`] is a rule as data: attributes state it, manifests contain it as text, the server
//! evaluates it and lists turn it into SQL. [`Field`] is a field of an object that conditions may name.

mod action;
mod condition;
mod grammar;
mod policy;

pub use action::names_differ;
pub use condition::{Atom, Condition};
pub use grammar::{ConditionError, ConditionToken};
pub use policy::{ObjectPolicy, check_reason, recheck_of};

/// The longest text of a condition, in bytes.
pub(crate) const MAX_CONDITION: usize = 4096;

/// A field of an object that conditions may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it states.
    pub kind: FieldKind,
    /// Its column in a database: an SQL expression.
    pub column: &'static str,
    /// Whether its column is a number; otherwise it is text.
    pub is_number: bool,
    /// Whether it is an `Option`, which may be `None`.
    pub is_optional: bool,
    /// The table of a relation.
    pub relation: Option<Relation>,
}

/// What a field of an object states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldKind {
    /// The user who owns the object.
    Owner,
    /// The tenant that the object belongs to.
    Tenant,
    /// Users who have a relation to the object.
    Members,
    /// Something that is true of the object or not.
    Flag,
}

/// A table with a row for each user who has a relation to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relation {
    /// The table.
    pub table: &'static str,
    /// Its column with the key of the object.
    pub object: &'static str,
    /// Its column with the user.
    pub user: &'static str,
}
