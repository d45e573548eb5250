//! What a service below a prefix does with the paths that it gets.

/// What a mount or a proxy says of paths.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MountedPaths {
    /// Whether paths may have encoded slashes.
    pub(crate) take_slashes: bool,
    /// Whether paths that differ are never one resource.
    pub(crate) are_exact: bool,
}

/// The methods by which a mount and a proxy say so.
macro_rules! path_methods {
    ($paths:ident) => {
        /// Takes paths with an encoded slash or backslash (`%2F`, `%5C`), which are refused with 400
        /// without this (`wire.path-encoded-slash`). One that hides the path of another route stays
        /// refused.
        pub fn encoded_slashes(mut self) -> Self {
            self.$paths.take_slashes = true;
            self
        }

        /// States that what serves these paths never takes two of them for one resource: it tells
        /// apart upper and lower case, does not cut `;` and what is behind it, and does not ignore
        /// a slash at the end.
        ///
        /// Where a route below the prefix is guarded and the prefix is not, the start says so
        /// (`route.guarded-below`), since a service that takes `/Admin` for `/admin` leads around
        /// the guard. This silences it.
        pub fn exact_paths(mut self) -> Self {
            self.$paths.are_exact = true;
            self
        }
    };
}

pub(crate) use path_methods;
