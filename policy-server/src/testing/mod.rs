// Its first example is an app with a store in a file.
#![cfg_attr(any(not(doctest), feature = "embedded"), doc = include_str!("../../docs/testing.md"))]

pub(crate) mod app_source;
mod browser;
mod client;
mod console;
#[cfg(feature = "openapi")]
mod document;
mod faulty_store;
mod fetched;
#[cfg(feature = "proptest")]
mod fetches;
mod lints;
pub(crate) mod lock;
mod network;
mod page;
pub(crate) mod prove;
mod rules;
#[cfg(feature = "proptest")]
pub mod strategies;
mod tab;
mod upgrade;

pub use browser::Browser;
pub use client::{TestClient, TestRequest, TestResponse};
pub use faulty_store::FaultyStore;
pub use fetched::Fetched;
pub use network::Network;
pub use page::{PageRequest, TestPage};
pub use policy_browser::{
    AddressSpace, Blocked, CacheMode, Cookie, Credentials,
    Credentials::{Include, Omit},
    Destination, Fetch, LocalNetwork, Mode, Page, Profile, Reason, Redirect, ReferrerPolicy,
    Response, ResponseType, SentRequest, ThirdParty, Url, Withheld, WithheldCookie,
};
pub use prove::{Exchange, every_exchange};
pub use tab::Tab;
