//! How attributes are written.

area! { $ syntax
    rules {
        /// Tokens that the parser of Rust cannot make sense of.
        Malformed Error "syntax.malformed",
            "this cannot be read",
            "write it as the documentation of the attribute does";
        /// A word that the attribute does not know.
        UnknownWord Error "syntax.unknown-word",
            "unknown word",
            "write a word that the attribute has";
        /// A name before `=` that the attribute does not know.
        UnknownArgument Error "syntax.unknown-argument",
            "unknown argument",
            "write an argument that the attribute has";
        /// A name without `=` and a value.
        ValueMissing Error "syntax.value-missing",
            "this needs a value",
            "write `=` and the value behind it";
        /// A word with `=` and a value.
        ValueUnwanted Error "syntax.value-unwanted",
            "this has no value",
            "write the word alone, or leave it out";
        /// An argument twice.
        ArgumentRepeated Error "syntax.argument-repeated",
            "this stands here twice",
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
        /// An attribute without the words that it is for.
        AttributeEmpty Error "syntax.attribute-empty",
            "this attribute says nothing",
            "write what it should say, or remove it";
        /// Two words of which only one can hold.
        OneWordExpected Error "syntax.one-word-expected",
            "only one of these words can hold for a route",
            "remove all but one";
        /// The name of a policy beside its parts.
        PolicyNotAlone Error "syntax.policy-not-alone",
            "a whole policy stands alone: nothing is merged into it",
            "write one policy by its parts, or give the name of one that has them all";
        /// An expression that names no policy.
        PolicyNameExpected Error "syntax.policy-name-expected",
            "this is not the name of a policy",
            "write the name of a constant that is a policy";
        /// Credentials with a comma between them.
        CallersNotJoined Error "syntax.callers-not-joined",
            "credentials that a caller chooses from are joined by `|`",
            "write `session | token`";
        /// `config` without a name.
        ConfigName Error "syntax.config-name",
            "`config` needs the name of the list",
            "write `config(\"partners\")`, and give the list to the app with `App::origins`";
        /// `config` with something that it does not take.
        ConfigArgument Error "syntax.config-argument",
            "`config` takes the name of a list, and a bound",
            "write `config(\"partners\", within = [\"https://*.example.com\"])`";
        /// `#[cors = ..]`.
        ParenthesesMissing Error "syntax.parentheses-missing",
            "the arguments of an attribute stand in parentheses",
            "write `#[name(..)]`";
        /// An attribute twice.
        AttributeRepeated Error "syntax.attribute-repeated",
            "this attribute stands on the route twice",
            "write one; the nearest level replaces the outer ones, and nothing is merged";
        /// A policy without a route.
        RouteAttributeMissing Error "syntax.route-attribute-missing",
            "this does nothing here: there is no route attribute below it",
            "write one, such as `#[get(\"/path\")]`; renamed imports of it are not recognised";
        /// `routes![..]` with something else than names.
        RoutesEntry Error "syntax.routes-entry",
            "a list of routes has names of handlers only",
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
        /// A method that is neither a word nor a string.
        MethodExpected Error "syntax.method-expected",
            "a method is a word",
            "write `#[route(PURGE, \"/path\")]`: methods, then the path";
        /// A method in lower case.
        MethodCase Error "syntax.method-case",
            "methods are case-sensitive, and those of the standard are in upper case",
            "write it in upper case, or in quotes for a method of that name";
        /// A parameter as other frameworks write it.
        ParameterStyle Error "syntax.parameter-style",
            "this is no parameter, it is fixed text",
            "a parameter is written `{name}` here, and the rest of a path `{*name}`";
    }
}
