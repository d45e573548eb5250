//! Sessions: ids, records, lifetimes, and the changes that a request may make.

mod commit;
mod data;
mod effects;
mod id;
mod record;
mod successor;
mod timings;

pub use commit::{CommitPlan, Draft, Row, plan};
pub use data::{Data, DataChange, DataError};
pub use effects::{Effects, HandlerOutcome, PrivilegeChange};
pub use id::{Handle, HandleError, SessionId, SessionKey};
pub use record::{Identity, Names, Record};
pub use successor::SuccessorKey;
pub use timings::{Lifetime, Renewal, Timings};
