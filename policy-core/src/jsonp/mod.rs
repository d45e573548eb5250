//! JSONP: an answer as a script that calls a function.
