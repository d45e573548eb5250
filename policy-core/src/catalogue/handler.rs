//! Handlers: what they look like, and how they end.

area! { $ handler
    rules {
        /// A route attribute on a struct, for instance.
        HandlerFunction Error "handler.not-a-function",
            "this attribute is not on a function",
            "write it on an `async fn`";
        /// A function that is not `async`.
        HandlerAsync Error "handler.not-async",
            "a handler must be `async`",
            "write `async fn`";
        /// An `unsafe` function.
        HandlerUnsafe Error "handler.unsafe",
            "a handler cannot be `unsafe`",
            "use an `unsafe` block inside of it";
        /// A type parameter, a lifetime or an `impl Trait`.
        HandlerGeneric Error "handler.generic",
            "a handler cannot be generic",
            "write concrete types; a request cannot choose them";
        /// A `where` clause.
        HandlerWhere Error "handler.where-clause",
            "a handler cannot have a `where` clause",
            "remove it";
        /// A function with `self`.
        HandlerMethod Error "handler.method",
            "a handler is a function, not a method",
            "move it out of the `impl`, and take what it needs as `State<..>`";
        /// Two paths with different parameters.
        HandlerPaths Error "handler.paths-differ",
            "the paths of one handler must have the same parameters in the same order",
            "write a separate handler for each path";
        /// A parameter of the path that no argument takes.
        ParameterNotTaken Error "handler.parameter-not-taken",
            "no argument takes this path parameter",
            "add an argument with this name";
        /// More parameters of a path than can be taken.
        ParametersTooMany Error "handler.parameters-too-many",
            "the path has more parameters than a handler can take",
            "take the rest of the path as `{*rest}`, and split it in the handler";
        /// More arguments than can be extracted.
        ArgumentsTooMany Error "handler.arguments-too-many",
            "the handler has more arguments than can be extracted",
            "put several extractors into one tuple argument, such as `(method, headers): (Method, HeaderMap)`";
        /// An argument below `#[cfg]`.
        ArgumentConditional Error "handler.argument-conditional",
            "an argument of a handler cannot be conditional",
            "write two handlers, each below its own `#[cfg]`";
        /// An argument that is a reference.
        ArgumentBorrowed Error "handler.argument-borrowed",
            "an argument of a handler cannot be a reference",
            "take an owned value, such as `String` instead of `&str`";
        /// An extractor that reads what only axum's router leaves in a request.
        ExtractorOfAxum Error "handler.extractor-of-axum",
            "this extractor works only in axum's own router, and would be empty here",
            "name each parameter as an argument, such as `id: u64` for `{id}`";
        /// An argument of a type that cannot be extracted.
        ExtractorExpected Error "handler.not-an-extractor",
            "this is not an extractor",
            "name it in the path, or implement `FromRequestParts` or `FromRequest`";
        /// An argument that reads the body, before the last one.
        BodyNotLast Error "handler.body-not-last",
            "an argument that reads the body must be the last one",
            "move it to the end of the arguments";
        /// Two arguments that read the body.
        BodyTwice Error "handler.body-twice",
            "two arguments read the body, which can be read only once",
            "take one, such as `Json<T>` with all fields in `T`";
        /// A body of GET or HEAD: RFC 9110 9.3.1 gives it no meaning.
        BodyOfGet Warning "handler.body-of-get",
            "this reads the body of a GET request: browsers refuse to send one, and proxies may drop it",
            "take `Query<T>`, or write `#[post(..)]`, or `#[query(..)]` for a body that asks a question";
        /// A parameter of a type that cannot be parsed.
        ParameterType Error "handler.parameter-type",
            "this cannot be parsed from a path segment",
            "use a type that implements `FromStr`, or implement `policy_server::FromParam`";
        /// A return type that is not a response.
        ResponseExpected Error "handler.not-a-response",
            "this cannot be converted to a response",
            "return a `Response`, `String`, `StatusCode`, `Json<T>` of a `T: Serialize`, a tuple of them, or a `Result` of two of them, such as `Result<T, Problem>`";
        /// An error of others that is returned with `?` as a `Problem`.
        ErrorConvertible Error "handler.error-not-a-problem",
            "this error has no response",
            "write `.map_err(Problem::internal)?` to log it and respond with 500, or implement `From` of it for `Problem`";
        /// An argument of `#[layer]`, or of a group, that cannot wrap a handler.
        LayerExpected Error "handler.not-a-layer",
            "this is not a layer for a handler",
            "write a `tower::Layer<SharedService>` whose service takes a `Request` and is `Clone + Send + Sync`";
        /// An entry of a list that is not a handler, or a handler for another state.
        HandlerExpected Error "handler.not-a-handler",
            "this is not a handler for the state of this app",
            "list functions that have a route attribute, such as `#[get(\"/path\")]`";
        /// `Valid` around a type that cannot be validated.
        ValidateExpected Error "handler.not-validated",
            "this type cannot be validated",
            "implement `policy_server::extract::Validate`, or take the extractor without `Valid`";
    }

    refusals {
        /// The handler did not respond in time.
        HandlerTimedOut 503 "handler.timed-out", "The response was not ready in time";
        /// The handler panicked, or returned an error that is not a response.
        Internal 500 "handler.failed", "The server failed";
    }

    events {
        /// A panic, which ends the request and nothing else.
        HandlerPanicked Error "handler.panicked", "the handler panicked";
        /// An error that a handler returned, and whose text no client sees.
        HandlerError Error "handler.error", "the handler returned an error";
        /// An extension member with the name of a standard one.
        ProblemMemberReserved Warn "handler.problem-member-reserved", "this member of a problem is set by a method of its own";
        /// An extension member that cannot be serialised as JSON.
        ProblemMemberUnwritable Warn "handler.problem-member-unwritable", "a member of a problem cannot be serialised";
    }
}
