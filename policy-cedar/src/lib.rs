//! An [`ObjectEngine`] for [Cedar](https://www.cedarpolicy.com): Cedar policies decide where the
//! rule of an object says `engine`.
//!
//! ```
//! use policy_cedar::Cedar;
//! use policy_server::prelude::*;
//!
//! #[derive(Object)]
//! #[rule(View = owner | engine)]
//! #[rule(Edit = owner | engine)]
//! struct Order {
//!     #[object(key)]
//!     id: u64,
//!     #[object(owner)]
//!     customer: String,
//!     #[object(tenant)]
//!     company: String,
//!     #[object(flag)]
//!     is_closed: bool,
//! }
//!
//! impl Load for Order {
//!     type Source = ();
//!
//!     async fn load(id: &u64, _: &(), _: &()) -> Result<Option<Self>, Problem> {
//!         let (customer, company) = ("ada".to_owned(), "a".to_owned());
//!         Ok(Some(Self { id: *id, customer, company, is_closed: false }))
//!     }
//! }
//!
//! #[get("/orders/{id}")]
//! #[auth(session)]
//! async fn show(order: Allowed<Order>) -> String {
//!     order.id.to_string()
//! }
//!
//! let policies = r#"
//!     permit (principal, action in [Action::"view", Action::"edit"], resource is Order)
//!     when { principal.roles.contains("lead") && principal has tenant && principal.tenant == resource.company };
//!
//!     forbid (principal, action == Action::"edit", resource is Order)
//!     when { resource.is_closed };
//! "#;
//! let app = App::new(())
//!     .sessions(Sessions::memory())
//!     .engine(Cedar::new(policies))
//!     .routes(routes![show]);
//! assert!(app.check().is_ok());
//! ```
//!
//! # The schema
//!
//! It is derived from the objects whose rules ask the engine, and the policies are validated against it in
//! strict mode when the app starts:
//!
//! | of the app | in policies |
//! |---|---|
//! | a caller | `User::"ada"`, by the [subject](policy_server::Principal::subject), with the attributes `roles` and `scopes`, which are sets of strings, and `tenant`, a string that may be missing |
//! | an object `Order` | the type `Order` with the key as its id, and an attribute for each field that is marked |
//! | `#[object(owner)]` | a `User`; an `Option` may be missing |
//! | `#[object(tenant)]` | a string; an `Option` may be missing |
//! | `#[object(members)]` | a set of `User` |
//! | `#[object(flag)]` | a boolean |
//! | an action | `Action::"edit"`, by its [name](policy_server::object::Action::NAME), for the objects whose rule for it asks the engine |
//!
//! Policies see the attributes of the caller and of the object; the owner and members are names without
//! attributes. Templates are refused, since nothing would link them.

mod request;
mod schema;

use std::{fs, future::ready, io, path::Path};

use cedar_policy::{
    Authorizer, Decision, ParseErrors, PolicySet, Schema, ValidationMode, Validator,
};
use miette::Diagnostic;
use policy_server::object::{EngineDecision, ObjectEngine, ObjectSchema, Question};
use sha2::{Digest as _, Sha256};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The type of callers.
const USER: &str = "User";

/// From an object to its attributes, and no further: nothing else is known.
const DEREFERENCES: u32 = 1;

/// Cedar policies, which decide where rules of objects say `engine`: see [the package](crate).
#[derive(Debug)]
pub struct Cedar {
    text: String,
    policies: Result<PolicySet, ParseErrors>,
    authorizer: Authorizer,
}

impl Cedar {
    /// The policies of this text. Errors in them are reported when the app starts.
    pub fn new(policies: impl Into<String>) -> Self {
        let text = policies.into();
        Self { policies: text.parse(), text, authorizer: Authorizer::new() }
    }

    /// The policies of a file, which is read once.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is not UTF-8.
    ///
    /// ```no_run
    /// use policy_cedar::Cedar;
    /// use policy_server::prelude::*;
    ///
    /// # fn app() -> Result<App<()>, std::io::Error> {
    /// Ok(App::new(()).engine(Cedar::file("policies.cedar")?))
    /// # }
    /// ```
    pub fn file(path: impl AsRef<Path>) -> io::Result<Self> {
        fs::read_to_string(path).map(Self::new)
    }

    /// The schema of these objects in Cedar's syntax, for editors and for `cedar validate`.
    pub fn schema(objects: &[ObjectSchema]) -> String {
        schema::text(objects)
    }

    fn problem(&self, found: &dyn Diagnostic) -> String {
        let offset = found.labels().and_then(|mut labels| labels.next()).map(|it| it.offset());
        let before = offset.and_then(|offset| self.text.get(..offset));
        let line = before.map(|text| format!("line {}: ", text.matches('\n').count() + 1));
        let help = found.help().map(|help| format!("; {help}"));
        format!("{}{found}{}", line.unwrap_or_default(), help.unwrap_or_default())
    }

    fn verdict(&self, question: &Question<'_>) -> Result<bool, BoxError> {
        let policies = self.policies.as_ref().map_err(ToString::to_string)?;
        let (request, entities) = request::build(question)?;
        let response = self.authorizer.is_authorized(&request, policies, &entities);
        // Cedar skips a policy that fails, which may be a `forbid`.
        match response.diagnostics().errors().next() {
            Some(error) => Err(error.to_string().into()),
            None => Ok(response.decision() == Decision::Allow),
        }
    }
}

impl ObjectEngine for Cedar {
    fn name(&self) -> &str {
        "cedar"
    }

    /// SHA-256 of the text, in hexadecimal digits. Line endings do not matter.
    fn digest(&self) -> String {
        let text = self.text.replace("\r\n", "\n");
        base16ct::lower::encode_string(&Sha256::digest(text.as_bytes()))
    }

    fn validate(&self, objects: &[ObjectSchema]) -> Vec<String> {
        let policies = match &self.policies {
            Ok(policies) => policies,
            Err(errors) => return errors.iter().map(|error| self.problem(error)).collect(),
        };
        let of_names = schema::problems_of_names(objects);
        if !of_names.is_empty() {
            return of_names;
        }
        let schema = match Schema::from_cedarschema_str(&schema::text(objects)) {
            Ok((schema, _)) => schema,
            Err(error) => return vec![format!("the objects have no schema: {error}")],
        };
        let templates = policies.templates().map(|template| {
            format!("`{}` is a template, and nothing links it: write a policy", template.id())
        });
        let mode = ValidationMode::Strict;
        let found = Validator::new(schema).validate_with_level(policies, mode, DEREFERENCES);
        // A warning is about a policy that can never apply, which is also true of those with
        // errors, or that reads like another one.
        let mut problems: Vec<_> =
            found.validation_errors().map(|error| self.problem(error)).collect();
        if problems.is_empty() {
            problems.extend(found.validation_warnings().map(|warning| self.problem(warning)));
        }
        problems.extend(templates);
        // Cedar states them in no particular order.
        problems.sort_unstable();
        problems
    }

    fn decide<'a>(&'a self, question: Question<'a>) -> EngineDecision<'a> {
        Box::pin(ready(self.verdict(&question)))
    }
}

/// Tests the example of the README like those of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
