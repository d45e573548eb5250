//! Paths and methods.

area! { $ route
    rules {
        /// A path that does not begin with `/`.
        PathStart Error "route.path-start",
            "a path begins with `/`",
            "put a `/` in front";
        /// A byte that a path cannot have.
        PathByte Error "route.path-byte",
            "a path has letters, digits and the signs `-._~!$&'()*+,;=:@` in its segments; a query is no part of it",
            "remove the other signs; a parameter matches segments that were sent percent-encoded";
        /// `//`, `.` or `..`.
        PathSegment Error "route.path-segment",
            "a path has no empty segments and no `.` or `..`",
            "write the path as clients send it after resolving them";
        /// A parameter that is none.
        PathParameter Error "route.path-parameter",
            "a parameter is a whole segment: `{name}`, or `{*name}` for the rest of the path",
            "write `/users/{id}`, and parse what stands around a value in the handler; `{id:slashes}` takes encoded slashes";
        /// `{*rest}` before the end.
        PathRest Error "route.path-rest",
            "`{*name}` takes the rest of the path, so nothing can follow it",
            "move it to the end";
        /// One name for two parameters.
        PathParameterRepeated Error "route.path-parameter-repeated",
            "two parameters of this path have the same name",
            "rename one of them";
        /// A parameter where only fixed text can stand.
        PathPrefix Error "route.path-prefix",
            "a prefix is not empty, has no parameters and does not end with `/`",
            "write a prefix such as `/api`; what has none goes to `App::routes` or `App::fallback`";
        /// A route that asks who calls, below a mount or proxy that does not.
        GuardedBelow Warning "route.guarded-below",
            "this route asks who calls and lies below a prefix that does not: a service that folds case, cuts `;` or ignores a slash at the end leads around it",
            "guard the mount or proxy as well, or say `.exact_paths()` there if what serves it takes no two paths for one resource";
        /// Two routes for the same requests.
        RouteConflict Error "route.conflict",
            "another route takes the same requests",
            "change the path or the method of one of them";
        /// A route for methods that are not for handlers.
        RouteMethod Error "route.method",
            "a handler cannot serve this method",
            "write another method; CONNECT and TRACE are the server's own";
    }

    refusals {
        /// No route has the path.
        RouteNotFound 404 "route.not-found", "There is nothing here";
        /// RFC 9110 9.1: the method is none of the standard, and no route has it.
        MethodUnknown 501 "route.method-unknown", "The method is not known";
        /// RFC 8441 4: an extended CONNECT for another protocol than WebSocket.
        ProtocolUnknown 501 "route.protocol-unknown", "The protocol that is to be spoken is not known";
        /// The path has routes, none of the method.
        MethodNotAllowed 405 "route.method-not-allowed", "The method is not served here";
    }
}
