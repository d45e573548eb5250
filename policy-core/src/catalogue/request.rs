//! What a request brings for its handler: parameters, bodies, conditions.

area! { $ request
    refusals {
        /// A path parameter that its type does not parse.
        ParameterInvalid 400 "request.parameter-invalid", "A parameter in the path is invalid";
        /// A query string that its type does not parse.
        QueryInvalid 400 "request.query-invalid", "The query is invalid";
        /// A media type that the handler does not read.
        MediaType 415 "request.media-type", "The media type of the request is not supported";
        /// RFC 9110 15.5.16: a content coding that is not decoded.
        ContentCoding 415 "request.content-coding", "The body has a content coding that is not decoded";
        /// A body that is not in the content coding that it states.
        ContentCodingMalformed 400 "request.content-coding-malformed", "The body is not in its content coding";
        /// A body that is not JSON.
        JsonMalformed 400 "request.json-malformed", "The body is not valid JSON";
        /// JSON of another shape.
        JsonMismatch 422 "request.json-mismatch", "The JSON in the body does not have the expected shape";
        /// A form that its type does not parse.
        FormInvalid 422 "request.form-invalid", "The form is invalid";
        /// What an extractor of another crate does not take, with its status and its text.
        Rejected 400 "request.rejected", "The request does not have what it needs";
        /// A value of the expected type that breaks a rule of the application.
        RequestInvalid 422 "request.invalid", "The request breaks a rule";
        /// RFC 9110 15.5.7: no representation has a media type that the request accepts.
        NotAcceptable 406 "request.not-acceptable", "There is no representation that the request accepts";
        /// RFC 6585 3: an unsafe request that does not say which state it expects.
        PreconditionRequired 428 "request.precondition-required", "The request must name the state that it expects in If-Match";
        /// A body over its limit.
        BodyTooLarge 413 "request.body-too-large", "The body is over its limit";
        /// RFC 9110 14.5: a part of a representation, which would be stored as the whole.
        ContentRange 400 "request.content-range", "A part of a representation cannot be stored";
        /// A body that broke off.
        BodyIncomplete 400 "request.body-incomplete", "The body could not be read to its end";
        /// The client did not send its body in time.
        BodyTimedOut 408 "request.timed-out", "The request did not arrive in time";
        /// RFC 9110 15.5.13: a condition of the request does not hold.
        PreconditionFailed 412 "request.precondition-failed", "The resource is not in the state that the request assumes";
        /// RFC 9110 15.5.17: none of the requested bytes is there.
        RangeNotSatisfiable 416 "request.range-not-satisfiable", "The requested range is outside of the content";
    }
}
