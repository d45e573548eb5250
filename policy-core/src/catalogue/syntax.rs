//! How attributes are written.

area! { $ syntax
    rules {
        /// Tokens that cannot be parsed.
        Malformed Error "syntax.malformed",
            "this cannot be parsed",
            "write it as in the documentation of the attribute";
        /// A word that the attribute does not know.
        UnknownWord Error "syntax.unknown-word",
            "unknown word",
            "write a word that the attribute accepts";
        /// A name before `=` that the attribute does not know.
        UnknownArgument Error "syntax.unknown-argument",
            "unknown argument",
            "write an argument that the attribute accepts";
        /// A name without `=` and a value.
        ValueMissing Error "syntax.value-missing",
            "this needs a value",
            "write `=` and a value";
        /// A word with `=` and a value.
        ValueUnwanted Error "syntax.value-unwanted",
            "this takes no value",
            "write the word alone, or remove it";
        /// An argument that is given twice.
        ArgumentRepeated Error "syntax.argument-repeated",
            "this is given twice",
            "remove one of them";
        /// Something else than a list.
        ListExpected Error "syntax.list-expected",
            "a list is expected here",
            "write it in brackets, with commas between its entries";
        /// A list with something else than literals.
        LiteralsExpected Error "syntax.literals-expected",
            "a list of string literals is expected here",
            "write every entry in quotes";
        /// Something else than a string literal.
        StringExpected Error "syntax.string-expected",
            "a string literal is expected here",
            "write it in quotes";
        /// Something else than a number of seconds.
        SecondsExpected Error "syntax.seconds-expected",
            "a literal number of seconds is expected here",
            "write seconds, such as `600`";
        /// Something else than a number.
        NumberExpected Error "syntax.number-expected",
            "a whole number below 2^32 is expected here",
            "write a number, such as `64`";
        /// An attribute without arguments.
        AttributeEmpty Error "syntax.attribute-empty",
            "this attribute is empty",
            "add its arguments, or remove it";
        /// Two words that exclude each other.
        OneWordExpected Error "syntax.one-word-expected",
            "only one of these words can apply to a route",
            "remove all but one";
        /// The name of a policy beside its parts.
        PolicyNotAlone Error "syntax.policy-not-alone",
            "the name of a policy cannot be combined with other arguments: nothing is merged into it",
            "write all parts of a policy here, or only the name of a policy that has them all";
        /// An expression that is not the name of a policy.
        PolicyNameExpected Error "syntax.policy-name-expected",
            "this is not the name of a policy",
            "write the name of a constant that is a policy";
        /// Alternative credentials with a comma between them.
        CallersNotJoined Error "syntax.callers-not-joined",
            "alternative credentials are joined by `|`",
            "write `session | token`";
        /// `config` without a name.
        ConfigName Error "syntax.config-name",
            "`config` needs the name of the list",
            "write `config(\"partners\")`, and give the list to the app with `App::origins`";
        /// `config` with something that it does not take.
        ConfigArgument Error "syntax.config-argument",
            "`config` takes the name of a list, a bound for it, and the parameter of the path that chooses it",
            "write `config(\"partners\", within = [\"https://*.example.com\"])`, or `config(\"tenants\", by = \"tenant\", within = [..])`";
        /// `#[cors = ..]`.
        ParenthesesMissing Error "syntax.parentheses-missing",
            "the arguments of an attribute are written in parentheses",
            "write `#[name(..)]`";
        /// An attribute that a route has twice.
        AttributeRepeated Error "syntax.attribute-repeated",
            "this route has this attribute twice",
            "write one; the nearest level replaces the outer ones, and nothing is merged";
        /// A policy without a route.
        RouteAttributeMissing Error "syntax.route-attribute-missing",
            "this does nothing here: there is no route attribute below it",
            "write one, such as `#[get(\"/path\")]`; renamed imports of it are not recognised";
        /// `routes![..]` with something else than names.
        RoutesEntry Error "syntax.routes-entry",
            "a list of routes can contain only names of handlers",
            "write `routes![one, module::two]`";
        /// A route attribute without a path.
        PathMissing Error "syntax.path-missing",
            "a route needs a path",
            "write one, such as `#[get(\"/path\")]`";
        /// A route attribute with two paths.
        PathRepeated Error "syntax.path-repeated",
            "a route attribute has one path",
            "write a second attribute for the second path";
        /// `#[route]` without a method.
        MethodMissing Error "syntax.method-missing",
            "a route needs a method",
            "write `#[route(PURGE, \"/path\")]`: methods, then the path";
        /// A method that is neither a name nor a string.
        MethodExpected Error "syntax.method-expected",
            "a method is a name or a string literal",
            "write `#[route(PURGE, \"/path\")]`: methods, then the path";
        /// A method in lower case.
        MethodCase Error "syntax.method-case",
            "methods are case-sensitive, and the standard ones are in upper case",
            "write it in upper case, or in quotes if the method has exactly this name";
        /// A path parameter in the syntax of another framework.
        ParameterStyle Error "syntax.parameter-style",
            "this is not a parameter, but fixed text",
            "a parameter is written `{name}` here, and the rest of a path `{*name}`";
        /// `policy_tests!` in tests, without the feature that it needs.
        TestingOff Error "syntax.testing-off",
            "the feature `testing` of policy-server is off, which tests of policies need",
            "write `policy-server = { version = \"0.1\", features = [\"testing\"] }` below `[dev-dependencies]` in Cargo.toml";
    }
}
