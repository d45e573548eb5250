//! Log events of the catalogue.

pub(crate) mod conventions;
pub(crate) mod count;
pub(crate) mod json_lines;
mod sink;
pub(crate) mod terminal;

use policy_core::{CodePage, EventLevel};
use tracing::field::{DisplayValue, display};

/// Logs and counts an event with its code, its text and these fields; `text: value` is appended to the text.
macro_rules! log {
    ($event:ident, text: $text:expr $(,)?) => {
        $crate::base::event::log!(@ $event, {}, "{}: {}", ::policy_core::Event::$event.message(), $text)
    };
    ($event:ident $(, $($field:tt)*)?) => {
        $crate::base::event::log!(@
            $event, { $($($field)*)? }, "{}", ::policy_core::Event::$event.message()
        )
    };
    (@ $event:ident, { $($field:tt)* }, $($text:tt)+) => {{
        const LEVEL: ::tracing::Level =
            $crate::base::event::level(::policy_core::Event::$event.level());
        $crate::base::event::count::count($crate::base::event::count::Count::Event(::policy_core::Event::$event));
        $crate::base::event::terminal::emit(|| ::tracing::event!(
            LEVEL,
            {
                code = ::policy_core::Event::$event.code(),
                see = $crate::base::event::page(::policy_core::Event::$event),
                $($field)*
            },
            $($text)+
        ))
    }};
}
pub(crate) use log;

/// The page about an event that requires attention.
pub(crate) fn page(event: policy_core::Event) -> Option<DisplayValue<CodePage>> {
    (event.level() != EventLevel::Info).then(|| display(event.page()))
}

pub(crate) const fn level(level: EventLevel) -> tracing::Level {
    match level {
        EventLevel::Error => tracing::Level::ERROR,
        EventLevel::Warn => tracing::Level::WARN,
        EventLevel::Info => tracing::Level::INFO,
    }
}
