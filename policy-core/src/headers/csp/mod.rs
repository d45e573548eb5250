//! Content Security Policy, level 3, as data: what a page may load and run.
//!
//! ```
//! use policy_core::headers::csp::{Directive, Name, Source};
//!
//! let scripts = Directive(Name::ScriptSrc, &[Source::SelfOrigin, Source::Nonce]);
//! assert_eq!(scripts.0.text(), "script-src");
//! ```

mod check;
mod parse;
mod source;

pub(super) use check::{check, has, slots, text};
pub use parse::{Parsed, parse};
pub use source::Source;
pub(super) use source::is_host;

/// One directive of a policy: its name and its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directive<'a>(pub Name, pub &'a [Source<'a>]);

/// The values that a directive accepts.
#[derive(Clone, Copy)]
enum Takes {
    /// Origins, schemes, `'self'` and `'none'`.
    Locations,
    /// As `Locations`, plus nonces and hashes for styles of the page.
    Styles,
    /// As `Styles`, plus keywords for scripts.
    Scripts,
    /// `allow-..`, or nothing.
    Flags,
    /// The name of a group of endpoints.
    Group,
    /// Addresses.
    Addresses,
    /// Names of Trusted Types policies, or nothing.
    Policies,
    /// `'script'`
    Script,
    /// Nothing.
    Nothing,
}

macro_rules! names {
    ($($name:ident $text:literal $takes:ident;)*) => {
        /// The directives (Content Security Policy 3, section 6; Trusted Types 4.3; Upgrade
        /// Insecure Requests 3).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Name { $(#[doc = concat!("`", $text, "`")] $name,)* }

        impl Name {
            /// All directives.
            pub const ALL: &[Name] = &[$(Name::$name,)*];

            /// The name as written in a policy.
            pub const fn text(self) -> &'static str {
                match self { $(Name::$name => $text,)* }
            }

            const fn takes(self) -> Takes {
                match self { $(Name::$name => Takes::$takes,)* }
            }
        }
    };
}

names! {
    DefaultSrc "default-src" Scripts;
    ScriptSrc "script-src" Scripts;
    ScriptSrcElem "script-src-elem" Scripts;
    ScriptSrcAttr "script-src-attr" Scripts;
    StyleSrc "style-src" Styles;
    StyleSrcElem "style-src-elem" Styles;
    StyleSrcAttr "style-src-attr" Styles;
    ImgSrc "img-src" Locations;
    FontSrc "font-src" Locations;
    ConnectSrc "connect-src" Locations;
    MediaSrc "media-src" Locations;
    ObjectSrc "object-src" Locations;
    FrameSrc "frame-src" Locations;
    ChildSrc "child-src" Locations;
    WorkerSrc "worker-src" Locations;
    ManifestSrc "manifest-src" Locations;
    BaseUri "base-uri" Locations;
    FormAction "form-action" Locations;
    FrameAncestors "frame-ancestors" Locations;
    Sandbox "sandbox" Flags;
    ReportTo "report-to" Group;
    ReportUri "report-uri" Addresses;
    TrustedTypes "trusted-types" Policies;
    RequireTrustedTypesFor "require-trusted-types-for" Script;
    UpgradeInsecureRequests "upgrade-insecure-requests" Nothing;
}

impl Name {
    /// Finds the directive with this name; the text has to be in lower case.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|name| name.text() == text)
    }
}
