//! Paths and methods.

area! { $ route
    rules {
        /// A path that does not begin with `/`.
        PathStart Error "route.path-start",
            "a path begins with `/`",
            "add a `/` in front";
        /// A byte that a path cannot have.
        PathByte Error "route.path-byte",
            "a path segment has only letters, digits and the characters `-._~!$&'()*+,;=:@`; a query is not part of a path",
            "remove the other characters; a parameter also matches percent-encoded segments";
        /// `//`, `.` or `..`.
        PathSegment Error "route.path-segment",
            "a path has no empty segments and no `.` or `..`",
            "write the path as clients send it after resolving them";
        /// A malformed parameter.
        PathParameter Error "route.path-parameter",
            "a parameter is a whole segment: `{name}`, or `{*name}` for the rest of the path",
            "write `/users/{id}`, and parse the rest of the segment in the handler; `{id:slashes}` accepts encoded slashes";
        /// `{*rest}` before the end.
        PathRest Error "route.path-rest",
            "`{*name}` takes the rest of the path, so nothing can follow it",
            "move it to the end";
        /// One name for two parameters.
        PathParameterRepeated Error "route.path-parameter-repeated",
            "two parameters of this path have the same name",
            "rename one of them";
        /// A prefix that is empty, has parameters or ends with `/`.
        PathPrefix Error "route.path-prefix",
            "a prefix cannot be empty, have parameters or end with `/`",
            "write a prefix such as `/api`; without a prefix, use `App::routes` or `App::fallback`";
        /// A route that requires more of its callers than a mount or proxy above it.
        GuardedBelow Warning "route.guarded-below",
            "this route requires more of its callers than a prefix above it: a service there that folds case, cuts `;` or ignores a trailing slash could bypass it",
            "require as much for the mount or proxy, or add `.exact_paths()` to it if its service never serves one resource under two paths";
        /// Two routes for the same requests.
        RouteConflict Error "route.conflict",
            "another route matches the same requests",
            "change the path or the method of one of them";
        /// A route for methods that are not for handlers.
        RouteMethod Error "route.method",
            "a handler cannot serve this method",
            "write another method; the server handles CONNECT and TRACE itself";
    }

    refusals {
        /// No route has the path.
        RouteNotFound 404 "route.not-found", "There is nothing here";
        /// RFC 9110 9.1: the method is not a standard one, and no route has it.
        MethodUnknown 501 "route.method-unknown", "The method is not known";
        /// RFC 8441 4: an extended CONNECT for another protocol than WebSocket.
        ProtocolUnknown 501 "route.protocol-unknown", "The requested protocol is not known";
        /// RFC 8441 4: a route that opens no WebSocket was asked for one by an extended CONNECT.
        ProtocolNotServed 501 "route.protocol-not-served", "The route opens no WebSocket";
        /// The path has routes, none of the method.
        MethodNotAllowed 405 "route.method-not-allowed", "The method is not supported here";
    }
}
