//! Calls that a store passes on to another one.

/// Implements calls by those of another store: `(to store)` makes them at that field, and
/// `(by pass(first))` calls that method with `first`, the name of the call, and a function that makes it.
macro_rules! pass_on {
    (@ (to $store:ident) $self:ident $call:ident($($argument:ident)*)) => {
        $self.$store.$call($($argument),*)
    };
    (@ (by $pass:ident($($first:expr),*)) $self:ident $call:ident($($argument:ident)*)) => {
        $self.$pass($($first,)* stringify!($call), move |store| store.$call($($argument),*))
    };
    ($how:tt $(
        fn $call:ident$(<$of_call:lifetime>)?(
            &$($of_self:lifetime)? $self:ident $(, $argument:ident: $type:ty)*
        ) -> $result:ty;
    )*) => {$(
        fn $call$(<$of_call>)?(&$($of_self)? $self $(, $argument: $type)*) -> $result {
            $crate::store::passing::pass_on!(@ $how $self $call($($argument)*))
        }
    )*};
}

pub(crate) use pass_on;
