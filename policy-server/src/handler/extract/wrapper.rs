//! Common implementations of extractors around one public value.

/// Implements `Deref` and `DerefMut` to the inner value.
macro_rules! wrapper {
    ($wrapper:ident) => {
        impl<T> std::ops::Deref for $wrapper<T> {
            type Target = T;

            fn deref(&self) -> &T {
                &self.0
            }
        }

        impl<T> std::ops::DerefMut for $wrapper<T> {
            fn deref_mut(&mut self) -> &mut T {
                &mut self.0
            }
        }

        impl<T> From<T> for $wrapper<T> {
            fn from(value: T) -> Self {
                Self(value)
            }
        }
    };
}

pub(super) use wrapper;
