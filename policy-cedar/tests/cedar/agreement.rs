//! Random rules, objects and callers: a rule in statements, and the same rule as a policy of Cedar, decide
//! alike.

use std::cell::RefCell;

use policy_core::object::{Atom, Condition, Field};
use policy_server::object::{FieldValue, Object, ObjectFacts, Permits, Sample};
use proptest::{
    collection::vec,
    prelude::*,
    sample::select,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use tokio::runtime::Builder;

use super::*;

/// The object of a case, as each of the two types has it.
#[derive(Clone, Debug, Object)]
#[rule(View = anyone)]
struct Fields {
    #[object(key)]
    id: u64,
    #[object(owner)]
    customer: String,
    #[object(owner)]
    clerk: Option<u64>,
    #[object(tenant)]
    company: Option<String>,
    #[object(members)]
    readers: Vec<String>,
    #[object(flag)]
    is_closed: bool,
    #[object(flag)]
    is_paid: bool,
}

/// The object, and its rule.
#[derive(Clone, Debug)]
struct Case {
    fields: Fields,
    rule: &'static Condition,
}

thread_local! {
    static CASE: RefCell<Option<Case>> = const { RefCell::new(None) };
}

fn case() -> Case {
    CASE.with_borrow(|case| case.clone().expect("a case"))
}

/// A type of objects whose rules for `View` are of two kinds.
macro_rules! objects {
    ($($Name:ident, $text:literal, $rules:expr, $condition:expr;)*) => {$(
        struct $Name(Fields);

        impl Object for $Name {
            type Key = u64;
            type Parent = ();
            const NAME: &'static str = $text;
            const KEY: &'static str = "id";
            const FIELDS: &'static [Field] = Fields::FIELDS;
            const RULES: &'static [(&'static str, &'static str)] = $rules;

            fn names(&self, field: &str, name: &str) -> bool {
                self.0.names(field, name)
            }

            fn flag(&self, field: &str) -> bool {
                self.0.flag(field)
            }

            fn decide(&self, _: &str, _: &Principal) -> bool {
                false
            }

            fn facts(&self) -> ObjectFacts {
                let text = |name: &Option<_>| name.as_ref().map(ToString::to_string);
                let Fields { id, customer, clerk, company, readers, is_closed, is_paid } = &self.0;
                ObjectFacts {
                    key: id.to_string(),
                    fields: vec![
                        ("customer", FieldValue::User(Some(customer.clone()))),
                        ("clerk", FieldValue::User(clerk.map(|clerk| clerk.to_string()))),
                        ("company", FieldValue::Tenant(text(company))),
                        ("readers", FieldValue::Users(readers.clone())),
                        ("is_closed", FieldValue::Flag(*is_closed)),
                        ("is_paid", FieldValue::Flag(*is_paid)),
                    ],
                }
            }

            fn sample(_: Sample<'_>) -> Option<Self> {
                None
            }
        }

        impl Permits<View> for $Name {
            fn condition() -> &'static Condition {
                $condition
            }
        }

        impl Load for $Name {
            type Source = ();

            async fn load(_: &u64, _: &(), _: &()) -> Result<Option<Self>, Problem> {
                Ok(Some(Self(case().fields)))
            }
        }
    )*};
}

static ENGINE: Condition = Condition::Atom(Atom::Engine);

objects! {
    Stated, "Stated", &[], case().rule;
    Asked, "Asked", &[("view", "engine")], &ENGINE;
}

#[get("/stated/{id}")]
#[auth(scheme = CallerScheme, optional)]
async fn stated(_it: Allowed<Stated>) {}

#[get("/asked/{id}")]
#[auth(scheme = CallerScheme, optional)]
async fn asked(_it: Allowed<Asked>) {}

/// The condition as an expression of Cedar.
fn expression(condition: &Condition) -> String {
    let all = |parts: &[Condition], between: &str| {
        parts.iter().map(|part| format!("({})", expression(part))).collect::<Vec<_>>().join(between)
    };
    match condition {
        Condition::Not(inner) => format!("!({})", expression(inner)),
        Condition::All(parts) => all(parts, " && "),
        Condition::Any(parts) => all(parts, " || "),
        Condition::Atom(atom) => match atom {
            Atom::Authenticated => "principal is User".to_owned(),
            Atom::Flag(field) => format!("resource.{field}"),
            Atom::Member(field) => format!("resource.{field}.contains(principal)"),
            Atom::Owner(field) if field == "clerk" => {
                "resource has clerk && resource.clerk == principal".to_owned()
            }
            Atom::Owner(field) => format!("resource.{field} == principal"),
            Atom::SameTenant(field) => format!(
                "principal has tenant && resource has {field} && principal.tenant == resource.{field}"
            ),
            Atom::Role(role) => format!("principal.roles.contains(\"{role}\")"),
            Atom::Scope(scope) => format!("principal.scopes.contains(\"{scope}\")"),
            other => panic!("{other}"),
        },
    }
}

const STATEMENTS: [&str; 9] = [
    "authenticated",
    "is_closed",
    "is_paid",
    "member(readers)",
    "owner(customer)",
    "owner(clerk)",
    "same(company)",
    "role(\"lead\")",
    "scope(\"all\")",
];

fn conditions() -> impl Strategy<Value = Condition> {
    let atoms =
        select(&STATEMENTS[..]).prop_map(|text| text.parse::<Condition>().expect("a statement"));
    atoms.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|it| Condition::Not(Box::new(it))),
            vec(inner.clone(), 1..4).prop_map(Condition::All),
            vec(inner, 1..4).prop_map(Condition::Any),
        ]
    })
}

fn objects() -> impl Strategy<Value = Fields> {
    let names = || select(&["ada", "bob", "7", "a\"b\\", ""][..]).prop_map(str::to_owned);
    let tenant = prop::option::of(select(&["acme", "globex", ""][..]).prop_map(str::to_owned));
    let flags = (any::<bool>(), any::<bool>());
    let clerk = prop::option::of(select(&[7_u64, 8][..]));
    (names(), clerk, tenant, vec(names(), 0..3), flags).prop_map(
        |(customer, clerk, company, readers, (is_closed, is_paid))| Fields {
            id: 1,
            customer,
            clerk,
            company,
            readers,
            is_closed,
            is_paid,
        },
    )
}

/// Callers with a name: an engine is not asked about others.
fn callers() -> impl Strategy<Value = String> {
    let parts = [
        select(&["ada", "bob", "7", "a\"b\\", "eve"][..]),
        select(&["", ";company=acme", ";company=globex"][..]),
        select(&["", ";role=lead", ";role=Lead"][..]),
        select(&["", ";scope=all"][..]),
    ];
    parts.prop_map(|parts| parts.concat())
}

#[test]
fn statements_and_policies_agree() {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (mut seen, cases) = ([0, 0], 300);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let seen_cell = RefCell::new(&mut seen);
    let inputs = (conditions(), vec((objects(), callers()), 8));
    runner
        .run(&inputs, |(condition, objects)| {
            let policies = format!(
                "permit (principal, action, resource) when {{ {} }};",
                expression(&condition)
            );
            let rule: &'static Condition = Box::leak(Box::new(condition));
            let app = App::new(()).scheme(CallerScheme).engine(Cedar::new(&*policies));
            // What can never be true is refused at the start.
            let routes = app.routes(routes![stated, asked]);
            let client = match routes.check() {
                Ok(()) => App::new(())
                    .scheme(CallerScheme)
                    .engine(Cedar::new(&*policies))
                    .routes(routes![stated, asked])
                    .test(),
                Err(error) if error.to_string().contains("policy is impossible") => return Ok(()),
                Err(error) => panic!("{policies}\n{error}"),
            };
            for (fields, caller) in objects {
                CASE.set(Some(Case { fields, rule }));
                let status = |path: &str| {
                    let sent = client.get(path).header("x-caller", &caller).send();
                    runtime.block_on(sent).status().as_u16()
                };
                let [stated_status, engine_status] = ["/stated/1", "/asked/1"].map(status);
                prop_assert_eq!(
                    stated_status,
                    engine_status,
                    "{} {} {:?}",
                    policies,
                    caller,
                    case().fields
                );
                seen_cell.borrow_mut()[usize::from(engine_status == 200)] += 1;
            }
            Ok(())
        })
        .expect("the two agree");
    assert!(seen.iter().all(|count| *count > 300), "{seen:?}");
}
