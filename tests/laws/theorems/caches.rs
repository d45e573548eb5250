//! What caches do with answers.
