//! A service of axum on its way to Policy, in five steps. Each step is a whole service; the tests send the
//! same requests to all of them.

pub mod notes;
pub mod step1_axum;
pub mod step2_layer;
pub mod step3_mounted;
pub mod step4_moved;
pub mod step5_policy;
