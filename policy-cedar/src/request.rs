//! A question as a Cedar request, with the entities that it is about.

use std::collections::{HashMap, HashSet};

use cedar_policy::{
    Context, Entities, Entity, EntityId, EntityTypeName, EntityUid, Request, RestrictedExpression,
};
use policy_server::object::{FieldValue, Question};

use crate::{BoxError, USER};

/// Builds the request and the entities: the caller, and the object.
pub(crate) fn build(question: &Question<'_>) -> Result<(Request, Entities), BoxError> {
    let caller = question.caller;
    let principal = uid(USER, caller.subject())?;
    let resource = uid(question.object, &question.facts.key)?;
    let action = uid("Action", question.action)?;
    let mut attributes = HashMap::from([
        ("roles".to_owned(), texts(caller.roles())),
        ("scopes".to_owned(), texts(caller.scopes())),
    ]);
    // An empty name is not a tenant.
    if let Some(tenant) = caller.tenant().filter(|tenant| !tenant.is_empty()) {
        attributes.insert("tenant".to_owned(), RestrictedExpression::new_string(tenant.to_owned()));
    }
    let fields = question.facts.fields.iter().filter_map(|(name, value)| {
        let value = attribute(value).transpose()?;
        Some(value.map(|value| ((*name).to_owned(), value)))
    });
    let entities = [
        Entity::new(principal.clone(), attributes, HashSet::new())?,
        Entity::new(resource.clone(), fields.collect::<Result<_, _>>()?, HashSet::new())?,
    ];
    let request = Request::new(principal, action, resource, Context::empty(), None)?;
    Ok((request, Entities::from_entities(entities, None)?))
}

/// The value of a field; `None` if the field has no name.
fn attribute(value: &FieldValue) -> Result<Option<RestrictedExpression>, BoxError> {
    let user = |name: &String| uid(USER, name).map(RestrictedExpression::new_entity_uid);
    Ok(match value {
        FieldValue::User(name) => name.as_ref().map(user).transpose()?,
        FieldValue::Users(names) => {
            let users = names.iter().map(user).collect::<Result<Vec<_>, _>>()?;
            Some(RestrictedExpression::new_set(users))
        }
        FieldValue::Tenant(name) => name.clone().map(RestrictedExpression::new_string),
        FieldValue::Flag(is_set) => Some(RestrictedExpression::new_bool(*is_set)),
        other => return Err(format!("{other:?} is no value of this schema").into()),
    })
}

fn texts(texts: Vec<impl Into<String>>) -> RestrictedExpression {
    let texts = texts.into_iter().map(|text| RestrictedExpression::new_string(text.into()));
    RestrictedExpression::new_set(texts)
}

fn uid(kind: &str, id: &str) -> Result<EntityUid, BoxError> {
    let kind: EntityTypeName = kind.parse()?;
    Ok(EntityUid::from_type_name_and_id(kind, EntityId::new(id)))
}
