#[cfg(unix)]
fn first<T>(&self2: T) -> String {
    String::new()
}
#[cfg(unix)]
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    missing_copy_implementations,
    missing_debug_implementations,
    unreachable_pub,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_structs
)]
struct first {}
#[cfg(unix)]
#[cors(__policy_consumed)]
const _: () = ();
#[cfg(unix)]
const _: () = {
    use ::policy_server::codegen as __policy;
    ::core::compile_error! {
        "a handler must be `async` (handler.not-async)\nhelp: write `async fn first`\nsee: https://OWNER.github.io/policy/reference/codes/handler.html#handler.not-async"
    }
    ::core::compile_error! {
        "a handler cannot be generic (handler.generic)\nhelp: write concrete types; a request cannot choose them\nsee: https://OWNER.github.io/policy/reference/codes/handler.html#handler.generic"
    }
    ::core::compile_error! {
        "`/users/<id>`: a path segment has only letters, digits and the characters `-._~!$&'()*+,;=:@`; a query is not part of a path (route.path-byte)\nhelp: remove the other characters; a parameter also matches percent-encoded segments\nhelp: a parameter is written `{id}` here, not `<id>`\nsee: https://OWNER.github.io/policy/reference/codes/route.html#route.path-byte"
    }
    ::core::compile_error! {
        "nothing here says who may call (auth.callers-missing)\nhelp: write `#[auth(session)]`, `#[auth(token)]` or both as `session | token`, `#[auth(scheme = ..)]`, or `#[auth(public)]` for everybody\nsee: https://OWNER.github.io/policy/reference/codes/auth.html#auth.callers-missing"
    }
    ::core::compile_error! {
        "`*`: `*` cannot be combined with `credentials` (cors.any-origin-with-credentials)\nhelp: list the origins that may send cookies\nsee: https://OWNER.github.io/policy/reference/codes/cors.html#cors.any-origin-with-credentials"
    }
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for first {
        fn declare(_: &mut __policy::Description) {}
        fn describe(_: &mut __policy::Signature) {}
        fn call(_: &mut __policy::Call) -> __policy::BoxFuture {
            ::core::unreachable!()
        }
    }
};
async fn method(&self) {}
::core::compile_error! {
    "a handler is a function, not a method (handler.method)\nhelp: move it out of the `impl`, and take what it needs as `State<..>`\nsee: https://OWNER.github.io/policy/reference/codes/handler.html#handler.method"
}
struct NoFunction;
::core::compile_error! {
    "`#[auth]`: this does nothing here: there is no route attribute below it (syntax.route-attribute-missing)\nhelp: write one, such as `#[get(\"/path\")]`; renamed imports of it are not recognised\nsee: https://OWNER.github.io/policy/reference/codes/syntax.html#syntax.route-attribute-missing"
}
