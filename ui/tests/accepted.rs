//! What the attributes accept, below `deny(warnings)`.
#![expect(
    clippy::allow_attributes_without_reason,
    clippy::let_underscore_future,
    clippy::module_inception,
    clippy::toplevel_ref_arg,
    reason = "the attributes accept what is odd"
)]

mod accepted {
    pub(super) mod callers;
    pub(super) mod conditions;
    pub(super) mod crate_path;
    pub(super) mod handlers;
    pub(super) mod headers;
    pub(super) mod imports;
    pub(super) mod jsonp;
    pub(super) mod limits;
    pub(super) mod macro_rules;
    pub(super) mod names;
    pub(super) mod no_imports;
    pub(super) mod policies;
    pub(super) mod problems;
}

/// The good examples on the pages of codes.
#[allow(dead_code, unused_variables, reason = "nothing calls an example")]
#[deny(deprecated)]
mod codes {
    macro_rules! areas {
        ($($area:ident)*) => {
            $(mod $area {
                include!(concat!("../../policy-cli/codes/good/", stringify!($area), ".rs"));
            })*
        };
    }

    areas! { auth cache cors csrf handler headers jsonp limit object problem route syntax }
}

#[test]
fn attributes_accept() {
    accepted::callers::app();
    accepted::conditions::app();
    accepted::crate_path::app();
    accepted::handlers::app();
    accepted::headers::app();
    accepted::imports::app();
    accepted::jsonp::app();
    accepted::limits::app();
    accepted::macro_rules::app();
    accepted::names::app();
    accepted::no_imports::app();
    accepted::policies::app();
    accepted::problems::app();
}
