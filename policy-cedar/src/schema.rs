//! The Cedar schema for the objects of an app.

use std::{collections::BTreeMap, fmt::Write as _};

use policy_server::object::{Field, FieldKind, ObjectSchema};

use crate::USER;

/// The text of the schema: callers are of the type [`USER`], each object is a type, and each action applies
/// to the objects whose rule for it asks the engine.
pub(crate) fn text(objects: &[ObjectSchema]) -> String {
    let mut text = format!(
        "entity {USER} = {{ \"roles\": Set<String>, \"scopes\": Set<String>, \"tenant\"?: String }};\n"
    );
    let mut actions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for object in objects {
        let fields = object.fields.iter().map(attribute).collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "entity {} = {{ {fields} }};", object.name);
        for action in &object.actions {
            actions.entry(action).or_default().push(object.name);
        }
    }
    for (action, objects) in actions {
        let objects = objects.join(", ");
        let _ = writeln!(
            text,
            "action \"{action}\" appliesTo {{ principal: [{USER}], resource: [{objects}] }};"
        );
    }
    text
}

/// Problems with the names of objects, which become Cedar types and are only text here.
pub(crate) fn problems_of_names(objects: &[ObjectSchema]) -> Vec<String> {
    let rename = "state another name for the object: `#[object(name = \"..\")]`";
    let problem = |object: &ObjectSchema| match object.name {
        USER => Some(format!("`{USER}` is the type of callers: {rename}")),
        name if !is_identifier(name) => Some(format!("`{name}` is no name of a type: {rename}")),
        _ => None,
    };
    objects.iter().filter_map(problem).collect()
}

fn is_identifier(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
}

/// A field, in quotes, since its name may be a Cedar keyword.
fn attribute(field: &Field) -> String {
    let mark = if field.is_optional { "?" } else { "" };
    let kind = match field.kind {
        FieldKind::Owner => USER.to_owned(),
        FieldKind::Tenant => "String".to_owned(),
        FieldKind::Members => format!("Set<{USER}>"),
        FieldKind::Flag => "Bool".to_owned(),
    };
    format!("\"{}\"{mark}: {kind}", field.name)
}
