//! How a service below a prefix interprets paths.

/// The statements of a mount or a proxy about paths.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MountedPaths {
    /// Whether paths may have encoded slashes.
    pub(crate) take_slashes: bool,
    /// Whether different paths are always different resources.
    pub(crate) are_exact: bool,
}

/// The builder methods of a mount and a proxy for these statements.
macro_rules! path_methods {
    () => {
        /// Accepts paths with an encoded slash or backslash (`%2F`, `%5C`), which are otherwise
        /// refused with 400 (`wire.path-encoded-slash`). A path that hides the path of another
        /// route is still refused.
        pub fn encoded_slashes(mut self) -> Self {
            self.paths.take_slashes = true;
            self
        }

        /// States that the service never treats two of these paths as one resource: it distinguishes
        /// upper and lower case, does not cut off `;` and what follows it, and does not ignore a
        /// trailing slash.
        ///
        /// If a route below the prefix is guarded and the prefix is not, a notice at start reports it
        /// (`route.guarded-below`), since a service that treats `/Admin` as `/admin` bypasses the
        /// guard. This silences the notice.
        pub fn exact_paths(mut self) -> Self {
            self.paths.are_exact = true;
            self
        }
    };
}

pub(crate) use path_methods;
